//! Runs an analysis in a thread of its own, so that reading and matching go on meanwhile.

use crate::Analyzer;
use q2c_result::analyze::AnalyzeResult;
use q2c_trace::Span;
use std::collections::BTreeMap;
use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Most parts that wait for the analysis; a faster reader waits for it.
const UNDER_WAY: usize = 4;

/// [`Analyzer`] in a second thread. Buffers go there filled and come back empty.
pub struct AnalyzerThread {
    out: SyncSender<Vec<Span>>,
    spare: Receiver<Vec<Span>>,
    thread: JoinHandle<Analyzer>,
}

impl AnalyzerThread {
    /// Starts the thread.
    pub fn new(mut analyzer: Analyzer) -> io::Result<Self> {
        let (out, full) = sync_channel::<Vec<Span>>(UNDER_WAY);
        let (give, spare) = sync_channel(UNDER_WAY + 2);
        let thread = thread::Builder::new().spawn(move || {
            for spans in full {
                analyzer.update(&spans);
                // The caller may be gone; a buffer that it does not take back is not needed.
                give.try_send(spans).ok();
            }
            analyzer
        })?;
        Ok(AnalyzerThread { out, spare, thread })
    }

    /// Takes the next I/Os. Waits while four parts are waiting for the analysis.
    pub fn update(&mut self, spans: &[Span]) {
        let mut part = self.spare.try_recv().unwrap_or_default();
        part.clear();
        part.extend_from_slice(spans);
        // Sending fails only when the thread has panicked; `finish` hands the panic on.
        self.out.send(part).ok();
    }

    /// Waits until all I/Os are analysed, then gives the result as [`Analyzer::finish`] does.
    pub fn finish(self, names: &BTreeMap<u32, String>) -> AnalyzeResult {
        drop(self.out);
        match self.thread.join() {
            Ok(analyzer) => analyzer.finish(names),
            Err(panic) => resume_unwind(panic),
        }
    }
}
