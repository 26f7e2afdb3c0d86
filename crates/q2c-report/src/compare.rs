//! The report of `q2c compare`.

use crate::analysis::time;
use crate::document::{Document, DocumentAnswer, Reported, Section};
use crate::phrase::{distinct, listed};
use crate::plots::replay::{ReplayLine, plots};
use crate::quantity::{self, NOTHING, number, seconds};
use crate::replay::{self, spread};
use crate::said::{Note, ReportField, ReportTable, Weight, row};
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
            .run(first.map_or(0, |one| one.job.seed), self.started_unix_s)
            .complete(self.complete);
        if !is_one {
            let [time, sum] = overview(self);
            // One sentence for each device behind the first.
            document = document
                .answers(
                    self.overall
                        .iter()
                        .map(replay::overall)
                        .map(DocumentAnswer::new),
                )
                .section(Section::new("Completion times").table(time))
                .section(Section::new("Sums").table(sum));
        }
        for one in &self.comparisons {
            let name = (!is_one).then(|| row_name(one));
            document = comparison(document, one, name.as_deref());
        }
        let devices = first.map(|one| &one.devices).into_iter().flatten();
        document
            .section(Section::new("").plots(move || plots(&lines(self), is_one)))
            .warnings(&self.warnings)
            .targets(devices.map(|device| &device.target))
            .machine(&self.machine)
    }
}

fn comparison<'a>(document: Document<'a>, one: &Comparison, name: Option<&str>) -> Document<'a> {
    let titled = |plain: &str| match name {
        Some(name) => format!("{plain}: {name}"),
        None => plain.to_owned(),
    };
    let named = |said: Note| match name {
        Some(name) => under(name, said),
        None => said,
    };
    let answer = |sentence: String| DocumentAnswer {
        of: name.unwrap_or_default().to_owned(),
        ..DocumentAnswer::new(sentence)
    };
    let lost = replay::without_idle_time(&one.job, &one.trace);
    let lost = lost.map(|lost| Note::caution("outstanding", lost));
    let notices = lost.into_iter().chain(profile(one)).chain(words(one));
    let devices = Section::new(titled("Devices"))
        .table(sums(one))
        .table(latencies(one))
        .table(separations(one));
    let how = Section::new(titled("How it was replayed"));
    let mut document = document
        .answers(verdict(one).into_iter().map(answer))
        .notices(notices.map(named))
        .section(devices)
        .section(how.notes(replay::job(&one.job, &one.trace)));
    for device in &one.devices {
        let title = titled(&format!("The shown trial of {}", device.target.path));
        let shown = device.shown.iter();
        let details = shown.flat_map(|trial| replay::words(&one.job, &one.trace, trial));
        document = document.section(Section::new(title).notes(details).folded());
    }
    document
}

fn under(name: &str, said: Note) -> Note {
    Note {
        what: format!("{name}: {}", said.what),
        ..said
    }
}

fn lines(result: &CompareResult) -> Vec<ReplayLine<'_>> {
    let several = result.comparisons.len() > 1;
    let runs = result.comparisons.iter().flat_map(|one| {
        let devices = one.devices.iter();
        devices.map(move |device| (one, device))
    });
    let line = |(at, (one, device)): (usize, (&Comparison, _))| {
        let device: &DeviceRun = device;
        let mut name = device.target.path.clone();
        if several {
            name += &format!(", {}", row_name(one));
        }
        Some(ReplayLine::compared(at, &name, device.shown.as_ref()?))
    };
    runs.enumerate().filter_map(line).collect()
}

fn about(result: &CompareResult) -> String {
    let what = match result.comparisons.as_slice() {
        [one] => format!("{} · {}", replay::trace(&one.trace), replay::mode(&one.job)),
        several => format!("{} comparisons of traces and modes", several.len()),
    };
    let first = result.comparisons.first();
    let (asked, devices) = first.map_or((0, 0), |one| (one.job.trials, one.devices.len()));
    let device_runs = result.comparisons.iter().flat_map(|one| &one.devices);
    let trials = quantity::trials(asked, device_runs.map(|device| device.trials.len() as u32));
    let took = seconds(result.seconds);
    format!("{what} · {trials} on each of {devices} devices · took {took}")
}

fn row_name(one: &Comparison) -> String {
    format!("{}, {}", one.trace.path, replay::mode(&one.job))
}

/// The tables of a run of several comparisons, with a row for each trace and mode and a column for
/// each device: the completion times, and the sums.
fn overview(result: &CompareResult) -> [ReportTable; 2] {
    let first = result.comparisons.first();
    let alike = first.filter(|first| result.comparisons.iter().all(|one| one.sum == first.sum));
    let table = |head: &str, values: fn(&Comparison, &DeviceRun) -> Interval, with_metric: bool| {
        let row = |one: &Comparison| {
            let mut below = replay::mode(&one.job);
            if with_metric {
                below += &format!("; {}", replay::metric(one.sum));
            }
            let name = ReportField::over(&one.trace.path, below);
            let values = one.devices.iter().map(|d| spread(&values(one, d)));
            std::iter::once(name).chain(values).collect::<Vec<_>>()
        };
        let devices = first.iter().flat_map(|one| &one.devices);
        let devices = devices.map(|device| device.target.path.as_str());
        let head = std::iter::once(head).chain(devices);
        ReportTable::from_rows(head, result.comparisons.iter().map(row)).legend(VALID)
    };
    let time = replay::metric(CompareMetric::CompletionTime);
    let by_sum = alike.map_or("sum", |one| replay::metric(one.sum));
    [
        table(time, |_, device| device.completion_s, false),
        table(by_sum, sum, alike.is_none()),
    ]
}

const VALID: &str = "Medians with [min, max] over the valid trials.";

/// Says where the completions come from, for a trace that has none.
fn profile(one: &Comparison) -> Option<Note> {
    let profile = one.profile.as_ref()?;
    let mut message = format!(
        "the trace has no completions; what was in flight is taken from its timed replay on {}",
        profile.device
    );
    if profile.invalid.is_empty() {
        return Some(Note::plain("profile", message));
    }
    message += &format!(", in which {}", replay::reasons(&profile.invalid));
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
            name(device),
            spread(&sum(one, device)),
            spread(&device.completion_s),
            trials,
            if device.saturated { "yes" } else { "no" },
        ]
    };
    let metric = replay::metric(one.sum);
    let head = ["device", metric, "completion\ntime", "trials", "saturated"];
    ReportTable::from_rows(head, one.devices.iter().map(row)).legend(VALID)
}

/// Latency and lateness of each device's shown trial, which is the one with the median sum.
fn latencies(one: &Comparison) -> ReportTable {
    let row = |device: &DeviceRun| {
        let trial = device.shown.as_ref();
        let fields = trial.map_or_else(Default::default, |t| latency(one, t));
        std::iter::once(name(device)).chain(fields.map(ReportField::from))
    };
    let heads = "device | U2C p50 | U2C p99 | Q2C p50 | Q2C p99 | lateness\np99";
    let legend = "Of each device's trial with the median sum. Lateness: submission behind the intended time.";
    ReportTable::headed(heads, one.devices.iter().map(row))
        .legend(legend)
        .without_empty_columns()
}

fn latency(one: &Comparison, trial: &ReplayTrial) -> [String; 5] {
    let late = replay::timed(&one.job) || trial.lateness_ns.max > 0.0;
    let late = late.then(|| time(trial.lateness_ns.p99));
    let q2c = trial.q2c_ns.as_ref();
    let [q2c_p50, q2c_p99] = q2c.map_or_else(Default::default, |p| [p.p50, p.p99].map(time));
    [
        time(trial.u2c_ns.p50),
        time(trial.u2c_ns.p99),
        q2c_p50,
        q2c_p99,
        late.unwrap_or_default(),
    ]
}

/// The device's path, and its model in the line below.
fn name(device: &DeviceRun) -> ReportField {
    let disk = device.target.device.as_ref();
    let model = disk.and_then(|disk| disk.model.as_deref());
    ReportField::over(&device.target.path, model.unwrap_or_default().trim())
}

fn separations(one: &Comparison) -> ReportTable {
    let row = |separation: &Separation| {
        let (separates, ratio) = match &separation.ratio {
            None => ("unknown", ReportField::over(NOTHING, "few trials")),
            Some(of_medians) => (
                if separation.separates { "yes" } else { "no" },
                ReportField::over(
                    ratio(of_medians.ratio),
                    format!("[{}, {}]", ratio(of_medians.low), ratio(of_medians.high)),
                ),
            ),
        };
        row![
            ReportField::over(&separation.device, format!("against {}", separation.with)),
            replay::metric(separation.metric),
            ratio,
            separates,
        ]
    };
    let legend = "Ratio of the medians with its 95 % interval: below 1, the device took less than the one it is set against. A metric separates when the \
         whole interval lies more than 1 % from 1.";
    let rows = one.separations.iter().map(row);
    ReportTable::headed("device | metric | ratio | separates", rows).legend(legend)
}

/// A ratio. Between 0.1 and 10 it has three decimals, because comparisons are mostly about ratios
/// near 1.
fn ratio(value: f64) -> String {
    match value {
        v if (0.1..10.0).contains(&v) => format!("{v:.3}"),
        v => number(v),
    }
}

/// The answer in sentences, and which devices did less work than the trace asks for. Of writes that
/// were not written the answer itself says so.
fn verdict(one: &Comparison) -> Vec<String> {
    let mut sentences = replay::verdict(&one.verdict);
    sentences.extend(one.devices.iter().filter_map(less_work));
    sentences
}

fn less_work(device: &DeviceRun) -> Option<String> {
    let is_less = |change: Change| match change {
        Change::WriteRead | Change::WriteLeftOut => false,
        other => other.is_less_work(),
    };
    let changed = device.shown.as_ref()?.changed.iter();
    let less = changed.filter(|(change, _)| is_less(**change));
    let less: u64 = less.map(|(_, n)| n).sum();
    let path = &device.target.path;
    (less > 0).then(|| {
        format!(
            "{path} did less work than the trace asks for: {less} requests were left out or shortened"
        )
    })
}

fn words(one: &Comparison) -> Vec<Note> {
    let mut said = Vec::new();
    for device in &one.devices {
        let path = &device.target.path;
        said.extend(replay::invalid_trials(&format!("{path}: "), &device.trials));
        let failed = format!("{path}: a trial failed");
        said.extend(Note::each(Weight::Bad, &failed, &device.failures));
        let Some(shown) = &device.shown else { continue };
        let said_of = replay::words(&one.job, &one.trace, shown).into_iter();
        // The shown trial is always valid, so good and plain sentences are left out here.
        let alarms =
            said_of.filter(|sentence| matches!(sentence.weight, Weight::Caution | Weight::Bad));
        said.extend(alarms.map(|sentence| under(path, sentence)));
    }
    said
}
