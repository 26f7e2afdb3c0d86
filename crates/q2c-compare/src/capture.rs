//! Captures the block layer during a replay, for the sum of Q2C of this process's I/Os.

use q2c_capture::{By, Follower, Pace, ProbeError, Recorder, Wanted};
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_stats::Histogram;
use q2c_sys::clock::thread_cpu_ns;
use q2c_trace::recording::Recorded;
use q2c_trace::span::NONE;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// Pause between two reads of the recorder's buffers.
const LOOK: Duration = Duration::from_millis(2);

/// The figures of a finished capture.
#[derive(Default)]
pub struct Captured {
    /// The means; `None` before the recorder is attached.
    pub by: Option<By>,
    pub q2c: Histogram,
    /// Exact sum of Q2C, ns.
    pub sum: u128,
    /// I/Os that are known to be missing.
    pub lost: u64,
    /// CPU time of the thread that reads the recorder.
    pub cpu_ns: u64,
}

/// Sums up the I/Os of a capture until the replay is over.
struct Summing {
    captured: Captured,
    over: Arc<AtomicBool>,
}

impl Follower for Summing {
    type End = ();
    type Error = ProbeError;

    fn take(&mut self, io: Recorded) -> Result<(), ProbeError> {
        let span = &io.span;
        if span.begin_ns != NONE && span.end_ns != NONE {
            let q2c = span.end_ns.saturating_sub(span.begin_ns);
            self.captured.q2c.record(q2c);
            self.captured.sum += u128::from(q2c);
        }
        Ok(())
    }

    fn look(&mut self, _: &Recorder) -> Result<ControlFlow<(), Duration>, ProbeError> {
        Ok(match self.over.load(Ordering::Acquire) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(LOOK),
        })
    }
}

/// A running capture, read by a thread of its own.
pub struct Capture {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Result<Captured, ProbeError>>,
}

impl Capture {
    /// Begins to capture the I/Os that this process queues on these disks.
    ///
    /// # Errors
    /// The kernel refuses it, or there are too many disks.
    pub fn begin(
        roots: &Roots,
        disks: &[Disk],
        by: Option<By>,
        plan: &q2c_replay::Plan,
    ) -> Result<Capture, ProbeError> {
        let wanted = Wanted {
            pid: Some(std::process::id()),
            ..Wanted::default()
        };
        let recorder = Recorder::attach(roots, disks, &wanted, by)?;
        let over = Arc::new(AtomicBool::new(false));
        let ending = over.clone();
        let plan = plan.clone();
        let thread = spawn(move || {
            q2c_replay::leave(&plan);
            follow(recorder, ending)
        });
        Ok(Capture { over, thread })
    }

    /// Ends the capture. I/Os in flight get a moment to complete.
    ///
    /// # Errors
    /// The recorder's buffers cannot be read.
    pub fn end(self) -> Result<Captured, ProbeError> {
        self.over.store(true, Ordering::Release);
        let ended = self.thread.join();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn follow(mut recorder: Recorder, over: Arc<AtomicBool>) -> Result<Captured, ProbeError> {
    let captured = Captured {
        by: Some(recorder.by()),
        ..Captured::default()
    };
    let mut summing = Summing { captured, over };
    let ((), missing) = recorder.follow(Pace::every(LOOK), &mut summing)?;
    Ok(Captured {
        lost: missing.lost,
        cpu_ns: thread_cpu_ns(),
        ..summing.captured
    })
}
