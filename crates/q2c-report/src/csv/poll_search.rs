//! What `q2c poll search` opened, as CSV.

use super::{field, text};
use q2c_result::poll_search::PollSearchResult;

/// A row for each rule that was opened, on each pattern held out that counts; a broken limit leaves
/// the loss empty.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn poll_search(result: &PollSearchResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(["policy", "role", "pattern", "source", "loss"])?;
    for contender in &result.contenders {
        let role = serde_json::to_value(contender.role).unwrap_or_default();
        let role = role.as_str().unwrap_or_default();
        for (pattern, loss) in result.held_out.iter().zip(&contender.held_out.losses) {
            if pattern.own_best.is_none() {
                continue;
            }
            let loss = loss.map_or_else(String::new, field);
            writer.write_record([
                contender.policy.as_str(),
                role,
                &pattern.name,
                &pattern.source,
                &loss,
            ])?;
        }
    }
    text(writer)
}
