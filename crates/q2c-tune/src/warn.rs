//! Warnings of a run: conditions under which its figures mislead.

use super::Tune;
use super::mode::effective_mode;
use super::outcome::{RuleWindowCounts, Runs, TrialOutcome};
use itertools::Itertools;
use q2c_advice::{Contradiction, Correction};
use q2c_host::target::never_written;
use q2c_model::stats::{median, percentile, sorted};
use q2c_model::{Bytes, CpuId};
use q2c_policy::Method;
use q2c_result::Warning;
use q2c_result::mode::paths;
use q2c_result::tune::Calibration;
use q2c_run::runner::{CellRuns, TRIALS_LEFT_OUT};
use q2c_workbench::busy::{OtherWork, others_warning, rest_warning};

/// Share by which the disk's bytes may differ from the requested ones.
const MAX_MISMATCH: f64 = 0.05;
/// Thread CPU of polling, percent; below it polling shared its CPU.
const WHOLE_CPU_PCT: f64 = 97.0;
/// Most that the 90th percentile of the slices' IOPS may exceed the 10th, as a share.
const MAX_DRIFT: f64 = 0.15;

pub(super) fn warnings(tune: &Tune<'_>, cells: &[Runs]) -> Vec<Warning> {
    // The disk also counts the background's I/O, whose bytes are unknown here.
    let has_background = !tune.workload.background.is_empty();
    let mismatch = (!has_background).then(|| device_mismatch(cells)).flatten();
    let give_up_warning = |runs| give_up_warning(tune.spec.all_trials, runs);
    shared_cpu(&tune.workload.cpus, cells)
        .into_iter()
        .chain(busy_with_others(tune.workload.others(), cells))
        .chain(never_written(tune.target))
        .chain(interrupts_above(tune, cells))
        .chain(drift_warnings(tune, cells))
        .chain(unrecorded(cells))
        .chain(two_paths(cells, has_background))
        .chain(cells.iter().filter_map(formula_without_time))
        .chain(cells.iter().filter_map(give_up_warning))
        .chain(mismatch)
        .collect()
}

fn with_slices(cells: &[Runs]) -> impl Iterator<Item = &Runs> {
    cells.iter().filter(|runs| runs.plan.cell.has_slices())
}

/// Warns of other programs: at rest if KIOPS/core is by threads everywhere, else in some trials.
fn busy_with_others(others: OtherWork, cells: &[Runs]) -> Vec<Warning> {
    if let (true, Some(warning)) = (others.uses_idle_time, rest_warning(others.busy_cpus)) {
        return vec![warning];
    }
    let outcomes = || with_slices(cells).flat_map(CellRuns::outcomes);
    let count = outcomes().count();
    let hiding: Vec<f64> = outcomes().filter_map(|o| o.hidden_by).collect();
    let ran = others_warning(&hiding, count).into_iter();
    let twice = outcomes().filter(|o| o.repeated).count();
    let repeated = (twice > 0).then(|| {
        Warning::new(
            "trials-repeated",
            format!("{twice} of {count} trials were run a second time, as other programs ran beside the first"),
            "the less disturbed of the two counts",
            "",
        )
    });
    // Trials beside other programs have a warning of their own.
    let lacks_busy_cpus = |o: &&TrialOutcome| {
        o.hidden_by.is_none() && (o.busy_cpus.is_none() || o.poll_busy_cpus.is_none())
    };
    let without = outcomes().filter(lacks_busy_cpus).count();
    let unknown = (without > 0).then(|| {
        Warning::new(
            "busy-cpus-unknown",
            format!(
                "in {without} of {count} trials the machine's busy CPUs could not be read, or were fewer than those of \
                 the jobs' threads"
            ),
            "these trials have no KIOPS/core; where half of a method's trials lack it, that block size counts \
             the threads' CPU time only, and interrupts look too good",
            "stop the other load (top shows it), or give --seconds a larger number",
        )
    });
    ran.chain(repeated).chain(unknown).collect()
}

/// Warns if jobs outnumber their CPUs, or if polling got less than its CPU. Polling leaves the CPU
/// only in think times, so other tasks or guests had the missing time.
fn shared_cpu(job_cpus: &[CpuId], cells: &[Runs]) -> Option<Warning> {
    let outcomes = with_slices(cells).flat_map(CellRuns::outcomes);
    let got_pcts: Vec<f64> = outcomes.map(TrialOutcome::polling_got_pct).collect();
    let got_pct = median(&sorted(&got_pcts));
    let (jobs, cpus) = (job_cpus.len(), job_cpus.iter().unique().count());
    if cpus < jobs {
        let got = format!("a job that polled had {got_pct:.0} % of a CPU");
        return Some(Warning::new(
            "jobs-outnumber-cpus",
            format!("{jobs} jobs ran on {cpus} of the CPUs: {got}"),
            "jobs wait for each other's turns, so methods that leave the CPU gain more here than with a CPU for each",
            "name as many --jobs as CPUs at most, or more --cpus",
        ));
    }
    (got_pct > 0.0 && got_pct < WHOLE_CPU_PCT).then(|| {
        Warning::new(
            "shared-cpu",
            format!(
                "polling got {got_pct:.1} % of its CPU (median over the slices beside the trials)"
            ),
            "another task or the hypervisor ran there; predictions assume a CPU of one's own",
            "choose another CPU with --cpus, or stop what runs there",
        )
    })
}

/// A polling thread sees a completion first, so interrupts above polling mean that something held
/// polling up. If jobs share CPUs, that is the known reason.
fn interrupts_above(tune: &Tune<'_>, cells: &[Runs]) -> Vec<Warning> {
    const MIN_EXCESS: f64 = 1.1;
    let above_polling = |runs: &Runs| {
        let ratios = runs.outcomes().map(|o| o.rates.iops / o.poll_iops);
        let ratio = median(&sorted(&ratios.collect::<Vec<f64>>()));
        (ratio > MIN_EXCESS && ratio.is_finite()).then(|| {
            let (bs, percent) = (runs.plan.cell.bs, ratio * 100.0);
            Warning::new(
                "interrupts-above-polling",
                format!("{bs}: interrupts had {percent:.0} % of the IOPS of polling beside them"),
                "polling sees a completion first, so something held it up: ratios to polling are too high",
                "see what else runs on its CPU, and choose another one with --cpus",
            )
        })
    };
    let has_own_cpus = tune.workload.cpus.iter().all_unique();
    let interrupts = |runs: &&Runs| has_own_cpus && runs.plan.cell.method == Method::INTERRUPT;
    let interrupts = with_slices(cells).filter(interrupts);
    interrupts.filter_map(above_polling).collect()
}

fn drift_warnings(tune: &Tune<'_>, cells: &[Runs]) -> Vec<Warning> {
    let warning = |bs: &Bytes| {
        let cells = with_slices(cells).filter(|runs| runs.plan.cell.bs == *bs);
        let iops = cells.flat_map(CellRuns::outcomes).map(|o| o.poll_iops);
        let iops = sorted(&iops.collect::<Vec<f64>>());
        let (low, high) = (percentile(&iops, 0.1), percentile(&iops, 0.9));
        (iops.len() > 1 && high > low * (1.0 + MAX_DRIFT)).then(|| {
            Warning::new(
                "device-drift",
                format!("{bs}: polling beside the trials gave {low:.0} to {high:.0} IOPS (10th to 90th percentile)"),
                "methods are told apart by their intervals only, and the recording that rules are simulated on is \
                 one moment of many",
                "take more --trials, or find out what else uses the disk",
            )
        })
    };
    tune.spec.workload.bs.iter().filter_map(warning).collect()
}

fn two_paths(cells: &[Runs], background: bool) -> Option<Warning> {
    let modes = cells.iter().map(|runs| effective_mode(runs, background));
    let path_list = paths(&modes.collect::<Vec<_>>());
    let names = path_list.iter().map(|path| path.text()).join(", ");
    (path_list.len() > 1).then(|| {
        Warning::new(
            "two-paths",
            format!("polling methods looked for completions in different ways ({names})"),
            "their figures differ by the path to the device, too, not by the method alone",
            "see the method column for each; name the path: --engine io_uring:ring, or io_uring:iopoll",
        )
    })
}

fn unrecorded(cells: &[Runs]) -> Option<Warning> {
    let outcomes = cells.iter().flat_map(CellRuns::outcomes);
    let lost: u64 = outcomes.map(|o| o.unrecorded).sum();
    (lost > 0).then(|| {
        Warning::new(
            "samples-lost",
            format!("{lost} I/Os were counted but not recorded"),
            "latencies, misses and predictions stand for the begin of each trial; IOPS and CPU for all of it",
            "use shorter --seconds and more --trials",
        )
    })
}

/// Warns if the disk moved other bytes. Reasons: other I/O, a cache, or a target elsewhere.
fn device_mismatch(cells: &[Runs]) -> Option<Warning> {
    const MAX_LISTED: usize = 3;
    let share = |runs: &Runs| bytes_off(runs).filter(|share| share.abs() > MAX_MISMATCH);
    let off = cells.iter().filter_map(|runs| Some((runs, share(runs)?)));
    let off = off.sorted_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
    let off = off.map(|(runs, share)| format!("{} {:+.1} %", runs.plan.label, share * 100.0));
    let (off, methods) = (off.collect_vec(), cells.len());
    let worst = off.iter().take(MAX_LISTED).join("; ");
    let more = if off.len() > MAX_LISTED { "; ..." } else { "" };
    (!off.is_empty()).then(|| {
        Warning::new(
            "device-statistics",
            format!(
                "the disk moved other bytes than the trials asked for in {} of {methods} methods: {worst}{more}",
                off.len()
            ),
            "other I/O ran on the disk, or part of the I/O never reached it",
            "stop other users of the disk; check that the target lies on it and is fully written",
        )
    })
}

/// Bytes that the disk moved beyond the requested ones, as a share; `None` if it was unreadable.
fn bytes_off(runs: &Runs) -> Option<f64> {
    let asked: u64 = runs.outcomes().map(|o| o.bytes).sum();
    let moved = runs.outcomes().map(|o| o.device_bytes);
    let moved: u64 = moved.sum::<Option<u64>>()?;
    (asked > 0).then(|| moved as f64 / asked as f64 - 1.0)
}

/// Warns if the trials contradict the stored costs by which the first round was chosen. A
/// calibration made in this run can only be corrected by the trials.
pub(super) fn contradicted<'a>(
    calibrations: impl Iterator<Item = (&'a Calibration, Correction)>,
) -> Vec<Warning> {
    let warning = |(calibration, correction): (&Calibration, Correction)| {
        let (bs, off) = (calibration.bs, contradictions(&correction));
        (calibration.reused && !off.is_empty()).then(|| {
            Warning::new(
                "calibration-contradicted",
                format!(
                    "{bs}: the trials contradict the stored calibration: {}",
                    off.join(", ")
                ),
                "the rules of the first round were chosen by costs that do not hold; trials correct them by 45 % at most",
                "run again: the stored calibration is not used any more, and the next run calibrates anew",
            )
        })
    };
    calibrations.filter_map(warning).collect()
}

pub(super) fn contradictions(correction: &Correction) -> Vec<String> {
    let wake = correction.wake_contradiction();
    let sleep = correction.sleep_cpu_contradiction();
    let wake = wake.map(|found| contradiction_text("a wake-up's delay", found));
    let sleep = sleep.map(|found| contradiction_text("the CPU of a sleep", found));
    wake.into_iter().chain(sleep).collect()
}

fn contradiction_text(cost: &str, found: Contradiction) -> String {
    let bound = match found.factor {
        _ if !found.at_bound => "",
        1.0.. => " or more",
        _ => " or less",
    };
    format!("{cost} is {:.2} times{bound} the stored one", found.factor)
}

/// Warns of windows whose formula gave no time, so that the rule polled. No other figure shows it.
fn formula_without_time(runs: &Runs) -> Option<Warning> {
    let windows = runs.outcomes().filter_map(|o| o.windows);
    let counts: RuleWindowCounts = windows.sum();
    let windows = counts.all;
    let (label, negative, undefined) = (&runs.plan.label, counts.negative, counts.undefined);
    let without = negative + undefined;
    (without > 0).then(|| {
        Warning::new(
            "rule-without-a-time",
            format!("{label}: after {without} of {windows} windows the formula gave no time ({negative} negative, {undefined} no number)"),
            "until the next window the I/Os of that size were polled without a sleep",
            "guard a division, as in if(misses > 0, mean / misses, min); where polling is meant, say max(..., 0)",
        )
    })
}

fn give_up_warning(all_trials: bool, runs: &Runs) -> Option<Warning> {
    let several = !all_trials && runs.trials.len() > 1 && runs.outcomes().next().is_none();
    let reason = runs.hopeless_reason().filter(|_| several)?;
    let (label, trials) = (&runs.plan.label, runs.trials.len());
    Some(Warning::new(
        TRIALS_LEFT_OUT,
        format!(
            "{label}: its first {trials} trials failed for the same reason ({reason}), so that it got no more"
        ),
        "it has no figures",
        "mend the reason, or run all of them with --all-trials",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::runs as runs_with;
    use q2c_run::runner::{Trial, TrialResult};

    fn runs(label: &str, moved: Option<u64>) -> Runs {
        let outcome = TrialOutcome {
            bytes: 1000,
            device_bytes: moved,
            ..TrialOutcome::default()
        };
        runs_with(label, [outcome])
    }

    #[test]
    fn polling_that_thinks_shares_no_cpu() {
        let on = |cpus: &[CpuId], got| {
            let mut runs = runs("interrupt", None);
            if let TrialResult::Ok(outcome) = &mut runs.trials[0].result {
                outcome.poll_cpu_pct = 38.0;
                outcome.poll_got_pct = got;
            }
            shared_cpu(cpus, &[runs]).map(|warning| warning.found)
        };
        let with = |got| on(&[CpuId(1)], got);
        assert_eq!(with(Some(99.0)), None);
        assert!(with(Some(80.0)).unwrap().contains("80.0 %"));
        assert!(with(None).unwrap().contains("38.0 %"));
        let message = on(&[CpuId(0), CpuId(1), CpuId(0)], Some(99.0)).unwrap();
        let holds = message.starts_with("3 jobs ran on 2 of the CPUs");
        assert!(holds, "{message}");
    }

    #[test]
    fn a_way_that_fails_twice_for_one_reason_gets_no_more() {
        let failed = |reasons: &[&str]| {
            let mut cell = runs("hybrid-kernel", None);
            let first = cell.trials.remove(0);
            let numbered = reasons.iter().zip(0..);
            cell.trials.extend(numbered.map(|(reason, trial)| Trial {
                trial,
                result: TrialResult::Failed((*reason).to_owned()),
                ..first.clone()
            }));
            cell
        };
        let message = |reasons: &[&str]| {
            let runs = failed(reasons);
            let message = give_up_warning(false, &runs).map(|warning| warning.found);
            assert_eq!(message.is_some(), runs.hopeless_reason().is_some());
            message
        };
        let twice = message(&["the daemon ended after 3 s", "the daemon ended after 12 s"]);
        let twice = twice.unwrap();
        let holds = twice.contains("after 3 s), so that it got no more");
        assert!(holds, "{twice}");
        assert_eq!(message(&["it ended", "the probe was refused"]), None);
        assert_eq!(message(&["the daemon ended"]), None);
        assert_eq!(give_up_warning(true, &failed(&["x", "x"])), None);
        assert_eq!(runs("poll", None).hopeless_reason(), None);
    }

    /// Other work gets one warning: at rest, or for the trials. It is then no unknown reason.
    #[test]
    fn other_work_is_told_once() {
        let warned = |others, hidden_by: &[Option<f64>]| {
            let outcome = |&hidden_by: &Option<f64>| {
                let busy_cpus = hidden_by.is_none().then_some(0.5);
                TrialOutcome {
                    hidden_by,
                    busy_cpus,
                    poll_busy_cpus: busy_cpus,
                    ..TrialOutcome::default()
                }
            };
            let cell = runs_with("interrupt", hidden_by.iter().map(outcome));
            busy_with_others(others, &[cell])
        };
        let ids = |warnings: &[Warning]| warnings.iter().map(|w| w.id.clone()).collect_vec();
        let some = [None, Some(0.8), Some(1.2)];
        let at_rest = warned(OtherWork::from_idle_cpus(0.68), &some);
        assert_eq!(ids(&at_rest), ["busy-at-rest"]);
        let ran = warned(OtherWork::from_idle_cpus(0.1), &some);
        assert!(ran[0].found.contains("during 2 of 3 trials"), "{ran:?}");
        assert_eq!(ids(&ran), ["others-ran"]);
        assert_eq!(warned(OtherWork::from_idle_cpus(0.1), &[None, None]), []);
    }

    /// 4 % more is within the limit; 15 % more and half are not; the last could not be read.
    #[test]
    fn other_io_on_the_disk_is_told_once_for_all_methods() {
        let cells = [
            runs("poll", Some(1040)),
            runs("interrupt", Some(1150)),
            runs("hybrid:fixed:1us", Some(500)),
            runs("hybrid:fixed:2us", None),
        ];
        let message = device_mismatch(&cells).unwrap().found;
        let expected = "in 2 of 4 methods: hybrid:fixed:1us -50.0 %; interrupt +15.0 %";
        assert!(message.ends_with(expected), "{message}");
        assert!(device_mismatch(&cells[..1]).is_none());
    }
}
