//! The loop that reads a recording's buffers while it runs, and ends it.

use crate::{Missing, ProbeError, Recorder};
use q2c_sys::clock::thread_cpu_ns;
use q2c_trace::recording::RecordedIo;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// When the fullest buffer is this full or fuller, in percent, the next pause is half as long. When
/// it is less full than [`EMPTY_PCT`], the next pause is twice as long.
const FULL_PCT: u64 = 20;
const EMPTY_PCT: u64 = 5;

/// Takes the I/Os of a recording while it runs, and says when it ends.
pub trait Follower {
    /// The reason why the recording ended.
    type End;
    /// The follower's own error, or that of the recorder.
    type Error: From<ProbeError>;

    /// Takes an I/O that was recorded.
    fn take(&mut self, io: RecordedIo) -> Result<(), Self::Error>;

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

    /// The pause after `pause`, when the fullest buffer was `fullest_pct` percent full.
    fn next(self, pause: Duration, fullest_pct: u64) -> Duration {
        match fullest_pct {
            FULL_PCT.. => (pause / 2).max(self.shortest),
            ..EMPTY_PCT => (pause * 2).min(self.longest),
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
            let max_pause = match follower.look(self)? {
                ControlFlow::Break(end) => break end,
                ControlFlow::Continue(max_pause) => max_pause,
            };
            self.switch_if_hidden(|io| follower.take(io))?;
            pause = pace.next(pause, drained.fullest_pct);
            sleep(max_pause.min(pause));
        };
        self.end(|io| follower.take(io))?;
        Ok((end, self.missing()?))
    }
}

/// The longest time between two checks of whether the recording has to end.
const END_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Takes the I/Os of a recording, in the thread that reads it.
pub trait Gatherer: Send + 'static {
    /// Takes an I/O that was recorded.
    fn take(&mut self, io: RecordedIo);
}

/// A recording under way. When it is dropped without an end, the thread ends the recording by
/// itself.
pub struct Following<G> {
    is_over: Arc<AtomicBool>,
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
    /// Starts a thread that reads the attached recording. It calls `prepare` before it reads, for
    /// example to leave a CPU.
    pub fn begin(
        mut recorder: Recorder,
        pace: Pace,
        gatherer: G,
        prepare: impl FnOnce() + Send + 'static,
    ) -> Result<Following<G>, ProbeError> {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut gathering = Gathering {
            gatherer,
            is_over: Arc::clone(&is_over),
        };
        let thread = Builder::new().spawn(move || {
            let started = Instant::now();
            prepare();
            let ((), missing) = recorder.follow(pace, &mut gathering)?;
            Ok(EndedRecording {
                gatherer: gathering.gatherer,
                missing,
                cpu_ns: thread_cpu_ns(),
                wall_ns: started.elapsed().as_nanos() as u64,
            })
        });
        let thread = thread.map_err(|source| ProbeError::Thread { source })?;
        Ok(Following { is_over, thread })
    }

    /// True if the thread has ended by itself: the recording cannot be read any more, and
    /// [`Following::end`] returns the reason.
    pub(crate) fn is_broken(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the recording. I/Os in flight get a moment to complete.
    pub fn end(self) -> Result<EndedRecording<G>, ProbeError> {
        self.is_over.store(true, Ordering::Release);
        let ended = self.thread.join();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Gathering<G> {
    gatherer: G,
    is_over: Arc<AtomicBool>,
}

impl<G: Gatherer> Follower for Gathering<G> {
    type End = ();
    type Error = ProbeError;

    fn take(&mut self, io: RecordedIo) -> Result<(), ProbeError> {
        self.gatherer.take(io);
        Ok(())
    }

    fn look(&mut self, _: &Recorder) -> Result<ControlFlow<(), Duration>, ProbeError> {
        // Without an owner nobody ends the recording any more.
        let is_ownerless = Arc::strong_count(&self.is_over) == 1;
        let is_over = is_ownerless || self.is_over.load(Ordering::Acquire);
        Ok(if is_over {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(END_CHECK_INTERVAL)
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
        for (pause, pct, next) in [
            (ms(8), 20, ms(4)),
            (ms(8), 19, ms(8)),
            (ms(8), 5, ms(8)),
            (ms(8), 4, ms(16)),
            (ms(16), 0, ms(20)),
            (ms(1), 100, ms(1)),
        ] {
            assert_eq!(pace.next(pause, pct), next, "{pause:?}, {pct} %");
        }
        let steady = Pace::every(ms(2));
        for pct in [0, 10, 100] {
            assert_eq!(steady.next(ms(2), pct), ms(2));
        }
    }
}
