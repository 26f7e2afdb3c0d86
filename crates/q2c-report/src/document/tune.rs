//! The document of `q2c tune`.

use super::{Answer, Document, Reported, Section};
use crate::metric::METRICS;
use crate::mode::{self, Kept};
use crate::plots;
use crate::quantity::{count, duration, median, number, seconds};
use crate::said::{Field, Said, Table, Weight};
use crate::{advice, cpu_trials, facts, fidelity, invalid, label, program, sim_machine};
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::Check;
use q2c_result::tune::{Cell, Recommendation, TuneResult, Unavailable};

impl Reported for TuneResult {
    fn document(&self) -> Document<'_> {
        let about = format!(
            "{} \u{b7} took {}",
            label::job(self),
            seconds(self.provenance.seconds)
        );
        let mut of = Document::new("tune", &self.version, &self.schema)
            .titled(sim_machine::title(&self.target, &self.machine), about)
            .run(self.job.seed, self.provenance.started_unix_s)
            .complete(self.complete)
            .notices(ran_otherwise(self));
        let sizes = plots::tune::block_sizes(self);
        for recommendation in &self.recommendation {
            of = of.answers([answer(self, recommendation)]);
        }
        let mut in_full = Vec::new();
        for &bs in &sizes {
            of = of.section(in_short(self, bs).plots(move || plots::tune::answer(self, bs)));
            in_full.push(
                all_methods(self, bs)
                    .plots(move || plots::tune::details(self, bs))
                    .folded(),
            );
        }
        if let Some(program) = &self.program {
            of = of.section(
                Section::new("Program and workload")
                    .told(program::worth(program))
                    .table(program::table(program).unwrap_or_default())
                    .told(program::told(program)),
            );
        }
        of = in_full.into_iter().fold(of, Document::section);
        of = of.section(trust(self)).section(unavailable(self));
        for &bs in &sizes {
            of = of.section(knowledge(self, bs));
        }
        of.warnings(&self.warnings)
            .target(&self.target)
            .machine(&self.machine)
            .checks(&self.doctor)
    }
}

/// What was not as asked: methods that ran as others, background jobs, limits.
fn ran_otherwise(result: &TuneResult) -> Vec<Said> {
    let other = label::fallbacks(result).into_iter();
    let other = other.map(|words| Said::new(Weight::Bad, "effective mode", words));
    let tried = cpu_trials::words(&result.target);
    let tried = tried.map(|words| Said::plain("tried from", words));
    let beside = result.job.background.iter();
    let beside = beside.map(|job| Said::plain("background", job));
    let limits = result.job.limits.iter();
    let limits = limits.map(|limit| Said::plain("limit", limit));
    // A check that is named as a method says no more than that the method is not available.
    let is_said = |check: &Check| {
        let mut methods = result.unavailable.iter();
        methods.any(|none| none.method.to_string() == check.id)
    };
    let checks = invalid::notices(&result.doctor, is_said);
    other
        .chain(tried)
        .chain(beside)
        .chain(limits)
        .chain(checks)
        .collect()
}

fn answer(result: &TuneResult, recommendation: &Recommendation) -> Answer {
    let words = advice::words(result, recommendation);
    Answer {
        of: format!("{} {}", recommendation.bs, result.job.rw),
        headline: words.verdict,
        weight: if words.sure {
            Weight::Good
        } else {
            Weight::Caution
        },
        caveats: words.caveats,
        evidence: words.evidence,
        to_do: words.apply,
    }
}

/// The answer beside polling and interrupts.
fn in_short(result: &TuneResult, bs: Bytes) -> Section<'_> {
    let recommendation = label::recommendation_of(result, bs);
    let chosen = |cell: &Cell| label::is_recommended(cell, recommendation);
    let cells = label::cells_of(result, bs);
    let floor = recommendation.map_or(0.0, |of| of.floor);
    let section = Section::new(format!("{bs} {}", result.job.rw));
    if cells.is_empty() {
        return section.remark("Nothing was measured at this block size.");
    }
    let shown: Vec<&Cell> = cells
        .into_iter()
        .filter(|cell| chosen(cell) || !cell.sleeping)
        .collect();
    let relative = |cell: &Cell| cell.relative.unwrap_or_default();
    let most = shown
        .iter()
        .map(|cell| relative(cell).kiops_per_core.median);
    let most = most.fold(0.0, f64::max);
    let row = |cell: &&Cell| -> Vec<Field> {
        let of = relative(cell);
        [
            label::cell(cell),
            median(&of.iops, 100.0),
            median(&cell.measured.rates.cpu_pct, 1.0),
            median(&of.kiops_per_core, 1.0),
            crate::terminal::bar(of.kiops_per_core.median / most, BAR),
        ]
        .map(Field::from)
        .to_vec()
    };
    let below = |cell: &Cell| cell.method != Method::POLL && relative(cell).iops.median < floor;
    let weight = |cell: &&Cell| match (chosen(cell), below(cell)) {
        (true, _) => Weight::Good,
        (_, true) => Weight::Bad,
        _ => Weight::Plain,
    };
    let weights = shown.iter().map(weight).collect();
    section
        .marked(Table::of(SHORT, shown.iter().map(row)), weights)
        .remark(format!(
            "Chosen by {} among what keeps {} % of polling's IOPS.",
            label::objective(&result.job.objective),
            number(floor * 100.0)
        ))
}

/// Columns of the bar of KIOPS/core.
const BAR: usize = 12;
const SHORT: [&str; 5] = ["method", "IOPS\n% poll", "CPU\n%", "per core\nx poll", ""];

/// All methods, with ranges, predictions, and what they ran as.
fn all_methods(result: &TuneResult, bs: Bytes) -> Section<'_> {
    let recommendation = label::recommendation_of(result, bs);
    let cells = label::cells_of(result, bs);
    let head = METRICS
        .iter()
        .map(|metric| format!("{}\n{}", metric.name, metric.unit));
    let head: Vec<String> = std::iter::once("method and policy".to_owned())
        .chain(head)
        .collect();
    let field = |cell: &Cell, metric: &crate::metric::Metric| Field {
        text: metric.median(cell),
        below: [metric.range(cell), metric.predicted(cell)]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n"),
    };
    let row = |cell: &&Cell| {
        let name = Field {
            text: label::cell(cell),
            below: about(cell),
        };
        let fields = METRICS.iter().map(|metric| field(cell, metric));
        std::iter::once(name).chain(fields).collect()
    };
    let weight = |cell: &&Cell| match mode::kept(&cell.effective_mode) {
        _ if label::is_recommended(cell, recommendation) => Weight::Good,
        Kept::Differs => Weight::Bad,
        _ => Weight::Plain,
    };
    let weights = cells.iter().map(weight).collect();
    let table = Table {
        head,
        rows: cells.iter().map(row).collect(),
        legend: LEGEND,
    };
    let modes = cells.iter().map(|cell| &cell.effective_mode.was);
    Section::new(format!("All methods, {bs}"))
        .marked(table, weights)
        .remark(mode::legend(modes).unwrap_or_default())
}

const LEGEND: &str = "Medians over the trials, [min, max], and the prediction. Of polling: each trial over the polled slices between \
     its parts: verdicts stand on these. Sleep: asked, over all I/Os. Slept: from call to return. Latency: submission to reaping (U2C).";

/// The role of a cell, and its effective mode where that says more.
fn about(cell: &Cell) -> String {
    let was = mode::words(&cell.effective_mode.was);
    let role = format!("{}, {} I/Os", cell.role.text(), count(cell.measured.ios));
    match mode::kept(&cell.effective_mode) {
        Kept::AsAsked => role,
        Kept::ByOtherMeans => format!("{role}; {was}"),
        Kept::Differs => format!("{role}; was {was}"),
    }
}

/// How far to trust the numbers.
fn trust(result: &TuneResult) -> Section<'static> {
    let lessons = result.lessons.iter();
    let lessons =
        lessons.map(|lesson| Said::plain(&format!("{} costs", lesson.bs), advice::lesson(lesson)));
    let floor = format!(
        "{} of CPU per I/O are q2c's own (null engine, recording on; {} with nothing kept)",
        duration(result.harness_floor_ns),
        duration(result.harness_bare_ns)
    );
    let sizes = result.fidelity.by_block_size.iter();
    let sizes = sizes.map(|size| Said::plain(&fidelity::over(size), fidelity::at(size)));
    let trials = result.cells.iter();
    let trials = trials.map(|cell| cell.measured.rates.iops);
    let least = trials.min_by_key(|of| of.trials).unwrap_or_default();
    let trials = match least.trials {
        ..2 => "a cell with one trial has no interval".to_owned(),
        _ => format!(
            "[min, max] covers the true median with {} % or more",
            number(least.coverage() * 100.0)
        ),
    };
    let head = Said {
        weight: match result.fidelity.cells {
            0 => Weight::Caution,
            _ => Weight::Plain,
        },
        ..Said::plain("fidelity", fidelity::head(result))
    };
    let late = label::late(result).into_iter().map(|(of, findings)| {
        let findings: String = findings.iter().map(|found| format!("; {found}")).collect();
        Said::plain("late time", of + &findings)
    });
    Section::new("How far to trust it")
        .told(lessons)
        .told([Said::plain("intervals", trials), head])
        .told(sizes)
        .told([
            Said::plain(
                "device drift",
                format!(
                    "{} % of the IOPS, from the first recording to the trials",
                    number(result.fidelity.drift_pct)
                ),
            ),
            Said::plain("harness floor", floor),
        ])
        .told(late)
        .folded()
}

fn unavailable(result: &TuneResult) -> Section<'static> {
    let told = |none: &Unavailable| Said::plain(&none.method.to_string(), &none.reason);
    Section::new("Not available here").told(result.unavailable.iter().map(told))
}

/// The calibration of a block size, and predictions beside what was measured.
fn knowledge(result: &TuneResult, bs: Bytes) -> Section<'_> {
    let calibration = result.calibration.iter().find(|of| of.bs == bs);
    let facts = calibration.map_or_else(Vec::new, facts::calibration);
    let told = facts.into_iter();
    Section::new(format!("Calibration and prediction, {bs}"))
        .plots(move || plots::tune::knowledge(result, bs))
        .told(told.map(|fact| Said::plain(&fact.name, fact.value)))
        .folded()
}
