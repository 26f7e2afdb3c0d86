//! The commands of `q2c place`.

mod calibrate;
mod run;
mod scx;
mod sim;
mod start;
mod watch;

use crate::args::{PlaceArgs, PlaceCommand};
use q2c_engine::Pattern;
use q2c_model::{Bytes, CpuId, Fault};
use q2c_place::{speed, speeds_file};
use q2c_result::Exit;
use q2c_result::place::{Speeds, SpeedsFrom};
use q2c_run::whole_file;
use q2c_scheduler::hints::Hints;
use q2c_workbench::workbench::WorkloadRequest;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Runs the command that was asked for.
pub fn run(args: &PlaceArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    match &args.command {
        PlaceCommand::Sim(args) => sim::run(args),
        PlaceCommand::Watch(args) => watch::run(args, stop),
        PlaceCommand::Start(args) => start::run(args, stop),
        PlaceCommand::Calibrate(args) => calibrate::run(args, stop),
        PlaceCommand::Run(args) => run::run(args, stop),
    }
}

/// The speeds of a file, or those of the published figures.
fn speeds(file: Option<&Path>) -> Result<(Speeds, SpeedsFrom), Fault> {
    let Some(path) = file else {
        return Ok((speed::published(), SpeedsFrom::Published));
    };
    let read = speeds_file::read(&text_of(path)?);
    let speeds = read.map_err(|e| Fault::new(e.exit(), format!("read {}: {e}", path.display())))?;
    Ok((speeds, SpeedsFrom::File(path.display().to_string())))
}

fn hints(file: Option<&Path>) -> Result<Hints, Fault> {
    let Some(path) = file else {
        return Ok(Hints::default());
    };
    let read = Hints::read(&text_of(path)?);
    read.map_err(|e| Fault::new(Exit::Input, format!("read {}: {e}", path.display())))
}

fn text_of(path: &Path) -> Result<String, Fault> {
    let text = whole_file::read_named_text(path, whole_file::BY_HAND);
    text.map_err(|e| Fault::new(Exit::Input, format!("read {}: {e}", path.display())))
}

/// Random reads of a target, as a workload of one job.
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
