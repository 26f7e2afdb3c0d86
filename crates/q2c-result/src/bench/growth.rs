//! Which stage grows with the number of jobs.

use super::StageRun;
use serde::{Deserialize, Serialize};

/// The stages that add up to Q2C.
const STAGES: [&str; 7] = ["Q2G", "G2I", "Q2M", "I2D", "G2D", "M2D", "D2C"];
/// The smallest growth of mean Q2C that counts, as a share. Means differ by less without a cause.
const MIN_GROWTH_SHARE: f64 = 0.05;

/// The growth of an I/O's mean time in the block layer from a point with few jobs to one with more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageGrowth {
    /// The number of jobs at which Q2C is shortest.
    pub from: u32,
    /// The largest number of jobs.
    pub to: u32,
    /// Mean Q2C with `from` jobs, ns.
    pub q2c_from_ns: f64,
    /// Mean Q2C with `to` jobs, ns.
    pub q2c_to_ns: f64,
    /// The stage with most of the growth, and its share of it; `None` if Q2C grows by under 5 %.
    pub most: Option<(String, f64)>,
}

impl StageGrowth {
    /// The growth over the points; `None` without Q2C, or if Q2C is shortest at the most jobs.
    pub fn from_points(points: &[(u32, &StageRun)]) -> Option<StageGrowth> {
        let q2c = |run: &StageRun| Some(run.stages.get("Q2C").filter(|q2c| q2c.n > 0)?.mean_ns);
        let known = || {
            let points = points.iter();
            points.filter_map(|(jobs, run)| Some((*jobs, *run, q2c(run)?)))
        };
        let (to, to_run, q2c_to_ns) = known().max_by_key(|(jobs, ..)| *jobs)?;
        let (from, from_run, q2c_from_ns) =
            known().min_by(|(m, _, a), (n, _, b)| a.total_cmp(b).then(m.cmp(n)))?;
        if from >= to {
            return None;
        }
        let q2c_grown_ns = q2c_to_ns - q2c_from_ns;
        let grown_ns = |stage| mean_per_io_ns(to_run, stage) - mean_per_io_ns(from_run, stage);
        let most = STAGES
            .map(|stage: &'static str| (stage, grown_ns(stage)))
            .into_iter()
            .max_by(|(_, a), (_, b)| a.total_cmp(b));
        let most = most.filter(|_| q2c_grown_ns >= MIN_GROWTH_SHARE * q2c_from_ns);
        Some(StageGrowth {
            from,
            to,
            q2c_from_ns,
            q2c_to_ns,
            most: most.map(|(stage, ns)| (stage.to_owned(), ns / q2c_grown_ns)),
        })
    }
}

/// Mean time in a stage per I/O, ns, over all I/Os, also those that skip the stage.
fn mean_per_io_ns(run: &StageRun, stage: &str) -> f64 {
    let ios = run.stages.get("Q2C").map_or(0, |q2c| q2c.n);
    let stats = run.stages.get(stage).copied().unwrap_or_default();
    stats.mean_ns * stats.n as f64 / ios as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::StageStats;
    use crate::replay::CapturedBy;
    use std::collections::BTreeMap;

    fn run(means: &[(&str, u64, f64)]) -> StageRun {
        let stats = |n, mean_ns| StageStats {
            n,
            mean_ns,
            ..StageStats::default()
        };
        let stages = means.iter();
        let stages = stages.map(|(stage, n, mean)| ((*stage).to_owned(), stats(*n, *mean)));
        StageRun {
            captured_by: CapturedBy::Bpf,
            seconds: 1.0,
            ios: 100,
            captured: 100,
            completed: 100,
            others: 0,
            reader_cpu_pct: 0.0,
            lost: 0,
            not_kept: 0,
            unmatched: BTreeMap::new(),
            stages: stages.collect(),
            bottleneck: None,
            queues: Vec::new(),
            tag_waits: None,
        }
    }

    /// At four jobs half of the I/Os are inserted, each for 20 us. Q2G grows by 30 us, Q2C by 40.
    #[test]
    fn the_stage_that_takes_most_of_the_growth() {
        let one = run(&[("Q2G", 100, 1e3), ("D2C", 100, 50e3), ("Q2C", 100, 51e3)]);
        let four = run(&[
            ("Q2G", 100, 31e3),
            ("I2D", 50, 20e3),
            ("D2C", 100, 50e3),
            ("Q2C", 100, 91e3),
        ]);
        let two = run(&[("Q2G", 100, 2e3), ("D2C", 100, 50e3), ("Q2C", 100, 52e3)]);
        let points = [(4, &four), (1, &one), (2, &two)];
        let grown = StageGrowth::from_points(&points).expect("a growth");
        assert_eq!((grown.from, grown.to), (1, 4));
        assert_eq!((grown.q2c_from_ns, grown.q2c_to_ns), (51e3, 91e3));
        assert_eq!(grown.most, Some(("Q2G".to_owned(), 0.75)));
        // From 51 to 52 us is no growth, and a single point has none.
        let flat = StageGrowth::from_points(&points[1..]).expect("two points");
        assert_eq!(flat.most, None);
        assert_eq!(StageGrowth::from_points(&points[..1]), None);
        // Q2C is shorter with more jobs.
        assert_eq!(StageGrowth::from_points(&[(1, &four), (2, &one)]), None);
    }
}
