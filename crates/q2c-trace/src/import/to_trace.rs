use super::{ImportError, ImportOptions, Input, RecordSink, input, several};
use crate::{Counting, TraceError, TraceWriter};
use q2c_model::{IoRecord, TraceMeta, TraceSummary};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Counts imported records and writes them into the trace. Refuses them once `stop` is set.
struct TraceImportSink<'a> {
    writer: TraceWriter,
    counting: Counting,
    out: &'a Path,
    stop: &'a AtomicBool,
}

impl RecordSink for TraceImportSink<'_> {
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

/// Imports one recording, or merges several by time, into the new trace `out`. `format` is that of
/// all recordings; `None` recognises each by its first bytes. Returns the trace's description, and
/// what it holds. It ends with an error soon after `stop` is set. After an error there is no trace.
pub fn to_trace(
    recordings: &[PathBuf],
    format: Option<&str>,
    options: &ImportOptions,
    out: &Path,
    stop: &AtomicBool,
) -> Result<(TraceMeta, TraceSummary), ImportError> {
    let recordings = input::recordings(recordings);
    let single = match &recordings[..] {
        [path] => Some((path, Input::with_options(path, format, options)?)),
        _ => None,
    };
    let mut sink = TraceImportSink {
        writer: TraceWriter::create(out, TraceMeta::default())?.with_threads()?,
        counting: Counting::default(),
        out,
        stop,
    };
    let meta = match single {
        Some((path, input)) => input.import(path, options, &mut sink)?,
        None => several(&recordings, format, options, &mut sink)?,
    };
    sink.writer.meta_mut().clone_from(&meta);
    sink.writer.finish()?;
    Ok((meta, sink.counting.finish()))
}
