//! Tables and sentences of `q2c reproduce` that terminal, page and JSON share.

pub(crate) mod all;
mod figures;
pub(crate) mod list;
mod points;
mod why;

pub(crate) use points::points;
pub(crate) use why::why;

use figures::figures;

use crate::phrase::{self, distinct, joined, listed};
use crate::quantity::{NOTHING, number};
use crate::said::{Note, ReportTable, Weight};
use q2c_result::reproduce::{
    AllResult, Basis, ClaimLine, Expected, ExperimentLine, JudgedClaim, MeasuredFigure, OurCurve,
    PublishedCurve, ReproduceResult, ReproduceVerdict, StudyKind,
};

/// Rows of a chart's table at most.
const ROWS: usize = 24;

pub(crate) fn about(result: &ReproduceResult) -> String {
    let mut parts = vec![result.title.clone()];
    let variant = result.variant_of.as_ref();
    parts.extend(variant.map(|variant| format!("variant of {}", variant.name)));
    parts.push(match result.study {
        StudyKind::Place => "by the simulator of placements".to_owned(),
        StudyKind::Rules => format!(
            "by the simulator of sleep rules, over the library of patterns and {} sets of its sources",
            result.trials.saturating_sub(1)
        ),
        StudyKind::Compare => "from a result of q2c compare".to_owned(),
        StudyKind::Jobs | StudyKind::Stages => format!("{} trials of each point", result.trials),
    });
    if result.scale != 1.0 {
        parts.push(format!("all times multiplied by {}", result.scale));
    }
    let target = result.target.as_ref();
    parts.extend(target.map(|target| format!("on {}", target.path)));
    parts.join(" · ")
}

pub(crate) fn setting(result: &ReproduceResult) -> Vec<Note> {
    let mut said = vec![Note::plain("published with", result.setting.clone())];
    if let Some(variant) = &result.variant_of {
        let message = format!("{}: {}", variant.name, variant.reason);
        said.push(Note::caution("variant of", message));
    }
    if result.study == StudyKind::Rules {
        said.extend(of_rules());
    }
    for job in &result.jobs {
        let mut phases: Vec<&String> = job.phases.iter().flatten().collect();
        phases.dedup();
        let what = format!("job {}", job.name);
        said.push(Note::plain(&what, joined(phases, "; then ")));
    }
    said.extend(result.devices.iter().map(|device| match &device.made {
        Ok(made) => Note::plain("made", format!("{}: {made}", device.name)),
        Err(error) => Note::caution("not made", format!("{}: {error}", device.name)),
    }));
    said
}

/// What a reader of figures about rules has to know.
fn of_rules() -> [Note; 2] {
    [
        Note::plain(
            "loss",
            "how far the objective of a rule is below that of the pattern's own best, mean over the \
             patterns; a pattern on which the rule breaks a limit counts as 100 %",
        ),
        Note::plain(
            "trials",
            "the library itself, and sets of its sources drawn anew; q2c poll study shows the library, \
             rule by rule and pattern by pattern",
        ),
    ]
}

/// Each claim as a sentence, with its figures and the reason of its verdict.
pub(crate) fn claims(result: &ReproduceResult) -> Vec<Note> {
    let said = |claim: &JudgedClaim| {
        let here = Some(figures(claim));
        let sentence = in_words(&claim.says, claim.published.as_ref(), here, why(claim));
        Note::new(weight(claim.verdict), &verdict(claim), sentence)
    };
    result.claims.iter().map(said).collect()
}

/// A claim, what was published of it, its figures here, and the reason of its verdict.
fn in_words(
    says: &str,
    published: Option<&String>,
    here: Option<String>,
    reason: String,
) -> String {
    let mut sentences = vec![says.to_owned()];
    sentences.extend(published.map(|published| format!("Published: {published}")));
    sentences.extend(here.map(|here| format!("Here: {here}")));
    sentences.extend(Some(reason).filter(|reason| !reason.is_empty()));
    sentences.join(". ")
}

/// The verdict on a claim, with its basis where there are figures.
pub(crate) fn verdict(claim: &JudgedClaim) -> String {
    let seen = claim.expects.iter().any(|e| e.measured.is_some());
    let basis = seen.then(|| format!(" ({})", claim.basis.name()));
    claim.verdict.name().to_owned() + &basis.unwrap_or_default()
}

pub(crate) fn summed(result: &ReproduceResult) -> String {
    let claims = result.claims.iter();
    tally(claims.map(|claim| (claim.verdict, claim.basis)))
}

fn weight(verdict: ReproduceVerdict) -> Weight {
    match verdict {
        ReproduceVerdict::Holds => Weight::Good,
        ReproduceVerdict::DoesNotHold => Weight::Plain,
        ReproduceVerdict::Undecided | ReproduceVerdict::CannotJudge => Weight::Caution,
    }
}

pub(crate) fn chart_tables(result: &ReproduceResult) -> Vec<(String, ReportTable)> {
    let charts = result.charts.iter().filter(|chart| chart.over != "time");
    let tables = charts.map(|chart| {
        let unit = unit_of(&chart.figure);
        let ours = chart.ours.iter().flat_map(|curve| &curve.points);
        let published = chart.published.iter().flat_map(|curve| &curve.points);
        let xs = distinct(ours.map(|(at, _)| at).chain(published.map(|(at, _)| at)));
        let mut head = vec![chart.over.clone()];
        head.extend(chart.ours.iter().map(|curve| curve.name.clone()));
        let published = chart.published.iter();
        head.extend(published.map(|curve| format!("{}\npublished", curve.name)));
        let row = |at: &String| {
            let mut row = vec![label(at, result)];
            row.extend(chart.ours.iter().map(|curve| our(curve, at, unit)));
            row.extend(chart.published.iter().map(|curve| theirs(curve, at, unit)));
            row
        };
        let table = ReportTable::from_rows(head, xs.into_iter().take(ROWS).map(row));
        (format!("{} ({unit})", chart.title), table)
    });
    tables.filter(|(_, table)| !table.rows.is_empty()).collect()
}

fn label(at: &str, result: &ReproduceResult) -> String {
    let phase = result.phases.iter().find(|phase| phase.name == at);
    phase.map_or_else(|| at.to_owned(), |phase| phase.label.clone())
}

fn our(curve: &OurCurve, at: &str, unit: &str) -> String {
    let point = curve.points.iter().find(|(place, _)| place == at);
    point.map_or(NOTHING.to_owned(), |(_, value)| {
        figures::over_trials(value, factor_of(unit))
    })
}

fn theirs(curve: &PublishedCurve, at: &str, unit: &str) -> String {
    let point = curve.points.iter().find(|(place, _)| place == at);
    point.map_or(NOTHING.to_owned(), |(_, value)| {
        number(value / factor_of(unit))
    })
}

pub(crate) fn unit_of(figure: &str) -> &'static str {
    let name = figure.split('[').next().unwrap_or(figure);
    match name.rsplit('.').next().unwrap_or(name) {
        "iops" => "KIOPS",
        "kiops_per_core" => "KIOPS per core",
        "effective_sleep" | "latency" | "p50" | "p99" => "us",
        "interrupts_per_io" => "per I/O",
        "completion" | "sum_q2c" | "sum_u2c" => "s",
        "q2g" | "g2i" | "i2d" | "d2c" | "q2c" => "us",
        _ => "%",
    }
}

/// What a figure is divided by for its unit.
pub(crate) fn factor_of(unit: &str) -> f64 {
    match unit {
        "KIOPS" | "us" => 1e3,
        "%" => 0.01,
        "s" => 1e9,
        _ => 1.0,
    }
}

/// The claims of an experiment as lines of the verdicts of all.
#[must_use]
pub fn line(result: &ReproduceResult) -> ExperimentLine {
    let claim = |claim: &JudgedClaim| {
        let measured = |expected: &Expected| {
            Some(MeasuredFigure {
                expects: expected.text.clone(),
                over_trials: expected.measured?,
                unit: expected.unit.clone(),
                trials_asked: expected.trials.asked,
                right: expected.right,
            })
        };
        ClaimLine {
            says: claim.says.clone(),
            published: claim.published.clone(),
            measured: claim.expects.iter().filter_map(measured).collect(),
            verdict: claim.verdict,
            basis: claim.basis,
            why: why(claim),
        }
    };
    ExperimentLine {
        name: result.name.clone(),
        variant_of: result.variant_of.as_ref().map(|v| v.name.clone()),
        claims: result.claims.iter().map(claim).collect(),
    }
}

pub(crate) fn counted(result: &AllResult) -> String {
    let claims = result.experiments.iter().flat_map(|e| &e.claims);
    tally(claims.map(|claim| (claim.verdict, claim.basis)))
}

fn tally(verdicts: impl Iterator<Item = (ReproduceVerdict, Basis)>) -> String {
    let verdicts: Vec<(ReproduceVerdict, Basis)> = verdicts.collect();
    let forms = [
        (ReproduceVerdict::Holds, "holds", "hold"),
        (
            ReproduceVerdict::DoesNotHold,
            "does not hold",
            "do not hold",
        ),
        (ReproduceVerdict::Undecided, "is undecided", "are undecided"),
        (
            ReproduceVerdict::CannotJudge,
            "cannot be judged here",
            "cannot be judged here",
        ),
    ];
    let counts = forms.map(|(verdict, one, many)| {
        let bases = verdicts.iter().filter(|judged| judged.0 == verdict);
        let n = bases.clone().count();
        let predicted = match bases.filter(|judged| judged.1 == Basis::Predicted).count() {
            0 => String::new(),
            n => format!(" ({n} predicted)"),
        };
        format!("{n} {}{predicted}", if n == 1 { one } else { many })
    });
    format!(
        "{}: {}",
        phrase::counted(verdicts.len() as u64, "claim"),
        listed(counts)
    )
}

#[cfg(test)]
mod tests;
