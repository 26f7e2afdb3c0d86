//! The policies of `q2c place sim`, and the tasks of `q2c place watch`, as CSV.

use super::{field, text};
use crate::{place, place_watch};
use q2c_result::place::PlaceSimResult;
use q2c_result::place_watch::PlaceWatchResult;

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

/// A row for each active task of a look.
///
/// # Errors
/// As [`place_sim`].
pub fn place_watch(result: &PlaceWatchResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "core", "cpu", "pid", "tid", "name", "polls", "cpu_pct", "stays",
    ])?;
    for (nth, core) in result.cores.iter().enumerate() {
        let tasks = core
            .cpus
            .iter()
            .flat_map(|cpu| cpu.tasks.iter().map(move |task| (cpu, task)));
        for (cpu, task) in tasks {
            writer.write_record([
                nth.to_string(),
                cpu.cpu.0.to_string(),
                task.pid.to_string(),
                task.tid.to_string(),
                task.name.clone(),
                task.polls.to_string(),
                field(task.cpu_pct),
                task.stays.map_or("", place_watch::stays).to_owned(),
            ])?;
        }
    }
    text(writer)
}
