use super::facts::DoctorFacts;
use super::finding::Finding;
use crate::attr;
use std::path::Path;

/// Degrees Celsius. A device that is nearer to its limit than this throttles within a long run.
const NEAR_LIMIT_C: i64 = 5;

pub(super) fn throttling(facts: &DoctorFacts) -> Option<Finding> {
    let [cores, packages] = ["core", "package"]
        .map(|part| facts.cpu_values(&format!("thermal_throttle/{part}_throttle_count")));
    let counts = [cores, packages].concat();
    if counts.is_empty() {
        return Some(Finding::unknown(
            "the kernel counts none (a virtual machine, or not an Intel processor)",
            "whether the clock falls by heat cannot be told",
        ));
    }
    let max_count = counts.iter().filter_map(|c| c.parse::<u64>().ok()).max()?;
    Some(Finding::pass_or_warn(
        max_count == 0,
        format!("most throttle events of a CPU since boot: {max_count}"),
        "heat has not slowed a CPU",
        "the processor gets too hot: late points of a sweep look worse than early ones",
    ))
}

pub(super) fn device(facts: &DoctorFacts) -> Option<Finding> {
    let name = &facts.target_disk.as_ref()?.disk.name;
    let dirs = facts.device_dirs();
    // Drivers put the folders `hwmonN` directly below the device or into a folder `hwmon`.
    let mut entries = dirs
        .iter()
        .flat_map(|dir| [attr::entries(dir), attr::entries(&dir.join("hwmon"))].concat());
    let is_sensor = |path: &Path| {
        let name = attr::name(path);
        let numbered = name.strip_prefix("hwmon").is_some_and(|n| !n.is_empty());
        numbered && path.join("temp1_input").exists()
    };
    let Some(sensor) = entries.find(|path| is_sensor(path)) else {
        let means = "whether it throttles by heat cannot be told";
        let finding = format!("{name} tells no temperature");
        return Some(Finding::unknown(finding, means));
    };
    // The files hold thousandths of a degree Celsius.
    let degrees = |name: &str| attr::value::<i64>(&sensor.join(name)).map(|t| t / 1000);
    let temp = degrees("temp1_input")?;
    let Some(limit) = degrees("temp1_max").or_else(|| degrees("temp1_crit")) else {
        let means = "whether it is near to throttling cannot be told";
        let finding = format!("{name}: {temp} C, limit not told");
        return Some(Finding::unknown(finding, means));
    };
    Some(Finding::pass_or_warn(
        temp + NEAR_LIMIT_C <= limit,
        format!("{name}: {temp} C, limit {limit} C"),
        "far from throttling; a long run heats it",
        "the device throttles or is about to: late points of a sweep look worse than early ones",
    ))
}

pub(super) fn link(facts: &DoctorFacts) -> Option<Finding> {
    let mut dirs = facts.device_dirs().into_iter();
    let dir = dirs.find(|d| d.join("current_link_speed").exists())?;
    let read = |name: &str| attr::text(&dir.join(name)).unwrap_or_default();
    let [speed, best_speed] = ["current_link_speed", "max_link_speed"].map(read);
    let [width, best_width] = ["current_link_width", "max_link_width"].map(read);
    let link_speed = format!("{speed} x{width} of {best_speed} x{best_width}");
    let rate = |text: &str| text.split_whitespace().next()?.parse::<f64>().ok();
    let at_best = |now: &str, best: &str| Some(rate(now)? >= rate(best)?);
    let are_at_best = [at_best(&speed, &best_speed), at_best(&width, &best_width)];
    Some(if are_at_best.contains(&Some(false)) {
        Finding::warn(
            link_speed,
            "the link is slower than the device: a ceiling of throughput that is not the medium's (slot, cable, or a \
             link that saves power while idle)",
        )
    } else if are_at_best.contains(&None) {
        Finding::unknown(link_speed, "how fast the link is cannot be told")
    } else {
        Finding::pass(link_speed, "the link is as fast as the device")
    })
}
