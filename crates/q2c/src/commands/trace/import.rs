//! The command `q2c trace import`.

use super::{left_out, line, tell};
use crate::args::{ImportArgs, PartitionBy};
use crate::exit::import_exit;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::progress::Line;
use q2c_model::FleetMeta;
use q2c_result::Exit;
use q2c_trace::TraceError;
use q2c_trace::import::{ImportError, to_fleet, to_trace};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Imports one recording, or merges several by time, and says what was made.
pub fn run(args: &ImportArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let options = args.recording.options();
    let format = args.recording.format.as_deref();
    let line = Line::reading(args.inputs.iter().map(|path| path.as_path()));
    let Some(PartitionBy::Device) = args.partition_by else {
        let imported = to_trace(&args.inputs, format, &options, &args.output, stop);
        drop(line);
        let (meta, summary) = imported.map_err(failure)?;
        return tell(&args.output, &meta, summary, args.json);
    };
    let out = (args.output.as_path(), args.stretch_rows);
    let fleet = to_fleet(&args.inputs, format, &options, out, stop).map_err(failure)?;
    drop(line);
    match args.json {
        true => print_json(&fleet)?,
        false => print(&in_words(&args.output, &fleet))?,
    }
    Ok(Exit::Done)
}

fn in_words(out: &Path, fleet: &FleetMeta) -> String {
    let out = out.display().to_string();
    let (rows, volumes, traces) = (fleet.rows, fleet.volumes, fleet.traces);
    let made = format!("{rows} records of {volumes} devices in {traces} traces");
    let lines = [
        format!("{}: {made}", out.escape_debug()),
        line("source", &fleet.source),
        line("clock", &fleet.clock),
        line("lost by the source", &fleet.lost.to_string()),
        left_out(&fleet.unmatched),
    ];
    lines.join("\n")
}

fn failure(error: ImportError) -> Failure {
    let exit = import_exit(&error);
    match error {
        ImportError::Trace(TraceError::Stopped { .. }) => {
            Failure::new(exit, format!("{error}; nothing was kept"))
        }
        _ => Failure::new(exit, error),
    }
}
