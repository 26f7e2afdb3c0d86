//! Tables and sentences of `q2c reproduce` that terminal, page and JSON share.

use crate::document::{Document, DocumentAnswer, Reported, Section};
use crate::note::{Note, ReportTable, Weight};
use crate::phrase::{counted, distinct, joined, listed, when};
use crate::quantity::{duration, number, or_dash};
use crate::{mode, plots};
use claims::{claim_figures, divided_interval, reasons};
use q2c_model::stats::{Interval, median, sorted};
use q2c_result::reproduce::{
    AllResult, Basis, ClaimLine, Expectation, ExperimentLine, JobSeries, JudgedClaim,
    MeasuredFigure, Point, ReproduceResult, ReproduceVerdict, SettingOrigin, StudyKind, Tick,
};
use std::collections::BTreeMap;

mod claims;

/// The largest number of rows in the table of a chart.
const MAX_CHART_ROWS: usize = 24;

impl Reported for ReproduceResult {
    fn document(&self) -> Document<'_> {
        let tally = tally_text(self.claims.iter().map(|claim| (claim.verdict, claim.basis)));
        let claims = Section::new("Claims")
            .notes(claim_notes(self))
            .plots(|| plots::reproduce::plots(self));
        Document::new("reproduce", &self.version, &self.schema)
            .titled(self.name.clone(), about(self))
            .run(self.seed, self.started_unix_s)
            .complete(self.complete)
            .answers([DocumentAnswer::new(tally)])
            .section(claims)
            .sections(chart_sections(self))
            .section(Section::new("Points").table(point_table(self)))
            .section(Section::new("Setting").notes(setting_notes(self)))
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
        StudyKind::Rules => {
            format!("by the simulator of sleep rules, over the library of patterns and {sets} sets of its sources")
        }
        StudyKind::Compare => "by q2c compare".to_owned(),
        StudyKind::Jobs | StudyKind::Stages | StudyKind::Mount | StudyKind::Mix => {
            format!("{} trials of each point", result.trials)
        }
    });
    if result.scale != 1.0 {
        parts.push(format!("all times multiplied by {}", result.scale));
    }
    let target = result.target.as_ref();
    parts.extend(target.map(|target| format!("on {}", target.path)));
    parts.join(" · ")
}

/// Headings and texts: what the source has in one text, then each chosen setting.
pub fn origin_notes(origins: &[SettingOrigin]) -> Vec<(&'static str, String)> {
    let mut from_source = Vec::new();
    let mut notes = Vec::new();
    for SettingOrigin { setting, chosen } in origins {
        match chosen {
            None => from_source.push(setting.as_str()),
            Some(reason) => notes.push(("chosen", format!("{setting}: {reason}"))),
        }
    }
    if !from_source.is_empty() {
        notes.insert(0, ("from the source", from_source.join(", ")));
    }
    notes
}

fn setting_notes(result: &ReproduceResult) -> Vec<Note> {
    let mut notes = vec![Note::plain("published with", &result.setting)];
    let origins = origin_notes(&result.origins).into_iter();
    notes.extend(origins.map(|(heading, text)| Note::plain(heading, text)));
    if let Some(variant) = &result.variant_of {
        let message = format!("{}: {}", variant.name, variant.reason);
        notes.push(Note::caution("variant of", message));
    }
    if result.study == StudyKind::Rules {
        notes.push(Note::plain("loss", LOSS_MEANING));
        notes.push(Note::plain("trials", TRIALS_MEANING));
    }
    for job in &result.jobs {
        let mut phases: Vec<&String> = job.phases.iter().flatten().collect();
        phases.dedup();
        let heading = format!("job {}", job.name);
        notes.push(Note::plain(&heading, joined(phases, "; then ")));
    }
    let cpu_uses = result.points.iter().flat_map(|point| &point.cpus);
    if let Some(most) = cpu_uses.filter_map(|cpu_use| cpu_use.unpinned).max() {
        let message = format!("up to {most} threads were not pinned: the scheduler placed them");
        notes.push(Note::plain("placement", message));
    }
    notes.extend(result.devices.iter().map(|device| match &device.made {
        Ok(made) => Note::plain("made", format!("{}: {made}", device.name)),
        Err(error) => Note::caution("not made", format!("{}: {error}", device.name)),
    }));
    notes
}

/// How a reader has to understand the figures of rules.
const LOSS_MEANING: &str = "how far the objective of a rule is below that of the pattern's own best, mean over the \
     patterns; a pattern on which the rule breaks a limit counts as 100 %";
const TRIALS_MEANING: &str = "the library itself, and sets of its sources drawn anew; q2c poll study shows the library, \
     rule by rule and pattern by pattern";

/// Each claim as a sentence, with its figures and the reason of its verdict.
fn claim_notes(result: &ReproduceResult) -> Vec<Note> {
    let note = |claim: &ClaimLine| {
        let mut figures = claim_figures(claim);
        // A figure with two bounds is shown once.
        figures.dedup();
        claim_note(claim, "", Some(or_dash(joined_if_any(&figures))))
    };
    experiment_line(result).claims.iter().map(note).collect()
}

/// A note with the claim, its published figures, its figures here and the reason of the verdict.
/// Its heading is the verdict, the basis if there are figures, and `experiment`.
fn claim_note(claim: &ClaimLine, experiment: &str, figures: Option<String>) -> Note {
    let mut sentences = vec![claim.says.clone()];
    let published = claim.published.as_ref();
    sentences.extend(published.map(|published| format!("Published: {published}")));
    sentences.extend(figures.map(|figures| format!("Here: {figures}")));
    sentences.extend(Some(claim.why.clone()).filter(|reason| !reason.is_empty()));
    let basis = format!(" ({})", claim.basis.name());
    let basis = when(!claim.measured.is_empty(), &basis);
    let heading = format!("{}{basis}{experiment}", claim.verdict.name());
    let weight = match claim.verdict {
        ReproduceVerdict::Holds => Weight::Good,
        ReproduceVerdict::DoesNotHold => Weight::Plain,
        ReproduceVerdict::Undecided | ReproduceVerdict::CannotJudge => Weight::Caution,
    };
    Note::new(weight, &heading, sentences.join(". "))
}

/// The texts joined by semicolons; `None` for no texts.
fn joined_if_any(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn chart_sections(result: &ReproduceResult) -> Vec<Section<'static>> {
    let charts = result.charts.iter().filter(|chart| chart.over != "time");
    let sections = charts.map(|chart| {
        let unit = unit_of(&chart.figure);
        let ours = chart.ours.iter().flat_map(|curve| &curve.points);
        let published = chart.published.iter().flat_map(|curve| &curve.points);
        let xs = distinct(ours.map(|(x, _)| x).chain(published.map(|(x, _)| x)));
        let mut head = vec![chart.over.clone()];
        head.extend(chart.ours.iter().map(|curve| curve.name.clone()));
        let published = chart.published.iter();
        head.extend(published.map(|curve| format!("{}\npublished", curve.name)));
        let row = |x: &String| {
            let phase = result.phases.iter().find(|phase| phase.name == *x);
            let mut row = vec![phase.map_or(x, |phase| &phase.label).clone()];
            let ours = |value: &Interval| divided_interval(value, factor_of(unit));
            let theirs = |value: &f64| number(value / factor_of(unit));
            row.extend(chart.ours.iter().map(|c| value_at(&c.points, x, ours)));
            let published = chart.published.iter();
            row.extend(published.map(|c| value_at(&c.points, x, theirs)));
            row
        };
        let table = ReportTable::from_rows(head, xs.into_iter().take(MAX_CHART_ROWS).map(row));
        Section::new(format!("{} ({unit})", chart.title)).table(table)
    });
    sections.collect()
}

fn value_at<V>(points: &[(String, V)], x: &str, text: impl Fn(&V) -> String) -> String {
    let point = points.iter().find(|(point_x, _)| point_x == x);
    or_dash(point.map(|(_, value)| text(value)))
}

pub(crate) fn unit_of(figure: &str) -> &'static str {
    let name = figure.split('[').next().unwrap_or(figure);
    match name.rsplit('.').next().unwrap_or(name) {
        "iops" => "KIOPS",
        "kiops_per_core" => "KIOPS per core",
        "effective_sleep" | "latency" | "p50" | "p99" => "us",
        "interrupts_per_io" => "per I/O",
        "jobs_per_minute" => "jobs per minute",
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
pub fn experiment_line(result: &ReproduceResult) -> ExperimentLine {
    ExperimentLine {
        name: result.name.clone(),
        variant_of: result.variant_of.as_ref().map(|v| v.name.clone()),
        claims: result.claims.iter().map(claim_line).collect(),
    }
}

fn claim_line(claim: &JudgedClaim) -> ClaimLine {
    let measured = |expected: &Expectation| {
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
        why: reasons(claim),
    }
}

fn tally_text(verdicts: impl Iterator<Item = (ReproduceVerdict, Basis)>) -> String {
    let verdicts: Vec<(ReproduceVerdict, Basis)> = verdicts.collect();
    let counts = ReproduceVerdict::ALL.map(|verdict| {
        let (one, many) = match verdict {
            ReproduceVerdict::Holds => ("holds", "hold"),
            ReproduceVerdict::DoesNotHold => ("does not hold", "do not hold"),
            ReproduceVerdict::Undecided => ("is undecided", "are undecided"),
            ReproduceVerdict::CannotJudge => ("cannot be judged here", "cannot be judged here"),
        };
        let bases = verdicts.iter().filter(|(judged, _)| *judged == verdict);
        let n = bases.clone().count();
        let predicted = match bases.filter(|(_, it)| *it == Basis::Predicted).count() {
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
        let tally = tally_text(lines().map(|(_, claim)| (claim.verdict, claim.basis)));
        let claims = lines().map(|(experiment, claim)| {
            let figures = joined_if_any(&claim_figures(claim));
            claim_note(claim, &format!(", {}", experiment.name), figures)
        });
        Document::new("reproduce", &self.version, &self.schema)
            .titled("Published experiments", about)
            .started(self.started_unix_s)
            .missing(missing_sentence(self))
            .answers([DocumentAnswer::new(tally)])
            .section(Section::new("Claims").notes(claims))
            .machine(&self.machine)
    }
}

fn missing_sentence(result: &AllResult) -> Option<String> {
    let is_started = |name: &&String| result.experiments.iter().any(|e| e.name == **name);
    let half_done = result.missing.iter().find(is_started);
    let finished = result.experiments.len() - usize::from(half_done.is_some());
    let missing = result.missing.len();
    let verb = if missing == 1 { "is" } else { "are" };
    let total = finished + missing;
    let half_done = half_done.map(|name| {
        format!("; {name} was stopped on the way, and is judged by the trials that it has")
    });
    let half_done = half_done.unwrap_or_default();
    (missing > 0).then(|| format!("{missing} of {total} experiments {verb} missing{half_done}"))
}

fn point_table(result: &ReproduceResult) -> ReportTable {
    const HEADS: &str = "point | phase | job | KIOPS | miss rate % | CPU % | mean U2C | really ran";
    let points = result.points.iter();
    let table = ReportTable::new(HEADS, points.flat_map(|point| rows_of(point, result)))
        .legend("Median over the trials, whole phase from its begin. CPU: of each thread.");
    let table = match result.axes.as_slice() {
        [] => table.without_names(),
        _ => table,
    };
    table.without_empty_columns()
}

/// The figures of a job in a phase, one value per trial.
#[derive(Default)]
struct JobPhaseFigures {
    kiops: Vec<f64>,
    miss_pct: Vec<f64>,
    cpu_pct: Vec<f64>,
    mean_ns: Vec<f64>,
    modes: Vec<String>,
}

impl JobPhaseFigures {
    fn add(&mut self, job: &JobSeries) {
        let sum = |get: fn(&Tick) -> f64| job.ticks.iter().map(get).sum::<f64>();
        let (seconds, ios) = (sum(|t| t.seconds), sum(|t| t.ios));
        let missed = sum(|t| t.handled * t.rates.miss_rate);
        self.kiops.push(ios / seconds / 1e3);
        self.miss_pct.push(100.0 * missed / sum(|t| t.handled));
        self.cpu_pct
            .push(sum(|t| t.seconds * t.rates.cpu_pct) / seconds);
        self.mean_ns.push(sum(|t| t.ios * t.mean_ns) / ios);
        let mode = job.was.as_ref().map(mode::label);
        self.modes
            .extend(mode.filter(|mode| !self.modes.contains(mode)));
    }

    fn fields(&self) -> [String; 5] {
        let median_text = |values: &[f64], text: fn(f64) -> String| match sorted(values) {
            values if values.is_empty() => String::new(),
            values => text(median(&values)),
        };
        [
            median_text(&self.kiops, number),
            median_text(&self.miss_pct, number),
            median_text(&self.cpu_pct, number),
            median_text(&self.mean_ns, duration),
            self.modes.join("; "),
        ]
    }
}

fn rows_of(point: &Point, result: &ReproduceResult) -> Vec<Vec<String>> {
    let axes = point.at.iter();
    let point_name = joined(axes.map(|(axis, value)| format!("{axis}={value}")), " ");
    if point.trials.is_empty() {
        let failure = point.failures.first();
        let reason = failure.map_or("no trial was finished", String::as_str);
        return vec![vec![point_name, format!("not run: {reason}")]];
    }
    let mut figures: BTreeMap<(usize, &str), JobPhaseFigures> = BTreeMap::new();
    for trial in &point.trials {
        for (n, phase) in trial.phases.iter().enumerate() {
            for job in &phase.jobs {
                figures.entry((n, job.job.as_str())).or_default().add(job);
            }
        }
    }
    let row = |((phase, job), figures): (&(usize, &str), &JobPhaseFigures)| {
        let phase = result.phases.get(*phase);
        let phase = phase.map_or(String::new(), |phase| phase.label.clone());
        let mut row = vec![point_name.clone(), phase, (*job).to_owned()];
        row.extend(figures.fields());
        row
    };
    figures.iter().map(row).collect()
}

#[cfg(test)]
mod tests;
