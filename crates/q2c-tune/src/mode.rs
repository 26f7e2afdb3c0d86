//! The effective mode of a cell, derived from the counts of its trials.

use super::outcome::{Runs, TrialOutcome};
use q2c_policy::method::Means;
use q2c_result::mode::{EffectiveMode, Evidence, ModeKind, ModeNote, WaitMode};
use q2c_result::waits::{Switches, WaitCounts};
use q2c_watch::kernel::KernelSleeps;

pub(super) fn effective_mode(runs: &Runs, has_background: bool) -> EffectiveMode {
    let method = &runs.plan.cell.method;
    let seen = counts(runs, has_background);
    let not_run = || WaitMode::from_kind(ModeKind::NotRun);
    EffectiveMode {
        asked: method.clone(),
        mode: match runs.failures().next().filter(|_| seen.ios == 0) {
            Some(reason) => not_run().with_note(ModeNote::Failed(reason.to_owned())),
            None if seen.ios == 0 => not_run(),
            None => seen.mode(method),
        },
        proof: seen.proof_by_sums(sleep_evidence(runs, seen.slept)),
    }
}

pub(super) fn stays_on_cpu(runs: &Runs) -> bool {
    let seen = counts(runs, false);
    seen.slept > 0 && seen.stayed_on_cpu()
}

fn counts(runs: &Runs, has_background: bool) -> WaitCounts {
    let sum = |count: fn(&TrialOutcome) -> u64| runs.outcomes().map(count).sum::<u64>();
    let known_sum =
        |count: fn(&TrialOutcome) -> Option<u64>| runs.outcomes().map(count).sum::<Option<u64>>();
    let first = runs.outcomes().next();
    let by_kernel = runs.plan.cell.method.lane().is_none();
    WaitCounts {
        ios: sum(|o| o.ios),
        slept: sum(|o| o.slept),
        left_to_interrupt: sum(|o| o.left_to_interrupt),
        interrupts: known_sum(|o| o.interrupts),
        requests: known_sum(|o| o.requests),
        switches: Switches::PerWait(runs.interval(|o| o.switches_per_io).median),
        polls_by: by_kernel.then_some(Means::Call).or_else(|| first?.polls_by),
        flags: first.map_or_else(String::new, |o| o.ring_flags.clone()),
        others: has_background,
        checks_kernel: true,
        ..WaitCounts::default()
    }
}

/// The sleeps as evidence. For the kernel's polling it is the probe's count, or why there is none.
fn sleep_evidence(runs: &Runs, thread_slept: u64) -> Evidence {
    let mut seen: Option<(u64, u64)> = None;
    for sleeps in runs.outcomes().filter_map(|o| o.kernel_sleeps.as_ref()) {
        match sleeps {
            KernelSleeps::Unseen(reason) => return Evidence::SleptUnseen(reason.clone()),
            KernelSleeps::Seen { polled, slept, .. } => {
                let (slept_sum, polled_sum) = seen.unwrap_or_default();
                seen = Some((slept_sum + slept, polled_sum + polled));
            }
        }
    }
    match seen {
        Some((slept, polled)) => Evidence::SleptByProbe { slept, polled },
        None => Evidence::Slept(thread_slept),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::runs as runs_with;
    use q2c_policy::Method;

    /// One trial of 1,000 I/Os through IOPOLL, all of which sleep if the method sleeps.
    fn runs(method: &str, interrupts: u64, requests: u64) -> Runs {
        let method: Method = method.parse().unwrap();
        let slept = if method.sleeps() { 1_000 } else { 0 };
        let outcome = TrialOutcome {
            ios: 1_000,
            slept,
            switches_per_io: slept as f64 / 1_000.0,
            interrupts: Some(interrupts),
            requests: Some(requests),
            polls_by: Some(Means::IoPoll),
            ..TrialOutcome::default()
        };
        runs_with(&method.to_string(), [outcome])
    }

    /// One interrupt per I/O although the device is polled is reported. The 700 interrupts of the
    /// background do not count against the method.
    #[test]
    fn the_devices_interrupts_are_held_against_polling_it() {
        for (method, kind) in [
            ("poll", ModeKind::Poll),
            ("hybrid:fixed:1us", ModeKind::Hybrid),
        ] {
            let was = |interrupts, requests, others| {
                effective_mode(&runs(method, interrupts, requests), others).mode
            };
            let polled = WaitMode::new(kind, Some(Means::IoPoll));
            assert_eq!(was(4, 1_000, false), polled, "{method}");
            assert_eq!(was(700, 1_700, true), polled, "{method}");
            let ignored = Some(ModeNote::Interrupted(Means::IoPoll));
            assert_eq!(was(990, 1_000, false).note, ignored, "{method}");
            assert_eq!(was(1_690, 1_700, true).note, ignored, "{method}");
        }
    }
}
