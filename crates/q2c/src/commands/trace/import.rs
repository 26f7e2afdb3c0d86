//! The command `q2c trace import`.

use super::tell;
use crate::args::ImportArgs;
use crate::exit::{import_exit, trace_exit};
use crate::failure::{Fails, Failure};
use q2c_model::{IoRecord, TraceMeta};
use q2c_result::Exit;
use q2c_trace::import::{ImportError, Input, RecordSink, several};
use q2c_trace::{Counting, TraceError, TraceWriter};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Counts imported records and writes them into the trace. Refuses them once a signal has come.
struct UntilStopped<'a> {
    writer: TraceWriter,
    counting: Counting,
    out: &'a Path,
    stop: &'a AtomicBool,
}

impl RecordSink for UntilStopped<'_> {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(TraceError::Stopped {
                doing: "write trace",
                path: self.out.to_owned(),
            });
        }
        self.counting.add(records);
        self.writer.push(records)
    }
}

/// Imports one recording, or merges several by time, and says what the trace holds.
pub fn run(args: &ImportArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let options = args.recording.options();
    let format = args.recording.format.as_deref();
    let single = match args.inputs.as_slice() {
        [path] => Some((
            path,
            Input::recognise(path, format).or_exit_of(import_exit)?,
        )),
        _ => None,
    };
    let writer =
        TraceWriter::create(&args.out, TraceMeta::default()).and_then(TraceWriter::with_threads);
    let mut sink = UntilStopped {
        writer: writer.or_exit_of(trace_exit)?,
        counting: Counting::default(),
        out: &args.out,
        stop,
    };
    let meta = match single {
        Some((path, input)) => input.import(path, &options, &mut sink),
        None => several(&args.inputs, format, &options, &mut sink),
    };
    let meta = meta.map_err(failure)?;
    sink.writer.meta_mut().clone_from(&meta);
    sink.writer.finish().or_exit_of(trace_exit)?;
    tell(&args.out, &meta, sink.counting.finish(), args.json)
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
