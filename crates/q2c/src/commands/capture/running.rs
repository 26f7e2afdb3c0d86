//! A capture from its begin to its end.

use super::following::CaptureFollower;
use super::{CaptureArgs, CaptureEnd, CaptureWatcher, Child};
use crate::args::temporary;
use crate::output::say;
use q2c_capture::{CaptureTarget, Description, Missing, Pace, Recorder};
use q2c_host::{Roots, machine};
use q2c_model::lost::{Losses, without_record};
use q2c_model::{Bytes, Fault};
use q2c_trace::recording::RecordingSorter;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Memory that the recording may take at most, bytes; also the limit for `--memory`.
const MEMORY_MOST: u64 = 4 << 30;
/// Memory for the recording where the system does not say how much is free, bytes.
const MEMORY: u64 = 256 << 20;

/// A capture that runs: the recorder, the recording so far, and the command, if there is one. The
/// calls come in this order: [`RunningCapture::begin`], [`RunningCapture::run`],
/// [`RunningCapture::finish`].
pub(crate) struct RunningCapture<'a> {
    roots: &'a Roots,
    target: &'a CaptureTarget,
    args: &'a CaptureArgs,
    recorder: Recorder,
    recording: RecordingSorter,
    child: Child,
}

impl<'a> RunningCapture<'a> {
    pub(crate) fn begin(
        roots: &'a Roots,
        target: &'a CaptureTarget,
        args: &'a CaptureArgs,
    ) -> Result<RunningCapture<'a>, Fault> {
        let recorder = Recorder::attach(roots, target.disks(), &args.wanted(), args.by)?;
        if let Some(refused) = recorder.refused() {
            say(&format!("no BPF, failed to {refused}; {BY_TRACEFS}"));
        }
        let recorder = match args.by {
            None => recorder.or_on_by_tracefs(roots, target.disks(), &args.wanted()),
            Some(_) => recorder,
        };
        Ok(RunningCapture {
            roots,
            target,
            args,
            recorder,
            recording: recording(roots, args),
            child: Child::default(),
        })
    }

    /// Says in a line what is recorded, and how. `alone` is true when no command runs.
    pub(crate) fn message(&self, alone: bool) -> String {
        let target_disk = &self.target.target_disk;
        let below = if target_disk.below.is_empty() {
            String::new()
        } else {
            format!(", below {}", target_disk.disk.name)
        };
        let whole = target_disk.partition.as_ref();
        let whole = whole.map_or(String::new(), |partition| {
            format!(", the whole disk of {partition}")
        });
        let filter = self.args.filter();
        let filter = filter.map_or(String::new(), |f| format!("; only {f}"));
        let open = alone && self.args.seconds.is_none();
        let until = if open { "; ctrl-c ends it" } else { "" };
        let (names, by) = (self.target.names(), self.recorder.by());
        format!("recording {names}{below}{whole} by {by}{filter}{until}")
    }

    /// Takes the command that runs during the capture and ends it.
    pub(crate) fn run(&mut self, child: Child) {
        self.child = child;
    }

    /// Follows the capture until the time is over, the command has ended, `watch` wants no more, or
    /// `stop` is set. Then takes the last records, and asks what was lost and how the command
    /// ended. The recorder is gone afterwards.
    pub(crate) fn finish(
        mut self,
        watch: &mut impl CaptureWatcher,
        stop: &AtomicBool,
    ) -> Result<(CaptureEnd, FinishedCapture), Fault> {
        let mut following = CaptureFollower {
            begun: Instant::now(),
            length: self.args.seconds.map(Duration::from_secs_f64),
            child: &mut self.child,
            recording: &mut self.recording,
            watch,
            stop,
        };
        let by = self.recorder.by();
        let (end, missing) = self.recorder.follow(Pace::default(), &mut following)?;
        if let Some(reason) = self.recorder.refused().filter(|_| by != self.recorder.by()) {
            say(&format!("failed to {reason}; it went on {BY_TRACEFS}"));
        }
        let (target, filter) = (self.target, self.args.filter());
        let mut description = Description::new(self.roots, target, filter, &self.recorder, missing);
        description.command(self.child.words(), self.child.status());
        let captured = FinishedCapture {
            recording: self.recording,
            description,
        };
        Ok((end, captured))
    }
}

const BY_TRACEFS: &str =
    "recording by tracefs: at more cost, without hardware queues, tags and cgroups";

fn recording(roots: &Roots, args: &CaptureArgs) -> RecordingSorter {
    let free = || machine::free_memory(roots).map(|free| free.0 / 4);
    let memory = args.memory.map(|memory| memory.0).or_else(free);
    let memory = memory.unwrap_or(MEMORY).min(MEMORY_MOST);
    let folder = args.spill.clone().unwrap_or_else(temporary);
    RecordingSorter::new(Bytes(memory), &folder)
}

fn lost(missing: &Missing) -> String {
    let lost = missing.lost;
    let Some(losses) = Losses::from_counts(&missing.reasons) else {
        return format!("{lost} I/Os or events were lost");
    };
    let consequence = if losses.of_ios {
        without_record(lost) + ", so that counts are too low"
    } else {
        format!("{lost} events lost, so that I/Os are missing or lack stages")
    };
    format!(
        "{consequence}: {}. To do: {}",
        losses.causes, losses.remedies
    )
}

pub(crate) struct FinishedCapture {
    pub recording: RecordingSorter,
    pub description: Description,
}

impl FinishedCapture {
    pub(crate) fn tell_missing(&self) {
        let missing = self.description.missing();
        if missing.lost > 0 {
            say(&lost(missing));
        }
        if missing.unqueued > 0 {
            say(&format!(
                "{} I/Os completed that were not seen queued: in flight when the recording began, or not shown by the kernel",
                missing.unqueued
            ));
        }
    }
}
