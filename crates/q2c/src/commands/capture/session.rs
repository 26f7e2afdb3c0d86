//! A capture under way.

use super::{Captured, Child, Described, Target, recording_exit};
use crate::args::{CaptureArgs, temporary};
use crate::failure::{Fails, Failure};
use crate::output::say;
use q2c_capture::{By, Drained, Recorder};
use q2c_host::{Roots, machine};
use q2c_model::Bytes;
use q2c_trace::recording::{Recorded, Recording};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time between two looks into the rings.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(20);
/// Rings fuller than this, in percent, are looked into twice as often; emptier ones half as often.
const FULL: u64 = 20;
const EMPTY: u64 = 5;
/// Most of the recording that is held in memory unless told otherwise.
const MEMORY_MOST: u64 = 4 << 30;
/// Where the system does not say what is free.
const MEMORY: u64 = 256 << 20;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As was asked for.
    Asked,
    /// By a signal before that.
    Stopped,
}

/// Looks on.
pub trait Watch {
    /// An I/O is over.
    fn io(&mut self, io: &Recorded);

    /// After each look into the rings. False: there is no more to be watched.
    ///
    /// # Errors
    /// What was seen cannot be shown.
    fn look(&mut self, recorder: &Recorder) -> Result<bool, Failure>;
}

/// Does not look.
pub struct Quiet;

impl Watch for Quiet {
    fn io(&mut self, _: &Recorded) {}

    fn look(&mut self, _: &Recorder) -> Result<bool, Failure> {
        Ok(true)
    }
}

/// Recorder, what it saw, and the command that is watched.
pub struct Session<'a> {
    roots: &'a Roots,
    target: &'a Target,
    args: &'a CaptureArgs,
    recorder: Recorder,
    recording: Recording,
    child: Child,
}

impl<'a> Session<'a> {
    /// Begins to record; says so where it is not by BPF and why.
    pub fn begin(
        roots: &'a Roots,
        target: &'a Target,
        args: &'a CaptureArgs,
    ) -> Result<Session<'a>, Failure> {
        let recorder = Recorder::attach(roots, &target.disks, &args.wanted(), args.by);
        let recorder = recorder.or_exit_of(|e| e.exit())?;
        if let Some(refused) = recorder.refused() {
            say(&format!(
                "no BPF, failed to {refused}; recording by tracefs: at more cost, without hardware queues, tags and cgroups"
            ));
        }
        Ok(Session {
            roots,
            target,
            args,
            recorder,
            recording: recording(roots, args),
            child: Child::none(),
        })
    }

    /// By what means.
    pub fn by(&self) -> By {
        self.recorder.by()
    }

    /// Watches a command.
    pub fn run(&mut self, child: Child) {
        self.child = child;
    }

    /// Takes records until the time is over, the command has ended, nobody watches any more, or `stop`.
    pub fn follow(&mut self, watch: &mut impl Watch, stop: &AtomicBool) -> Result<Ended, Failure> {
        let begun = Instant::now();
        let length = self.args.seconds.map(Duration::from_secs_f64);
        let open = length.is_none() && !self.child.is_there();
        let mut pause = SHORTEST;
        loop {
            let drained = self.drain(watch)?;
            if stop.load(Ordering::Acquire) {
                self.child.stop()?;
                // Without anything else that would end it, the signal is how it ends.
                return Ok(if open { Ended::Asked } else { Ended::Stopped });
            }
            if self.child.is_over()? {
                return Ok(Ended::Asked);
            }
            let left = length.map(|length| length.saturating_sub(begun.elapsed()));
            if left.is_some_and(|left| left.is_zero()) || !watch.look(&self.recorder)? {
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

    fn drain(&mut self, watch: &mut impl Watch) -> Result<Drained, Failure> {
        let recording = &mut self.recording;
        let drained = self.recorder.drain(|io| {
            watch.io(&io);
            recording.push(io)
        });
        drained.or_exit_of(|e| e.exit())?.or_exit_of(recording_exit)
    }

    /// Ends it: the last records, what was lost, and how the command ended. The recorder is gone then.
    pub fn conclude(mut self, watch: &mut impl Watch) -> Result<Captured, Failure> {
        let recording = &mut self.recording;
        let ended = self.recorder.end(|io| {
            watch.io(&io);
            recording.push(io)
        });
        ended.or_exit_of(|e| e.exit())?.or_exit_of(recording_exit)?;
        let missing = self.recorder.missing().or_exit_of(|e| e.exit())?;
        let by = (
            self.recorder.by(),
            self.recorder.refused().map(ToString::to_string),
        );
        let mut described = Described::new(self.roots, self.target, self.args, by, missing);
        described.command(self.child.words(), self.child.status());
        Ok(Captured::new(self.recording, described))
    }
}

fn recording(roots: &Roots, args: &CaptureArgs) -> Recording {
    let free = || machine::free_memory(roots).map(|free| free.0 / 4);
    let memory = args.memory.map(|memory| memory.0).or_else(free);
    let memory = memory.unwrap_or(MEMORY).min(MEMORY_MOST);
    let folder = args.spill.clone().unwrap_or_else(temporary);
    Recording::new(Bytes(memory), &folder)
}
