//! The command `q2c trace import`.

use super::tell;
use crate::args::ImportArgs;
use crate::exit::import_exit;
use crate::failure::Failure;
use q2c_result::Exit;
use q2c_trace::TraceError;
use q2c_trace::import::{ImportError, to_trace};
use std::sync::atomic::AtomicBool;

/// Imports one recording, or merges several by time, and says what the trace holds.
pub fn run(args: &ImportArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let options = args.recording.options();
    let format = args.recording.format.as_deref();
    let imported = to_trace(&args.inputs, format, &options, &args.out, stop);
    let (meta, summary) = imported.map_err(failure)?;
    tell(&args.out, &meta, summary, args.json)
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
