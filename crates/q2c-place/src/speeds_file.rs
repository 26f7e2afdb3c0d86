//! Speeds beside neighbours from a file, in TOML: written by hand or by a calibration.

use q2c_model::{Exit, Fault};
use q2c_result::place::Speeds;

const MIN_SPEED: f64 = 0.01;
/// The largest speed accepted. It is above 1 because tasks may gain a little by shared data.
const MAX_SPEED: f64 = 2.0;

/// Reads the text of a file.
///
/// # Errors
/// It is not TOML, lacks a key or has others, or a speed is out of its range.
pub fn read(text: &str) -> Result<Speeds, Fault> {
    let fault = |text: String| Fault::new(Exit::Input, text);
    let speeds: Speeds =
        toml::from_str(text).map_err(|e| fault(e.to_string().trim_end().replace('\n', " ")))?;
    let entries = [
        ("compute_beside_compute", speeds.compute_beside_compute),
        ("compute_beside_polling", speeds.compute_beside_polling),
        ("polling_beside_compute", speeds.polling_beside_compute),
        ("polling_beside_polling", speeds.polling_beside_polling),
    ];
    for (key, speed) in entries {
        if !(MIN_SPEED..=MAX_SPEED).contains(&speed) {
            return Err(fault(format!(
                "expected {key} from {MIN_SPEED} to {MAX_SPEED}, found {speed}"
            )));
        }
    }
    Ok(speeds)
}

/// The text of a file with these speeds.
pub fn write(speeds: &Speeds) -> String {
    format!(
        "# Speed of a task beside another one on the same core, as a share of its speed alone.\n\
         compute_beside_compute = {:.4}\ncompute_beside_polling = {:.4}\n\
         polling_beside_compute = {:.4}\npolling_beside_polling = {:.4}\n",
        speeds.compute_beside_compute,
        speeds.compute_beside_polling,
        speeds.polling_beside_compute,
        speeds.polling_beside_polling
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "compute_beside_compute = 0.6\ncompute_beside_polling = 0.75\n\
        polling_beside_compute = 1\npolling_beside_polling = 0.95\n";

    #[test]
    fn a_file_is_read_and_what_is_wrong_is_named() {
        let speeds = read(FILE).unwrap();
        assert_eq!(speeds.compute_beside_polling, 0.75);
        assert_eq!(speeds.polling_beside_polling, 0.95);
        assert_eq!(read(&write(&speeds)).unwrap(), speeds);
        let wrong = |text: &str| read(text).unwrap_err().to_string();
        let zero = wrong(&FILE.replace("0.75", "0"));
        assert!(zero.contains("compute_beside_polling from 0.01 to 2, found 0"));
        assert!(wrong(&FILE.replace("0.6", "nan")).contains("found NaN"));
        assert!(wrong(&FILE.replace("polling_beside_compute", "p")).contains("unknown field `p`"));
        assert!(wrong("compute_beside_compute = 1").contains("missing field"));
    }
}
