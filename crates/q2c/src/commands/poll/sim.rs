//! The command `q2c poll sim`.

use super::cost::cost;
use super::source::trace;
use crate::args::SimArgs;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json};
use q2c_model::Nanos;
use q2c_policy::{PolicySpec, Tally};
use q2c_result::Exit;
use q2c_sim::{Drive, Outcome, Waiting, simulate_with};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Simulates classic polling, the oracle and the rules asked for, and prints the outcomes.
pub fn run(args: &SimArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let simulation = simulation(args, stop)?;
    match args.json {
        true => print_json(&simulation)?,
        false => print(&in_words(&simulation))?,
    }
    Ok(Exit::Done)
}

/// The simulated time that counts is at least this long unless `--measure` is given: rules with
/// windows need many of their periods.
const MEASURE: Nanos = Nanos::from_millis(2_000);

/// The result: what was simulated, on which trace and at which costs, and the outcomes.
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

/// One method and its outcome.
#[derive(Serialize)]
struct Row {
    method: String,
    #[serde(flatten)]
    gives: Outcome,
    /// Only for a rule with a formula.
    #[serde(skip_serializing_if = "Option::is_none")]
    windows: Option<Windows>,
}

/// Number of windows that a formula saw, and of those in which it gave a negative time or no
/// number. Windows of the warm-up are counted, too.
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
    let trace = trace(&args.trace, &args.source, 1, stop)?;
    let (cost, in_words) = cost(&args.cost, args.source.recording.bs, &trace.input.sizes)?;
    let (lanes, arrival) = (&trace.lanes, args.arrival());
    let drive = Drive {
        warm_up: args.warm_up,
        measure: args
            .measure
            .unwrap_or_else(|| trace.input.span_ns.max(MEASURE)),
        seed: args.seed,
    };
    let own = args.own.policies().or_exit(Exit::Usage)?;
    let run = |method: String, how: Waiting| match stop.load(Ordering::Relaxed) {
        true => Err(stopped(&args.trace)),
        false => Ok(Row {
            method,
            gives: simulate_with(arrival, lanes, &cost, how, drive),
            windows: None,
        }),
    };
    let rule = |policy: &PolicySpec| {
        let how = Waiting::rules(policy.build(lanes.len()));
        let row = run(format!("hybrid:{policy}"), how)?;
        let windows = policy.tally().map(Windows::from);
        Ok(Row { windows, ..row })
    };
    let bounds = [
        ("poll", Waiting::poll(lanes.len())),
        ("oracle", Waiting::Oracle),
    ];
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
        ios: trace.input.ios as usize,
        cost: in_words,
        warm_up_ns: drive.warm_up,
        measure_ns: drive.measure,
        seed: drive.seed,
        methods,
    })
}

fn stopped(path: &Path) -> Failure {
    let why = format!("simulate {}: stopped by a signal", path.display());
    Failure::new(Exit::Interrupted, why)
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

/// Says in how many windows a formula gave no time, so that the rule polled. `None` when it always
/// gave one.
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
