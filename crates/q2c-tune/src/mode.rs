//! The effective mode of a cell, from the counts of its trials.

use super::cells::CellSpec;
use super::kernel::KernelSleeps;
use super::outcome::TrialOutcome;
use q2c_policy::method::Means;
use q2c_result::mode::{EffectiveMode, Mode, ModeKind, ModeNote};
use q2c_result::proof::Evidence;
use q2c_result::waits::{Switches, WaitCounts};
use q2c_run::runner::CellRuns;

pub(super) fn effective_mode(runs: &CellRuns<CellSpec, TrialOutcome>) -> EffectiveMode {
    let method = &runs.plan.cell.method;
    let seen = counts(runs);
    let not_run = || Mode::of(ModeKind::NotRun);
    EffectiveMode {
        asked: method.clone(),
        was: match runs.failures().next().filter(|_| seen.ios == 0) {
            Some(reason) => not_run().noted(ModeNote::Failed(reason.to_owned())),
            None if seen.ios == 0 && method.lane().is_none() => not_run(),
            None => seen.mode(method),
        },
        proof: seen.proof_by_sums(slept_as_seen(runs, seen.slept)),
    }
}

/// Whether a cell asked for sleeps, but its threads mostly did not leave the CPU in them.
pub(super) fn stays_on_cpu(runs: &CellRuns<CellSpec, TrialOutcome>) -> bool {
    let seen = counts(runs);
    seen.slept > 0 && seen.stayed_on_cpu()
}

/// The counts over the trials of a cell. Facts about the engine are those of its first trial.
fn counts(runs: &CellRuns<CellSpec, TrialOutcome>) -> WaitCounts {
    let sum = |of: fn(&TrialOutcome) -> u64| runs.outcomes().map(of).sum::<u64>();
    let all = |of: fn(&TrialOutcome) -> Option<u64>| runs.outcomes().map(of).sum::<Option<u64>>();
    let first = runs.outcomes().next();
    let by_kernel = runs.plan.cell.method.lane().is_none();
    WaitCounts {
        ios: sum(|o| o.ios),
        slept: sum(|o| o.slept),
        interrupts: all(|o| o.interrupts),
        requests: all(|o| o.requests),
        switches: Switches::PerWait(runs.interval(|o| o.switches_per_io).median),
        // Trials of earlier versions do not say where the engine looked.
        polls_by: match by_kernel {
            true => Some(Means::Call),
            false => first.and_then(|o| o.polls_by),
        },
        flags: first.map_or_else(String::new, |o| o.ring_flags.clone()),
        checks_kernel: by_kernel,
        ..WaitCounts::default()
    }
}

/// The number of I/Os that slept. For the kernel's own hybrid polling it is the probe's count, or
/// the reason why there is none.
fn slept_as_seen(runs: &CellRuns<CellSpec, TrialOutcome>, own: u64) -> Evidence {
    let mut seen: Option<(u64, u64)> = None;
    for sleeps in runs.outcomes().filter_map(|o| o.kernel_sleeps.as_ref()) {
        match sleeps {
            KernelSleeps::Unseen(why) => return Evidence::SleptUnseen(why.clone()),
            KernelSleeps::Seen { polled, slept, .. } => {
                let (s, p) = seen.unwrap_or_default();
                seen = Some((s + slept, p + polled));
            }
        }
    }
    match seen {
        Some((slept, polled)) => Evidence::SleptByProbe { slept, polled },
        None => Evidence::Slept(own),
    }
}
