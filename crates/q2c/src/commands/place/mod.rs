//! The commands of `q2c place`.

mod calibrate;
mod run;
mod scx;
mod sim;
mod start;
mod watch;

use crate::output::{text_of, unread};
use calibrate::PlaceCalibrateArgs;
use clap::{Args, Subcommand};
use q2c_engine::Pattern;
use q2c_model::{Bytes, CpuId, Fault, Nanos, parse_time};
use q2c_place::corun::run::spec::PlaceRunSettings;
use q2c_place::scheduler::hints::Hints;
use q2c_place::{speed, speeds_file};
use q2c_result::Exit;
use q2c_result::place::{Speeds, SpeedsFrom};
use q2c_workbench::workbench::WorkloadRequest;
use sim::PlaceSimArgs;
use start::PlaceStartArgs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use watch::PlaceWatchArgs;

/// Placement of polling tasks beside computing tasks on SMT cores.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PlaceCommand,
}

/// The commands of `q2c place`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum PlaceCommand {
    /// Simulate placements: run time of computing tasks, latency of polling tasks, by policy
    Sim(PlaceSimArgs),
    /// Watch by core who polls, who computes, what that costs, and what would be better; changes
    /// nothing
    Watch(PlaceWatchArgs),
    /// Place tasks until interrupted: polling tasks spread over the cores, on one logical CPU of
    /// each, computing tasks beside them; every task gets its own CPUs back at the end
    Start(PlaceStartArgs),
    /// Measure what a neighbour on the same core costs here, for place sim and place watch
    Calibrate(PlaceCalibrateArgs),
    /// Measure computing and polling tasks together in several placements: what each costs, and
    /// what the rules gain here
    Run(PlaceRunSettings),
}

/// How to tell polling tasks.
#[derive(Clone, Debug, Args)]
pub(crate) struct DetectArgs {
    /// Names of threads that poll, that compute, and that are never moved, from this TOML file:
    /// polling = ["name", "begin*"], compute, leave
    #[arg(long, value_name = "FILE")]
    pub hints: Option<PathBuf>,
    /// Length of a window: tasks that polled in it count as polling
    #[arg(long, default_value = "500ms", value_parser = parse_time, value_name = "DURATION")]
    pub window: Nanos,
}

pub(crate) fn run(args: &PlaceArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    match &args.command {
        PlaceCommand::Sim(args) => sim::run(args),
        PlaceCommand::Watch(args) => watch::run(args, stop),
        PlaceCommand::Start(args) => start::run(args, stop),
        PlaceCommand::Calibrate(args) => calibrate::run(args, stop),
        PlaceCommand::Run(args) => run::run(args, stop),
    }
}

fn speeds(file: Option<&Path>) -> Result<(Speeds, SpeedsFrom), Fault> {
    let Some(path) = file else {
        return Ok((speed::published(), SpeedsFrom::Published));
    };
    let speeds = speeds_file::read(&text_of(path)?);
    let speeds = speeds.map_err(|e| unread(path, &e).with_exit(e.exit()))?;
    Ok((speeds, SpeedsFrom::File(path.display().to_string())))
}

fn hints(file: Option<&Path>) -> Result<Hints, Fault> {
    let Some(path) = file else {
        return Ok(Hints::default());
    };
    Hints::read(&text_of(path)?).map_err(|error| unread(path, error))
}

fn reads(target: &str, bs: Bytes, cpu: CpuId) -> WorkloadRequest {
    WorkloadRequest {
        machine: None,
        target: target.to_owned(),
        engine: None,
        pattern: Pattern {
            random: true,
            write: false,
        },
        sizes: vec![bs],
        jobs: 1,
        // A named CPU keeps the workbench from trying them.
        cpus: vec![cpu],
        background: Vec::new(),
        allow_write: Vec::new(),
        seed: 1,
    }
}

/// The longest time for which a signal waits.
const PATIENCE: Duration = Duration::from_millis(50);

/// Sleeps for a window. Returns its true length in seconds; `None` when a signal ended it.
fn wait(window: Duration, stop: &AtomicBool) -> Option<f64> {
    let began = Instant::now();
    while began.elapsed() < window {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        std::thread::sleep(PATIENCE.min(window.saturating_sub(began.elapsed())));
    }
    Some(began.elapsed().as_secs_f64())
}
