//! The report of `q2c compare`.

use crate::document::{Document, DocumentAnswer, Reported, Section};
use crate::note::{Note, ReportField, ReportTable, Weight, row};
use crate::phrase::{distinct, listed, when, yes_or_no};
use crate::plots::replay::{ReplayLine, plots};
use crate::quantity::{self, DASH, duration, number, seconds};
use crate::replay::{self, interval};
use q2c_model::replay::Change;
use q2c_model::stats::Interval;
use q2c_result::compare::{CompareMetric, CompareResult, Comparison, DeviceRun, Separation};
use q2c_result::replay::ReplayTrial;

impl Reported for CompareResult {
    fn document(&self) -> Document<'_> {
        let is_one = self.comparisons.len() == 1;
        let first = self.comparisons.first();
        let paths = self.comparisons.iter().map(|one| one.trace.path.as_str());
        let mut document = Document::new("compare", &self.version, &self.schema)
            .titled(listed(distinct(paths)), about(self))
            .run(
                first.map_or(0, |one| one.job.seed),
                self.provenance.started_unix_s,
            )
            .complete(self.complete);
        if !is_one {
            // One sentence for each device after the first.
            let overall = self.overall.iter().map(replay::overall);
            document = document
                .answers(overall.map(DocumentAnswer::new))
                .sections(overview(self));
        }
        for one in &self.comparisons {
            document = add_comparison(document, one, (!is_one).then(|| row_name(one)).as_deref());
        }
        let devices = first.map(|one| &one.devices).into_iter().flatten();
        document
            .section(Section::new("").plots(move || plots(&replay_lines(self), is_one)))
            .warnings(&self.warnings)
            .targets(devices.map(|device| &device.target))
            .machine(&self.machine)
    }
}

fn add_comparison<'a>(report: Document<'a>, one: &Comparison, name: Option<&str>) -> Document<'a> {
    let section = |title: &str| match name {
        Some(name) => Section::new(format!("{title}: {name}")),
        None => Section::new(title),
    };
    let idle_caution = replay::idle_caution(&one.job, &one.trace);
    let notices = Note::cautions("outstanding", idle_caution)
        .chain(profile_note(one))
        .chain(comparison_notes(one));
    let shown = one.devices.iter().map(|device| {
        let trial = device.shown.iter();
        let details = trial.flat_map(|trial| replay::trial_notes(&one.job, &one.trace, trial));
        let title = format!("The shown trial of {}", device.target.path);
        section(&title).notes(details).folded()
    });
    let mut answers = replay::verdict(&one.verdict);
    answers.extend(one.devices.iter().filter_map(less_work));
    let devices = section("Devices").table(sums(one)).table(latencies(one));
    report
        .answers(Note::plains(name.unwrap_or_default(), answers))
        .notices(notices.map(|note| match name {
            Some(name) => prefixed(name, note),
            None => note,
        }))
        .section(devices.table(separation_table(one)))
        .section(section("How it was replayed").notes(replay::job(&one.job, &one.trace)))
        .sections(shown)
}

fn prefixed(name: &str, note: Note) -> Note {
    Note::new(note.weight, &format!("{name}: {}", note.heading), note.text)
}

fn replay_lines(result: &CompareResult) -> Vec<ReplayLine<'_>> {
    let several = result.comparisons.len() > 1;
    let runs = result.comparisons.iter();
    let runs = runs.flat_map(|one| one.devices.iter().map(move |device| (one, device)));
    let lines = runs.enumerate().filter_map(|(at, (one, device))| {
        let suffix = format!(", {}", row_name(one));
        let name = format!("{}{}", device.target.path, when(several, &suffix));
        Some(ReplayLine::compared(at, &name, device.shown.as_ref()?))
    });
    lines.collect()
}

fn about(result: &CompareResult) -> String {
    let subject = match result.comparisons.as_slice() {
        [one] => format!("{} · {}", replay::trace(&one.trace), replay::mode(&one.job)),
        several => format!("{} comparisons of traces and modes", several.len()),
    };
    let first = result.comparisons.first();
    let (asked, devices) = first.map_or((0, 0), |one| (one.job.trials, one.devices.len()));
    let device_runs = result.comparisons.iter().flat_map(|one| &one.devices);
    let trials = quantity::trials(asked, device_runs.map(|device| device.trials.len() as u32));
    let took = seconds(result.provenance.seconds);
    format!("{subject} · {trials} on each of {devices} devices · took {took}")
}

fn row_name(one: &Comparison) -> String {
    format!("{}, {}", one.trace.path, replay::mode(&one.job))
}

/// The tables of a run with several comparisons: the completion times, and the sums of latency.
/// Each trace and mode has a row, each device a column.
fn overview(result: &CompareResult) -> [Section<'static>; 2] {
    let first = result.comparisons.first();
    let common = first.filter(|first| result.comparisons.iter().all(|one| one.sum == first.sum));
    let table = |head: &str, values: fn(&Comparison, &DeviceRun) -> Interval, with_metric: bool| {
        let rows = result.comparisons.iter().map(|one| {
            let metric = format!("; {}", replay::metric(one.sum));
            let below = replay::mode(&one.job) + when(with_metric, &metric);
            (ReportField::stacked(&one.trace.path, below), one)
        });
        // The first of the comparisons with most devices.
        let comparisons = result.comparisons.iter().rev();
        let widest = comparisons.max_by_key(|one| one.devices.len());
        let devices = widest.into_iter().flat_map(|one| &one.devices).enumerate();
        let devices = devices.map(|(at, device)| (device.target.path.clone(), at));
        let field =
            |one: &&Comparison, at: &usize| Some(interval(&values(one, one.devices.get(*at)?)));
        ReportTable::grid(head, devices, rows, field).legend(LEGEND)
    };
    let time = replay::metric(CompareMetric::CompletionTime);
    let time = table(time, |_, device| device.completion_s, false);
    let by_sum = common.map_or("sum", |one| replay::metric(one.sum));
    let by_sum = table(by_sum, sum, common.is_none());
    let times = Section::new("Completion times").table(time);
    [times, Section::new("Sums").table(by_sum)]
}

const LEGEND: &str = "Medians with [min, max] over the valid trials.";

/// Says which replay supplied the completions of a trace that has none.
fn profile_note(one: &Comparison) -> Option<Note> {
    let profile = one.profile.as_ref()?;
    let origin = "what was in flight is taken from its timed replay on";
    let message = format!("the trace has no completions; {origin} {}", profile.device);
    if profile.invalid.is_empty() {
        return Some(Note::plain("profile", message));
    }
    let reasons = replay::invalid_reasons(&profile.invalid);
    let message = format!("{message}, in which {reasons}");
    Some(Note::caution("profile", message))
}

fn sum(one: &Comparison, device: &DeviceRun) -> Interval {
    match one.sum {
        CompareMetric::SumQ2c => device.sum_q2c_s.unwrap_or_default(),
        CompareMetric::SumU2c => device.sum_u2c_s,
        CompareMetric::CompletionTime => device.completion_s,
    }
}

fn sums(one: &Comparison) -> ReportTable {
    let row = |device: &DeviceRun| {
        // `5`, or `4 of 5` where some are invalid or failed.
        let valid = device.trials.iter().filter(|t| t.valid).count();
        let trials = match device.trials.len() + device.failures.len() {
            ran if ran == valid => ran.to_string(),
            ran => format!("{valid} of {ran}"),
        };
        row![
            device_field(device),
            interval(&sum(one, device)),
            interval(&device.completion_s),
            trials,
            yes_or_no(device.saturated),
        ]
    };
    let metric = replay::metric(one.sum);
    let head = ["device", metric, "completion\ntime", "trials", "saturated"];
    ReportTable::from_rows(head, one.devices.iter().map(row)).legend(LEGEND)
}

/// Latency and lateness of each device's shown trial, which is the one with the median sum.
fn latencies(one: &Comparison) -> ReportTable {
    let row = |device: &DeviceRun| {
        let trial = device.shown.as_ref();
        let fields = trial.map_or_else(Default::default, |t| latency_fields(one, t));
        std::iter::once(device_field(device)).chain(fields.map(ReportField::from))
    };
    let heads = "device | U2C p50 | U2C p99 | Q2C p50 | Q2C p99 | lateness\np99";
    let legend = "Of each device's trial with the median sum. Lateness: submission behind the intended time.";
    ReportTable::new(heads, one.devices.iter().map(row))
        .legend(legend)
        .without_empty_columns()
}

fn latency_fields(one: &Comparison, trial: &ReplayTrial) -> [String; 5] {
    let is_late = replay::is_timed(&one.job) || trial.lateness_ns.max > 0.0;
    let late = duration(trial.lateness_ns.p99);
    let [p50, p99] = [trial.u2c_ns.p50, trial.u2c_ns.p99].map(duration);
    let q2c = trial.q2c_ns.as_ref();
    let [q2c_p50, q2c_p99] = q2c.map_or_else(Default::default, |p| [p.p50, p.p99].map(duration));
    [p50, p99, q2c_p50, q2c_p99, when(is_late, &late).to_owned()]
}

/// The device's path, and its model in the line below.
fn device_field(device: &DeviceRun) -> ReportField {
    let disk = device.target.device.as_ref();
    let model = disk.and_then(|disk| disk.model.as_deref());
    ReportField::stacked(&device.target.path, model.unwrap_or_default().trim())
}

fn separation_table(one: &Comparison) -> ReportTable {
    let legend = "Ratio of the medians with its 95 % interval: below 1, the device took less than the one it is set against. A metric separates when the \
         whole interval lies more than 1 % from 1.";
    let rows = one.separations.iter().map(|separation: &Separation| {
        let (separates, ratio) = match &separation.ratio {
            None => ("unknown", ReportField::stacked(DASH, "few trials")),
            Some(medians) => {
                let [times, low, high] = [medians.ratio, medians.low, medians.high].map(ratio);
                let field = ReportField::stacked(times, format!("[{low}, {high}]"));
                (yes_or_no(separation.separates), field)
            }
        };
        let other = format!("against {}", separation.with);
        let devices = ReportField::stacked(&separation.device, other);
        row![devices, replay::metric(separation.metric), ratio, separates]
    });
    ReportTable::new("device | metric | ratio | separates", rows).legend(legend)
}

/// A ratio. It has three decimals between 0.1 and 10, because most ratios of a comparison are near
/// 1.
fn ratio(value: f64) -> String {
    match value {
        v if (0.1..10.0).contains(&v) => format!("{v:.3}"),
        v => number(v),
    }
}

/// A sentence on a device that did less work than the trace asks for. Writes that were left out are
/// in the verdict already.
fn less_work(device: &DeviceRun) -> Option<String> {
    let is_less = |change: Change| match change {
        Change::WriteRead | Change::WriteLeftOut => false,
        other => other.is_less_work(),
    };
    let changed = device.shown.as_ref()?.changed.iter();
    let less = changed.filter(|(change, _)| is_less(**change));
    let less: u64 = less.map(|(_, n)| n).sum();
    let path = &device.target.path;
    let less_work = format!("{path} did less work than the trace asks for");
    (less > 0).then(|| format!("{less_work}: {less} requests were left out or shortened"))
}

fn comparison_notes(one: &Comparison) -> Vec<Note> {
    let mut notes = Vec::new();
    for device in &one.devices {
        let path = &device.target.path;
        notes.extend(replay::invalid_trials(&format!("{path}: "), &device.trials));
        let failed = format!("{path}: a trial failed");
        notes.extend(Note::many(Weight::Bad, &failed, &device.failures));
        let Some(shown) = &device.shown else { continue };
        // The shown trial is always valid, so only the alarms about it are shown here.
        let alarms = replay::trial_notes(&one.job, &one.trace, shown).into_iter();
        notes.extend(alarms.filter(Note::is_alarm).map(|a| prefixed(path, a)));
    }
    notes
}
