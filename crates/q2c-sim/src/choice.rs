//! The choice of the best configuration, by an objective and under limits.

use crate::outcome::SimOutcome;
use q2c_model::Nanos;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

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

/// A text that is no objective.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected kiops-per-core, iops or cpu, found `{0}`")]
pub struct ParseObjectiveError(String);

impl FromStr for Objective {
    type Err = ParseObjectiveError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "kiops-per-core" => Ok(Objective::KiopsPerCore),
            "iops" => Ok(Objective::Iops),
            "cpu" => Ok(Objective::Cpu),
            _ => Err(ParseObjectiveError(text.to_owned())),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Objective::KiopsPerCore => "kiops-per-core",
            Objective::Iops => "iops",
            Objective::Cpu => "cpu",
        })
    }
}

/// A floor on IOPS, as text `9300` or `93%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MinIops {
    /// I/Os per second.
    Iops(f64),
    /// A share of the IOPS of classic polling: 1 is all of them, 0 the least that is allowed.
    OfPolling(f64),
}

/// A text that is no floor.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected IOPS such as 9300, or a share of polling's up to 100% such as 93%, found `{0}`")]
pub struct ParseMinIopsError(String);

impl FromStr for MinIops {
    type Err = ParseMinIopsError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.trim_end().parse::<f64>().ok();
        let read = match text.strip_suffix('%') {
            Some(share) => number(share).map(|pct| MinIops::OfPolling(pct / 100.0)),
            None => number(text).map(MinIops::Iops),
        };
        let sensible = |min: &MinIops| {
            match min {
                MinIops::Iops(iops) => iops.is_finite() && *iops >= 0.0,
                // Polling would break a floor above its own IOPS, too.
                MinIops::OfPolling(share) => (0.0..=1.0).contains(share),
            }
        };
        read.filter(sensible)
            .ok_or_else(|| ParseMinIopsError(text.to_owned()))
    }
}

q2c_model::kept_as_text!(Objective, MinIops);

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
    #[must_use]
    pub(crate) fn floor_at(&self, poll_iops: f64) -> f64 {
        match self {
            MinIops::Iops(iops) => *iops,
            MinIops::OfPolling(share) => share * poll_iops,
        }
    }

    /// The floor in words: `9300 IOPS`, `93 % of classic polling`.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            MinIops::Iops(iops) => format!("{iops:.0} IOPS"),
            MinIops::OfPolling(_) => {
                format!(
                    "{} % of classic polling",
                    self.to_string().trim_end_matches('%')
                )
            }
        }
    }
}

/// The limits that a choice must keep; `None` in a field sets no limit of the user's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// The smallest IOPS; `None` takes the standard floor.
    pub min_iops: Option<MinIops>,
    /// The largest U2C p99, ns.
    pub max_p99_ns: Option<f64>,
    /// The largest thread CPU, percent of one CPU.
    pub max_cpu_pct: Option<f64>,
}

impl Limits {
    /// Whether a cell keeps the limits. `floor_iops` takes the place of `min_iops`.
    #[must_use]
    pub fn kept_by(&self, cell: &SimOutcome, floor_iops: f64) -> bool {
        let (rates, p99) = (&cell.gives.rates, cell.gives.latencies.p99_ns);
        rates.iops >= floor_iops
            && self.max_p99_ns.is_none_or(|most| p99 <= most)
            && self.max_cpu_pct.is_none_or(|most| rates.cpu_pct <= most)
    }

    /// The largest excess of a figure over its limit; at most 1 for a cell that keeps them.
    fn excess(&self, cell: &SimOutcome, floor_iops: f64) -> f64 {
        let gives = &cell.gives;
        let p99 = self
            .max_p99_ns
            .map_or(0.0, |most| gives.latencies.p99_ns / most);
        let cpu = self
            .max_cpu_pct
            .map_or(0.0, |most| gives.rates.cpu_pct / most);
        (floor_iops / gives.rates.iops).max(p99).max(cpu)
    }

    /// The limits that are set, in words.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        let iops = self
            .min_iops
            .map(|min| format!("at least {}", min.in_words()));
        let p99 = self
            .max_p99_ns
            .map(|ns| format!("p99 at most {}", Nanos(ns as u64)));
        let cpu = self.max_cpu_pct.map(|pct| format!("CPU at most {pct} %"));
        [iops, p99, cpu].into_iter().flatten().collect()
    }
}

/// The standard floor: a share of the IOPS of the best clean sleep, else of polling.
const FLOOR_SHARE: f64 = 0.97;
/// The largest miss rate of a clean sleep.
const CLEAN_MISS: f64 = 0.001;
/// Cells this near to the best count as equal; the report of a sweep names this share.
const EQUAL: f64 = 0.005;

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

/// The best of the `cells` that are `eligible`; `poll` is classic polling on the same recording.
#[must_use]
pub fn choose(
    cells: &[SimOutcome],
    eligible: &[bool],
    poll: &SimOutcome,
    objective: Objective,
    limits: &Limits,
) -> Choice {
    let (floor_iops, floor) = floor(cells, eligible, poll, limits);
    let keeps = |i: usize| eligible[i] && limits.kept_by(&cells[i], floor_iops);
    let kept: Vec<usize> = (0..cells.len()).filter(|&i| keeps(i)).collect();
    let score = |i: usize| score(&cells[i], objective);
    let iops = |i: usize| cells[i].gives.rates.iops;
    let top = kept
        .iter()
        .map(|&i| score(i))
        .fold(f64::NEG_INFINITY, f64::max);
    let equal = kept
        .into_iter()
        .filter(|&i| score(i) >= top * (1.0 - EQUAL));
    let misses = |i: usize| cells[i].gives.rates.miss_rate;
    let fewer_misses = |&a: &usize, &b: &usize| {
        misses(a)
            .total_cmp(&misses(b))
            .then(score(b).total_cmp(&score(a)))
            .then(iops(b).total_cmp(&iops(a)))
    };
    Choice {
        best: equal.min_by(fewer_misses),
        floor_iops,
        floor,
    }
}

/// The eligible cell with most of the objective, limits or not; then fewest misses, then IOPS.
#[must_use]
pub fn most(cells: &[SimOutcome], eligible: &[bool], objective: Objective) -> Option<usize> {
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

/// The eligible cell nearest to the limits; `floor_iops` takes the place of `min_iops`.
#[must_use]
pub fn nearest(
    cells: &[SimOutcome],
    eligible: &[bool],
    limits: &Limits,
    floor_iops: f64,
) -> Option<usize> {
    let excess = |&i: &usize| limits.excess(&cells[i], floor_iops);
    let may_be = (0..cells.len()).filter(|&i| eligible[i]);
    may_be.min_by(|a, b| excess(a).total_cmp(&excess(b)))
}

/// The objective as a number, larger for a better cell, never below 0. It is finite where a rule
/// takes no CPU (all I/Os oversleep), so that its share of the best is one.
#[must_use]
pub fn score(cell: &SimOutcome, objective: Objective) -> f64 {
    let gives = &cell.gives;
    match objective {
        Objective::KiopsPerCore if gives.rates.iops > 0.0 => gives.kiops_per_core.min(f64::MAX),
        Objective::KiopsPerCore => 0.0,
        Objective::Iops => gives.rates.iops,
        Objective::Cpu => 1.0 / gives.rates.cpu_pct.max(f64::MIN_POSITIVE),
    }
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
    let clean = |(c, &e): (&SimOutcome, &bool)| {
        (e && c.gives.rates.miss_rate <= CLEAN_MISS && c.gives.rates.effective_sleep_ns > 0.0)
            .then_some(c.gives.rates.iops)
    };
    let sleeping = cells.iter().zip(eligible).filter_map(clean);
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

#[cfg(test)]
mod tests {
    use super::*;
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

    fn best(
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
        let choice = best(&cells, &poll, Objective::KiopsPerCore, &Limits::default());
        assert_eq!((choice.best, choice.floor_iops), (Some(1), 97.0));
    }

    #[test]
    fn of_equals_the_one_that_misses_less() {
        let cells = [cell(100.0, 40.0, 0.0009), cell(100.1, 40.0, 0.0001)];
        let choice = best(&cells, &cells[0], Objective::Cpu, &Limits::default());
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
            assert_eq!(most(&cells, &eligible, objective), Some(2), "{objective}");
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
        let choice = best(&[cell(100.0, 60.0, 0.5)], &poll, Objective::Iops, &limits);
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
        let most = |objective| most(&cells, &eligible, objective);
        assert_eq!(most(Objective::Iops), Some(1));
        assert_eq!(most(Objective::KiopsPerCore), Some(2));
        assert_eq!(nearest(&cells, &eligible, &limits, 100.0), Some(2));
        assert_eq!(nearest(&cells[..2], &eligible, &limits, 100.0), Some(1));
        assert_eq!(nearest(&cells, &[false; 4], &limits, 100.0), None);
    }
}
