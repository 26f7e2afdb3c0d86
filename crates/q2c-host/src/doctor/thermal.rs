use super::facts::DoctorFacts;
use super::finding::Finding;
use crate::attr;
use std::path::{Path, PathBuf};

/// Degrees Celsius. A device that is nearer to its limit than this throttles within a long run.
const NEAR_LIMIT: i64 = 5;

pub(super) fn throttling(facts: &DoctorFacts) -> Option<Finding> {
    let cores = facts.of_cpus("thermal_throttle/core_throttle_count");
    let packages = facts.of_cpus("thermal_throttle/package_throttle_count");
    if cores.is_empty() && packages.is_empty() {
        return Some(Finding::unknown(
            "the kernel counts none (a virtual machine, or not an Intel processor)",
            "whether the clock falls by heat cannot be told",
        ));
    }
    let number = |counts: &[String]| counts.iter().filter_map(|c| c.parse::<u64>().ok()).max();
    let most = number(&cores).max(number(&packages))?;
    let event_count = format!("most throttle events of a CPU since boot: {most}");
    Some(match most {
        0 => Finding::pass(event_count, "heat has not slowed a CPU"),
        _ => Finding::warn(
            event_count,
            "the processor gets too hot: late points of a sweep look worse than early ones",
        ),
    })
}

pub(super) fn device(facts: &DoctorFacts) -> Option<Finding> {
    let name = &facts.target_disk.as_ref()?.disk.name;
    let dirs = facts.device_dirs();
    let Some(sensor) = dirs.iter().flat_map(|dir| sensors(dir)).next() else {
        return Some(Finding::unknown(
            format!("{name} tells no temperature"),
            "whether it throttles by heat cannot be told",
        ));
    };
    // The files hold thousandths of a degree Celsius.
    let degrees = |name: &str| attr::value::<i64>(&sensor.join(name)).map(|t| t / 1000);
    let now = degrees("temp1_input")?;
    let limit = degrees("temp1_max").or_else(|| degrees("temp1_crit"));
    Some(match limit {
        None => Finding::unknown(
            format!("{name}: {now} C, limit not told"),
            "whether it is near to throttling cannot be told",
        ),
        Some(limit) if now + NEAR_LIMIT > limit => Finding::warn(
            format!("{name}: {now} C, limit {limit} C"),
            "the device throttles or is about to: late points of a sweep look worse than early ones",
        ),
        Some(limit) => Finding::pass(
            format!("{name}: {now} C, limit {limit} C"),
            "far from throttling; a long run heats it",
        ),
    })
}

/// The folders `hwmonN` with a temperature. Drivers put them directly below the device or into a
/// folder `hwmon`.
fn sensors(dir: &Path) -> Vec<PathBuf> {
    let both = attr::entries(dir)
        .into_iter()
        .chain(attr::entries(&dir.join("hwmon")));
    let named = |p: &PathBuf| {
        attr::name(p)
            .strip_prefix("hwmon")
            .is_some_and(|n| !n.is_empty())
    };
    both.filter(|p| named(p) && p.join("temp1_input").exists())
        .collect()
}

pub(super) fn link(facts: &DoctorFacts) -> Option<Finding> {
    let dirs = facts.device_dirs();
    let dir = dirs
        .iter()
        .find(|d| d.join("current_link_speed").exists())?;
    let read = |name: &str| attr::text(&dir.join(name)).unwrap_or_default();
    let [speed, best_speed] = ["current_link_speed", "max_link_speed"].map(read);
    let [width, best_width] = ["current_link_width", "max_link_width"].map(read);
    let link_speed = format!("{speed} x{width} of {best_speed} x{best_width}");
    let rate = |text: &str| text.split_whitespace().next()?.parse::<f64>().ok();
    let at_best = |now: &str, best: &str| Some(rate(now)? >= rate(best)?);
    Some(
        match (at_best(&speed, &best_speed), at_best(&width, &best_width)) {
            (Some(true), Some(true)) => {
                Finding::pass(link_speed, "the link is as fast as the device")
            }
            (Some(false), _) | (_, Some(false)) => Finding::warn(
                link_speed,
                "the link is slower than the device: a ceiling of throughput that is not the medium's (slot, cable, or a \
             link that saves power while idle)",
            ),
            _ => Finding::unknown(link_speed, "how fast the link is cannot be told"),
        },
    )
}
