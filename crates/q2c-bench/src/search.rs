//! Runs all points; or a coarse grid, and then the points next to knee, peak and collapse: the
//! middle of each gap. The choice depends only on the measured figures, so a resumed run makes the
//! same choice.

use super::plan::label;
use crate::{BenchPlan, PhasedTrial, PointSetup};
use q2c_model::Fault;
use q2c_model::stats::scaling::{ScalingPoint, ScalingShape};
use q2c_result::Warning;
use q2c_result::bench::BenchPoint;
use q2c_run::RunDir;
use q2c_run::runner::{CellRuns, End, Forecast, Runner, Settings, Summary, time_text};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

pub(super) struct SearchResult {
    /// The trials of `setups`, in their order.
    pub summary: Summary<BenchPoint, PhasedTrial>,
    /// The setups that were chosen, in the order of the plan.
    pub setups: Vec<PointSetup>,
    pub not_measured: Vec<BenchPoint>,
}

pub(super) fn is_coarse(setups: &[PointSetup]) -> bool {
    let is_long = |row: &Vec<usize>| first_grid(&jobs(setups, row)).len() < row.len();
    setups.len() > MAX_FULL_SETUPS && rows(setups).iter().any(is_long)
}

pub(super) fn run(
    plan: &mut BenchPlan<'_>,
    runner: &mut Runner<'_>,
    folder: &mut RunDir,
) -> Result<SearchResult, Fault> {
    if !is_coarse(plan.setups) {
        return Ok(SearchResult {
            summary: runner.run(plan, folder)?,
            setups: plan.setups.to_vec(),
            not_measured: Vec::new(),
        });
    }
    let mut search = GridSearch::new(plan.setups);
    plan.chosen = search.first_round();
    let mut settings = runner.settings.clone();
    loop {
        let mut runner = Runner {
            settings: &settings,
            progress: &mut *runner.progress,
            ..*runner
        };
        let mut summary = runner.run(plan, folder)?;
        search.add(&plan.chosen, &mut summary);
        plan.chosen = search.next_round();
        let ended = plan.chosen.is_empty() || !matches!(summary.end, End::Complete);
        if ended || !search.next_fits(plan, &mut settings)? {
            return Ok(search.end(summary));
        }
    }
}

struct GridSearch<'s> {
    setups: &'s [PointSetup],
    /// A row for each curve, with the indices of its setups.
    rows: Vec<Vec<usize>>,
    done: BTreeMap<usize, CellRuns<BenchPoint, PhasedTrial>>,
    warnings: Vec<Warning>,
    /// The budget of the whole run, seconds; `None` without a budget, and in the first round.
    budget_s: Option<f64>,
}

impl<'s> GridSearch<'s> {
    fn new(setups: &'s [PointSetup]) -> Self {
        GridSearch {
            setups,
            rows: rows(setups),
            done: BTreeMap::new(),
            warnings: Vec::new(),
            budget_s: None,
        }
    }

    fn first_round(&self) -> BTreeSet<usize> {
        let first =
            |row: &Vec<usize>| with_jobs(self.setups, row, &first_grid(&jobs(self.setups, row)));
        self.rows.iter().flat_map(first).collect()
    }

    fn next_round(&self) -> BTreeSet<usize> {
        let next_in_row = |row: &Vec<usize>| {
            let done = row.iter().filter_map(|at| self.done.get(at));
            let done: Vec<ScalingPoint> = done.filter_map(scaling_point).collect();
            with_jobs(self.setups, row, &next_grid(&jobs(self.setups, row), &done))
        };
        let round = self.rows.iter().flat_map(next_in_row);
        round.filter(|at| !self.done.contains_key(at)).collect()
    }

    fn add(&mut self, round: &BTreeSet<usize>, summary: &mut Summary<BenchPoint, PhasedTrial>) {
        let cells = std::mem::take(&mut summary.cells);
        self.done.extend(round.iter().copied().zip(cells));
        self.warnings.append(&mut summary.warnings);
    }

    /// True if the next round fits the remaining budget; else warns. The first round had the whole
    /// budget, which is then taken out of `settings`: later rounds start only if they fit.
    fn next_fits(&mut self, plan: &BenchPlan<'_>, settings: &mut Settings) -> Result<bool, Fault> {
        let spent = self.done.values().flat_map(|runs| &runs.trials);
        let spent: f64 = spent.map(|trial| trial.seconds).sum();
        let budget = settings.budget.take().map(|budget| budget.as_secs_f64());
        self.budget_s = self.budget_s.or(budget);
        let Some(budget) = self.budget_s else {
            return Ok(true);
        };
        let limited = Settings {
            budget: Some(Duration::from_secs_f64((budget - spent).max(0.0))),
            ..settings.clone()
        };
        let forecast = Forecast::from_plan(plan, &limited)?;
        let fits = forecast.fits && forecast.trials == forecast.trials_asked;
        if !fits {
            self.warnings.push(search_cut(plan.chosen.len(), budget));
        }
        Ok(fits)
    }

    fn end(self, mut summary: Summary<BenchPoint, PhasedTrial>) -> SearchResult {
        let (measured, unmeasured): (Vec<usize>, Vec<usize>) =
            (0..self.setups.len()).partition(|at| self.done.contains_key(at));
        summary.cells = self.done.into_values().collect();
        summary.warnings = self.warnings;
        let not_measured = unmeasured.iter().flat_map(|&at| self.setups[at].points());
        SearchResult {
            summary,
            setups: measured.iter().map(|&at| self.setups[at].clone()).collect(),
            not_measured: not_measured.collect(),
        }
    }
}

fn search_cut(points: usize, budget_s: f64) -> Warning {
    Warning::new(
        "search-cut",
        format!(
            "{points} points beside knee, peak and collapse were not measured: they do not fit the budget of {}",
            time_text(budget_s)
        ),
        "knee, peak and collapse are as exact as the points that were measured beside them",
        "raise the budget, and run again",
    )
}

/// The indices of the setups of each curve, which differ only in the number of jobs.
fn rows(setups: &[PointSetup]) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    // Rows are found by name, which is fast even for very many setups.
    let mut row_of: HashMap<String, usize> = HashMap::new();
    for (at, setup) in setups.iter().enumerate() {
        let name = label(&BenchPoint {
            jobs: 0,
            ..setup.point.clone()
        });
        let row = *row_of.entry(name).or_insert(rows.len());
        match rows.get_mut(row) {
            Some(row) => row.push(at),
            None => rows.push(vec![at]),
        }
    }
    rows
}

/// The numbers of jobs of a curve, ascending.
fn jobs(setups: &[PointSetup], row: &[usize]) -> Vec<u32> {
    let numbers: BTreeSet<u32> = row.iter().map(|&at| setups[at].point.jobs).collect();
    numbers.into_iter().collect()
}

fn with_jobs(setups: &[PointSetup], row: &[usize], jobs: &BTreeSet<u32>) -> Vec<usize> {
    let has_jobs = |at: &usize| jobs.contains(&setups[*at].point.jobs);
    row.iter().copied().filter(has_jobs).collect()
}

fn scaling_point(runs: &CellRuns<BenchPoint, PhasedTrial>) -> Option<ScalingPoint> {
    let iops = runs.outcomes().filter_map(|trial| trial.phases.first());
    let iops: Vec<f64> = iops.map(|phase| phase.ios as f64 / phase.wall_s).collect();
    (!iops.is_empty()).then(|| ScalingPoint::new(runs.plan.cell.jobs, &iops))
}

/// Largest number of points of a run for which all are measured.
const MAX_FULL_SETUPS: usize = 200;
/// How many numbers of jobs the coarse grid has per curve.
const GRID_POINTS: usize = 8;

/// The coarse grid over `all`, which ascends: its ends, and evenly spaced numbers between them.
fn first_grid(all: &[u32]) -> BTreeSet<u32> {
    let count = GRID_POINTS.min(all.len());
    let spaced = |nth: usize| all[nth * (all.len() - 1) / (count - 1).max(1)];
    (0..count).map(spaced).collect()
}

/// The next numbers of jobs to measure among `all`, which ascends; empty if the search is over.
fn next_grid(all: &[u32], measured: &[ScalingPoint]) -> BTreeSet<u32> {
    let Ok(shape) = ScalingShape::from_points(measured) else {
        return BTreeSet::new();
    };
    let steps: Vec<u32> = shape.steps.iter().map(|step| step.jobs).collect();
    let falls = [shape.collapse, shape.unconfirmed];
    let marks = [shape.knee, Some(shape.peak)].into_iter().chain(falls);
    let marks = marks.flatten();
    let marks = marks.filter_map(|mark| steps.iter().position(|&jobs| jobs == mark));
    // Gap `n` follows step `n`. The gain over a gap is a mean, so a knee may lie in the gap before.
    let nearby = marks.flat_map(|at| [at.checked_sub(2), at.checked_sub(1), Some(at)]);
    let gaps: BTreeSet<usize> = nearby.flatten().collect();
    let middle = |at: usize| {
        let (from, to) = (*steps.get(at)?, *steps.get(at + 1)?);
        let inside = all.iter().copied().filter(|&n| from < n && n < to);
        let inside: Vec<u32> = inside.collect();
        inside.get(inside.len() / 2).copied()
    };
    gaps.into_iter().filter_map(middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checked::tests::settings;
    use crate::{Abilities, BenchTrial, Media, spec};
    use proptest::prelude::*;
    use q2c_engine::Medium;
    use q2c_run::runner::{CellPlan, Trial, TrialResult};

    fn setups(jobs: u32) -> Vec<PointSetup> {
        let spec = settings(&format!("d -e io_uring:ring -j 1..{jobs}"));
        let media = Media::without_nvme(Medium::None);
        spec::setups(&spec, Abilities::default(), &media).unwrap().0
    }

    fn trial(setup: &PointSetup) -> CellRuns<BenchPoint, PhasedTrial> {
        let phases = vec![BenchTrial {
            ios: 1000 * u64::from(setup.point.jobs.min(12)),
            wall_s: 1.0,
            ..BenchTrial::default()
        }];
        CellRuns {
            plan: CellPlan {
                key: String::new(),
                label: String::new(),
                seconds: 1.0,
                cell: setup.point.clone(),
            },
            trials: vec![Trial {
                trial: 0,
                session: 1,
                ended_unix_s: 0.0,
                seconds: 1.0,
                result: TrialResult::Ok(PhasedTrial { phases }),
            }],
        }
    }

    fn round(setups: &[PointSetup], chosen: &BTreeSet<usize>) -> Summary<BenchPoint, PhasedTrial> {
        Summary {
            cells: chosen.iter().map(|&at| trial(&setups[at])).collect(),
            trials: 1,
            seconds: 1.0,
            end: End::Complete,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn few_points_are_all_measured() {
        assert!(!is_coarse(&setups(100)));
        assert!(is_coarse(&setups(101)));
    }

    /// Both knees are at twelve jobs. All numbers around them are measured, and most others never.
    #[test]
    fn every_point_is_measured_once_or_named() {
        let grid = setups(120);
        let mut search = GridSearch::new(&grid);
        let mut chosen = search.first_round();
        let mut measured = 0;
        let last = loop {
            let mut summary = round(&grid, &chosen);
            measured += chosen.len();
            search.add(&chosen, &mut summary);
            chosen = search.next_round();
            if chosen.is_empty() {
                break summary;
            }
        };
        let searched = search.end(last);
        assert_eq!(searched.setups.len(), measured);
        assert_eq!(searched.setups.len() + searched.not_measured.len(), 240);
        assert!(measured < 60, "{measured}");
        for (setup, runs) in searched.setups.iter().zip(&searched.summary.cells) {
            assert_eq!(setup.point, runs.plan.cell);
            assert!(!searched.not_measured.contains(&setup.point));
        }
        for method in ["interrupt", "poll"] {
            let points = searched.setups.iter().map(|setup| &setup.point);
            let points = points.filter(|point| point.method.to_string() == method);
            let jobs: Vec<u32> = points.map(|point| point.jobs).collect();
            for n in [1, 11, 12, 13, 120] {
                assert!(jobs.contains(&n), "{method} {n}: {jobs:?}");
            }
        }
    }

    /// The shape by the points that the search measures, their number, and the shape by all.
    fn search_shapes(grid: &[u32], x: impl Fn(u32) -> f64) -> (ScalingShape, usize, ScalingShape) {
        let point = |&jobs: &u32| ScalingPoint::new(jobs, &[x(jobs), x(jobs), x(jobs)]);
        let shape = |points: &[ScalingPoint]| ScalingShape::from_points(points).unwrap();
        let mut measured: Vec<ScalingPoint> = first_grid(grid).iter().map(point).collect();
        loop {
            let more = next_grid(grid, &measured);
            if more.is_empty() {
                let full: Vec<ScalingPoint> = grid.iter().map(point).collect();
                return (shape(&measured), measured.len(), shape(&full));
            }
            measured.extend(more.iter().map(point));
        }
    }

    fn near(grid: &[u32], a: Option<u32>, b: Option<u32>) -> bool {
        let place = |n: Option<u32>| n.and_then(|n| grid.iter().position(|&x| x == n));
        match (place(a), place(b)) {
            (Some(a), Some(b)) => a.abs_diff(b) <= 1,
            (a, b) => a == b,
        }
    }

    #[test]
    fn the_coarse_grid_has_both_ends_and_even_places() {
        let grid: Vec<u32> = (1..=24).map(|n| 5 * n).collect();
        let first: Vec<u32> = first_grid(&grid).into_iter().collect();
        assert_eq!(first, [5, 20, 35, 50, 70, 85, 100, 120]);
        assert_eq!(super::first_grid(&[1, 2, 4]).len(), 3);
    }

    #[test]
    fn nothing_is_left_where_all_is_measured() {
        let grid = [1, 2, 3, 4];
        let points: Vec<ScalingPoint> = grid.map(|n| ScalingPoint::new(n, &[f64::from(n)])).into();
        assert!(next_grid(&grid, &points).is_empty());
        assert!(next_grid(&grid, &[]).is_empty());
    }

    proptest! {
        /// Curves that rise evenly up to one number of jobs, stay level, and fall from another.
        #[test]
        fn knee_and_collapse_of_a_trapezium_are_those_of_the_full_grid(
            top in 2u32..100, flat in 0u32..60, fall in 0.002f64..0.03, step in 1u32..6,
        ) {
            let grid: Vec<u32> = (1..=120).step_by(step as usize).collect();
            let x = |n: u32| {
                let down = f64::from(n.saturating_sub(top + flat)) * fall;
                f64::from(n.min(top)) * (1.0 - down).max(0.1)
            };
            let (shape, measured, full) = search_shapes(&grid, x);
            prop_assert!(near(&grid, shape.knee, full.knee), "{:?} {:?}", shape.knee, full.knee);
            prop_assert!(near(&grid, shape.collapse, full.collapse), "{:?} {:?}", shape.collapse, full.collapse);
            prop_assert!(measured <= grid.len());
        }

        #[test]
        fn knee_and_collapse_of_a_smooth_curve_are_those_of_the_full_grid(
            sigma in 0.0f64..0.2, kappa in 0.00005f64..0.01,
        ) {
            let grid: Vec<u32> = (1..=120).collect();
            let x = |n: u32| {
                let n = f64::from(n);
                n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
            };
            let (shape, measured, full) = search_shapes(&grid, x);
            prop_assert!(near(&grid, shape.knee, full.knee), "{:?} {:?}", shape.knee, full.knee);
            prop_assert!(near(&grid, Some(shape.peak), Some(full.peak)), "{:?} {:?}", shape.peak, full.peak);
            prop_assert!(near(&grid, shape.collapse, full.collapse), "{:?} {:?}", shape.collapse, full.collapse);
            prop_assert!(measured < 60, "{measured} of 120 points");
        }
    }
}
