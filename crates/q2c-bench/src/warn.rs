//! Warnings of a run: conditions under which its figures mislead.

use super::conclude::hiding_cpus;
use super::device;
use super::plan::label;
use crate::{Bench, BenchTrial, MeasuredPoint};
use itertools::Itertools;
use q2c_host::target::never_written;
use q2c_model::distinct;
use q2c_result::Warning;
use q2c_result::bench::BenchCell;
use q2c_result::mode::{EffectiveMode, paths};
use q2c_workbench::busy::{others_warning, rest_warning};

/// Share by which the device's requests may differ from the counted I/Os.
const MAX_MISMATCH: f64 = 0.05;
/// A reading of the machine's counters that is later than this disturbs a trial, seconds.
const MAX_DELAY_S: f64 = 0.25;
/// Share of the CPU time of jobs and helpers above which kernel workers cause a warning.
const MAX_WORKER_SHARE: f64 = 0.2;

pub(super) fn warnings(
    bench: &Bench<'_>,
    cells: &[BenchCell],
    measured: &[MeasuredPoint<'_>],
    runner_warnings: &[Warning],
) -> Vec<Warning> {
    let modes = cells.iter().map(|c| (&*c.point.engine, &c.effective_mode));
    let shares = |cell: &BenchCell| cell.background_jobs.as_ref().is_some_and(|b| b.shares_cpus);
    busy_with_others(bench.site.idle_busy_cpus, measured)
        .into_iter()
        .chain(never_written(bench.target))
        .chain(cell_warning(
            cells,
            BenchCell::ignored_its_method,
            MODE_IGNORED,
        ))
        .chain(two_paths(bench.spec.axes.engines(), &modes.collect_vec()))
        .chain(cell_warning(cells, |c| c.unsteady > 0, UNSTEADY))
        .chain(cell_warning(cells, |c| c.oversubscribed, OVERSUBSCRIBED))
        .chain(cell_warning(cells, |c| c.too_good.is_some(), TOO_GOOD))
        .chain(trial_warning(measured, mismatches, REQUESTS_DIFFER))
        .chain(trial_warning(measured, stood_still, STOOD_STILL))
        .chain(trial_warning(measured, done_by_workers, BY_WORKERS))
        .chain(trial_warning(measured, helpers_unread, HELPERS_UNREAD))
        .chain(cell_warning(cells, shares, BACKGROUND_SHARES))
        .chain(device::warnings(measured))
        .chain(runner_warnings.iter().cloned())
        .collect()
}

fn busy_with_others(idle_cpus: f64, measured: &[MeasuredPoint<'_>]) -> Option<Warning> {
    let trials = || measured.iter().flat_map(|runs| &runs.trials);
    let hiding: Vec<f64> = trials().filter_map(|trial| hiding_cpus(trial)).collect();
    rest_warning(idle_cpus).or_else(|| others_warning(&hiding, trials().count()))
}

/// A warning that names each interface and method for which `holds` is true for some cell. The four
/// texts are the warning's name, the finding, its meaning, and what to do.
fn cell_warning(
    cells: &[BenchCell],
    holds: impl Fn(&BenchCell) -> bool,
    [id, found, means, todo]: [&str; 4],
) -> Option<Warning> {
    let points = cells.iter().filter(|cell| cell.iops.trials > 0);
    let points = points.filter(|cell| holds(cell)).map(|cell| &cell.point);
    let names = distinct(points.map(|point| format!("{} {}", point.engine, point.method)));
    let finding = format!("{}: {found}", names.join(", "));
    (!names.is_empty()).then(|| Warning::new(id, finding, means, todo))
}

const MODE_IGNORED: [&str; 4] = [
    "mode-ignored",
    "the kernel did not do what was asked",
    "these numbers are of another method; the mode column says which",
    "compare them as what they were, or use a kernel and a device that poll",
];
const UNSTEADY: [&str; 4] = [
    "unsteady",
    "throughput still had a trend when the warm-up ended",
    "the median may be of a device on its way to somewhere else",
    "give a longer --warm-up, or precondition the device",
];
const OVERSUBSCRIBED: [&str; 4] = [
    "oversubscribed",
    "some points have more jobs and helper threads than CPUs",
    "there the jobs share CPUs: the curve shows the scheduler, not the interface",
    "leave those numbers of jobs out",
];
const TOO_GOOD: [&str; 4] = [
    "too-good",
    "more than the device or any other interface gives",
    "reads from a cache, from holes, or a fault of measurement",
    "see the point's own remark; fill the target with data and run again",
];
const BACKGROUND_SHARES: [&str; 4] = [
    "background-shares-cpus",
    "some points have a background job on the CPU of a job",
    "there the two take CPU time from each other, beside the device's time",
    "use fewer jobs than CPUs, or give the background jobs CPUs of their own with cpus=",
];
const REQUESTS_DIFFER: [&str; 4] = [
    "requests-differ",
    "the device counted more or fewer requests than there were I/Os, by over 5 %",
    "requests were split or merged, other programs use the device, or I/O never reached it",
    "look at the device with iostat while nothing is measured",
];
const STOOD_STILL: [&str; 4] = [
    "stood-still",
    "the program had no CPU for more than 0.25 s of a trial",
    "IOPS are too low by the time in which the jobs could do nothing",
    "stop the other load, and run again while nothing stops the program",
];
const BY_WORKERS: [&str; 4] = [
    "by-workers",
    "kernel workers (io-wq) did the I/Os, since the device or its file system would have waited",
    "each I/O goes to another thread and back: IOPS and latency hold the switches between them, whose number is the scheduler's",
    "set libaio or pvsync2 beside it, which do the I/O in the job's thread",
];
const HELPERS_UNREAD: [&str; 4] = [
    "helpers-unread",
    "the process's threads in /proc/self/task could not be read in a trial",
    "such a trial has no CPU time of helper threads and none per I/O, and KIOPS/core by the threads leaves helpers out",
    "make /proc readable (a limit on open files, hidepid), and run again",
];

/// Warns if polling methods of one interface took different paths without being asked to: some
/// polled the device, others the ring. Each mode comes with its interface.
fn two_paths(engines: &[String], modes: &[(&str, &EffectiveMode)]) -> Vec<Warning> {
    let engine_warning = |engine: &String| {
        let engine_modes = modes.iter().filter(|(name, _)| name == engine);
        let path_texts = paths(engine_modes.map(|(_, mode)| *mode));
        let names = path_texts.iter().map(|path| path.text()).join(", ");
        let finding =
            format!("{engine}: polling methods looked for completions in different ways ({names})");
        let means = "their figures differ by the path to the device, too, not by the method alone";
        let todo = "name the path: io_uring:ring or io_uring:iopoll";
        (path_texts.len() > 1).then(|| Warning::new("two-paths", finding, means, todo))
    };
    engines.iter().filter_map(engine_warning).collect()
}

/// Warns like [`cell_warning`], but names the points with a trial for which `holds` is true.
fn trial_warning(
    measured: &[MeasuredPoint<'_>],
    holds: fn(&BenchTrial) -> bool,
    [id, found, means, todo]: [&str; 4],
) -> Option<Warning> {
    let is_hit = |runs: &&MeasuredPoint<'_>| runs.trials.iter().any(|trial| holds(trial));
    let points = measured.iter().filter(is_hit);
    let labels: Vec<String> = points.map(|runs| label(&runs.point)).collect();
    let finding = format!("{}: {found}", first_labels(&labels));
    (!labels.is_empty()).then(|| Warning::new(id, finding, means, todo))
}

fn first_labels(labels: &[String]) -> String {
    const MAX_LISTED: usize = 3;
    let first = &labels[..labels.len().min(MAX_LISTED)];
    match labels.len() - first.len() {
        0 => first.join("; "),
        more => format!("{} and {more} more", first.join("; ")),
    }
}

fn stood_still(trial: &BenchTrial) -> bool {
    trial.late_s > MAX_DELAY_S
}

fn helpers_unread(trial: &BenchTrial) -> bool {
    trial.helpers_unread
}

fn done_by_workers(trial: &BenchTrial) -> bool {
    let (sqpoll_threads, workers) = trial.helpers;
    let both = trial.job_cpu_s + trial.helper_cpu_s;
    sqpoll_threads == 0 && workers > 0 && trial.helper_cpu_s > MAX_WORKER_SHARE * both
}

fn mismatches(trial: &BenchTrial) -> bool {
    let background_ios = trial.background.as_ref().map_or(0, |b| b.ios);
    let ios = (trial.ios + background_ios) as f64;
    let off_by = trial.requests.map(|n| (n as f64 / ios - 1.0).abs());
    off_by.is_some_and(|by| by > MAX_MISMATCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_policy::method::Means;
    use q2c_result::mode::{ModeKind, Proof, WaitMode};

    fn mode(method: &str, kind: ModeKind, means: Means) -> EffectiveMode {
        EffectiveMode {
            asked: method.parse().unwrap(),
            mode: WaitMode::new(kind, Some(means)),
            proof: Proof::default(),
        }
    }

    /// True if a result whose only trial is `trial` has the warning.
    fn warns(holds: fn(&BenchTrial) -> bool, trial: &BenchTrial) -> bool {
        let spec = crate::checked::tests::settings("null -e null -m poll");
        let media = crate::media::Media::without_nvme(q2c_engine::Medium::None);
        let setups = crate::spec::setups(&spec, crate::abilities::Abilities::default(), &media);
        let (setups, _) = setups.unwrap();
        let measured = MeasuredPoint {
            setup: &setups[0],
            point: setups[0].point.clone(),
            trials: vec![trial],
            failures: Vec::new(),
            stages: None,
        };
        trial_warning(&[measured], holds, BY_WORKERS).is_some()
    }

    #[test]
    fn trials_that_were_disturbed_are_told() {
        let late = |late_s| BenchTrial {
            late_s,
            ..BenchTrial::default()
        };
        assert!(warns(stood_still, &late(0.9)) && !warns(stood_still, &late(0.1)));
        let helped = |helper_cpu_s, helpers| BenchTrial {
            job_cpu_s: 0.4,
            helper_cpu_s,
            helpers,
            ..BenchTrial::default()
        };
        assert!(warns(done_by_workers, &helped(0.6, (0, 1))));
        // A worker that did almost nothing, and the thread that SQPOLL needs.
        assert!(!warns(done_by_workers, &helped(0.05, (0, 1))));
        assert!(!warns(done_by_workers, &helped(0.6, (1, 0))));
        let unread = |helpers_unread| BenchTrial {
            helpers_unread,
            ..BenchTrial::default()
        };
        assert!(warns(helpers_unread, &unread(true)) && !warns(helpers_unread, &unread(false)));
    }

    #[test]
    fn warnings_name_the_limits_that_they_stand_on() {
        assert!(STOOD_STILL[1].contains(&format!("{MAX_DELAY_S} s")));
        assert!(REQUESTS_DIFFER[1].contains(&format!("{:.0} %", 100.0 * MAX_MISMATCH)));
    }

    #[test]
    fn labels_that_are_not_shown_are_counted() {
        let labels = ["a", "b", "c", "d", "e"].map(str::to_owned);
        assert_eq!(first_labels(&labels[..3]), "a; b; c");
        assert_eq!(first_labels(&labels), "a; b; c and 2 more");
    }

    #[test]
    fn one_interface_on_two_paths_is_told() {
        let rule = "hybrid:min:70%,10ms";
        let polled = mode("poll", ModeKind::Poll, Means::IoPoll);
        let by_ring = mode(rule, ModeKind::Hybrid, Means::Ring);
        let engine_modes = [
            ("io_uring", &polled),
            ("io_uring", &by_ring),
            ("io_uring:ring", &by_ring),
            ("io_uring:iopoll", &polled),
        ];
        let engines = ["io_uring", "io_uring:ring", "io_uring:iopoll"].map(str::to_owned);
        let warnings = two_paths(&engines, &engine_modes);
        assert_eq!(warnings.len(), 1, "paths that were named are not told");
        assert!(warnings[0].found.starts_with("io_uring: "), "{warnings:?}");
        assert!(warnings[0].found.contains("ring, iopoll"), "{warnings:?}");
        assert!(two_paths(&engines, &engine_modes[1..]).is_empty());
    }
}
