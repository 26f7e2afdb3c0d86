//! An analysis in a thread of its own, so that reading and matching go on meanwhile.

use crate::Analyzer;
use q2c_result::analyze::AnalyzeResult;
use q2c_trace::Span;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Parts on their way; a reader that is faster than the analysis waits.
const UNDER_WAY: usize = 4;

/// Takes I/Os as [`Analyzer`] does, and works them in beside the caller.
pub struct Beside {
    out: SyncSender<Vec<Span>>,
    spare: Receiver<Vec<Span>>,
    thread: JoinHandle<Analyzer>,
}

impl Beside {
    /// Starts the thread.
    #[must_use]
    pub fn new(mut analyzer: Analyzer) -> Self {
        let (out, full) = sync_channel::<Vec<Span>>(UNDER_WAY);
        let (give, spare) = sync_channel(UNDER_WAY + 2);
        let thread = thread::spawn(move || {
            for spans in full {
                analyzer.add(&spans);
                // Whoever adds nothing more needs no buffer.
                give.try_send(spans).ok();
            }
            analyzer
        });
        Beside { out, spare, thread }
    }

    /// Takes I/Os; waits while too many are under way.
    pub fn add(&mut self, spans: &[Span]) {
        let mut part = self.spare.try_recv().unwrap_or_default();
        part.clear();
        part.extend_from_slice(spans);
        // It ends before its time only by a panic, which `finish` hands on.
        self.out.send(part).ok();
    }

    /// What they say, once all are worked in; as [`Analyzer::finish`].
    ///
    /// # Panics
    /// When the analysis did.
    #[must_use]
    pub fn finish(self, names: &BTreeMap<u32, String>) -> AnalyzeResult {
        drop(self.out);
        match self.thread.join() {
            Ok(analyzer) => analyzer.finish(names),
            Err(panic) => resume_unwind(panic),
        }
    }
}
