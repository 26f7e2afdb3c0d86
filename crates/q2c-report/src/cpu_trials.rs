//! Short trials of a target from several CPUs, in words.

use crate::phrase::{joined, listed};
use crate::quantity::iops;
use q2c_result::Target;

/// The target's short trials in a line, that of the chosen CPU first; `None` without trials:
/// `CPU 1: at best 16.4 K IOPS by interrupts, 18.0 K by polling (CPU 0: 11.9 K, 17.8 K)`. These
/// best values are higher than the medians of the long trials in a table.
#[must_use]
pub fn words(target: &Target) -> Option<String> {
    let chosen = target.chosen_trial()?;
    let others = target.cpu_trials.iter().filter(|trial| !trial.chosen);
    let others = others.map(|other| {
        let rates = [Some(other.interrupt_iops), other.poll_iops];
        let rates = rates.into_iter().flatten().map(iops);
        format!("{}: {}", other.cpu, listed(rates))
    });
    let polled = |rate| format!(", {} by polling", iops(rate));
    Some(format!(
        "{}: at best {} IOPS by interrupts{} ({}); short trials, only to choose the CPU",
        chosen.cpu,
        iops(chosen.interrupt_iops),
        chosen.poll_iops.map(polled).unwrap_or_default(),
        joined(others, "; ")
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
        let wanted = "CPU 1: at best 16.4 K IOPS by interrupts, 18.0 K by polling (CPU 0: 11.9 K, \
                      17.8 K); short trials, only to choose the CPU";
        assert_eq!(words(&two).unwrap(), wanted);
        assert_eq!(words(&Target::default()), None);
    }
}
