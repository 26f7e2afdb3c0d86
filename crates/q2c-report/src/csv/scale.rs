//! The curve of `q2c scale predict` as CSV.

use super::{field, text};
use q2c_result::scale::ScaleResult;

/// The points of the curve, one row each.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn scale(result: &ScaleResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(["jobs", "iops", "low_iops", "high_iops", "measured"])?;
    for point in &result.curve {
        writer.write_record([
            point.jobs.to_string(),
            field(point.iops),
            field(point.low),
            field(point.high),
            point.measured.to_string(),
        ])?;
    }
    text(writer)
}
