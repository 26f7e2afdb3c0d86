//! The document of `q2c tune`.

use super::{Document, Reported, Section};
use crate::metric::{METRICS, Metric};
use crate::mode::{self, ModeMatch};
use crate::phrase::{counted, joined, when};
use crate::quantity::{count, duration, median, number, seconds};
use crate::said::{Note, ReportField, ReportTable, Weight};
use crate::{advice, cpu_trials, facts, invalid, label, plots, program, sim_machine};
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::tune::{Cell, Errors, SizeFidelity, TuneResult};

impl Reported for TuneResult {
    fn document(&self) -> Document<'_> {
        let took = seconds(self.provenance.seconds);
        let about = format!("{} · took {took}", label::job(self));
        let sizes = plots::tune::block_sizes(self);
        let sections = |make: fn(&TuneResult, Bytes) -> Section<'_>| {
            sizes.iter().map(move |&bs| make(self, bs))
        };
        let unavailable = self.unavailable.iter();
        let unavailable =
            unavailable.map(|none| Note::plain(&none.method.to_string(), &none.reason));
        Document::new("tune", &self.version, &self.schema)
            .titled(sim_machine::title(&self.target, &self.machine), about)
            .run(self.job.seed, self.provenance.started_unix_s)
            .complete(self.complete)
            .notices(ran_otherwise(self))
            .answers(self.recommendation.iter().map(|r| advice::words(self, r)))
            .sections(sections(in_short))
            .sections(self.program.iter().map(|program| {
                Section::new("Program and workload")
                    .notes(program::worth(program))
                    .table(program::table(program))
                    .notes(program::sentences(program))
            }))
            .sections(sections(all_methods))
            .section(trust(self))
            .section(Section::new("Not available here").notes(unavailable))
            .sections(sections(knowledge))
            .warnings(&self.warnings)
            .target(&self.target)
            .machine(&self.machine)
            .checks(&self.doctor)
    }
}

fn ran_otherwise(result: &TuneResult) -> impl Iterator<Item = Note> {
    let tried = cpu_trials::words(&result.target);
    // A check that has the name of a method says only that the method is not available.
    let unavailable = result.unavailable.iter();
    let said: Vec<String> = unavailable.map(|none| none.method.to_string()).collect();
    let checks = invalid::checks(&result.doctor).filter(move |check| !said.contains(&check.id));
    Note::each(Weight::Bad, "effective mode", label::fallbacks(result))
        .chain(Note::plains("tried from", tried))
        .chain(Note::plains("background", &result.job.background))
        .chain(Note::plains("limit", &result.job.limits))
        .chain(checks.map(invalid::said))
}

/// The answer, compared with polling and interrupts.
fn in_short(result: &TuneResult, bs: Bytes) -> Section<'_> {
    let recommendation = label::recommendation_of(result, bs);
    let chosen = |cell: &Cell| label::is_recommended(cell, recommendation);
    let mut shown = label::cells_of(result, bs);
    let floor = recommendation.map_or(0.0, |recommendation| recommendation.floor);
    let section = Section::new(format!("{bs} {}", result.job.rw));
    if shown.is_empty() {
        return section
            .remark("Nothing was measured at this block size.")
            .plots(move || plots::tune::answer(result, bs));
    }
    shown.retain(|cell| chosen(cell) || !cell.sleeping);
    let relative = |cell: &Cell| cell.relative.unwrap_or_default();
    let per_core = shown.iter();
    let per_core = per_core.map(|cell| relative(cell).kiops_per_core.median);
    let most = per_core.fold(0.0, f64::max);
    let row = |cell: &&Cell| {
        let over_polling = relative(cell);
        [
            label::cell(cell),
            median(&over_polling.iops, 100.0),
            median(&cell.measured.rates.cpu_pct, 1.0),
            median(&over_polling.kiops_per_core, 1.0),
            crate::terminal::bar(over_polling.kiops_per_core.median / most, BAR),
        ]
    };
    let weight = |cell: &&Cell| {
        let is_below = relative(cell).iops.median < floor && cell.method != Method::POLL;
        let other = Weight::Bad.only_when(is_below);
        if chosen(cell) { Weight::Good } else { other }
    };
    let by = label::objective(&result.job.objective);
    let floor = number(floor * 100.0);
    let heads = "method | IOPS\n% poll | CPU\n% | per core\nx poll | ";
    let table = ReportTable::headed(heads, shown.iter().map(row));
    section
        .marked(table, shown.iter().map(weight))
        .remark(format!(
            "Chosen by {by} among what keeps {floor} % of polling's IOPS."
        ))
        .plots(move || plots::tune::answer(result, bs))
}

/// Width of the bars in the table of methods, in characters.
const BAR: usize = 12;

fn all_methods(result: &TuneResult, bs: Bytes) -> Section<'_> {
    let recommendation = label::recommendation_of(result, bs);
    let cells = label::cells_of(result, bs);
    let field = |cell: &Cell, metric: &Metric| {
        let below = [metric.range(cell), metric.prediction(cell)];
        let below = below.into_iter().filter(|text| !text.is_empty());
        ReportField::over(metric.median(cell), joined(below, "\n"))
    };
    let row = |cell: &&Cell| {
        let mut row = vec![ReportField::over(label::cell(cell), about(cell))];
        row.extend(METRICS.iter().map(|metric| field(cell, metric)));
        row
    };
    let weight = |cell: &&Cell| match mode::kept(&cell.effective_mode) {
        _ if label::is_recommended(cell, recommendation) => Weight::Good,
        ModeMatch::Differs => Weight::Bad,
        _ => Weight::Plain,
    };
    let head = std::iter::once("method and policy").chain(METRICS.iter().map(|metric| metric.head));
    let table = ReportTable::from_rows(head, cells.iter().map(row)).legend(LEGEND);
    Section::new(format!("All methods, {bs}"))
        .marked(table, cells.iter().map(weight))
        .remark(mode::legend(cells.iter().map(|c| &c.effective_mode.was)))
        .plots(move || plots::tune::details(result, bs))
        .folded()
}

const LEGEND: &str = "Medians over the trials, [min, max], and the prediction. Of polling: each trial over the polled slices between \
     its parts: verdicts stand on these. Sleep: asked, over all I/Os. Slept: from call to return. Latency: submission to reaping (U2C).";

/// The role of a cell, and its effective mode if that adds something.
fn about(cell: &Cell) -> String {
    let was = mode::words(&cell.effective_mode.was);
    let role = format!("{}, {} I/Os", cell.role.text(), count(cell.measured.ios));
    match mode::kept(&cell.effective_mode) {
        ModeMatch::AsAsked => role,
        ModeMatch::ByOtherMeans => format!("{role}; {was}"),
        ModeMatch::Differs => format!("{role}; was {was}"),
    }
}

fn trust(result: &TuneResult) -> Section<'static> {
    let lessons = result.lessons.iter();
    let lessons =
        lessons.map(|lesson| Note::plain(&format!("{} costs", lesson.bs), advice::lesson(lesson)));
    let iops = result.cells.iter().map(|cell| cell.measured.rates.iops);
    let least = iops.min_by_key(|i| i.trials).unwrap_or_default();
    let coverage = number(least.coverage() * 100.0);
    let intervals = match least.trials {
        ..2 => "a cell with one trial has no interval".to_owned(),
        _ => format!("[min, max] covers the true median with {coverage} % or more"),
    };
    let weight = Weight::Caution.only_when(result.fidelity.cells == 0);
    let drift = number(result.fidelity.drift_pct);
    let floor = format!(
        "{} of CPU per I/O are q2c's own (null engine, recording on; {} with nothing kept)",
        duration(result.harness_floor_ns),
        duration(result.harness_bare_ns)
    );
    let drift = format!("{drift} % of the IOPS, from the first recording to the trials");
    let late = label::late(result).into_iter();
    let late = late.map(|sentences| joined(sentences, "; "));
    let fidelity = Note::new(weight, "fidelity", fidelity(result));
    Section::new("How far to trust it")
        .notes(lessons)
        .notes([Note::plain("intervals", intervals), fidelity])
        .notes(result.fidelity.by_block_size.iter().map(fidelity_at))
        .notes([
            Note::plain("device drift", drift),
            Note::plain("harness floor", floor),
        ])
        .notes(Note::plains("late time", late))
        .folded()
}

/// What the fidelity covers over all block sizes, and which calibration it used.
fn fidelity(result: &TuneResult) -> String {
    const EARLIER: &str =
        "; the calibration was that of an earlier run (--recalibrate makes it anew)";
    let earlier = when(result.calibration.iter().any(|costs| costs.reused), EARLIER);
    let fidelity = &result.fidelity;
    if fidelity.cells == 0 {
        return format!("no sleeping cell was measured, so predictions are unchecked{earlier}");
    }
    let drift = number(fidelity.drift_pct);
    let awake = match fidelity.never_slept {
        0 => String::new(),
        n => format!("; {n} more never left the CPU in their sleeps and are not counted"),
    };
    format!(
        "predicted against measured, median / 90th percentile / worst sleeping cell, before its \
         own trials corrected the costs; the device drifted by {drift} %{awake}{earlier}"
    )
}

/// The errors at one block size: `IOPS 0.80 / 2.40 / 2.40 % (hybrid min:70%,1ms), ...`.
fn fidelity_at(fidelity: &SizeFidelity) -> Note {
    let summary = |errors: &Errors, unit: &str| {
        format!(
            "{} / {} / {} {unit} ({})",
            number(errors.median),
            number(errors.p90),
            number(errors.max),
            label::method(&errors.worst.0)
        )
    };
    let iops = summary(&fidelity.iops_pct, "%");
    let cpu = summary(&fidelity.cpu_points, "points");
    let missed = summary(&fidelity.miss_points, "points");
    let what = format!("{}, {}", fidelity.bs, counted(fidelity.cells, "cell"));
    Note::plain(&what, format!("IOPS {iops}, CPU {cpu}, miss rate {missed}"))
}

fn knowledge(result: &TuneResult, bs: Bytes) -> Section<'_> {
    let calibration = result.calibration.iter().find(|c| c.bs == bs);
    Section::new(format!("Calibration and prediction, {bs}"))
        .plots(move || plots::tune::knowledge(result, bs))
        .notes(calibration.into_iter().flat_map(facts::calibration))
        .folded()
}
