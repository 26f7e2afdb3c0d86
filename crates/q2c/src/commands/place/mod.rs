//! The commands of `q2c place`.

mod calibrate;
mod run;
mod scx;
mod sim;
mod start;
mod watch;

use crate::args::{PlaceArgs, PlaceCommand};
use crate::output::{text_of, unread};
use q2c_engine::Pattern;
use q2c_model::{Bytes, CpuId, Fault};
use q2c_place::{speed, speeds_file};
use q2c_result::Exit;
use q2c_result::place::{Speeds, SpeedsFrom};

use q2c_scheduler::hints::Hints;
use q2c_workbench::workbench::WorkloadRequest;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub fn run(args: &PlaceArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
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
    Hints::read(&text_of(path)?).map_err(|why| unread(path, why))
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
