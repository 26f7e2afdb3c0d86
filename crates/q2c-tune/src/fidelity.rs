//! Compares predictions with measurements, over sleeping cells. Of each cell only the trials of its
//! first round count: their predictions were made before the cell's own trials corrected the costs.

use super::cells::CellSpec;
use super::mode::stays_on_cpu;
use super::outcome::TrialOutcome;
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::tune::{Errors, Fidelity, MethodName, Prediction, SizeFidelity};
use q2c_run::runner::CellRuns;
use q2c_stats::{median, percentile, sorted};

/// The errors of one cell: medians over its trials of predicted less measured figures.
#[derive(Clone, Debug)]
struct CellError {
    bs: Bytes,
    method: Method,
    iops_pct: f64,
    cpu_points: f64,
    miss_points: f64,
    drift_pct: Option<f64>,
}

pub(super) fn fidelity(
    cells: &[CellRuns<CellSpec, TrialOutcome>],
    first: &[Option<Prediction>],
) -> Fidelity {
    let hybrid = cells.iter().zip(first).filter(|(cell, _)| {
        cell.plan
            .cell
            .method
            .lane()
            .is_some_and(|m| m.policy().is_some())
    });
    let (awake, sleeping): (Vec<_>, Vec<_>) = hybrid.partition(|(cell, _)| stays_on_cpu(cell));
    let errors: Vec<CellError> = sleeping
        .into_iter()
        .filter_map(|(cell, first)| cell_error(cell, first.as_ref()))
        .collect();
    let column = |value: fn(&CellError) -> f64| {
        sorted(&errors.iter().map(|e| value(e).abs()).collect::<Vec<_>>())
    };
    let (iops, cpu) = (column(|e| e.iops_pct), column(|e| e.cpu_points));
    let miss = column(|e| e.miss_points);
    let drift: Vec<f64> = errors
        .iter()
        .filter_map(|e| e.drift_pct)
        .map(f64::abs)
        .collect();
    let most = |values: &[f64]| values.last().copied().unwrap_or(0.0);
    Fidelity {
        cells: errors.len() as u32,
        iops_error_pct_median: median(&iops),
        iops_error_pct_max: most(&iops),
        cpu_points_median: median(&cpu),
        cpu_points_max: most(&cpu),
        miss_points_median: median(&miss),
        miss_points_max: most(&miss),
        never_slept: awake.len() as u32,
        drift_pct: median(&sorted(&drift)),
        by_block_size: by_block_size(&errors),
    }
}

fn by_block_size(errors: &[CellError]) -> Vec<SizeFidelity> {
    let mut sizes: Vec<Bytes> = errors.iter().map(|error| error.bs).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let of = |bs: Bytes| {
        let here: Vec<&CellError> = errors.iter().filter(|error| error.bs == bs).collect();
        Some(SizeFidelity {
            bs,
            cells: here.len() as u32,
            iops_pct: summary(&here, |e| e.iops_pct)?,
            cpu_points: summary(&here, |e| e.cpu_points)?,
            miss_points: summary(&here, |e| e.miss_points)?,
        })
    };
    sizes.into_iter().filter_map(of).collect()
}

/// The absolute errors of cells; `None` without a cell.
fn summary(cells: &[&CellError], value: fn(&CellError) -> f64) -> Option<Errors> {
    let error = |cell: &CellError| value(cell).abs();
    let all = sorted(&cells.iter().map(|cell| error(cell)).collect::<Vec<_>>());
    let worst = cells.iter().max_by(|a, b| error(a).total_cmp(&error(b)))?;
    Some(Errors {
        median: median(&all),
        p90: percentile(&all, 0.9),
        max: error(worst),
        worst: MethodName(worst.method.clone()),
    })
}

fn cell_error(
    cell: &CellRuns<CellSpec, TrialOutcome>,
    first: Option<&Prediction>,
) -> Option<CellError> {
    let round = cell.outcomes().map(|o| o.round).min()?;
    let pairs: Vec<(&TrialOutcome, Prediction)> = cell
        .outcomes()
        .filter(|outcome| outcome.round == round)
        .filter_map(|outcome| Some((outcome, outcome.predicted?)))
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let middle = |value: &dyn Fn(&TrialOutcome, &Prediction) -> f64| {
        median(&sorted(
            &pairs.iter().map(|(o, p)| value(o, p)).collect::<Vec<_>>(),
        ))
    };
    let paired_iops = middle(&|_, p| p.rates.iops);
    Some(CellError {
        bs: cell.plan.cell.bs,
        method: cell.plan.cell.method.clone(),
        iops_pct: middle(&|o, p| (p.rates.iops - o.rates.iops) / o.rates.iops * 100.0),
        cpu_points: middle(&|o, p| p.rates.cpu_pct - o.rates.cpu_pct),
        miss_points: middle(&|o, p| (p.rates.miss_rate - o.rates.miss_rate) * 100.0),
        // The prediction from the first recording was made with the calibrated costs; later rounds
        // predict with corrected ones.
        drift_pct: first
            .filter(|_| round == 0)
            .map(|first| (first.rates.iops - paired_iops) / paired_iops * 100.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Rates;
    use q2c_result::role::Role;
    use q2c_run::runner::{CellPlan, Trial, TrialResult};

    fn at(iops: f64) -> Rates<f64> {
        Rates {
            iops,
            ..Rates::default()
        }
    }

    fn runs(method: &str, trials: &[(f64, f64)]) -> CellRuns<CellSpec, TrialOutcome> {
        runs_of(Bytes(4096), method, trials)
    }

    fn runs_of(bs: Bytes, method: &str, trials: &[(f64, f64)]) -> CellRuns<CellSpec, TrialOutcome> {
        let cell = CellSpec {
            bs,
            method: method.parse().unwrap(),
            role: Role::Linux,
            round: 0,
        };
        let plan = CellPlan {
            key: method.to_owned(),
            label: method.to_owned(),
            seconds: 1.0,
            cell,
        };
        let outcome = |&(iops, predicted): &(f64, f64)| TrialOutcome {
            rates: at(iops),
            predicted: Some(Prediction {
                rates: at(predicted),
                ..Prediction::default()
            }),
            ..TrialOutcome::default()
        };
        let trial = |(n, o): (usize, &(f64, f64))| Trial {
            trial: n as u32,
            session: 1,
            ended_unix_s: 0.0,
            seconds: 1.0,
            result: TrialResult::Ok(outcome(o)),
        };
        CellRuns {
            plan,
            trials: trials.iter().enumerate().map(trial).collect(),
        }
    }

    /// In the second round the costs are corrected by the first one, so the error of 50 % in the
    /// second round does not count.
    #[test]
    fn what_a_correction_has_seen_does_not_count() {
        let mut cell = runs("hybrid:fixed:1us", &[(100.0, 110.0), (100.0, 150.0)]);
        if let TrialResult::Ok(outcome) = &mut cell.trials[1].result {
            outcome.round = 1;
        }
        let got = fidelity(&[cell], &[None]);
        assert!((got.iops_error_pct_median - 10.0).abs() < 1e-9, "{got:?}");
    }

    /// Large errors at one block size do not hide behind small ones at another: 4 KiB is off by 20,
    /// 10 and 5 %, 64 KiB by 1 %.
    #[test]
    fn each_block_size_has_its_errors() {
        let large = Bytes(65_536);
        let cells = [
            runs("hybrid:fixed:1us", &[(100.0, 110.0)]),
            runs("hybrid:fixed:2us", &[(100.0, 80.0)]),
            runs("hybrid:fixed:3us", &[(100.0, 105.0)]),
            runs_of(large, "hybrid:fixed:1us", &[(100.0, 101.0)]),
        ];
        let got = fidelity(&cells, &[None, None, None, None]).by_block_size;
        let told = |of: &SizeFidelity| (of.bs, of.cells, of.iops_pct.clone());
        let errors = |median, p90, max, worst: &str| Errors {
            median,
            p90,
            max,
            worst: MethodName(worst.parse().unwrap()),
        };
        assert_eq!(
            got.iter().map(told).collect::<Vec<_>>(),
            [
                (Bytes(4096), 3, errors(10.0, 20.0, 20.0, "hybrid:fixed:2us")),
                (large, 1, errors(1.0, 1.0, 1.0, "hybrid:fixed:1us")),
            ]
        );
    }

    /// The trials of the first cell are off by +10 %, -10 % and +20 %, with the median 10 %. The
    /// second cell is off by 5 %, and the cell of interrupts is left out.
    #[test]
    fn errors_are_paired_within_a_cell_and_taken_as_they_are_across() {
        let cells = [
            runs(
                "hybrid:fixed:1us",
                &[(100.0, 110.0), (100.0, 90.0), (50.0, 60.0)],
            ),
            runs("hybrid:fixed:2us", &[(200.0, 190.0)]),
            runs("interrupt", &[(1.0, 9.0)]),
        ];
        let first = Prediction {
            rates: at(99.0),
            ..Prediction::default()
        };
        let got = fidelity(&cells, &[Some(first), None, None]);
        assert_eq!((got.cells, got.iops_error_pct_max), (2, 10.0));
        assert_eq!(got.iops_error_pct_median, 7.5);
        assert!(
            (got.drift_pct - 10.0).abs() < 1e-9,
            "99 against the median 90"
        );
    }
}
