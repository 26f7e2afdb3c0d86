//! The choice of the best configuration, by an objective and under limits, and the Pareto front:
//! configurations that no other beats in both IOPS and CPU.

use crate::outcome::SimOutcome;
use q2c_model::{Nanos, ParseTextError};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The figure by which the best configuration is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// Most I/Os per second and busy CPU, with a floor on IOPS.
    #[default]
    KiopsPerCore,
    /// Most I/Os per second.
    Iops,
    /// Least CPU, with the same floor on IOPS.
    Cpu,
}

impl Objective {
    const NAMES: [(&'static str, Objective); 3] = [
        ("kiops-per-core", Objective::KiopsPerCore),
        ("iops", Objective::Iops),
        ("cpu", Objective::Cpu),
    ];
}

impl FromStr for Objective {
    type Err = ParseTextError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Objective::NAMES.iter().find(|(name, _)| *name == text);
        let objective = known.map(|(_, objective)| *objective);
        objective.ok_or_else(|| ParseTextError::new("kiops-per-core, iops or cpu", text))
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Objective::NAMES[*self as usize].0)
    }
}

/// A floor on IOPS, as text `9300` or `93%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MinIops {
    /// I/Os per second.
    Iops(f64),
    /// A share of the IOPS of classic polling, from 0 to 1.
    OfPolling(f64),
}

impl FromStr for MinIops {
    type Err = ParseTextError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "IOPS such as 9300, or a share of polling's up to 100% such as 93%";
        let number = |text: &str| text.trim_end().parse::<f64>().ok();
        let read = match text.strip_suffix('%') {
            Some(share) => number(share).map(|pct| MinIops::OfPolling(pct / 100.0)),
            None => number(text).map(MinIops::Iops),
        };
        let sensible = |min: &MinIops| match min {
            MinIops::Iops(iops) => iops.is_finite() && *iops >= 0.0,
            // Polling would break a floor above its own IOPS, too.
            MinIops::OfPolling(share) => (0.0..=1.0).contains(share),
        };
        read.filter(sensible)
            .ok_or_else(|| ParseTextError::new(EXPECTED, text))
    }
}

q2c_model::serde_as_text!(Objective, MinIops);

impl fmt::Display for MinIops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MinIops::Iops(iops) => write!(f, "{iops}"),
            // Rounded: 0.07 * 100 is 7.000000000000001.
            MinIops::OfPolling(share) => write!(f, "{}%", (share * 1e8).round() / 1e6),
        }
    }
}

impl MinIops {
    /// The floor in IOPS where classic polling gives `poll_iops`.
    pub(crate) fn floor_at(&self, poll_iops: f64) -> f64 {
        match self {
            MinIops::Iops(iops) => *iops,
            MinIops::OfPolling(share) => share * poll_iops,
        }
    }

    /// The floor in words: `9300 IOPS`, `93 % of classic polling`.
    pub fn in_words(&self) -> String {
        match self {
            MinIops::Iops(iops) => format!("{iops:.0} IOPS"),
            MinIops::OfPolling(_) => {
                let share = self.to_string();
                format!("{} % of classic polling", share.trim_end_matches('%'))
            }
        }
    }
}

/// The limits that a choice must keep. `None` in a field means that the user set no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// The smallest IOPS; `None` stands for the standard floor.
    pub min_iops: Option<MinIops>,
    /// The largest U2C p99, ns.
    pub max_p99_ns: Option<f64>,
    /// The largest thread CPU, percent of one CPU.
    pub max_cpu_pct: Option<f64>,
}

impl Limits {
    /// True if a cell keeps the limits. `floor_iops` replaces `min_iops`.
    pub fn allow(&self, cell: &SimOutcome, floor_iops: f64) -> bool {
        let (rates, p99) = (&cell.gives.rates, cell.gives.latencies.p99_ns);
        rates.iops >= floor_iops
            && self.max_p99_ns.is_none_or(|max| p99 <= max)
            && self.max_cpu_pct.is_none_or(|max| rates.cpu_pct <= max)
    }

    /// The largest ratio of a figure to its limit; at most 1 for a cell that keeps the limits.
    fn excess(&self, cell: &SimOutcome, floor_iops: f64) -> f64 {
        let gives = &cell.gives;
        let ratio = |figure: f64, limit: Option<f64>| limit.map_or(0.0, |max| figure / max);
        let p99 = ratio(gives.latencies.p99_ns, self.max_p99_ns);
        let cpu = ratio(gives.rates.cpu_pct, self.max_cpu_pct);
        (floor_iops / gives.rates.iops).max(p99).max(cpu)
    }

    /// The limits that are set, in words.
    pub fn in_words(&self) -> Vec<String> {
        let iops = self.min_iops;
        let iops = iops.map(|min| format!("at least {}", min.in_words()));
        let p99 = self.max_p99_ns.map(|ns| Nanos(ns as u64));
        let p99 = p99.map(|max| format!("p99 at most {max}"));
        let cpu = self.max_cpu_pct.map(|pct| format!("CPU at most {pct} %"));
        [iops, p99, cpu].into_iter().flatten().collect()
    }
}

/// The standard floor as a share of the IOPS of the best clean sleep; without one, of polling.
const FLOOR_SHARE: f64 = 0.97;
/// The largest miss rate of a clean sleep.
const CLEAN_MISS: f64 = 0.001;
/// Cells within this share of the best count as equal; the report of a sweep names it.
const EQUAL_SHARE: f64 = 0.005;

/// The result of [`choose`].
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Index of the best cell; `None` when no cell keeps the limits.
    pub best: Option<usize>,
    /// The floor that was applied, IOPS.
    pub floor_iops: f64,
    /// Where the floor came from, in words.
    pub floor: String,
}

/// Chooses the best `eligible` cell within the limits; `poll` is polling on the same recording.
pub fn choose(
    cells: &[SimOutcome],
    eligible: &[bool],
    poll: &SimOutcome,
    objective: Objective,
    limits: &Limits,
) -> Choice {
    let (floor_iops, floor) = floor(cells, eligible, poll, limits);
    let keeps = |i: usize| eligible[i] && limits.allow(&cells[i], floor_iops);
    let allowed: Vec<usize> = (0..cells.len()).filter(|&i| keeps(i)).collect();
    let score = |i: usize| score(&cells[i], objective);
    let iops = |i: usize| cells[i].gives.rates.iops;
    let scores = allowed.iter().map(|&i| score(i));
    let min_score = scores.fold(f64::NEG_INFINITY, f64::max) * (1.0 - EQUAL_SHARE);
    let near_best = allowed.into_iter().filter(|&i| score(i) >= min_score);
    let misses = |i: usize| cells[i].gives.rates.miss_rate;
    let by_misses = |&a: &usize, &b: &usize| {
        let misses_order = misses(a).total_cmp(&misses(b));
        let score_order = misses_order.then(score(b).total_cmp(&score(a)));
        score_order.then(iops(b).total_cmp(&iops(a)))
    };
    Choice {
        best: near_best.min_by(by_misses),
        floor_iops,
        floor,
    }
}

/// The eligible cell with the best score, within the limits or not; ties go by misses, then IOPS.
pub fn best_cell(cells: &[SimOutcome], eligible: &[bool], objective: Objective) -> Option<usize> {
    let rank_key = |&i: &usize| {
        let rates = &cells[i].gives.rates;
        [score(&cells[i], objective), -rates.miss_rate, rates.iops]
    };
    (0..cells.len()).filter(|&i| eligible[i]).max_by(|a, b| {
        let figures = rank_key(a).into_iter().zip(rank_key(b));
        figures
            .map(|(a, b)| a.total_cmp(&b))
            .fold(Ordering::Equal, Ordering::then)
    })
}

/// The index of the eligible cell nearest to the limits; `floor_iops` replaces `min_iops`.
pub fn nearest_cell(
    cells: &[SimOutcome],
    eligible: &[bool],
    limits: &Limits,
    floor_iops: f64,
) -> Option<usize> {
    let excess = |&i: &usize| limits.excess(&cells[i], floor_iops);
    let candidates = (0..cells.len()).filter(|&i| eligible[i]);
    candidates.min_by(|a, b| excess(a).total_cmp(&excess(b)))
}

/// The objective as a number: larger is better, never below 0. It stays finite for a rule that
/// takes no CPU (all I/Os oversleep), so that shares of the best score are defined.
pub fn score(cell: &SimOutcome, objective: Objective) -> f64 {
    let gives = &cell.gives;
    match objective {
        Objective::KiopsPerCore if gives.rates.iops > 0.0 => gives.kiops_per_core.min(f64::MAX),
        Objective::KiopsPerCore => 0.0,
        Objective::Iops => gives.rates.iops,
        Objective::Cpu => 1.0 / gives.rates.cpu_pct.max(f64::MIN_POSITIVE),
    }
}

/// The score of each eligible cell within the limits, else `None`; `floor_iops` is the floor.
pub fn scores(
    cells: &[SimOutcome],
    eligible: &[bool],
    objective: Objective,
    limits: &Limits,
    floor_iops: f64,
) -> Vec<Option<f64>> {
    let score = |(cell, &eligible): (&SimOutcome, &bool)| {
        let keeps = eligible && limits.allow(cell, floor_iops);
        keeps.then(|| score(cell, objective))
    };
    cells.iter().zip(eligible).map(score).collect()
}

fn floor(
    cells: &[SimOutcome],
    eligible: &[bool],
    poll: &SimOutcome,
    limits: &Limits,
) -> (f64, String) {
    if let Some(asked) = limits.min_iops {
        return (
            asked.floor_at(poll.gives.rates.iops),
            format!("{}, as asked", asked.in_words()),
        );
    }
    let clean_iops = |(c, &e): (&SimOutcome, &bool)| {
        (e && c.gives.rates.miss_rate <= CLEAN_MISS && c.gives.rates.effective_sleep_ns > 0.0)
            .then_some(c.gives.rates.iops)
    };
    let sleeping = cells.iter().zip(eligible).filter_map(clean_iops);
    let best = sleeping.fold(f64::NEG_INFINITY, f64::max);
    let share = FLOOR_SHARE * 100.0;
    let (iops, reference) = if best.is_finite() {
        (best, "the best sleeping cell with at most 0.1 % misses")
    } else {
        (
            poll.gives.rates.iops,
            "classic polling: no sleeping cell misses at most 0.1 %",
        )
    };
    (FLOOR_SHARE * iops, format!("{share:.0} % of {reference}"))
}

/// The [`pareto_front`] of these outcomes.
pub fn pareto_front_of(outcomes: &[SimOutcome]) -> Vec<usize> {
    let rates = outcomes.iter().map(|outcome| &outcome.gives.rates);
    let points: Vec<(f64, f64)> = rates.map(|rates| (rates.iops, rates.cpu_pct)).collect();
    pareto_front(&points)
}

/// Indices of the points (IOPS, CPU) that no other beats, by rising CPU; the first of equals.
pub fn pareto_front(points: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| {
        let ((iops_a, cpu_a), (iops_b, cpu_b)) = (points[a], points[b]);
        cpu_a.total_cmp(&cpu_b).then(iops_b.total_cmp(&iops_a))
    });
    let mut best_iops = f64::NEG_INFINITY;
    order.retain(|&i| {
        let better = points[i].0 > best_iops;
        best_iops = best_iops.max(points[i].0);
        better
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use q2c_model::{Rates, SimulatedFigures};

    fn cell(iops: f64, cpu_pct: f64, miss_rate: f64) -> SimOutcome {
        let rates = Rates {
            iops,
            cpu_pct,
            miss_rate,
            effective_sleep_ns: 1.0,
        };
        let kiops_per_core = iops / cpu_pct / 10.0;
        let gives = SimulatedFigures {
            rates,
            kiops_per_core,
            ..SimulatedFigures::default()
        };
        SimOutcome {
            gives,
            ..SimOutcome::default()
        }
    }

    fn pick(
        cells: &[SimOutcome],
        poll: &SimOutcome,
        objective: Objective,
        limits: &Limits,
    ) -> Choice {
        choose(cells, &vec![true; cells.len()], poll, objective, limits)
    }

    #[test]
    fn the_floor_keeps_a_cheap_but_slow_cell_out() {
        let cells = [
            cell(100.0, 60.0, 0.0),
            cell(98.0, 40.0, 0.05),
            cell(60.0, 10.0, 0.9),
        ];
        let poll = cell(101.0, 100.0, 0.0);
        let choice = pick(&cells, &poll, Objective::KiopsPerCore, &Limits::default());
        assert_eq!((choice.best, choice.floor_iops), (Some(1), 97.0));
    }

    #[test]
    fn of_equals_the_one_that_misses_less() {
        let cells = [cell(100.0, 40.0, 0.0009), cell(100.1, 40.0, 0.0001)];
        let choice = pick(&cells, &cells[0], Objective::Cpu, &Limits::default());
        assert_eq!(choice.best, Some(1));
    }

    /// A rule that misses all takes no CPU by a constant wake-up delay.
    #[test]
    fn no_cpu_at_all_is_the_best() {
        let free = [98.0, 99.0, 98.5].map(|iops| cell(iops, 0.0, 1.0));
        let cells = [vec![cell(100.0, 40.0, 0.0)], free.to_vec()].concat();
        let eligible = [true; 4];
        for objective in [Objective::KiopsPerCore, Objective::Cpu] {
            let choice = choose(&cells, &eligible, &cells[0], objective, &Limits::default());
            assert_eq!(choice.best, Some(2), "{objective}");
            assert_eq!(
                best_cell(&cells, &eligible, objective),
                Some(2),
                "{objective}"
            );
        }
        let shares = [0, 1].map(|i| score(&cells[i], Objective::KiopsPerCore) / f64::MAX);
        assert!(shares[0] < 1e-300 && shares[1] >= 1.0, "{shares:?}");
    }

    #[test]
    fn floors_are_read_and_written() {
        for (text, floor, wording) in [
            ("9300", 9_300.0, "9300 IOPS"),
            ("93%", 18_600.0, "93 % of classic polling"),
            ("92.5%", 18_500.0, "92.5 % of classic polling"),
            ("100%", 20_000.0, "100 % of classic polling"),
        ] {
            let min: MinIops = text.parse().unwrap();
            assert_eq!(min.to_string(), text);
            assert!((min.floor_at(20_000.0) - floor).abs() < 1e-6);
            assert_eq!(min.in_words(), wording);
        }
        for text in ["", "%", "-1", "nan", "ten", "93 percent", "-1%", "101%"] {
            assert!(text.parse::<MinIops>().is_err(), "{text}");
        }
    }

    #[test]
    fn limits_can_leave_nothing() {
        let limits = Limits {
            max_cpu_pct: Some(5.0),
            ..Limits::default()
        };
        let poll = cell(101.0, 100.0, 0.0);
        let choice = pick(&[cell(100.0, 60.0, 0.5)], &poll, Objective::Iops, &limits);
        assert_eq!(choice.best, None);
        assert!(choice.floor.contains("classic polling"), "{}", choice.floor);
    }

    /// The first two break the limit of CPU by 65 and by 50 %, the third that of IOPS by a ninth,
    /// and the fourth may not be chosen.
    #[test]
    fn the_most_and_the_nearest_are_named_without_a_choice() {
        let limits = Limits {
            max_cpu_pct: Some(40.0),
            ..Limits::default()
        };
        let cells = [
            cell(100.0, 66.0, 0.0),
            cell(120.0, 60.0, 0.5),
            cell(90.0, 30.0, 0.5),
            cell(500.0, 1.0, 0.0),
        ];
        let eligible = [true, true, true, false];
        let most = |objective| best_cell(&cells, &eligible, objective);
        assert_eq!(most(Objective::Iops), Some(1));
        assert_eq!(most(Objective::KiopsPerCore), Some(2));
        assert_eq!(nearest_cell(&cells, &eligible, &limits, 100.0), Some(2));
        assert_eq!(
            nearest_cell(&cells[..2], &eligible, &limits, 100.0),
            Some(1)
        );
        assert_eq!(nearest_cell(&cells, &[false; 4], &limits, 100.0), None);
    }

    #[test]
    fn three_of_five() {
        let points = [
            (10.0, 100.0),
            (9.0, 50.0),
            (8.0, 60.0),
            (5.0, 20.0),
            (9.0, 50.0),
        ];
        assert_eq!(pareto_front(&points), [3, 1, 0]);
    }

    proptest! {
        #[test]
        fn the_definition(points in prop::collection::vec((0u8..20, 0u8..20), 0..40)) {
            let points: Vec<(f64, f64)> = points.iter().map(|&(a, b)| (a.into(), b.into())).collect();
            let beaten = |p: (f64, f64)| points.iter().any(|q| q.0 >= p.0 && q.1 <= p.1 && *q != p);
            let mut wanted: Vec<(f64, f64)> = points.iter().copied().filter(|&p| !beaten(p)).collect();
            wanted.sort_by(|a, b| a.1.total_cmp(&b.1));
            wanted.dedup();
            let front: Vec<(f64, f64)> = pareto_front(&points).iter().map(|&i| points[i]).collect();
            prop_assert_eq!(front, wanted);
        }
    }
}
