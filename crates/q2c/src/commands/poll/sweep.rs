//! The command `q2c poll sweep`.

use super::SimulatedArgs;
use super::cost::costs;
use super::grid::{GridArgs, Outputs, sizes};
use super::source::trace;
use crate::output::show;
use crate::progress::Line;
use clap::Args;
use q2c_model::{Fault, Nanos, OrFault};
use q2c_policy::{Family, PolicySpec};
use q2c_result::Exit;
use q2c_sim::start_threads;
use q2c_study::{SimTrace, Swept};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// What is swept on what, and what counts as best.
#[derive(Clone, Debug, Args)]
pub(crate) struct SweepArgs {
    /// Traces of the block layer, or of classic polling
    ///
    /// Traces of the block layer (q2c trace record, blktrace, or imported), or of classic polling:
    /// q2c's own, lists of latencies (name their --unit), CSV (name its --columns)
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Rule or family of rules, such as min:ratio=20%..90%/5%
    ///
    /// Rule or family of rules, such as pas or min:ratio=5%..95%/5%,period=1ms|10ms|100ms (may be
    /// given again) [default: mean and min over ratios 5 to 95 % and periods 1 to 200 ms, every
    /// other rule as it comes, and fixed sleeps up to the median latency]
    #[arg(long, value_name = "FAMILY")]
    pub policy: Vec<Family>,
    /// How they are simulated, what is best, and where the result goes.
    #[command(flatten)]
    pub grid: GridArgs,
    /// Show this rule I/O by I/O in the report [default: the best]
    #[arg(long, value_name = "POLICY")]
    pub follow: Option<PolicySpec>,
    /// Write every cell as Parquet to this file
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
}

pub(crate) fn run(args: &SweepArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let grid = &args.grid;
    let outputs = Outputs::make(grid, args.parquet.as_ref())?;
    let begun = Instant::now();
    let SimulatedArgs { source, cost, .. } = &grid.simulated;
    let read = |path| trace(path, source, &args.inputs, stop);
    let inputs = args.inputs.iter().map(|path| read(path.as_path()));
    let line = Line::reading(args.inputs.iter().map(|path| path.as_path()));
    let traces: Vec<SimTrace> = inputs.collect::<Result<_, _>>()?;
    drop(line);
    let reading_s = begun.elapsed().as_secs_f64();
    let costs = costs(cost, source.recording.bs, &sizes(&traces), &traces)?;
    let own_rules = grid.simulated.own.policies().or_exit(Exit::Usage)?;
    let costs_told = (&costs.cost, costs.in_words);
    let mut study = grid.study(&traces, &[], costs_told, reading_s);
    study.follow.clone_from(&args.follow);
    let p50 = Nanos(traces[0].input.latency_ns[2] as u64);
    let swept = Swept {
        families: &args.policy,
        own: &own_rules,
        p50,
    };
    let line = Line::working("estimating the time of the sweep");
    swept.worth_it(&study, grid.yes).or_exit(Exit::Usage)?;
    drop(line);
    let policies = swept.policies().or_exit(Exit::Usage)?;
    study.policies = &policies;
    let line = Line::counting(study.cells() as u64, "configurations");
    let mut result = study.run(stop, &mut |done| line.set(done as u64))?;
    drop(line);
    result.warnings.splice(0..0, costs.doubt);
    outputs.write(&result)?;
    show(&result, grid.json)
}
