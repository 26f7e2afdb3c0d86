//! The losses of `q2c poll study` as CSV.

use super::{field, text};
use q2c_result::poll_study::PollStudyResult;

/// A row for each ranked configuration on each pattern that counts; a broken limit leaves the loss
/// empty.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn poll_study(result: &PollStudyResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(["policy", "pattern", "source", "loss"])?;
    for scored in &result.configurations {
        for (pattern, loss) in result.patterns.iter().zip(&scored.losses) {
            if pattern.own_best.is_none() {
                continue;
            }
            let loss = loss.map_or_else(String::new, field);
            writer.write_record([&scored.policy, &pattern.name, &pattern.source, &loss])?;
        }
    }
    text(writer)
}
