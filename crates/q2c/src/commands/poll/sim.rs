//! The command `q2c poll sim`.

use super::cost::costs;
use super::source::trace;
use crate::args::{SimArgs, SimulatedArgs};
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json};
use crate::requests::poll::{arrival, sim_drive, sim_policies};
use q2c_model::Nanos;
use q2c_policy::{FormulaCounts, PolicySpec};
use q2c_result::Exit;
use q2c_sim::{Outcome, Waiting, simulate_with};
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

impl From<FormulaCounts> for Windows {
    fn from(tally: FormulaCounts) -> Self {
        Windows {
            all: tally.windows,
            negative: tally.negative,
            undefined: tally.undefined,
        }
    }
}

fn simulation(args: &SimArgs, stop: &AtomicBool) -> Result<Simulation, Failure> {
    let SimulatedArgs { source, cost, .. } = &args.simulated;
    let trace = trace(&args.trace, source, 1, stop)?;
    let (cost, in_words) = costs(cost, source.recording.bs, &trace.input.sizes)?;
    let (lanes, arrival) = (&trace.lanes, arrival(args.open));
    let drive = sim_drive(args, trace.input.span_ns);
    let policies = sim_policies(args).or_exit(Exit::Usage)?;
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
    let rules = policies.iter().map(rule);
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
        gives.gives.rates.iops,
        gives.gives.rates.cpu_pct,
        gives.gives.kiops_per_core,
        gives.gives.rates.miss_rate * 100.0,
        time(gives.gives.rates.effective_sleep_ns),
        gives.gives.t_over * 100.0,
        gives.gives.t_under * 100.0,
        time(gives.gives.latencies.p50_ns),
        time(gives.gives.latencies.p99_ns),
        time(gives.gives.latencies.p999_ns),
    )
}
