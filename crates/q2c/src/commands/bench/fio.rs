//! Points for `q2c bench` from a fio job file in the place of flags.

use crate::failure::Failure;
use crate::output::say;
use crate::requests::bench::check_times;
use q2c_bench::asked::Asked;
use q2c_result::Exit;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Adds to `asked` what the job file asks for and no flag has set. Says on stderr which options of
/// the file change nothing. Returns the bytes of the file.
pub fn fill(asked: &mut Asked, path: &Path) -> Result<Vec<u8>, Failure> {
    let refused = |why: &dyn Display| {
        let why = format!("run the fio job file {}: {why}", path.display());
        Failure::new(Exit::Input, why)
    };
    let text = read(path).map_err(|e| refused(&e))?;
    let variable = |name: &str| std::env::var(name).ok();
    let file = q2c_fio::read(&text, &variable).map_err(|e| refused(&e))?;
    asked.fill_from(&file).map_err(|e| refused(&e))?;
    check_times(asked).map_err(|e| refused(&e))?;
    for remark in &file.not_needed {
        say(&format!("{}, {remark}", path.display()));
    }
    Ok(text)
}

/// Most bytes of a job file.
const MOST: u64 = 1 << 20;

/// Reads the file, which may be a device without an end.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(MOST + 1).read_to_end(&mut text)?;
    match text.len() as u64 > MOST {
        true => Err(io::Error::other(format!(
            "expected a job file of up to {MOST} bytes, found more"
        ))),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused() {
        let told = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(told.contains("up to 1048576 bytes"), "{told}");
    }
}
