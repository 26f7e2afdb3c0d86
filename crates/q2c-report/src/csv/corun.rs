//! The pairs of `q2c place calibrate` as CSV.

use super::{field, text};
use q2c_result::corun::CalibrateResult;

/// A row for each pair; works have the names of `Work`.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn place_calibrate(result: &CalibrateResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "task",
        "neighbour",
        "same_cpu",
        "speed",
        "speed_min",
        "speed_max",
    ])?;
    for pair in &result.pairs {
        writer.write_record([
            format!("{:?}", pair.own),
            pair.neighbour
                .map_or_else(String::new, |work| format!("{work:?}")),
            pair.same_cpu.to_string(),
            field(pair.speed.median),
            field(pair.speed.min),
            field(pair.speed.max),
        ])?;
    }
    text(writer)
}
