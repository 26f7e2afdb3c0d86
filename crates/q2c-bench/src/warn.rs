//! Warnings of a run: conditions under which its figures mislead.

use super::Bench;
use super::asked::distinct;
use super::device;
use super::measured::MeasuredPoint;
use super::per_core::hidden_by;
use super::plan::label;
use super::trial::BenchTrial;
use q2c_host::target::never_written;
use q2c_result::Warning;
use q2c_result::bench::BenchCell;
use q2c_result::mode::{EffectiveMode, paths};
use q2c_workbench::busy::{at_rest, others_ran};

/// Share by which the device's requests may differ from the I/Os.
const MISMATCH: f64 = 0.05;
/// Delay of a reading of the machine's counters above which the trials count as disturbed, seconds.
const LATE_S: f64 = 0.25;
/// Share of the CPU time of jobs and helpers above which kernel workers are named.
const WORKERS: f64 = 0.2;

pub(super) fn warnings(
    bench: &Bench<'_>,
    cells: &[BenchCell],
    measured: &[MeasuredPoint<'_>],
    of_runner: &[Warning],
) -> Vec<Warning> {
    busy_with_others(bench.site.idle_busy_cpus, measured)
        .into_iter()
        .chain(never_written(bench.target))
        .chain(ignored(cells))
        .chain(two_paths(bench.spec.axes.engines(), &modes(cells)))
        .chain(unsteady(cells))
        .chain(oversubscribed(cells))
        .chain(too_good(cells))
        .chain(mismatch(measured))
        .chain(stood_still(measured))
        .chain(by_workers(measured))
        .chain(helpers_unread(measured))
        .chain(background_shares(cells))
        .chain(device::warnings(measured))
        .chain(of_runner.iter().cloned())
        .collect()
}

fn busy_with_others(idle_cpus: f64, measured: &[MeasuredPoint<'_>]) -> Option<Warning> {
    let trials = || measured.iter().flat_map(|runs| &runs.trials);
    let hiding: Vec<f64> = trials().filter_map(|trial| hidden_by(trial)).collect();
    at_rest(idle_cpus).or_else(|| others_ran(&hiding, trials().count()))
}

/// Interfaces and methods of the cells for which `holds` is true, each once.
fn those(cells: &[BenchCell], holds: impl Fn(&BenchCell) -> bool) -> Option<String> {
    let held = cells
        .iter()
        .filter(|cell| cell.iops.trials > 0 && holds(cell));
    let names = distinct(held.map(|cell| format!("{} {}", cell.point.engine, cell.point.method)));
    (!names.is_empty()).then(|| names.join(", "))
}

fn ignored(cells: &[BenchCell]) -> Option<Warning> {
    those(cells, BenchCell::did_otherwise).map(|names| Warning {
        id: "mode-ignored".to_owned(),
        found: format!("{names}: the kernel did not do what was asked"),
        means: "these numbers are of another method; the mode column says which".to_owned(),
        todo: "compare them as what they were, or use a kernel and a device that poll".to_owned(),
    })
}

/// The name of an interface, and the effective mode of one of its points.
type EngineMode<'a> = (&'a str, &'a EffectiveMode);

fn modes(cells: &[BenchCell]) -> Vec<EngineMode<'_>> {
    cells
        .iter()
        .map(|cell| (cell.point.engine.as_str(), &cell.effective_mode))
        .collect()
}

/// Warns where polling methods of one interface asked the device and others looked at the ring
/// while the device interrupts: nobody asked for that.
fn two_paths(engines: &[String], modes: &[EngineMode<'_>]) -> Vec<Warning> {
    let of_engine = |engine: &String| {
        let its = modes.iter().filter(|(name, _)| name == engine);
        let ways = paths(its.map(|(_, mode)| *mode));
        (ways.len() > 1).then(|| Warning {
            id: "two-paths".to_owned(),
            found: format!(
                "{engine}: polling methods looked for completions in different ways ({})",
                ways.iter()
                    .map(|way| way.text())
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            means: "their figures differ by the path to the device, too, not by the method alone"
                .to_owned(),
            todo: "name the path: io_uring:ring or io_uring:iopoll".to_owned(),
        })
    };
    engines.iter().filter_map(of_engine).collect()
}

fn unsteady(cells: &[BenchCell]) -> Option<Warning> {
    those(cells, |cell| cell.unsteady > 0).map(|names| Warning {
        id: "unsteady".to_owned(),
        found: format!("{names}: throughput still had a trend when the warm-up ended"),
        means: "the median may be of a device on its way to somewhere else".to_owned(),
        todo: "give a longer --warm-up, or precondition the device".to_owned(),
    })
}

fn oversubscribed(cells: &[BenchCell]) -> Option<Warning> {
    those(cells, |cell| cell.oversubscribed).map(|names| Warning {
        id: "oversubscribed".to_owned(),
        found: format!("{names}: some points have more jobs and helper threads than CPUs"),
        means: "there the jobs share CPUs: the curve shows the scheduler, not the interface"
            .to_owned(),
        todo: "leave those numbers of jobs out".to_owned(),
    })
}

fn too_good(cells: &[BenchCell]) -> Option<Warning> {
    those(cells, |cell| cell.too_good.is_some()).map(|names| Warning {
        id: "too-good".to_owned(),
        found: format!("{names}: more than the device or any other interface gives"),
        means: "reads from a cache, from holes, or a fault of measurement".to_owned(),
        todo: "see the point's own remark; fill the target with data and run again".to_owned(),
    })
}

fn background_shares(cells: &[BenchCell]) -> Option<Warning> {
    let shares = |cell: &BenchCell| {
        let background = cell.background_jobs.as_ref();
        background.is_some_and(|background| background.shares_cpus)
    };
    those(cells, shares).map(|names| Warning {
        id: "background-shares-cpus".to_owned(),
        found: format!("{names}: some points have a background job on the CPU of a job"),
        means: "there the two take CPU time from each other, beside the device's time".to_owned(),
        todo: "use fewer jobs than CPUs, or give the background jobs CPUs of their own with cpus="
            .to_owned(),
    })
}

fn points(measured: &[MeasuredPoint<'_>], holds: impl Fn(&BenchTrial) -> bool) -> Option<String> {
    let any = |runs: &&MeasuredPoint<'_>| runs.trials.iter().any(|trial| holds(trial));
    let points = measured.iter().filter(any);
    let labels: Vec<String> = points.map(|runs| label(&runs.point)).collect();
    (!labels.is_empty()).then(|| some(&labels))
}

fn some(labels: &[String]) -> String {
    const SHOWN: usize = 3;
    let first = &labels[..labels.len().min(SHOWN)];
    match labels.len() - first.len() {
        0 => first.join("; "),
        more => format!("{} and {more} more", first.join("; ")),
    }
}

fn stood_still(measured: &[MeasuredPoint<'_>]) -> Option<Warning> {
    points(measured, |trial| trial.late_s > LATE_S).map(|names| Warning {
        id: "stood-still".to_owned(),
        found: format!("{names}: the program had no CPU for more than {LATE_S} s of a trial"),
        means: "IOPS are too low by the time in which the jobs could do nothing".to_owned(),
        todo: "stop the other load, and run again while nothing stops the program".to_owned(),
    })
}

fn by_workers(measured: &[MeasuredPoint<'_>]) -> Option<Warning> {
    let handed_over = |trial: &BenchTrial| {
        let (sqpoll_threads, workers) = trial.helpers;
        let both = trial.job_cpu_s + trial.helper_cpu_s;
        sqpoll_threads == 0 && workers > 0 && trial.helper_cpu_s > WORKERS * both
    };
    points(measured, handed_over).map(|names| Warning {
        id: "by-workers".to_owned(),
        found: format!(
            "{names}: kernel workers (io-wq) did the I/Os, since the device or its file system \
             would have waited"
        ),
        means: "each I/O goes to another thread and back: IOPS and latency hold the switches \
                between them, whose number is the scheduler's"
            .to_owned(),
        todo: "set libaio or pvsync2 beside it, which do the I/O in the job's thread".to_owned(),
    })
}

fn helpers_unread(measured: &[MeasuredPoint<'_>]) -> Option<Warning> {
    points(measured, |trial| trial.helpers_unread).map(|names| Warning {
        id: "helpers-unread".to_owned(),
        found: format!("{names}: the process's threads in /proc/self/task could not be read in a trial"),
        means: "such a trial has no CPU time of helper threads and none per I/O, and KIOPS/core by the threads \
                leaves helpers out"
            .to_owned(),
        todo: "make /proc readable (a limit on open files, hidepid), and run again".to_owned(),
    })
}

fn mismatch(measured: &[MeasuredPoint<'_>]) -> Option<Warning> {
    let off = |trial: &BenchTrial| {
        let beside = trial.background.as_ref().map_or(0, |beside| beside.ios);
        let ios = (trial.ios + beside) as f64;
        let off_by = |requests| (requests as f64 / ios - 1.0).abs();
        trial.requests.map(off_by).is_some_and(|by| by > MISMATCH)
    };
    points(measured, off).map(|names| Warning {
        id: "requests-differ".to_owned(),
        found: format!(
            "{names}: the device counted more or fewer requests than there were I/Os, by over 5 %"
        ),
        means:
            "requests were split or merged, other programs use the device, or I/O never reached it"
                .to_owned(),
        todo: "look at the device with iostat while nothing is measured".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_policy::method::Means;
    use q2c_result::mode::{ModeKind, WaitMode};
    use q2c_result::proof::Proof;

    fn mode(method: &str, kind: ModeKind, means: Means) -> EffectiveMode {
        EffectiveMode {
            asked: method.parse().unwrap(),
            was: WaitMode::by(kind, Some(means)),
            proof: Proof::default(),
        }
    }

    /// Whether this warns of one point with this trial.
    fn warns(warning: fn(&[MeasuredPoint<'_>]) -> Option<Warning>, trial: &BenchTrial) -> bool {
        let spec = crate::checked::tests::settings("null -e null -m poll");
        let media = crate::media::Media::plain(q2c_engine::Medium::None);
        let spots = crate::spec::spots(&spec, crate::way::Abilities::default(), &media);
        let (spots, _) = spots.unwrap();
        let measured = MeasuredPoint {
            spot: &spots[0],
            point: spots[0].point.clone(),
            trials: vec![trial],
            failures: Vec::new(),
            stages: None,
        };
        warning(&[measured]).is_some()
    }

    #[test]
    fn trials_that_were_disturbed_are_told() {
        let late = |late_s| BenchTrial {
            late_s,
            ..BenchTrial::default()
        };
        assert!(warns(stood_still, &late(0.9)) && !warns(stood_still, &late(0.1)));
        let unread = |helpers_unread| BenchTrial {
            helpers_unread,
            ..BenchTrial::default()
        };
        assert!(warns(helpers_unread, &unread(true)) && !warns(helpers_unread, &unread(false)));
        let helped = |helper_cpu_s, helpers| BenchTrial {
            job_cpu_s: 0.4,
            helper_cpu_s,
            helpers,
            ..BenchTrial::default()
        };
        assert!(warns(by_workers, &helped(0.6, (0, 1))));
        // A worker that did next to nothing, and the thread that SQPOLL is asked for.
        assert!(!warns(by_workers, &helped(0.05, (0, 1))));
        assert!(!warns(by_workers, &helped(0.6, (1, 0))));
    }

    #[test]
    fn labels_that_are_not_shown_are_counted() {
        let labels = ["a", "b", "c", "d", "e"].map(str::to_owned);
        assert_eq!(some(&labels[..3]), "a; b; c");
        assert_eq!(some(&labels), "a; b; c and 2 more");
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
