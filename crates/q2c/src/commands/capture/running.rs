//! A capture from its begin to its end.

use super::{Captured, Child, Described, Target};
use crate::args::{CaptureArgs, temporary};
use crate::exit::recording_exit;
use crate::failure::{Fails, Failure};
use crate::output::say;
use q2c_capture::{By, Drained, Recorder};
use q2c_host::{Roots, machine};
use q2c_model::Bytes;
use q2c_trace::recording::{Recorded, Recording};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Shortest and longest time between two looks into the rings.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(20);
/// Where the fullest ring is fuller than the first, percent, the rings are looked into twice as
/// often. Where it is emptier than the second, they are looked into half as often.
const FULL: u64 = 20;
const EMPTY: u64 = 5;
/// Memory that the recording may take at most, bytes; also the limit for `--memory`.
const MEMORY_MOST: u64 = 4 << 30;
/// Memory for the recording where the system does not say how much is free, bytes.
const MEMORY: u64 = 256 << 20;

/// How a capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureEnd {
    /// As asked: the time was over, the command had ended, nobody watched any more, or a signal
    /// came and nothing else would have ended the capture.
    Asked,
    /// By a signal before its time was over or its command had ended.
    Stopped,
}

/// Watches a capture while it runs.
pub trait Watch {
    /// Gets each I/O that was recorded.
    fn io(&mut self, io: &Recorded);

    /// Is called after each look into the rings. Returns false when the capture shall end.
    ///
    /// # Errors
    /// When the I/Os that were seen cannot be shown.
    fn look(&mut self, recorder: &Recorder) -> Result<bool, Failure>;
}

/// A watcher that does nothing.
pub struct Quiet;

impl Watch for Quiet {
    fn io(&mut self, _: &Recorded) {}

    fn look(&mut self, _: &Recorder) -> Result<bool, Failure> {
        Ok(true)
    }
}

/// A capture that runs: the recorder, the recording so far, and the command, if there is one. The
/// calls come in this order: [`RunningCapture::begin`], [`RunningCapture::run`],
/// [`RunningCapture::follow`], [`RunningCapture::conclude`].
pub struct RunningCapture<'a> {
    roots: &'a Roots,
    target: &'a Target,
    args: &'a CaptureArgs,
    recorder: Recorder,
    recording: Recording,
    child: Child,
}

impl<'a> RunningCapture<'a> {
    /// Begins to record. Says on stderr when it is not by BPF, and why.
    pub fn begin(
        roots: &'a Roots,
        target: &'a Target,
        args: &'a CaptureArgs,
    ) -> Result<RunningCapture<'a>, Failure> {
        let recorder = Recorder::attach(roots, &target.disks, &args.wanted(), args.by);
        let recorder = recorder.or_exit_of(|e| e.exit())?;
        if let Some(refused) = recorder.refused() {
            say(&format!(
                "no BPF, failed to {refused}; recording by tracefs: at more cost, without hardware queues, tags and cgroups"
            ));
        }
        Ok(RunningCapture {
            roots,
            target,
            args,
            recorder,
            recording: recording(roots, args),
            child: Child::none(),
        })
    }

    /// The way of capturing.
    pub fn by(&self) -> By {
        self.recorder.by()
    }

    /// Takes the command that runs during the capture and ends it.
    pub fn run(&mut self, child: Child) {
        self.child = child;
    }

    /// Takes records until the time is over, the command has ended, `watch` wants no more, or
    /// `stop` is set. A command that still runs is ended then.
    pub fn follow(
        &mut self,
        watch: &mut impl Watch,
        stop: &AtomicBool,
    ) -> Result<CaptureEnd, Failure> {
        let begun = Instant::now();
        let length = self.args.seconds.map(Duration::from_secs_f64);
        let open = length.is_none() && !self.child.is_there();
        let mut pause = SHORTEST;
        loop {
            let drained = self.drain(watch)?;
            if stop.load(Ordering::Acquire) {
                self.child.stop()?;
                // When nothing else would end the capture, the signal is its normal end.
                return Ok(if open {
                    CaptureEnd::Asked
                } else {
                    CaptureEnd::Stopped
                });
            }
            if self.child.is_over()? {
                return Ok(CaptureEnd::Asked);
            }
            let left = length.map(|length| length.saturating_sub(begun.elapsed()));
            if left.is_some_and(|left| left.is_zero()) || !watch.look(&self.recorder)? {
                self.child.stop()?;
                return Ok(CaptureEnd::Asked);
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

    /// Ends the capture: takes the last records, and asks what was lost and how the command ended.
    /// The recorder is gone then.
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
