//! The policies of `q2c place sim` as CSV.

use super::{field, text};
use crate::place;
use q2c_result::place::PlaceSimResult;

/// A row for each policy of each set-up.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn place_sim(result: &PlaceSimResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "setup",
        "policy",
        "c_slowdown",
        "c_slowdown_low",
        "c_slowdown_high",
        "p_bandwidth",
        "p_mean_us",
        "p_p99_us",
        "p_p999_us",
        "migrations",
        "colocate",
        "spread",
        "bunch",
        "heap",
    ])?;
    for setup in &result.setups {
        for of in &setup.policies {
            let latency = |get: fn(&q2c_result::place::PollLatency) -> f64| {
                of.p_latency
                    .as_ref()
                    .map_or_else(String::new, |latency| field(get(latency)))
            };
            writer.write_record([
                setup.name.clone(),
                place::policy(of.policy).to_owned(),
                field(of.c_slowdown),
                field(of.c_slowdown_low),
                field(of.c_slowdown_high),
                field(of.p_bandwidth),
                latency(|latency| latency.mean_us),
                latency(|latency| latency.p99_us),
                latency(|latency| latency.p999_us),
                field(of.migrations),
                field(of.states.colocate),
                field(of.states.spread),
                field(of.states.bunch),
                field(of.states.heap),
            ])?;
        }
    }
    text(writer)
}
