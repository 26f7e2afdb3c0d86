//! Finds the leading method at each number of jobs, and where the lead changes.

use q2c_model::distinct;
use q2c_model::stats::CLEAR_TRIALS;
use q2c_result::bench::{BenchCell, BenchMeasure, BenchPoint, Lead};
use q2c_result::lead::{LeadChange, Leader};
use std::collections::BTreeSet;

/// Fewest methods to compare at a number of jobs, and fewest such numbers of jobs.
const MIN_COMPARED: usize = 2;

/// The leads in IOPS, then in KIOPS/core, for each group of cells that differ only in method and
/// number of jobs. A group needs two methods that meet at two numbers of jobs.
pub(crate) fn leads(cells: &[BenchCell]) -> Vec<Lead> {
    let mut groups: Vec<&BenchPoint> = Vec::new();
    // A method without a trial cannot lead.
    for cell in cells.iter().filter(|cell| cell.iops.trials > 0) {
        if !groups.iter().any(|point| in_group(point, &cell.point)) {
            groups.push(&cell.point);
        }
    }
    let lead = |point| {
        let group: Vec<&BenchCell> = cells.iter().filter(|c| in_group(&c.point, point)).collect();
        [BenchMeasure::Iops, BenchMeasure::KiopsPerCore].map(|measure| group_lead(&group, measure))
    };
    groups.into_iter().flat_map(lead).flatten().collect()
}

/// True if the points differ in nothing but method and number of jobs.
fn in_group(a: &BenchPoint, b: &BenchPoint) -> bool {
    *b == BenchPoint {
        method: b.method.clone(),
        jobs: b.jobs,
        ..a.clone()
    }
}

fn group_lead(group: &[&BenchCell], measure: BenchMeasure) -> Option<Lead> {
    let (compared, others): (Vec<&BenchCell>, Vec<&BenchCell>) =
        group.iter().partition(|cell| cell.is_comparable());
    let job_counts: BTreeSet<u32> = compared.iter().map(|cell| cell.point.jobs).collect();
    // A method that is missing at one number of jobs might have led there.
    let methods = distinct(compared.iter().map(|cell| &cell.point.method));
    let leader = |jobs| {
        let cells = compared.iter().filter(|cell| cell.point.jobs == jobs);
        let cells: Vec<&BenchCell> = cells.copied().collect();
        let leader = leader_at(jobs, &cells, measure)?;
        Some(Leader {
            clear: leader.clear && cells.len() == methods.len(),
            ..leader
        })
    };
    let leaders: Vec<Leader> = job_counts.into_iter().filter_map(leader).collect();
    let first = group.first()?.point.clone();
    (leaders.len() >= MIN_COMPARED).then(|| Lead {
        engine: first.engine,
        depth: first.depth,
        bs: first.bs,
        rw: first.rw,
        background: first.background,
        hw_queues: first.hw_queues,
        nr_requests: first.nr_requests,
        measure,
        changes: LeadChange::find(&leaders, |a, b| a == b),
        leaders,
        not_compared: distinct(others.iter().map(|cell| cell.point.method.clone())),
    })
}

fn leader_at(jobs: u32, cells: &[&BenchCell], measure: BenchMeasure) -> Option<Leader> {
    let has_figure = |cell: &&&BenchCell| cell.figure(measure).trials > 0;
    let valid: Vec<&BenchCell> = cells.iter().filter(has_figure).copied().collect();
    let first = valid.first().filter(|_| valid.len() >= MIN_COMPARED)?;
    let median = |cell: &BenchCell| cell.figure(measure).median;
    let best = valid.iter().fold(first, |best, cell| {
        let is_higher = median(cell) > median(best);
        if is_higher { cell } else { best }
    });
    let is_other = |cell: &&&BenchCell| cell.point.method != best.point.method;
    let mut others = valid.iter().filter(is_other);
    let repeated = |cell: &&BenchCell| cell.figure(measure).trials >= CLEAR_TRIALS;
    let above = |other: &&BenchCell| best.figure(measure).is_above(&other.figure(measure));
    // KIOPS/core of the machine's CPUs cannot be compared with one of the threads' CPU time.
    let same = |cell: &&BenchCell| measure == BenchMeasure::Iops || cell.per_core == best.per_core;
    Some(Leader {
        jobs,
        method: best.point.method.clone(),
        clear: valid.iter().all(repeated)
            && valid.iter().all(same)
            && valid.len() == cells.len()
            && others.all(above),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use q2c_model::stats::Interval;
    use q2c_policy::Method;

    fn method(text: &str) -> Method {
        text.parse().unwrap()
    }

    fn interval(median: f64, half: f64) -> Interval {
        Interval {
            median,
            min: median - half,
            max: median + half,
            trials: 5,
        }
    }

    /// Cells of one method with these medians of KIOPS/core at 1, 2, 4, ... jobs.
    fn line(name: &str, half: f64, medians: &[f64]) -> Vec<BenchCell> {
        let at = |(n, &median): (usize, &f64)| {
            let json = serde_json::json!({
                "engine": "io_uring", "method": method(name), "jobs": 1u32 << n, "depth": 1,
                "bs": 4096, "rw": "randread", "iops": interval(median * 1e3, 0.0),
                "lat_ns": q2c_result::bench::Latency::default(),
                "cpu": q2c_result::bench::Cpu::default(),
                "kiops_per_core": interval(median, half), "per_core": "machine", "miss_rate": null,
                "effective_mode": {"asked": method(name), "kind": "poll", "means": "ring",
                    "note": null, "proof": []},
                "cpus": [], "oversubscribed": false, "too_good": null, "unsteady": 0,
                "failures": [],
            });
            serde_json::from_value(json).unwrap()
        };
        medians.iter().enumerate().map(at).collect()
    }

    /// Three methods, each with the same median at 1 and at 2 jobs.
    fn two_jobs(medians: &[f64]) -> Vec<BenchCell> {
        let names = ["interrupt", "poll", "hybrid:mean:50%,100ms"];
        let lines = names.iter().zip(medians);
        lines
            .flat_map(|(name, &m)| line(name, 0.0, &[m, m]))
            .collect()
    }

    fn clear(lead: &Lead) -> Vec<bool> {
        lead.leaders.iter().map(|leader| leader.clear).collect()
    }

    fn per_core(cells: &[BenchCell]) -> Lead {
        let leads = leads(cells);
        assert_eq!(leads[0].measure, BenchMeasure::Iops);
        assert_eq!(leads.len(), 2);
        leads[1].clone()
    }

    /// Interrupts fall from 9 to 3, hybrid polling stays at 6: at 4 jobs the two are too close.
    #[test]
    fn the_lead_changes_between_the_numbers_of_jobs_where_it_is_clear() {
        let falls = line("interrupt", 0.5, &[9.0, 8.0, 6.2, 3.0]);
        let holds = line("hybrid:min:70%,10ms", 0.5, &[6.0, 6.0, 6.0, 6.0]);
        let lead = per_core(&[falls, holds].concat());
        let leaders = lead.leaders.iter();
        let leaders: Vec<_> = leaders
            .map(|l| (l.jobs, l.method.name(), l.clear))
            .collect();
        let wanted = [
            (1, "interrupt", true),
            (2, "interrupt", true),
            (4, "interrupt", false),
            (8, "hybrid", true),
        ];
        assert_eq!(leaders, wanted);
        let change = LeadChange {
            last: 2,
            first: 8,
            from: method("interrupt"),
            to: method("hybrid:min:70%,10ms"),
        };
        assert_eq!(lead.changes, [change]);
    }

    #[test]
    fn few_trials_lead_and_are_not_clear() {
        let mut cells = two_jobs(&[2.0, 1.0]);
        cells[2].kiops_per_core.trials = 3;
        let lead = per_core(&cells);
        assert_eq!(clear(&lead), [false, true]);
        assert_eq!(lead.leaders[0].method, Method::INTERRUPT);
    }

    #[test]
    fn only_what_was_asked_and_can_be_trusted_is_compared() {
        let mut cells = two_jobs(&[1.0, 2.0, 3.0]);
        cells[4].too_good = Some("a cache".to_owned());
        let mut lead = per_core(&cells);
        assert_eq!(lead.leaders[0].method, Method::POLL);
        assert_eq!(lead.leaders[1].method.name(), "hybrid");
        assert_eq!(lead.not_compared, [method("hybrid:mean:50%,100ms")]);
        // Hybrid polling is missing at one job, so the leader there is unknown.
        assert_eq!(clear(&lead), [false, true]);
        assert_eq!(lead.changes, []);
        cells[2].effective_mode.mode.note = Some(q2c_result::mode::ModeNote::PollIgnored);
        cells[2].iops.trials = 5;
        // At one job nothing is left to compare, so only one number of jobs remains.
        assert!(leads(&cells).is_empty());
        cells[4].too_good = None;
        lead = per_core(&cells);
        assert_eq!(lead.not_compared, [Method::POLL]);
    }

    #[test]
    fn a_method_that_failed_is_missing() {
        let mut cells = two_jobs(&[9.0, 2.0, 1.0]);
        cells[0].iops.trials = 0;
        let lead = per_core(&cells);
        assert_eq!(lead.not_compared, [Method::INTERRUPT]);
        assert_eq!(lead.leaders[0].method, Method::POLL);
        assert!(!lead.leaders[0].clear && lead.changes.is_empty());
    }

    /// At each number of jobs a different one of three methods failed, so the leader is unknown.
    #[test]
    fn as_many_methods_are_not_the_same_methods() {
        let mut cells = two_jobs(&[9.0, 2.0, 1.0]);
        cells[0].iops.trials = 0;
        cells[3].iops.trials = 0;
        let lead = per_core(&cells);
        assert_eq!(lead.not_compared, [Method::INTERRUPT, Method::POLL]);
        assert_eq!(clear(&lead), [false, false]);
        assert_eq!(lead.changes, []);
    }

    #[test]
    fn figures_of_two_sources_have_no_clear_leader() {
        let mut cells = two_jobs(&[9.0, 2.0]);
        cells[1].per_core = q2c_result::tune::PerCore::Threads;
        let lead = per_core(&cells);
        assert_eq!(clear(&lead), [true, false]);
    }

    #[test]
    fn backgrounds_are_compared_apart() {
        let mut cells = two_jobs(&[1.0, 2.0]);
        for cell in &mut cells[2..] {
            cell.point.background = "bs=4k".to_owned();
        }
        assert!(leads(&cells).is_empty());
    }

    proptest! {
        /// A clear leader has the highest minimum over its trials. Every change joins two clear
        /// leaders with no clear one between them.
        #[test]
        fn changes_join_clear_leaders(
            medians in prop::collection::vec((1.0f64..9.0, 1.0f64..9.0, 1.0f64..9.0), 2..9),
            half in 0.0f64..2.0,
        ) {
            let names = ["interrupt", "poll", "hybrid:min:70%,10ms"];
            let line_medians = |n: usize| {
                medians.iter().map(move |m| [m.0, m.1, m.2][n]).collect::<Vec<_>>()
            };
            let lines: Vec<Vec<BenchCell>> =
                (0..3).map(|n| line(names[n], half, &line_medians(n))).collect();
            let lead = per_core(&lines.concat());
            prop_assert_eq!(lead.leaders.len(), medians.len());
            for (n, leader) in lead.leaders.iter().enumerate() {
                let mut at = [medians[n].0, medians[n].1, medians[n].2];
                at.sort_by(|a, b| b.total_cmp(a));
                prop_assert_eq!(leader.clear, at[0] - half > at[1] + half);
            }
            for change in &lead.changes {
                prop_assert!(change.from != change.to && change.last < change.first);
                let clear: Vec<&Leader> = lead.leaders.iter()
                    .filter(|l| l.clear && (change.last..=change.first).contains(&l.jobs))
                    .collect();
                prop_assert_eq!(clear.len(), 2);
                prop_assert_eq!(&clear[0].method, &change.from);
                prop_assert_eq!(&clear[1].method, &change.to);
            }
        }
    }
}
