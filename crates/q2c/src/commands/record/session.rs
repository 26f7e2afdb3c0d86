//! A recording under way.

use super::child::Child;
use super::recording_exit;
use crate::failure::{Fails, Failure};
use q2c_capture::block_io::{BlockIo, Drained, Lost};
use q2c_trace::recording::Recording;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time between two looks into the rings.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(20);
/// Rings fuller than this, in percent, are looked into twice as often; emptier ones half as often.
const FULL: u64 = 20;
const EMPTY: u64 = 5;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As was asked for.
    Asked,
    /// By a signal before that.
    Stopped,
}

/// Probe, what it saw, and the command that is watched.
pub struct Session {
    pub probe: BlockIo,
    pub recording: Recording,
    pub child: Child,
}

impl Session {
    /// Takes records until the end.
    pub fn follow(&mut self, seconds: Option<f64>, stop: &AtomicBool) -> Result<Ended, Failure> {
        let begun = Instant::now();
        let length = seconds.map(Duration::from_secs_f64);
        let open = seconds.is_none() && !self.child.is_there();
        let mut pause = SHORTEST;
        loop {
            let drained = self.drain()?;
            if stop.load(Ordering::Acquire) {
                self.child.stop()?;
                // Without anything else that would end it, the signal is how it ends.
                return Ok(if open { Ended::Asked } else { Ended::Stopped });
            }
            if self.child.is_over()? {
                return Ok(Ended::Asked);
            }
            let left = length.map(|length| length.saturating_sub(begun.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                self.child.stop()?;
                return Ok(Ended::Asked);
            }
            pause = match drained.fullest {
                FULL.. => (pause / 2).max(SHORTEST),
                ..EMPTY => (pause * 2).min(LONGEST),
                _ => pause,
            };
            sleep(left.map_or(pause, |left| left.min(pause)));
        }
    }

    fn drain(&mut self) -> Result<Drained, Failure> {
        let drained = self.probe.drain(|io| self.recording.push(io));
        drained.or_exit_of(recording_exit)
    }

    /// Ends it: the last records, what was lost, and how the command ended. The probe is gone then.
    pub fn conclude(mut self) -> Result<(Recording, Lost, Option<String>), Failure> {
        let ended = self.probe.end(|io| self.recording.push(io));
        ended.or_exit_of(|e| e.exit())?.or_exit_of(recording_exit)?;
        let lost = self.probe.lost().or_exit_of(|e| e.exit())?;
        Ok((self.recording, lost, self.child.status()))
    }
}
