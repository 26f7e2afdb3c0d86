//! The commands of `q2c place`.

mod calibrate;
mod run;
mod scx;
mod sim;
mod start;

use crate::output::{Redrawn, print_json, print_while_read, read_fault, read_text, screen, unix_s};
use calibrate::PlaceCalibrateArgs;
use clap::{Args, Subcommand};
use q2c_engine::Pattern;
use q2c_host::Roots;
use q2c_host::signals::Orderly;
use q2c_model::{Bytes, CpuId, Fault, Nanos, OrFault, parse_time};
use q2c_place::corun::run::spec::PlaceRunSettings;
use q2c_place::rules::Rules;
use q2c_place::scheduler::hints::Hints;
use q2c_place::scheduler::observe::{TaskObserver, usable_window};
use q2c_place::scheduler::view::{PlaceWatchBasis, detector, machine_map};
use q2c_place::{speed, speeds_file};
use q2c_report::Reported;
use q2c_result::Exit;
use q2c_result::place::{Speeds, SpeedsFrom};
use q2c_workbench::workbench::WorkloadRequest;
use sim::PlaceSimArgs;
use start::PlaceStartArgs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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

/// The rules that say which task moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RulesName {
    /// The published rules alone
    Published,
    /// With q2c's own swap step, which acts where loads are equal
    Swap,
}

impl RulesName {
    fn rules(self) -> Rules {
        match self {
            RulesName::Published => Rules::Literal,
            RulesName::Swap => Rules::Proposed,
        }
    }
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

pub(crate) fn run(command: &PlaceCommand, stop: &AtomicBool) -> Result<Exit, Fault> {
    match command {
        PlaceCommand::Sim(args) => sim::run(args),
        PlaceCommand::Watch(args) => watch(args, stop),
        PlaceCommand::Start(args) => start::run(args, stop),
        PlaceCommand::Calibrate(args) => calibrate::run(args, stop),
        PlaceCommand::Run(args) => run::run(args, stop),
    }
}

fn read_speeds(file: Option<&Path>) -> Result<(Speeds, SpeedsFrom), Fault> {
    let Some(path) = file else {
        return Ok((speed::published(), SpeedsFrom::Published));
    };
    let speeds = speeds_file::read(&read_text(path)?);
    let speeds = speeds.map_err(|e| read_fault(path, &e).with_exit(e.exit()))?;
    Ok((speeds, SpeedsFrom::File(path.display().to_string())))
}

fn read_hints(file: Option<&Path>) -> Result<Hints, Fault> {
    let Some(path) = file else {
        return Ok(Hints::default());
    };
    Hints::read(&read_text(path)?).map_err(|error| read_fault(path, error))
}

fn random_read_request(target: &str, bs: Bytes, cpu: CpuId) -> WorkloadRequest {
    WorkloadRequest {
        // With a named CPU, the workbench does not try several CPUs.
        cpus: vec![cpu],
        ..WorkloadRequest::new(target, Pattern::RANDREAD, vec![bs])
    }
}

/// Prints a line with the time since the start. A closed pipe does not end the work.
fn tell(begun: Instant, text: &str) -> Result<(), Fault> {
    let seconds = begun.elapsed().as_secs_f64();
    print_while_read(&format!("{seconds:.2} s  {text}")).map(drop)
}

/// Longest delay until a signal is noticed.
const MAX_STOP_DELAY: Duration = Duration::from_millis(50);

/// Sleeps for a window. Returns its true length in seconds; `None` if a signal ended it.
fn sleep_window(window: Duration, stop: &AtomicBool) -> Option<f64> {
    let begun = Instant::now();
    while begun.elapsed() < window {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        std::thread::sleep(MAX_STOP_DELAY.min(window.saturating_sub(begun.elapsed())));
    }
    Some(begun.elapsed().as_secs_f64())
}

/// What to watch.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceWatchArgs {
    /// Hints and window.
    #[command(flatten)]
    pub detect: DetectArgs,
    /// Speeds beside neighbours from this TOML file [default: from published figures]
    #[arg(long, value_name = "FILE")]
    pub speeds: Option<PathBuf>,
    /// End after so many windows [default: go on until interrupted; 3 with --json]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub windows: Option<u32>,
    /// Print the last look as JSON; q2c report draws it again
    #[arg(long, conflicts_with = "json_lines")]
    pub json: bool,
    /// Print each look as a line of JSON
    #[arg(long)]
    pub json_lines: bool,
}

/// Windows of `--json`: a task that stopped polling counts as computing only after two windows.
const JSON_WINDOWS: u32 = 3;

fn watch(args: &PlaceWatchArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    // After a signal the probe is removed, and the last window is printed.
    let _orderly = Orderly::begin();
    let (speeds, speeds_from) = read_speeds(args.speeds.as_deref())?;
    let hints = read_hints(args.detect.hints.as_deref())?;
    let roots = Roots::live();
    let map = machine_map(&roots).map_err(Fault::environment)?;
    let mut observer = TaskObserver::begin(&roots, hints);
    let view = PlaceWatchBasis {
        map,
        speeds,
        speeds_from,
        detector: detector(&observer),
    };
    let window = Duration::from_nanos(usable_window(args.detect.window).0);
    let max_windows = args.windows.or(args.json.then_some(JSON_WINDOWS));
    let mut drawn = Redrawn::default();
    let mut last = None;
    for nth in 1.. {
        let Some(seconds) = sleep_window(window, stop) else {
            break;
        };
        let active = observer.window()?;
        let look = view.result(&active, unix_s(), seconds);
        let goes_on = match (args.json, args.json_lines) {
            (true, _) => true,
            (false, true) => {
                print_while_read(&serde_json::to_string(&look).or_exit(Exit::Internal)?)?
            }
            (false, false) => drawn.show(&look.document().text(screen()))?,
        };
        last = Some(look);
        if !goes_on || max_windows.is_some_and(|max| nth >= max) {
            break;
        }
    }
    match last {
        _ if !args.json => Ok(Exit::Done),
        Some(look) => print_json(&look).map(|()| Exit::Done),
        None => Ok(Exit::Interrupted),
    }
}
