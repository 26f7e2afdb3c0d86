//! The summary at the top of the page: the method to use, and how far to trust the result.

use crate::quantity::{bare, duration, median, number, seconds};
use crate::{fidelity, label};
use q2c_policy::Method;
use q2c_result::tune::{Cell, Lesson, Recommendation, SizeFidelity, TuneResult};

/// The advice for one block size.
pub(super) struct Advice {
    pub bs: String,
    pub verdict: String,
    pub evidence: Vec<String>,
    pub caveats: Vec<String>,
    pub apply: Vec<String>,
    /// The recommended cell and the baselines.
    pub rows: Vec<Compared>,
    /// What the bars stand for in the choice.
    pub legend: String,
}

/// A cell of the short comparison.
pub(super) struct Compared {
    pub method: String,
    pub policy: String,
    pub recommended: bool,
    /// IOPS relative to polling beside the cell, percent.
    pub iops: String,
    pub cpu: String,
    /// KIOPS/core as a multiple of that of polling beside the cell.
    pub per_core: String,
    /// Length of the bar for `per_core`: percent of the largest value shown.
    pub bar: u32,
    /// Whether the cell's IOPS are below the floor, so that its KIOPS/core do not count.
    pub below_floor: bool,
}

/// A reason to trust the result, or not to.
pub(super) struct Trust {
    pub name: String,
    pub value: String,
    pub detail: String,
    pub caution: bool,
}

/// The advice for each recommendation, in the order of the result.
pub(super) fn advice(result: &TuneResult) -> Vec<Advice> {
    result
        .recommendation
        .iter()
        .map(|r| advise(result, r))
        .collect()
}

/// The corrections that the trials made to the calibrated costs, a sentence for each block size.
pub(super) fn lessons(result: &TuneResult) -> Vec<String> {
    let told = |lesson: &Lesson| {
        let text = format!("{} costs {}.", lesson.bs, crate::advice::lesson(lesson));
        unbroken(&text)
    };
    result.lessons.iter().map(told).collect()
}

fn advise(result: &TuneResult, recommendation: &Recommendation) -> Advice {
    let words = crate::advice::words(result, recommendation);
    let cells = label::cells_of(result, recommendation.bs);
    let recommended = |cell: &Cell| label::is_recommended(cell, Some(recommendation));
    let shown: Vec<&Cell> = cells
        .into_iter()
        .filter(|c| recommended(c) || !c.sleeping)
        .collect();
    let of = |cell: &Cell| cell.relative.unwrap_or_default();
    let most = shown
        .iter()
        .map(|c| of(c).kiops_per_core.median)
        .fold(0.0, f64::max);
    let compared = |cell: &&Cell| {
        let (measured, relative) = (&cell.measured, of(cell));
        Compared {
            method: cell.method.name().to_owned(),
            policy: cell.method.detail(),
            recommended: recommended(cell),
            iops: median(&relative.iops, 100.0),
            cpu: median(&measured.rates.cpu_pct, 1.0),
            per_core: median(&relative.kiops_per_core, 1.0),
            bar: share(relative.kiops_per_core.median, most),
            below_floor: cell.method != Method::POLL
                && !recommended(cell)
                && relative.iops.median < recommendation.floor,
        }
    };
    let rows: Vec<Compared> = shown.iter().map(compared).collect();
    Advice {
        bs: recommendation.bs.to_string(),
        verdict: unbroken(&words.verdict),
        evidence: words.evidence.iter().map(|text| unbroken(text)).collect(),
        caveats: words.caveats.iter().map(|text| unbroken(text)).collect(),
        apply: words.apply,
        legend: legend(result, recommendation, &rows),
        rows,
    }
}

/// Why the longest bar need not be the recommended method's: what it was chosen by, and which
/// methods do not count.
fn legend(result: &TuneResult, recommendation: &Recommendation, rows: &[Compared]) -> String {
    let chosen = format!("Chosen by {}", label::objective(&result.job.objective));
    match rows.iter().any(|row| row.below_floor) {
        true => format!(
            "{chosen} among those that keep the floor, {}\u{a0}% of polling's IOPS. Hollow: below it.",
            number(recommendation.floor * 100.0)
        ),
        false => format!("{chosen}."),
    }
}

/// Joins numbers and percent signs by no-break spaces, so that no line breaks between them.
fn unbroken(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

/// `part` of `whole` in percent, 0 to 100.
fn share(part: f64, whole: f64) -> u32 {
    // The cast from f64 saturates, and makes NaN 0.
    ((part / whole * 100.0).round() as u32).min(100)
}

/// The reasons to trust the result or not: trials, fidelity, drift, and the harness's own cost.
pub(super) fn trust(result: &TuneResult) -> Vec<Trust> {
    let mut all = vec![completeness(result)];
    all.extend(errors(result));
    all.extend([drift(result), floor(result)]);
    all
}

fn completeness(result: &TuneResult) -> Trust {
    let cells = result.cells.iter().map(|c| c.measured.rates.iops);
    let least = cells.clone().min_by_key(|i| i.trials).unwrap_or_default();
    let most = cells.map(|i| i.trials).max().unwrap_or_default();
    let detail = match (result.complete, least.trials) {
        (false, _) => "the run was stopped early: cells are missing".to_owned(),
        (true, ..2) => "a cell with one trial has no interval".to_owned(),
        (true, _) => format!(
            "[min, max] covers the true median with {} % or more",
            number(least.coverage() * 100.0)
        ),
    };
    let trials = match least.trials == most {
        true => most.to_string(),
        false => format!("{} to {most}", least.trials),
    };
    Trust {
        name: "Trials per cell".into(),
        value: format!("{trials} × {}", bare(&seconds(result.job.trial_seconds))),
        detail,
        caution: !result.complete,
    }
}

/// The prediction's error, for each block size apart.
fn errors(result: &TuneResult) -> Vec<Trust> {
    let all = &result.fidelity;
    if all.by_block_size.is_empty() {
        return vec![Trust {
            name: "Prediction error".into(),
            value: "unchecked".to_owned(),
            detail: fidelity::head(result),
            caution: true,
        }];
    }
    let of = |size: &SizeFidelity| Trust {
        name: format!("Prediction error: {}", fidelity::over(size)),
        value: format!("IOPS ± {} %", number(size.iops_pct.median)),
        detail: format!(
            "median / 90th percentile / worst, before their own trials corrected the costs; {}",
            fidelity::at(size)
        ),
        caution: false,
    };
    all.by_block_size.iter().map(of).collect()
}

fn drift(result: &TuneResult) -> Trust {
    Trust {
        name: "Device drift".into(),
        value: format!("{} %", number(result.fidelity.drift_pct)),
        detail: "IOPS, from the first recording to the trials".into(),
        caution: false,
    }
}

fn floor(result: &TuneResult) -> Trust {
    Trust {
        name: "Harness floor".into(),
        value: duration(result.harness_floor_ns),
        detail: format!(
            "CPU per I/O that is q2c's own; {} with nothing kept",
            duration(result.harness_bare_ns)
        ),
        caution: false,
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_bar_never_leaves_its_field() {
        let shares = [
            share(1.0, 4.0),
            share(5.0, 4.0),
            share(0.0, 0.0),
            share(f64::NAN, 1.0),
        ];
        assert_eq!(shares, [25, 100, 0, 0]);
    }
}
