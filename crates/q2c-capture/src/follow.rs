//! The loop that reads a recording's buffers while it runs, and ends it.

use crate::{Missing, ProbeError, Recorder};
use q2c_trace::recording::Recorded;
use std::ops::ControlFlow;
use std::thread::sleep;
use std::time::Duration;

/// Where the fullest buffer is fuller than the first, percent, the buffers are read twice as often.
/// Where it is emptier than the second, they are read half as often.
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

    /// Is called after each reading of the buffers. Breaks when the recording shall end; else
    /// continues with the longest time until the next reading.
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
            let drained = self.drain(|io| follower.take(io))??;
            let most = match follower.look(self)? {
                ControlFlow::Break(end) => break end,
                ControlFlow::Continue(most) => most,
            };
            self.look_for_hidden(|io| follower.take(io))??;
            pause = pace.next(pause, drained.fullest);
            sleep(most.min(pause));
        };
        self.end(|io| follower.take(io))??;
        Ok((end, self.missing()?))
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
