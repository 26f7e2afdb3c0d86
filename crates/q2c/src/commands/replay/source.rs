//! The trace that is replayed: q2c's own, or an import that is removed at the end of the command.

use crate::args::{HowArgs, ShareName, temporary};
use crate::commands::trace::{import_exit, trace_exit};
use crate::failure::{Fails, Failure};
use crate::output::say;
use q2c_model::TraceMeta;
use q2c_replay::{Facts, ReplayError, check, prepare};
use q2c_result::Exit;
use q2c_trace::import::Input;
use q2c_trace::{TraceReader, TraceWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Requests read per second, or a little less than that. The user is told how long a long reading
/// will take.
const PER_SECOND: f64 = 2e6;
/// A reading that is expected to be shorter than this, seconds, is not announced.
const SOON: f64 = 5.0;

/// An open trace and what it holds.
pub struct Source {
    /// The path as it was given.
    pub name: String,
    /// Format of an imported recording, or the source that q2c's own trace names.
    pub made_by: String,
    pub facts: Facts,
    _imported: Option<Imported>,
}

/// An imported trace. It is removed when this value is dropped.
struct Imported(PathBuf);

impl Drop for Imported {
    fn drop(&mut self) {
        // The file may be gone already.
        std::fs::remove_file(&self.0).ok();
    }
}

impl Source {
    /// Opens the trace, after an import where it is not q2c's own, and reads it once for its facts.
    pub fn open(path: &Path, how: &HowArgs, stop: &AtomicBool) -> Result<Source, Failure> {
        let input =
            Input::recognise(path, how.recording.format.as_deref()).or_exit_of(import_exit)?;
        let made_by = input.format();
        let imported = match input {
            Input::Own => None,
            foreign => Some(import(path, foreign, how)?),
        };
        let trace = imported
            .as_ref()
            .map_or(path, |imported| imported.0.as_path());
        let reader = TraceReader::open(trace).or_exit_of(trace_exit)?;
        let expected = reader.rows() as f64 / PER_SECOND;
        if expected > SOON {
            say(&format!(
                "reading {} requests once before the replay: about {expected:.0} s",
                reader.rows()
            ));
        }
        let part = how.part.map(|part| (part.from, part.to));
        let begun = Instant::now();
        let facts = prepare(trace, part, stop, |_| {}).map_err(|error| match error {
            ReplayError::Empty { .. } => {
                let within = part.map_or(String::new(), |(from, to)| {
                    format!(" between {from} and {to}")
                });
                let why = format!(
                    "replay {}: expected at least one request with a time{within}, found none",
                    path.display()
                );
                Failure::new(Exit::Input, why)
            }
            error => Failure::new(exit(&error), error),
        })?;
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::new(
                Exit::Interrupted,
                "replay: stopped by a signal while reading the trace",
            ));
        }
        tell(&facts, begun.elapsed().as_secs_f64());
        check(&super::job::mode(how), &facts).or_exit_of(exit)?;
        let lacks = match how.share {
            ShareName::Cpu if facts.with_cpu == 0 => Some("CPU"),
            ShareName::Hctx if facts.with_hctx == 0 => Some("hardware queue"),
            _ => None,
        };
        if let Some(key) = lacks {
            return Err(Failure::new(Exit::Input, ReplayError::NoKey(key)));
        }
        Ok(Source {
            name: path.display().to_string(),
            made_by: made_by.map_or_else(|| reader.meta().source.clone(), str::to_owned),
            facts,
            _imported: imported,
        })
    }
}

fn tell(facts: &Facts, seconds: f64) {
    let idle = facts.idle_share().map_or(String::new(), |share| {
        format!(", nothing in flight {:.0} % of the time", share * 100.0)
    });
    let took = if seconds > 1.0 {
        format!("; read in {seconds:.1} s")
    } else {
        String::new()
    };
    say(&format!(
        "{} requests over {} to {} device(s){idle}{took}",
        facts.requests,
        facts.length(),
        facts.devices.len(),
    ));
}

/// The exit code for a failure of the library.
pub fn exit(error: &ReplayError) -> Exit {
    match error {
        ReplayError::Trace(error) => trace_exit(error),
        ReplayError::Empty { .. } | ReplayError::NoCompletions { .. } | ReplayError::NoKey(_) => {
            Exit::Input
        }
        ReplayError::TooSmall { .. } => Exit::Target,
        _ => Exit::Environment,
    }
}

fn import(path: &Path, input: Input, how: &HowArgs) -> Result<Imported, Failure> {
    let name = format!(
        "q2c-replay-{}-{}.parquet",
        std::process::id(),
        q2c_sys::clock::monotonic_ns()
    );
    let imported = Imported(temporary().join(name));
    let format = input.format().unwrap_or_default();
    say(&format!(
        "importing {} ({format}) into {} meanwhile",
        path.display(),
        imported.0.display()
    ));
    let writer =
        TraceWriter::create(&imported.0, TraceMeta::default()).and_then(TraceWriter::with_threads);
    let mut writer = writer.or_exit_of(trace_exit)?;
    let options = how.recording.options();
    let meta = input
        .import(path, &options, &mut writer)
        .or_exit_of(import_exit)?;
    writer.meta_mut().clone_from(&meta);
    writer.finish().or_exit_of(trace_exit)?;
    Ok(imported)
}
