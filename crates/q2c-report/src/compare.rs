//! Tables and sentences of `q2c compare` that terminal and page share.

use crate::analysis::time;
use crate::quantity::{NOTHING, number, seconds};
use crate::replay::{self, spread};
use crate::said::{Field, Said, Table, Weight};
use q2c_result::compare::{CompareMetric, CompareResult, DeviceRun, Separation};
use q2c_result::replay::ReplayTrial;
use q2c_stats::Interval;

/// The comparison in a line: trace, mode, trials, devices and duration.
pub(crate) fn about(result: &CompareResult) -> String {
    format!(
        "{} · {} · {} trials on each of {} devices · took {}",
        replay::trace(&result.trace),
        replay::mode(&result.job),
        result.job.trials,
        result.devices.len(),
        seconds(result.seconds)
    )
}

/// A device's values of the sum by which the result compares devices.
fn sum(result: &CompareResult, device: &DeviceRun) -> Interval {
    match result.sum {
        CompareMetric::SumQ2c => device.sum_q2c_s.unwrap_or_default(),
        CompareMetric::SumU2c => device.sum_u2c_s,
        CompareMetric::CompletionTime => device.completion_s,
    }
}

/// Each device's sum and completion time, and the number of valid trials behind them.
pub(crate) fn sums(result: &CompareResult) -> Table {
    let head = [
        "device",
        replay::metric(result.sum),
        "completion\ntime",
        "trials",
        "saturated",
    ];
    let row = |device: &DeviceRun| {
        let saturated = if device.saturated { "yes" } else { "no" };
        vec![
            name(device),
            spread(&sum(result, device)),
            spread(&device.completion_s),
            trials(device).into(),
            saturated.into(),
        ]
    };
    Table {
        head: head.map(String::from).to_vec(),
        rows: result.devices.iter().map(row).collect(),
        legend: "Medians with [min, max] over the valid trials.",
    }
}

/// Latency and lateness of each device's shown trial, which is the one with the median sum.
pub(crate) fn latencies(result: &CompareResult) -> Table {
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
        let fields = trial.map_or_else(Default::default, |t| latency(result, t));
        let all = std::iter::once(name(device));
        all.chain(fields.map(Field::from)).collect()
    };
    Table {
        head: HEAD.map(String::from).to_vec(),
        rows: result.devices.iter().map(row).collect(),
        legend: "Of each device's trial with the median sum. Lateness: submission behind the intended time.",
    }
    .without_empty_columns()
}

fn latency(result: &CompareResult, trial: &ReplayTrial) -> [String; 5] {
    let late = replay::timed(&result.job) || trial.lateness_ns.max > 0.0;
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

/// Sums and latencies in one table; of the latencies it has U2C and lateness, not Q2C.
pub(crate) fn whole(result: &CompareResult) -> Table {
    let (mut all, more) = (sums(result), latencies(result));
    let block: Vec<bool> = more
        .head
        .iter()
        .map(|name| name.starts_with("Q2C"))
        .collect();
    let wanted = |at: &usize| *at > 0 && !block[*at];
    let wanted: Vec<usize> = (0..more.head.len()).filter(wanted).collect();
    all.head
        .extend(wanted.iter().map(|at| more.head[*at].clone()));
    for (row, more) in all.rows.iter_mut().zip(&more.rows) {
        row.extend(wanted.iter().map(|at| more[*at].clone()));
    }
    all.legend = "Medians with [min, max] over the valid trials; latency and lateness of the trial with the median sum. Lateness: submission \
                  behind the intended time.";
    all
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
pub(crate) fn separations(result: &CompareResult) -> Option<Table> {
    let row = |of: &Separation| {
        let says = match (&of.ratio, of.separates) {
            (None, _) => "unknown",
            (Some(_), true) => "separates",
            (Some(_), false) => "does not",
        };
        let ratio = of.ratio.as_ref().map_or_else(few, |r| Field {
            text: ratio(r.ratio),
            below: format!("[{}, {}]", ratio(r.low), ratio(r.high)),
        });
        let name = Field {
            text: of.device.clone(),
            below: format!("against {}", of.with),
        };
        vec![name, replay::metric(of.metric).into(), ratio, says.into()]
    };
    let head = ["device", "metric", "ratio", "says"];
    let table = Table {
        head: head.map(String::from).to_vec(),
        rows: result.separations.iter().map(row).collect(),
        legend: "Ratio of the medians with its 95 % interval: below 1, the device took less than the one it is set against. A metric separates when the interval leaves 1 \
                 out and the medians differ by more than 1 %.",
    };
    (!result.separations.is_empty()).then_some(table)
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

/// The answer in sentences.
pub(crate) fn verdict(result: &CompareResult) -> Vec<String> {
    replay::verdict(&result.verdict)
}

/// Sentences on invalid and failed trials, and the cautions of each device's shown trial.
pub(crate) fn words(result: &CompareResult) -> Vec<Said> {
    let mut said = Vec::new();
    for device in &result.devices {
        let path = &device.target.path;
        let failures = device.failures.iter();
        said.extend(replay::invalid_trials(&format!("{path}: "), &device.trials));
        said.extend(failures.map(|why| {
            let what = format!("{path}: a trial failed");
            Said::new(Weight::Bad, &what, why)
        }));
        let Some(shown) = &device.shown else { continue };
        let own = replay::words(&result.job, &result.trace, shown).into_iter();
        // The shown trial is always valid, so good and plain sentences are left out here.
        let told = own.filter(|one| matches!(one.weight, Weight::Caution | Weight::Bad));
        said.extend(told.map(|one| Said {
            what: format!("{path}: {}", one.what),
            ..one
        }));
    }
    said
}

/// All sentences on a device's shown trial; empty when it has none.
pub(crate) fn details(result: &CompareResult, device: &DeviceRun) -> Vec<Said> {
    let shown = device.shown.as_ref();
    let words = shown.map(|t| replay::words(&result.job, &result.trace, t));
    words.unwrap_or_default()
}
