//! `q2c poll`.

use crate::args::{PollArgs, PollCommand, SimArgs};
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json};
use q2c_model::{Bytes, CostModel, Nanos};
use q2c_policy::{PolicySpec, Tally};
use q2c_result::Exit;
use q2c_result::tune::Calibration;
use q2c_sim::{Drive, Method, Outcome, Recording, simulate};
use q2c_trace::{Column, Scan, TraceReader};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Simulates, or watches.
pub fn run(args: &PollArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    match &args.command {
        PollCommand::Sim(args) => simulate_all(args, stop),
        PollCommand::Watch(args) => super::watch::run(args, stop),
    }
}

fn simulate_all(args: &SimArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let simulation = simulation(args, stop)?;
    match args.json {
        true => print_json(&simulation)?,
        false => print(&in_words(&simulation))?,
    }
    Ok(Exit::Done)
}

/// Least time that counts when none is asked for: windowed rules need many of their periods.
const MEASURE: Nanos = Nanos::from_millis(2_000);

/// What was simulated on what, and what it gives.
#[derive(Serialize)]
struct Simulation {
    schema: &'static str,
    trace: String,
    lanes: usize,
    ios: usize,
    cost: String,
    warm_up_ns: Nanos,
    measure_ns: Nanos,
    seed: u64,
    methods: Vec<Row>,
}

/// One method.
#[derive(Serialize)]
struct Row {
    method: String,
    #[serde(flatten)]
    gives: Outcome,
    /// Of a rule with a formula.
    #[serde(skip_serializing_if = "Option::is_none")]
    windows: Option<Windows>,
}

/// What a formula made of its windows, warm-up included.
#[derive(Serialize)]
struct Windows {
    all: u64,
    negative: u64,
    undefined: u64,
}

impl From<Tally> for Windows {
    fn from(tally: Tally) -> Self {
        Windows {
            all: tally.windows,
            negative: tally.negative,
            undefined: tally.undefined,
        }
    }
}

fn simulation(args: &SimArgs, stop: &AtomicBool) -> Result<Simulation, Failure> {
    let Trace { lanes, sizes } = trace(&args.trace, stop)?;
    let (cost, in_words) = cost(args, &sizes)?;
    let drive = Drive {
        warm_up: args.warm_up,
        measure: args.measure.unwrap_or_else(|| length(&lanes).max(MEASURE)),
        seed: args.seed,
    };
    let own = args.own.policies().or_exit(Exit::Usage)?;
    let run = |method: String, how: Method| match stop.load(Ordering::Relaxed) {
        true => Err(stopped(&args.trace)),
        false => Ok(Row {
            method,
            gives: simulate(&lanes, &cost, how, drive),
            windows: None,
        }),
    };
    let rule = |policy: &PolicySpec| {
        let how = Method::Hybrid(policy.build(lanes.len()));
        let row = run(format!("hybrid:{policy}"), how)?;
        let windows = policy.tally().map(Windows::from);
        Ok(Row { windows, ..row })
    };
    let bounds = [("poll", Method::Poll), ("oracle", Method::Oracle)];
    let bounds = bounds.map(|(method, how)| run(method.to_owned(), how));
    let rules = args.policy.iter().chain(&own).map(rule);
    let methods: Vec<Row> = bounds.into_iter().chain(rules).collect::<Result<_, _>>()?;
    if methods[0].gives.ios == 0 {
        let why = format!(
            "simulate {}: no I/O begins within the measured time; give a longer --measure",
            args.trace.display()
        );
        return Err(Failure::new(Exit::Usage, why));
    }
    Ok(Simulation {
        schema: "q2c.poll-sim/1",
        trace: args.trace.display().to_string(),
        lanes: lanes.len(),
        ios: lanes.iter().map(Recording::len).sum(),
        cost: in_words,
        warm_up_ns: drive.warm_up,
        measure_ns: drive.measure,
        seed: drive.seed,
        methods,
    })
}

struct Trace {
    lanes: Vec<Recording>,
    sizes: BTreeSet<Bytes>,
}

/// The lanes of a trace, with no more of it read than that needs.
fn trace(path: &Path, stop: &AtomicBool) -> Result<Trace, Failure> {
    let columns = [
        Column::SubmitNs,
        Column::SubmitEndNs,
        Column::ReapNs,
        Column::SleptNs,
        Column::Error,
    ];
    let trace = TraceReader::open(path).or_exit(Exit::Input)?;
    let scan = Scan::new().columns(&columns);
    let mut records = Vec::new();
    for some in trace.records(&scan).or_exit(Exit::Input)? {
        if stop.load(Ordering::Relaxed) {
            return Err(stopped(path));
        }
        records.extend(some.or_exit(Exit::Input)?);
    }
    Ok(Trace {
        lanes: Recording::from_records(&records).or_exit(Exit::Input)?,
        sizes: records.iter().map(|record| record.bytes).collect(),
    })
}

fn stopped(path: &Path) -> Failure {
    let why = format!("simulate {}: stopped by a signal", path.display());
    Failure::new(Exit::Interrupted, why)
}

/// The longest lane's time in classic polling.
fn length(lanes: &[Recording]) -> Nanos {
    let sum = |times: &[f32]| times.iter().map(|&t| f64::from(t)).sum::<f64>();
    let lane = |lane: &Recording| sum(&lane.submit) + sum(&lane.wait) + sum(&lane.gap);
    Nanos(lanes.iter().map(lane).fold(0.0, f64::max) as u64)
}

/// The costs, and where they are from.
fn cost(args: &SimArgs, sizes: &BTreeSet<Bytes>) -> Result<(CostModel, String), Failure> {
    let Some(path) = &args.cost else {
        let delay = args.wake_delay;
        let words = format!("every sleep ends {delay} late, nothing else costs");
        return Ok((CostModel::delayed(delay), words));
    };
    let bad = |why: String| Failure::new(Exit::Input, format!("read {}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|e| bad(e.to_string()))?;
    let all: Vec<Calibration> = serde_json::from_str(&text)
        .map_err(|e| bad(format!("expected a list of calibrations, found {e}")))?;
    let list = |sizes: &mut dyn Iterator<Item = Bytes>| {
        let words: Vec<String> = sizes.map(|bs| bs.to_string()).collect();
        words.join(", ")
    };
    let bs = match (args.bs, sizes.first()) {
        (Some(bs), _) => bs,
        (None, Some(&bs)) if sizes.len() == 1 => bs,
        _ => {
            let found = list(&mut sizes.iter().copied());
            let why = format!(
                "choose a calibration: expected one block size in the trace, found {found}; name one with --bs"
            );
            return Err(Failure::new(Exit::Usage, why));
        }
    };
    let found = all.iter().find(|calibration| calibration.bs == bs);
    let found = found.ok_or_else(|| {
        let have = list(&mut all.iter().map(|calibration| calibration.bs));
        bad(format!(
            "expected a calibration for {bs}, found {have}; name another with --bs"
        ))
    })?;
    let words = format!(
        "calibration for {bs} on {} in {}",
        found.cpu,
        path.display()
    );
    Ok((found.cost.clone(), words))
}

fn in_words(simulation: &Simulation) -> String {
    let lanes = match simulation.lanes {
        1 => "1 lane".to_owned(),
        n => format!("{n} lanes"),
    };
    let mut lines = vec![
        format!(
            "{}: {} I/Os, {lanes}",
            simulation.trace.escape_debug(),
            simulation.ios
        ),
        format!("cost: {}", simulation.cost.escape_debug()),
        format!(
            "simulated: {} after {} of warm-up",
            simulation.measure_ns, simulation.warm_up_ns
        ),
        format!(
            "{:>10} {:>7} {:>11} {:>8} {:>10} {:>7} {:>7} {:>10} {:>10} {:>10}  method",
            "IOPS",
            "CPU %",
            "KIOPS/core",
            "missed %",
            "asked",
            "late %",
            "polled",
            "p50",
            "p99",
            "p99.9"
        ),
    ];
    lines.extend(simulation.methods.iter().map(row));
    lines.extend(simulation.methods.iter().filter_map(no_time));
    lines.push(
        "late: time lost by oversleeping / device time; polled: time polled / device time"
            .to_owned(),
    );
    lines.join("\n")
}

/// That a formula gave no time, so that its rule polled.
fn no_time(row: &Row) -> Option<String> {
    let Windows {
        all,
        negative,
        undefined,
    } = row.windows.as_ref()?;
    (negative + undefined > 0).then(|| {
        format!(
            "no sleep after {} of {all} windows: {negative} gave a negative time, {undefined} no number (division by zero): {}",
            negative + undefined,
            row.method
        )
    })
}

fn row(Row { method, gives, .. }: &Row) -> String {
    let time = |ns: f64| Nanos(ns.round() as u64).to_string();
    format!(
        "{:>10.0} {:>7.1} {:>11.2} {:>8.2} {:>10} {:>7.2} {:>6.1}% {:>10} {:>10} {:>10}  {method}",
        gives.iops,
        gives.cpu_pct,
        gives.kiops_per_core,
        gives.miss_rate * 100.0,
        time(gives.effective_sleep_ns),
        gives.t_over * 100.0,
        gives.t_under * 100.0,
        time(gives.p50_ns),
        time(gives.p99_ns),
        time(gives.p999_ns),
    )
}
