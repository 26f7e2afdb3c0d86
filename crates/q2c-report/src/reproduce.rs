//! Tables and sentences of `q2c reproduce` that terminal, page and JSON share.

pub(crate) mod all;
mod figures;
pub(crate) mod list;
mod points;
mod why;

pub(crate) use points::points;
pub use why::why;

use figures::figures;

use crate::quantity::{NOTHING, number};
use crate::said::{Field, Said, Table, Weight};
use q2c_result::reproduce::{
    AllResult, Basis, ClaimLine, Expected, ExperimentLine, JudgedClaim, MeasuredFigure, OurCurve,
    PublishedCurve, ReproduceResult, StudyKind, Verdict,
};

/// Rows of a chart's table at most.
const ROWS: usize = 24;

/// What the experiment is.
pub(crate) fn about(result: &ReproduceResult) -> String {
    let mut words = vec![result.title.clone()];
    words.extend(
        result
            .variant_of
            .as_ref()
            .map(|of| format!("variant of {}", of.name)),
    );
    words.push(match result.study {
        StudyKind::Place => "by the simulator of placements".to_owned(),
        StudyKind::Rules => format!(
            "by the simulator of sleep rules, over the library of patterns and {} sets of its sources",
            result.trials.saturating_sub(1)
        ),
        StudyKind::Compare => "from a result of q2c compare".to_owned(),
        StudyKind::Jobs | StudyKind::Stages => format!("{} trials of each point", result.trials),
    });
    if result.scale != 1.0 {
        words.push(format!("all times multiplied by {}", result.scale));
    }
    words.extend(
        result
            .target
            .as_ref()
            .map(|target| format!("on {}", target.path)),
    );
    words.join(" · ")
}

/// What is different from the published experiment, and how that was measured.
pub(crate) fn setting(result: &ReproduceResult) -> Vec<Said> {
    let mut said = vec![Said::plain("published with", result.setting.clone())];
    if let Some(of) = &result.variant_of {
        let words = format!("{}: {}", of.name, of.reason);
        said.push(Said::new(Weight::Caution, "variant of", words));
    }
    if result.study == StudyKind::Rules {
        said.extend(of_rules());
    }
    for job in &result.jobs {
        let mut each: Vec<&String> = job.phases.iter().flatten().collect();
        each.dedup();
        let words: Vec<&str> = each.into_iter().map(String::as_str).collect();
        said.push(Said::plain(
            &format!("job {}", job.name),
            words.join("; then "),
        ));
    }
    for device in &result.devices {
        said.push(match &device.made {
            Ok(made) => Said::plain("made", format!("{}: {made}", device.name)),
            Err(why) => Said::new(
                Weight::Caution,
                "not made",
                format!("{}: {why}", device.name),
            ),
        });
    }
    said
}

/// What a reader of figures about rules has to know.
fn of_rules() -> [Said; 2] {
    [
        Said::plain(
            "loss",
            "how far the objective of a rule is below that of the pattern's own best, mean over the \
             patterns; a pattern on which the rule breaks a limit counts as 100 %",
        ),
        Said::plain(
            "trials",
            "the library itself, and sets of its sources drawn anew; q2c poll study shows the library, \
             rule by rule and pattern by pattern",
        ),
    ]
}

/// Each claim as a sentence, with its figures and the reason of its verdict.
pub(crate) fn told(result: &ReproduceResult) -> Vec<Said> {
    let said = |claim: &JudgedClaim| {
        let mut words = claim.says.clone();
        words += &claim
            .published
            .as_ref()
            .map_or_else(String::new, |of| format!(". Published: {of}"));
        words += &format!(". Here: {}", figures(claim));
        let why = why(claim);
        words += &if why.is_empty() {
            String::new()
        } else {
            format!(". {why}")
        };
        Said::new(weight(claim.verdict), &verdict(claim), words)
    };
    result.claims.iter().map(said).collect()
}

/// The verdict on a claim, with its basis where there are figures.
pub(crate) fn verdict(claim: &JudgedClaim) -> String {
    let seen = claim.expects.iter().any(|of| of.measured.is_some());
    match seen {
        true => format!("{} ({})", claim.verdict.name(), claim.basis.name()),
        false => claim.verdict.name().to_owned(),
    }
}

/// The verdicts on the claims of one experiment, counted.
pub(crate) fn summed(result: &ReproduceResult) -> String {
    let claims = result.claims.iter();
    tally(claims.map(|claim| (claim.verdict, claim.basis)))
}

fn weight(verdict: Verdict) -> Weight {
    match verdict {
        Verdict::Holds => Weight::Good,
        Verdict::DoesNotHold => Weight::Plain,
        Verdict::Undecided | Verdict::CannotJudge => Weight::Caution,
    }
}

/// The figures of a chart as a table: published ones beside ours.
pub(crate) fn chart_tables(result: &ReproduceResult) -> Vec<(String, Table)> {
    let charts = result.charts.iter().filter(|chart| chart.over != "time");
    let table = |chart: &q2c_result::reproduce::ChartAsked| {
        let unit = unit_of(&chart.figure);
        let mut xs: Vec<&String> = Vec::new();
        let ours = chart
            .ours
            .iter()
            .flat_map(|curve| curve.points.iter().map(|(at, _)| at));
        let published = chart
            .published
            .iter()
            .flat_map(|c| c.points.iter().map(|(at, _)| at));
        for at in ours.chain(published) {
            if !xs.contains(&at) {
                xs.push(at);
            }
        }
        let mut head = vec![chart.over.clone()];
        head.extend(chart.ours.iter().map(|curve| curve.name.clone()));
        head.extend(
            chart
                .published
                .iter()
                .map(|curve| format!("{}\npublished", curve.name)),
        );
        let row = |at: &String| {
            let mut row: Vec<Field> = vec![label(at, result).into()];
            row.extend(chart.ours.iter().map(|curve| our(curve, at, unit).into()));
            row.extend(
                chart
                    .published
                    .iter()
                    .map(|curve| theirs(curve, at, unit).into()),
            );
            row
        };
        let rows = xs.into_iter().take(ROWS).map(row).collect();
        let table = Table {
            head,
            rows,
            legend: "",
        };
        (format!("{} ({unit})", chart.title), table)
    };
    charts
        .map(table)
        .filter(|(_, table)| !table.rows.is_empty())
        .collect()
}

/// The label of a phase, or the value itself.
fn label(at: &str, result: &ReproduceResult) -> String {
    let phase = result.phases.iter().find(|phase| phase.name == at);
    phase.map_or_else(|| at.to_owned(), |phase| phase.label.clone())
}

fn our(curve: &OurCurve, at: &str, unit: &str) -> String {
    let found = curve.points.iter().find(|(own, _)| own == at);
    found.map_or(NOTHING.to_owned(), |(_, value)| {
        let scale = factor_of(unit);
        let range = match value.trials {
            0 | 1 => String::new(),
            _ => format!(
                " [{}, {}]",
                number(value.min / scale),
                number(value.max / scale)
            ),
        };
        format!("{}{range}", number(value.median / scale))
    })
}

fn theirs(curve: &PublishedCurve, at: &str, unit: &str) -> String {
    let found = curve.points.iter().find(|(own, _)| own == at);
    found.map_or(NOTHING.to_owned(), |(_, value)| {
        number(value / factor_of(unit))
    })
}

/// The unit in which a figure is shown.
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
        variant_of: result.variant_of.as_ref().map(|of| of.name.clone()),
        claims: result.claims.iter().map(claim).collect(),
    }
}

/// The verdicts of all experiments, counted.
pub(crate) fn counted(result: &AllResult) -> String {
    let claims = result.experiments.iter().flat_map(|of| &of.claims);
    tally(claims.map(|claim| (claim.verdict, claim.basis)))
}

/// Verdicts, counted.
fn tally(verdicts: impl Iterator<Item = (Verdict, Basis)>) -> String {
    let all: Vec<(Verdict, Basis)> = verdicts.collect();
    let predicted = |verdict| match all.iter().filter(|of| **of == (verdict, Basis::Predicted)) {
        n if n.clone().count() == 0 => String::new(),
        n => format!(" ({} predicted)", n.count()),
    };
    let told = [
        (Verdict::Holds, "holds", "hold"),
        (Verdict::DoesNotHold, "does not hold", "do not hold"),
        (Verdict::Undecided, "is undecided", "are undecided"),
        (
            Verdict::CannotJudge,
            "cannot be judged here",
            "cannot be judged here",
        ),
    ];
    let each = told.map(|(verdict, one, many)| {
        let n = all.iter().filter(|of| of.0 == verdict).count();
        let words = if n == 1 { one } else { many };
        format!("{n} {words}{}", predicted(verdict))
    });
    let claims = if all.len() == 1 { "claim" } else { "claims" };
    format!("{} {claims}: {}", all.len(), each.join(", "))
}

#[cfg(test)]
mod tests;
