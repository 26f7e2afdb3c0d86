//! Short trials of a target from several CPUs, in words.

use crate::quantity;
use q2c_result::Target;

/// The trials of the target in a line, that of the chosen CPU first; `None` without trials:
/// `CPU 1: at best 16.4 K IOPS by interrupts, 18.0 K by polling (CPU 0: 11.9 K, 17.8 K)`. They lie
/// above the medians of the long trials that a table has.
#[must_use]
pub fn words(target: &Target) -> Option<String> {
    let chosen = target.chosen_trial()?;
    let others: Vec<String> = target
        .cpu_trials
        .iter()
        .filter(|trial| !trial.chosen)
        .map(|other| {
            let poll = other.poll_iops.map(quantity::iops);
            let figures = [Some(quantity::iops(other.interrupt_iops)), poll];
            let figures: Vec<String> = figures.into_iter().flatten().collect();
            format!("{}: {}", other.cpu, figures.join(", "))
        })
        .collect();
    let poll = chosen
        .poll_iops
        .map(|iops| format!(", {} by polling", quantity::iops(iops)));
    Some(format!(
        "{}: at best {} IOPS by interrupts{} ({}); short trials, only to choose the CPU",
        chosen.cpu,
        quantity::iops(chosen.interrupt_iops),
        poll.unwrap_or_default(),
        others.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::CpuId;
    use q2c_result::CpuTrial;

    #[test]
    fn the_others_stand_beside_the_chosen_one() {
        let trial = |cpu, chosen, interrupt_iops, poll_iops| CpuTrial {
            cpu: CpuId(cpu),
            chosen,
            interrupt_iops,
            poll_iops,
        };
        let two = Target {
            cpu_trials: vec![
                trial(0, false, 11_900.0, Some(17_800.0)),
                trial(1, true, 16_400.0, Some(18_000.0)),
            ],
            ..Target::default()
        };
        let said = words(&two).unwrap();
        let wanted = format!(
            "CPU 1: at best {} IOPS by interrupts, {} by polling (CPU 0: {}, {}); short trials, only \
             to choose the CPU",
            quantity::iops(16_400.0),
            quantity::iops(18_000.0),
            quantity::iops(11_900.0),
            quantity::iops(17_800.0)
        );
        assert_eq!(said, wanted);
        assert_eq!(words(&Target::default()), None);
    }
}
