//! Tables and sentences of `q2c compare` that terminal and page share.

use crate::analysis::time;
use crate::quantity::{self, NOTHING, number, seconds};
use crate::replay::{self, spread};
use crate::said::{Field, Said, Table, Weight};
use q2c_model::replay::Change;
use q2c_result::compare::{CompareMetric, CompareResult, Comparison, DeviceRun, Separation};
use q2c_result::replay::ReplayTrial;
use q2c_stats::Interval;

/// The run in a line: traces, modes, trials, devices and duration.
pub(crate) fn about(result: &CompareResult) -> String {
    let what = match result.comparisons.as_slice() {
        [one] => format!("{} · {}", replay::trace(&one.trace), replay::mode(&one.job)),
        several => format!("{} comparisons of traces and modes", several.len()),
    };
    let first = result.comparisons.first();
    let (asked, devices) = first.map_or((0, 0), |one| (one.job.trials, one.devices.len()));
    let each = result.comparisons.iter().flat_map(|one| &one.devices);
    let trials = quantity::trials(asked, each.map(|device| device.trials.len() as u32));
    format!(
        "{what} · {trials} on each of {devices} devices · took {}",
        seconds(result.seconds)
    )
}

/// The title of the run: the paths of its traces.
pub(crate) fn title(result: &CompareResult) -> String {
    let mut paths: Vec<&str> = Vec::new();
    for one in &result.comparisons {
        if !paths.contains(&one.trace.path.as_str()) {
            paths.push(&one.trace.path);
        }
    }
    paths.join(", ")
}

/// The name of a comparison among several: its trace and its mode.
pub(crate) fn row_name(one: &Comparison) -> String {
    format!("{}, {}", one.trace.path, replay::mode(&one.job))
}

/// The tables of a run of several comparisons, with a row for each trace and mode and a column for
/// each device: the completion times, and the sums.
pub(crate) fn overview(result: &CompareResult) -> [Table; 2] {
    let first = result.comparisons.first();
    let alike = first.filter(|first| result.comparisons.iter().all(|one| one.sum == first.sum));
    let time = replay::metric(CompareMetric::CompletionTime);
    let by_sum = alike.map_or("sum", |one| replay::metric(one.sum));
    let table = |head: &str, values: fn(&Comparison, &DeviceRun) -> Interval, told: bool| {
        let row = |one: &Comparison| {
            let mode = replay::mode(&one.job);
            let row_name = Field {
                text: one.trace.path.clone(),
                below: match told {
                    true => format!("{mode}; {}", replay::metric(one.sum)),
                    false => mode,
                },
            };
            let devices = one.devices.iter();
            let values = devices.map(|device| spread(&values(one, device)));
            std::iter::once(row_name).chain(values).collect()
        };
        let devices = first.iter().flat_map(|one| &one.devices);
        let devices = devices.map(|device| device.target.path.clone());
        Table {
            head: std::iter::once(head.to_owned()).chain(devices).collect(),
            rows: result.comparisons.iter().map(row).collect(),
            legend: "Medians with [min, max] over the valid trials.",
        }
    };
    [
        table(time, |_, device| device.completion_s, false),
        table(by_sum, sum, alike.is_none()),
    ]
}

/// The answer over all comparisons, one sentence for each device behind the first.
pub(crate) fn overall(result: &CompareResult) -> Vec<String> {
    result.overall.iter().map(replay::overall).collect()
}

/// Says where the completions come from, for a trace that has none.
pub(crate) fn profile(one: &Comparison) -> Option<Said> {
    let profile = one.profile.as_ref()?;
    let words = format!(
        "the trace has no completions; what was in flight is taken from its timed replay on {}",
        profile.device
    );
    Some(match profile.invalid.is_empty() {
        true => Said::plain("profile", words),
        false => {
            let why = replay::reasons(&profile.invalid);
            Said::new(
                Weight::Caution,
                "profile",
                format!("{words}, in which {why}"),
            )
        }
    })
}

/// A device's values of the sum by which the result compares devices.
fn sum(one: &Comparison, device: &DeviceRun) -> Interval {
    match one.sum {
        CompareMetric::SumQ2c => device.sum_q2c_s.unwrap_or_default(),
        CompareMetric::SumU2c => device.sum_u2c_s,
        CompareMetric::CompletionTime => device.completion_s,
    }
}

/// Each device's sum and completion time, and the number of valid trials behind them.
pub(crate) fn sums(one: &Comparison) -> Table {
    let head = [
        "device",
        replay::metric(one.sum),
        "completion\ntime",
        "trials",
        "saturated",
    ];
    let row = |device: &DeviceRun| {
        let saturated = if device.saturated { "yes" } else { "no" };
        vec![
            name(device),
            spread(&sum(one, device)),
            spread(&device.completion_s),
            trials(device).into(),
            saturated.into(),
        ]
    };
    Table {
        head: head.map(String::from).to_vec(),
        rows: one.devices.iter().map(row).collect(),
        legend: "Medians with [min, max] over the valid trials.",
    }
}

/// Latency and lateness of each device's shown trial, which is the one with the median sum.
pub(crate) fn latencies(one: &Comparison) -> Table {
    const HEAD: [&str; 6] = [
        "device",
        "U2C p50",
        "U2C p99",
        "Q2C p50",
        "Q2C p99",
        "lateness\np99",
    ];
    let row = |device: &DeviceRun| {
        let trial = device.shown.as_ref();
        let fields = trial.map_or_else(Default::default, |t| latency(one, t));
        let all = std::iter::once(name(device));
        all.chain(fields.map(Field::from)).collect()
    };
    Table {
        head: HEAD.map(String::from).to_vec(),
        rows: one.devices.iter().map(row).collect(),
        legend: "Of each device's trial with the median sum. Lateness: submission behind the intended time.",
    }
    .without_empty_columns()
}

fn latency(one: &Comparison, trial: &ReplayTrial) -> [String; 5] {
    let late = replay::timed(&one.job) || trial.lateness_ns.max > 0.0;
    let q2c = trial.q2c_ns.as_ref();
    let [q2c_p50, q2c_p99] = q2c.map_or_else(Default::default, |of| [of.p50, of.p99].map(time));
    [
        time(trial.u2c_ns.p50),
        time(trial.u2c_ns.p99),
        q2c_p50,
        q2c_p99,
        if late {
            time(trial.lateness_ns.p99)
        } else {
            String::new()
        },
    ]
}

/// The device's path, and its model in the line below.
fn name(device: &DeviceRun) -> Field {
    let model = device.target.device.as_ref().and_then(|d| d.model.as_ref());
    Field {
        text: device.target.path.clone(),
        below: model
            .map(|model| model.trim().to_owned())
            .unwrap_or_default(),
    }
}

/// The number of valid trials: `5`, or `4 of 5` when some are invalid or failed.
fn trials(device: &DeviceRun) -> String {
    let valid = device.trials.iter().filter(|t| t.valid).count();
    match device.trials.len() + device.failures.len() {
        ran if ran == valid => ran.to_string(),
        ran => format!("{valid} of {ran}"),
    }
}

/// Which metrics separate the devices; `None` when there is nothing to compare.
pub(crate) fn separations(one: &Comparison) -> Option<Table> {
    let row = |of: &Separation| {
        let separates = match (&of.ratio, of.separates) {
            (None, _) => "unknown",
            (Some(_), true) => "yes",
            (Some(_), false) => "no",
        };
        let ratio = of.ratio.as_ref().map_or_else(few, |r| Field {
            text: ratio(r.ratio),
            below: format!("[{}, {}]", ratio(r.low), ratio(r.high)),
        });
        let name = Field {
            text: of.device.clone(),
            below: format!("against {}", of.with),
        };
        vec![
            name,
            replay::metric(of.metric).into(),
            ratio,
            separates.into(),
        ]
    };
    let head = ["device", "metric", "ratio", "separates"];
    let table = Table {
        head: head.map(String::from).to_vec(),
        rows: one.separations.iter().map(row).collect(),
        legend: "Ratio of the medians with its 95 % interval: below 1, the device took less than the one it is set against. A metric separates when the \
                 whole interval lies more than 1 % from 1.",
    };
    (!one.separations.is_empty()).then_some(table)
}

/// The field of a ratio that could not be computed.
fn few() -> Field {
    Field {
        text: NOTHING.to_owned(),
        below: "few trials".to_owned(),
    }
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
pub(crate) fn verdict(one: &Comparison) -> Vec<String> {
    let mut all = replay::verdict(&one.verdict);
    all.extend(one.devices.iter().filter_map(less_work));
    all
}

fn less_work(device: &DeviceRun) -> Option<String> {
    let is_less = |change: Change| match change {
        Change::WriteRead | Change::WriteLeftOut => false,
        other => other.is_less_work(),
    };
    let changed = device.shown.as_ref()?.changed.iter();
    let less: u64 = changed
        .filter(|(change, _)| is_less(**change))
        .map(|(_, n)| n)
        .sum();
    (less > 0).then(|| {
        format!(
            "{} did less work than the trace asks for: {less} requests were left out or shortened",
            device.target.path
        )
    })
}

/// Sentences on invalid and failed trials, and the cautions of each device's shown trial.
pub(crate) fn words(one: &Comparison) -> Vec<Said> {
    let mut said = Vec::new();
    for device in &one.devices {
        let path = &device.target.path;
        let failures = device.failures.iter();
        said.extend(replay::invalid_trials(&format!("{path}: "), &device.trials));
        said.extend(failures.map(|why| {
            let what = format!("{path}: a trial failed");
            Said::new(Weight::Bad, &what, why)
        }));
        let Some(shown) = &device.shown else { continue };
        let said_of = replay::words(&one.job, &one.trace, shown).into_iter();
        // The shown trial is always valid, so good and plain sentences are left out here.
        let told = said_of.filter(|of| matches!(of.weight, Weight::Caution | Weight::Bad));
        said.extend(told.map(|of| Said {
            what: format!("{path}: {}", of.what),
            ..of
        }));
    }
    said
}

/// All sentences on a device's shown trial; empty when it has none.
pub(crate) fn details(one: &Comparison, device: &DeviceRun) -> Vec<Said> {
    let shown = device.shown.as_ref();
    let words = shown.map(|t| replay::words(&one.job, &one.trace, t));
    words.unwrap_or_default()
}
