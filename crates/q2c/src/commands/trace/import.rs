//! The command `q2c trace import`.

use super::tell;
use crate::args::{ImportArgs, PartitionBy};
use crate::output::{print, print_json, screen};
use crate::progress::Line;
use q2c_model::Fault;
use q2c_report::terminal::fleet_info;
use q2c_result::Exit;
use q2c_trace::TraceError;
use q2c_trace::import::{ImportError, to_fleet, to_trace};
use std::sync::atomic::AtomicBool;

/// Imports one recording, or merges several by time, and says what was made.
pub fn run(args: &ImportArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
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
    let path = args.output.display().to_string();
    match args.json {
        true => print_json(&fleet)?,
        false => print(&fleet_info(&path, &fleet, screen()))?,
    }
    Ok(Exit::Done)
}

fn failure(error: ImportError) -> Fault {
    match error {
        ImportError::Trace(TraceError::Stopped { .. }) => {
            Fault::stopped(format!("{error}; nothing was kept"))
        }
        error => error.into(),
    }
}
