//! The loop that reads a recording's buffers while it runs, and ends it.

use crate::{Missing, ProbeError, Recorder};
use q2c_sys::clock::thread_cpu_ns;
use q2c_trace::recording::Recorded;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// When the fullest buffer is this full or fuller, in percent, the next pause is half as long. When
/// it is less full than [`EMPTY`], the next pause is twice as long.
const FULL: u64 = 20;
const EMPTY: u64 = 5;

/// Takes the I/Os of a recording while it runs, and says when it ends.
pub trait Follower {
    /// The reason why the recording ended.
    type End;
    /// The follower's own error, or that of the recorder.
    type Error: From<ProbeError>;

    /// Takes an I/O that was recorded.
    fn take(&mut self, io: Recorded) -> Result<(), Self::Error>;

    /// Called after each reading of the buffers. Returns `Break` to end the recording, else the
    /// longest time until the next reading.
    fn look(
        &mut self,
        recorder: &Recorder,
    ) -> Result<ControlFlow<Self::End, Duration>, Self::Error>;
}

/// The pause between two readings of the buffers. It follows how full they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    shortest: Duration,
    longest: Duration,
}

impl Default for Pace {
    /// A pause of 1 to 20 ms.
    fn default() -> Self {
        Pace {
            shortest: Duration::from_millis(1),
            longest: Duration::from_millis(20),
        }
    }
}

impl Pace {
    /// The same pause always.
    #[must_use]
    pub const fn every(pause: Duration) -> Self {
        Pace {
            shortest: pause,
            longest: pause,
        }
    }

    /// The pause after `pause`, when the fullest buffer was `fullest` percent full.
    fn next(self, pause: Duration, fullest: u64) -> Duration {
        match fullest {
            FULL.. => (pause / 2).max(self.shortest),
            ..EMPTY => (pause * 2).min(self.longest),
            _ => pause,
        }
    }
}

impl Recorder {
    /// Hands the I/Os on to `follower` until it ends the recording, then ends the recording and
    /// hands on the last I/Os. Returns why the recording ended, and what it lacks.
    pub fn follow<F: Follower>(
        &mut self,
        pace: Pace,
        follower: &mut F,
    ) -> Result<(F::End, Missing), F::Error> {
        let mut pause = pace.shortest;
        let end = loop {
            let drained = self.drain(|io| follower.take(io))?;
            let most = match follower.look(self)? {
                ControlFlow::Break(end) => break end,
                ControlFlow::Continue(most) => most,
            };
            self.look_for_hidden(|io| follower.take(io))?;
            pause = pace.next(pause, drained.fullest);
            sleep(most.min(pause));
        };
        self.end(|io| follower.take(io))?;
        Ok((end, self.missing()?))
    }
}

/// The longest time between two looks at whether the recording has to end.
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
    /// The gatherer, which has taken all I/Os of the recording.
    pub gatherer: G,
    /// The I/Os that are in no record.
    pub missing: Missing,
    /// CPU time of the thread that read the recording, ns.
    pub cpu_ns: u64,
    /// Wall time of that thread, ns.
    pub wall_ns: u64,
}

impl<G: Gatherer> Following<G> {
    /// Starts a thread that reads the attached recording. It calls `first` before it reads, for
    /// example to leave a CPU.
    pub fn begin(
        mut recorder: Recorder,
        pace: Pace,
        gatherer: G,
        first: impl FnOnce() + Send + 'static,
    ) -> Result<Following<G>, ProbeError> {
        let over = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&over);
        let mut gathering = Gathering {
            gatherer,
            over: shared,
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

    /// True if the thread has ended by itself: the recording cannot be read any more, and
    /// [`Following::end`] returns the reason.
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
        let ends = alone || self.over.load(Ordering::Acquire);
        Ok(if ends {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(LOOK)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_buffers_are_read_more_often() {
        let ms = Duration::from_millis;
        let pace = Pace::default();
        for (pause, fullest, next) in [
            (ms(8), 20, ms(4)),
            (ms(8), 19, ms(8)),
            (ms(8), 5, ms(8)),
            (ms(8), 4, ms(16)),
            (ms(16), 0, ms(20)),
            (ms(1), 100, ms(1)),
        ] {
            assert_eq!(pace.next(pause, fullest), next, "{pause:?}, {fullest} %");
        }
        let steady = Pace::every(ms(2));
        for fullest in [0, 10, 100] {
            assert_eq!(steady.next(ms(2), fullest), ms(2));
        }
    }
}
