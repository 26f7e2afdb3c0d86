//! A recording that is read by a thread of its own until its owner ends it.

use crate::{Follower, Missing, Pace, ProbeError, Recorder};
use q2c_sys::clock::thread_cpu_ns;
use q2c_trace::recording::Recorded;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// The longest time between two looks whether the recording shall end.
const LOOK: Duration = Duration::from_millis(20);

/// Takes the I/Os of a recording, in the thread that reads it.
pub trait Gatherer: Send + 'static {
    /// Takes an I/O that was recorded.
    fn take(&mut self, io: Recorded);
}

/// A recording under way. When it is dropped without an end, the thread ends the recording by
/// itself.
pub struct Following<G> {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Result<EndedRecording<G>, ProbeError>>,
}

/// A recording that has ended.
#[derive(Clone, Debug)]
pub struct EndedRecording<G> {
    /// What took the I/Os.
    pub gatherer: G,
    /// What the recording lacks.
    pub missing: Missing,
    /// CPU time of the thread that read the recording, ns.
    pub cpu_ns: u64,
    /// Wall time of that thread, ns.
    pub wall_ns: u64,
}

impl<G: Gatherer> Following<G> {
    /// Goes on with a recording that was attached. The thread calls `first` before it reads, for
    /// example to leave a CPU.
    pub fn begin(
        mut recorder: Recorder,
        pace: Pace,
        gatherer: G,
        first: impl FnOnce() + Send + 'static,
    ) -> Result<Following<G>, ProbeError> {
        let over = Arc::new(AtomicBool::new(false));
        let mut gathering = Gathering {
            gatherer,
            over: over.clone(),
        };
        let thread = Builder::new().spawn(move || {
            let begun = Instant::now();
            first();
            let ((), missing) = recorder.follow(pace, &mut gathering)?;
            Ok(EndedRecording {
                gatherer: gathering.gatherer,
                missing,
                cpu_ns: thread_cpu_ns(),
                wall_ns: begun.elapsed().as_nanos() as u64,
            })
        });
        let thread = thread.map_err(|source| ProbeError::Thread { source })?;
        Ok(Following { over, thread })
    }

    /// Whether the thread has ended by itself: the recording cannot be read any more, and
    /// [`Following::end`] tells why.
    pub(crate) fn broken(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the recording. I/Os in flight get a moment to complete.
    pub fn end(self) -> Result<EndedRecording<G>, ProbeError> {
        self.over.store(true, Ordering::Release);
        let ended = self.thread.join();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Gathering<G> {
    gatherer: G,
    over: Arc<AtomicBool>,
}

impl<G: Gatherer> Follower for Gathering<G> {
    type End = ();
    type Error = ProbeError;

    fn take(&mut self, io: Recorded) -> Result<(), ProbeError> {
        self.gatherer.take(io);
        Ok(())
    }

    fn look(&mut self, _: &Recorder) -> Result<ControlFlow<(), Duration>, ProbeError> {
        // Without an owner nobody ends the recording any more.
        let alone = Arc::strong_count(&self.over) == 1;
        Ok(if alone || self.over.load(Ordering::Acquire) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(LOOK)
        })
    }
}
