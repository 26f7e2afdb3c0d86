//! Runs all points, or the coarse grid and then what lies beside knee, peak and collapse.

use super::coarse::{ALL, first, next};
use super::curves::same;
use super::measured::PhasedTrial;
use super::plan::{BenchPlan, spot_label};
use super::spec::Spot;
use q2c_result::bench::BenchPoint;
use q2c_run::RunDir;
use q2c_run::runner::{CellPlan, CellRuns, End, RunError, Runner, Summary};
use q2c_stats::scaling::Point;
use std::collections::{BTreeMap, BTreeSet};

/// The trials of a run.
pub(super) struct Searched {
    /// All points; those that were not measured have no trials.
    pub summary: Summary<BenchPoint, PhasedTrial>,
    /// The first point of each spot that was not chosen.
    pub skipped: Vec<BenchPoint>,
    /// All points that were not chosen.
    pub not_measured: Vec<BenchPoint>,
}

/// Whether there are so many points that not all are measured.
pub(super) fn is_coarse(spots: &[Spot]) -> bool {
    spots.len() > ALL
        && rows(spots)
            .iter()
            .any(|row| first(&jobs(spots, row)).len() < row.len())
}

/// Runs the points of `plan`. Where there are many, it chooses them in rounds.
pub(super) fn run(
    plan: &mut BenchPlan<'_>,
    runner: &mut Runner<'_>,
    folder: &mut RunDir,
) -> Result<Searched, RunError> {
    if !is_coarse(plan.spots) {
        return Ok(Searched {
            summary: runner.run(plan, folder)?,
            skipped: Vec::new(),
            not_measured: Vec::new(),
        });
    }
    let spots = plan.spots;
    let rows = rows(spots);
    let mut done: BTreeMap<usize, CellRuns<BenchPoint, PhasedTrial>> = BTreeMap::new();
    let begin = |row: &Vec<usize>| chosen(spots, row, &first(&jobs(spots, row)));
    plan.chosen = rows.iter().flat_map(begin).collect();
    let mut warnings = Vec::new();
    let mut summary = loop {
        let round = plan.chosen.clone();
        let mut summary = runner.run(plan, folder)?;
        done.extend(round.into_iter().zip(std::mem::take(&mut summary.cells)));
        warnings.append(&mut summary.warnings);
        let further = |row: &Vec<usize>| {
            let points: Vec<Point> = row.iter().filter_map(|at| point(done.get(at)?)).collect();
            chosen(spots, row, &next(&jobs(spots, row), &points))
        };
        let more: BTreeSet<usize> = rows.iter().flat_map(further).collect();
        plan.chosen = more
            .into_iter()
            .filter(|at| !done.contains_key(at))
            .collect();
        if plan.chosen.is_empty() || !matches!(summary.end, End::Complete) {
            break summary;
        }
    };
    let left: Vec<usize> = (0..spots.len())
        .filter(|at| !done.contains_key(at))
        .collect();
    let skipped = left.iter().map(|&at| spots[at].point.clone()).collect();
    let not_measured = left.iter().flat_map(|&at| spots[at].points()).collect();
    let runs = |at: usize| {
        done.remove(&at)
            .unwrap_or_else(|| without_trials(&spots[at]))
    };
    summary.cells = (0..spots.len()).map(runs).collect();
    summary.warnings = warnings;
    // Stages are of the points that were measured.
    plan.chosen = (0..spots.len()).collect();
    Ok(Searched {
        summary,
        skipped,
        not_measured,
    })
}

fn without_trials(spot: &Spot) -> CellRuns<BenchPoint, PhasedTrial> {
    CellRuns {
        plan: CellPlan {
            key: spot_label(spot),
            label: spot_label(spot),
            seconds: 0.0,
            cell: spot.point.clone(),
        },
        trials: Vec::new(),
    }
}

/// The places of the spots that differ in nothing but the number of jobs.
fn rows(spots: &[Spot]) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for (at, spot) in spots.iter().enumerate() {
        match rows
            .iter_mut()
            .find(|row| same(&spots[row[0]].point, &spot.point))
        {
            Some(row) => row.push(at),
            None => rows.push(vec![at]),
        }
    }
    rows
}

/// The numbers of jobs of a row, ascending.
fn jobs(spots: &[Spot], row: &[usize]) -> Vec<u32> {
    let all: BTreeSet<u32> = row.iter().map(|&at| spots[at].point.jobs).collect();
    all.into_iter().collect()
}

fn chosen(spots: &[Spot], row: &[usize], jobs: &BTreeSet<u32>) -> Vec<usize> {
    let is = |at: &usize| jobs.contains(&spots[*at].point.jobs);
    row.iter().copied().filter(is).collect()
}

/// The throughput of a spot's trials in their first phase; `None` without a trial.
fn point(runs: &CellRuns<BenchPoint, PhasedTrial>) -> Option<Point> {
    let iops = runs.outcomes().filter_map(|trial| trial.phases.first());
    let iops: Vec<f64> = iops.map(|phase| phase.ios as f64 / phase.wall_s).collect();
    (!iops.is_empty()).then(|| Point::new(runs.plan.cell.jobs, &iops))
}
