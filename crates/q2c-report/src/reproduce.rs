//! Tables and sentences of `q2c reproduce` that terminal, page and JSON share.

mod figures;
mod points;
mod why;

pub(crate) use why::why;

use figures::figures;

use crate::document::{Document, DocumentAnswer, Reported, Section};
use crate::phrase::{counted, distinct, joined, listed, when};
use crate::plots;
use crate::quantity::{number, or_nothing};
use crate::said::{Note, ReportTable, Weight};
use q2c_model::stats::Interval;
use q2c_result::reproduce::{
    AllResult, Basis, ClaimLine, Expected, ExperimentLine, JudgedClaim, MeasuredFigure,
    ReproduceResult, ReproduceVerdict, StudyKind,
};

/// The largest number of rows in the table of a chart.
const ROWS: usize = 24;

impl Reported for ReproduceResult {
    fn document(&self) -> Document<'_> {
        let tally = tally(self.claims.iter().map(|claim| (claim.verdict, claim.basis)));
        let claims = Section::new("Claims")
            .notes(judged_claims(self))
            .plots(|| plots::reproduce::plots(self));
        Document::new("reproduce", &self.version, &self.schema)
            .titled(self.name.clone(), about(self))
            .run(self.seed, self.started_unix_s)
            .complete(self.complete)
            .answers([DocumentAnswer::new(tally)])
            .section(claims)
            .sections(charts(self))
            .section(Section::new("Points").table(points::points(self)))
            .section(Section::new("Setting").notes(setting(self)))
            .warnings(&self.warnings)
            .targets(&self.target)
            .machine(&self.machine)
    }
}

fn about(result: &ReproduceResult) -> String {
    let mut parts = vec![result.title.clone()];
    let variant = result.variant_of.as_ref();
    parts.extend(variant.map(|variant| format!("variant of {}", variant.name)));
    let sets = result.trials.saturating_sub(1);
    parts.push(match result.study {
        StudyKind::Place => "by the simulator of placements".to_owned(),
        StudyKind::Rules => format!(
            "by the simulator of sleep rules, over the library of patterns and {sets} sets of its sources"
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

fn setting(result: &ReproduceResult) -> Vec<Note> {
    let mut said = vec![Note::plain("published with", &result.setting)];
    if let Some(variant) = &result.variant_of {
        let message = format!("{}: {}", variant.name, variant.reason);
        said.push(Note::caution("variant of", message));
    }
    if result.study == StudyKind::Rules {
        said.push(Note::plain("loss", LOSS));
        said.push(Note::plain("trials", TRIALS));
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

/// How a reader has to understand the figures of rules.
const LOSS: &str = "how far the objective of a rule is below that of the pattern's own best, mean over the \
     patterns; a pattern on which the rule breaks a limit counts as 100 %";
const TRIALS: &str = "the library itself, and sets of its sources drawn anew; q2c poll study shows the library, \
     rule by rule and pattern by pattern";

/// Each claim as a sentence, with its figures and the reason of its verdict.
fn judged_claims(result: &ReproduceResult) -> Vec<Note> {
    let said = |claim: &ClaimLine| {
        let mut here = figures(claim);
        // A figure with two bounds is shown once.
        here.dedup();
        judged_claim(claim, "", Some(or_nothing(some_joined(&here))))
    };
    line(result).claims.iter().map(said).collect()
}

/// A note with the claim, its published figures, its figures here and the reason of the verdict.
/// Its heading is the verdict, the basis if there are figures, and `experiment`.
fn judged_claim(claim: &ClaimLine, experiment: &str, here: Option<String>) -> Note {
    let mut sentences = vec![claim.says.clone()];
    let published = claim.published.as_ref();
    sentences.extend(published.map(|published| format!("Published: {published}")));
    sentences.extend(here.map(|here| format!("Here: {here}")));
    sentences.extend(Some(claim.why.clone()).filter(|reason| !reason.is_empty()));
    let basis = format!(" ({})", claim.basis.name());
    let basis = when(!claim.measured.is_empty(), &basis);
    let what = format!("{}{basis}{experiment}", claim.verdict.name());
    Note::new(weight(claim.verdict), &what, sentences.join(". "))
}

/// The texts joined by semicolons; `None` for no texts.
fn some_joined(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn weight(verdict: ReproduceVerdict) -> Weight {
    match verdict {
        ReproduceVerdict::Holds => Weight::Good,
        ReproduceVerdict::DoesNotHold => Weight::Plain,
        ReproduceVerdict::Undecided | ReproduceVerdict::CannotJudge => Weight::Caution,
    }
}

fn charts(result: &ReproduceResult) -> Vec<Section<'static>> {
    let charts = result.charts.iter().filter(|chart| chart.over != "time");
    let sections = charts.map(|chart| {
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
            let ours = |value: &Interval| figures::over_trials(value, factor_of(unit));
            let theirs = |value: &f64| number(value / factor_of(unit));
            row.extend(chart.ours.iter().map(|c| value_at(&c.points, at, ours)));
            let published = chart.published.iter();
            row.extend(published.map(|c| value_at(&c.points, at, theirs)));
            row
        };
        let table = ReportTable::from_rows(head, xs.into_iter().take(ROWS).map(row));
        Section::new(format!("{} ({unit})", chart.title)).table(table)
    });
    sections.collect()
}

fn label(at: &str, result: &ReproduceResult) -> String {
    let phase = result.phases.iter().find(|phase| phase.name == at);
    phase.map_or_else(|| at.to_owned(), |phase| phase.label.clone())
}

fn value_at<V>(points: &[(String, V)], at: &str, text: impl Fn(&V) -> String) -> String {
    let point = points.iter().find(|(place, _)| place == at);
    or_nothing(point.map(|(_, value)| text(value)))
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

/// The factor by which a figure is divided to get this unit.
pub(crate) fn factor_of(unit: &str) -> f64 {
    match unit {
        "KIOPS" | "us" => 1e3,
        "%" => 0.01,
        "s" => 1e9,
        _ => 1.0,
    }
}

/// The verdicts of one experiment, as a line in the list of all experiments.
#[must_use]
pub fn line(result: &ReproduceResult) -> ExperimentLine {
    ExperimentLine {
        name: result.name.clone(),
        variant_of: result.variant_of.as_ref().map(|v| v.name.clone()),
        claims: result.claims.iter().map(claim_line).collect(),
    }
}

fn claim_line(claim: &JudgedClaim) -> ClaimLine {
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
}

fn tally(verdicts: impl Iterator<Item = (ReproduceVerdict, Basis)>) -> String {
    let verdicts: Vec<(ReproduceVerdict, Basis)> = verdicts.collect();
    let counts = ReproduceVerdict::ALL.map(|verdict| {
        let (one, many) = match verdict {
            ReproduceVerdict::Holds => ("holds", "hold"),
            ReproduceVerdict::DoesNotHold => ("does not hold", "do not hold"),
            ReproduceVerdict::Undecided => ("is undecided", "are undecided"),
            ReproduceVerdict::CannotJudge => ("cannot be judged here", "cannot be judged here"),
        };
        let bases = verdicts.iter().filter(|judged| judged.0 == verdict);
        let n = bases.clone().count();
        let predicted = match bases.filter(|judged| judged.1 == Basis::Predicted).count() {
            0 => String::new(),
            n => format!(" ({n} predicted)"),
        };
        format!("{n} {}{predicted}", if n == 1 { one } else { many })
    });
    let claims = counted(verdicts.len() as u64, "claim");
    format!("{claims}: {}", listed(counts))
}

impl Reported for AllResult {
    fn document(&self) -> Document<'_> {
        let scaled = format!(", all times multiplied by {}", self.scale);
        let about = format!("all experiments{}", when(self.scale != 1.0, &scaled));
        let experiments = || self.experiments.iter();
        let lines = || experiments().flat_map(|e| e.claims.iter().map(move |c| (e, c)));
        let tally = tally(lines().map(|(_, claim)| (claim.verdict, claim.basis)));
        let claims = lines().map(|(experiment, claim)| {
            let here = some_joined(&figures(claim));
            judged_claim(claim, &format!(", {}", experiment.name), here)
        });
        Document::new("reproduce", &self.version, &self.schema)
            .titled("Published experiments", about)
            .begun(self.started_unix_s)
            .missing(missing(self))
            .answers([DocumentAnswer::new(tally)])
            .section(Section::new("Claims").notes(claims))
            .machine(&self.machine)
    }
}

fn missing(result: &AllResult) -> Option<String> {
    let begun = |name: &&String| result.experiments.iter().any(|e| e.name == **name);
    let half = result.missing.iter().find(begun);
    let finished = result.experiments.len() - usize::from(half.is_some());
    let missing = result.missing.len();
    let verb = if missing == 1 { "is" } else { "are" };
    let total = finished + missing;
    let half = half.map(|name| {
        format!("; {name} was stopped on the way, and is judged by the trials that it has")
    });
    let half = half.unwrap_or_default();
    (missing > 0).then(|| format!("{missing} of {total} experiments {verb} missing{half}"))
}

#[cfg(test)]
mod tests;
