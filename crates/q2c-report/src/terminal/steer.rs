//! `q2c poll steer` in a terminal, when it has ended.

use super::screen::printable;
use crate::quantity::{count, number, seconds};
use q2c_result::steer::SteerResult;

/// What was steered, and how the device was left.
#[must_use]
pub fn steer(result: &SteerResult) -> String {
    let delay = match result.last_delay {
        -1 => "classic polling".to_owned(),
        us => format!("{us} us"),
    };
    let mut lines = vec![
        format!(
            "{} slept by {} for {}: {} completions, {} values written, the last one {delay}",
            printable(&result.device.name),
            printable(&result.policy),
            seconds(result.seconds),
            count(result.completions),
            count(result.writes),
        ),
        format!(
            "q2c used {} % of a CPU; the setting: {}",
            number(result.own_cpu_pct),
            printable(&result.restored)
        ),
    ];
    if result.mixed {
        lines.push("requests of several sizes or directions shared the one value".to_owned());
    }
    let seen = [
        (result.lost, "completions were not seen: no room"),
        (result.unpolled, "requests were polled for by nobody"),
    ];
    let told = seen.iter().filter(|(n, _)| *n > 0);
    lines.extend(told.map(|(n, what)| format!("{} {what}", count(*n))));
    lines.join("\n")
}
