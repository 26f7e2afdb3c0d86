//! The document of `q2c tune`.

use super::{Document, Reported, Section};
use crate::metric::{METRICS, Metric};
use crate::mode::{self, ModeMatch};
use crate::note::{Note, ReportField, ReportTable, Weight};
use crate::phrase::{counted, joined, when};
use crate::quantity::{count, duration, median, number, seconds};
use crate::{advice, facts, kinds, label, plots, program, validity};
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
            unavailable.map(|missing| Note::plain(&missing.method.to_string(), &missing.reason));
        Document::new("tune", &self.version, &self.schema)
            .titled(facts::title(&self.target, &self.machine), about)
            .run(self.job.seed, self.provenance.started_unix_s)
            .complete(self.complete)
            .notices(cautions(self))
            .answers(self.recommendation.iter().map(|r| advice::answer(self, r)))
            .sections(sections(answer_section))
            .sections(self.program.iter().map(|program| {
                Section::new("Program and workload")
                    .notes(program::worth_notes(program))
                    .table(program::likeness_table(program))
                    .notes(program::program_notes(program))
            }))
            .sections(sections(methods_section))
            .sections(sections(kinds_section))
            .section(trust_section(self))
            .section(Section::new("Not available here").notes(unavailable))
            .sections(sections(calibration_section))
            .warnings(&self.warnings)
            .target(&self.target)
            .machine(&self.machine)
            .checks(&self.doctor)
    }
}

fn cautions(result: &TuneResult) -> impl Iterator<Item = Note> {
    let trials = label::cpu_trials(&result.target);
    // A check that has the name of a method says only that the method is not available.
    let unavailable = result.unavailable.iter();
    let names: Vec<String> = unavailable.map(|it| it.method.to_string()).collect();
    let checks = validity::invalidating_checks(&result.doctor)
        .filter(move |check| !names.contains(&check.id));
    Note::many(Weight::Bad, "effective mode", label::fallbacks(result))
        .chain(Note::plains("tried from", trials))
        .chain(Note::plains("background", &result.job.background))
        .chain(Note::plains("limit", &result.job.limits))
        .chain(checks.map(validity::check_note))
}

/// The answer, compared with polling and interrupts.
fn answer_section(result: &TuneResult, bs: Bytes) -> Section<'_> {
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
    let max_ratio = per_core.fold(0.0, f64::max);
    let row = |cell: &&Cell| {
        let over_polling = relative(cell);
        [
            label::method(&cell.method),
            median(&over_polling.iops, 100.0),
            median(&cell.measured.rates.cpu_pct, 1.0),
            median(&over_polling.kiops_per_core, 1.0),
            crate::terminal::bar(over_polling.kiops_per_core.median / max_ratio, BAR_CHARS),
        ]
    };
    let weight = |cell: &&Cell| {
        let is_below = relative(cell).iops.median < floor && cell.method != Method::POLL;
        let other = Weight::Bad.only_if(is_below);
        if chosen(cell) { Weight::Good } else { other }
    };
    let goal = label::objective(&result.job.objective);
    let floor = number(floor * 100.0);
    let remark = format!("Chosen by {goal} among what keeps {floor} % of polling's IOPS.");
    let heads = "method | IOPS\n% poll | CPU\n% | per core\nx poll | ";
    let table = ReportTable::new(heads, shown.iter().map(row));
    section
        .weighted(table, shown.iter().map(weight))
        .remark(remark)
        .plots(move || plots::tune::answer(result, bs))
}

/// Width of the bars in the table of methods, in characters.
const BAR_CHARS: usize = 12;

fn methods_section(result: &TuneResult, bs: Bytes) -> Section<'_> {
    let recommendation = label::recommendation_of(result, bs);
    let cells = label::cells_of(result, bs);
    let field = |cell: &Cell, metric: &Metric| {
        let below = [metric.range(cell), metric.prediction(cell)];
        let below = below.into_iter().filter(|text| !text.is_empty());
        ReportField::stacked(metric.median(cell), joined(below, "\n"))
    };
    let row = |cell: &&Cell| {
        let name = label::method(&cell.method);
        let mut row = vec![ReportField::stacked(name, role_text(cell))];
        row.extend(METRICS.iter().map(|metric| field(cell, metric)));
        row
    };
    let weight = |cell: &&Cell| match mode::mode_match(&cell.effective_mode) {
        _ if label::is_recommended(cell, recommendation) => Weight::Good,
        ModeMatch::Differs => Weight::Bad,
        _ => Weight::Plain,
    };
    let head = std::iter::once("method and policy").chain(METRICS.iter().map(|metric| metric.head));
    let table = ReportTable::from_rows(head, cells.iter().map(row)).legend(LEGEND);
    Section::new(format!("All methods, {bs}"))
        .weighted(table, cells.iter().map(weight))
        .remark(mode::legend(cells.iter().map(|c| &c.effective_mode.mode)))
        .plots(move || plots::tune::details(result, bs))
        .folded()
}

fn kinds_section(result: &TuneResult, bs: Bytes) -> Section<'_> {
    let cells = label::cells_of(result, bs).into_iter();
    let kinds = cells.map(|cell| (label::method(&cell.method), &cell.measured.kinds[..]));
    kinds::section(format!("By kind of request, {bs}"), kinds)
}

const LEGEND: &str = "Medians over the trials, [min, max], and the prediction. Of polling: each trial over the polled slices between \
     its parts: verdicts stand on these. Sleep: asked, over all I/Os. Slept: from call to return. Latency: submission to reaping (U2C).";

/// The role of a cell, and its effective mode if that adds something.
fn role_text(cell: &Cell) -> String {
    let was = mode::label(&cell.effective_mode.mode);
    let role = format!("{}, {} I/Os", cell.role.text(), count(cell.measured.ios));
    match mode::mode_match(&cell.effective_mode) {
        ModeMatch::AsAsked => role,
        ModeMatch::ByOtherMeans => format!("{role}; {was}"),
        ModeMatch::Differs => format!("{role}; was {was}"),
    }
}

fn trust_section(result: &TuneResult) -> Section<'static> {
    let lessons = result.lessons.iter();
    let lessons = lessons
        .map(|lesson| Note::plain(&format!("{} costs", lesson.bs), advice::lesson_text(lesson)));
    let iops = result.cells.iter().map(|cell| cell.measured.rates.iops);
    let fewest = iops.min_by_key(|i| i.trials).unwrap_or_default();
    let coverage = number(fewest.coverage() * 100.0);
    let intervals = match fewest.trials {
        ..2 => "a cell with one trial has no interval".to_owned(),
        _ => format!("[min, max] covers the true median with {coverage} % or more"),
    };
    let weight = Weight::Caution.only_if(result.fidelity.cells == 0);
    let drift = number(result.fidelity.drift_pct);
    let harness = format!(
        "{} of CPU per I/O are q2c's own (null engine, recording on; {} with nothing kept)",
        duration(result.harness_floor_ns),
        duration(result.harness_bare_ns)
    );
    let drift = format!("{drift} % of the IOPS, from the first recording to the trials");
    let late = label::late_time_of_cells(result).into_iter();
    let late = late.map(|sentences| joined(sentences, "; "));
    let fidelity = Note::new(weight, "fidelity", fidelity(result));
    Section::new("How far to trust it")
        .notes(lessons)
        .notes([Note::plain("intervals", intervals), fidelity])
        .notes(result.fidelity.by_block_size.iter().map(fidelity_at))
        .notes([
            Note::plain("device drift", drift),
            Note::plain("harness floor", harness),
        ])
        .notes(Note::plains("late time", late))
        .folded()
}

/// Says which cells and errors the fidelity covers, and if its calibration is an earlier one.
fn fidelity(result: &TuneResult) -> String {
    const EARLIER: &str =
        "; the calibration was that of an earlier run (--recalibrate makes it anew)";
    let earlier = when(result.calibration.iter().any(|costs| costs.reused), EARLIER);
    let fidelity = &result.fidelity;
    if fidelity.cells == 0 {
        return format!("no sleeping cell was measured, so predictions are unchecked{earlier}");
    }
    let drift = number(fidelity.drift_pct);
    let not_counted = match fidelity.never_slept {
        0 => String::new(),
        n => format!("; {n} more never left the CPU in their sleeps and are not counted"),
    };
    format!(
        "predicted against measured, median / 90th percentile / worst sleeping cell, before its \
         own trials corrected the costs; the device drifted by {drift} %{not_counted}{earlier}"
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

fn calibration_section(result: &TuneResult, bs: Bytes) -> Section<'_> {
    let calibration = result.calibration.iter().find(|c| c.bs == bs);
    Section::new(format!("Calibration and prediction, {bs}"))
        .plots(move || plots::tune::calibration_and_fidelity(result, bs))
        .notes(calibration.into_iter().flat_map(facts::calibration))
        .folded()
}
