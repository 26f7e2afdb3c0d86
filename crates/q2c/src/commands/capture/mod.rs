//! Captures a disk's I/Os, for `q2c trace record` and `q2c analyze --live`.

mod child;
mod following;

pub(crate) use child::{Child, kill_the_command};
pub(crate) use following::{CaptureCounter, CaptureWatcher, OfCommand};

use crate::args::temporary;
use crate::output::say;
use clap::Args;
use following::CaptureFollower;
use q2c_capture::{CaptureFilter, CaptureTarget, CapturedBy, Description, Missing, Pace, Recorder};
use q2c_host::{Roots, machine};
use q2c_model::lost::{Losses, without_record};
use q2c_model::{Bytes, Exit, Fault, Nanos, Op, parse_duration, parse_size, seconds_within};
use q2c_trace::recording::RecordingSorter;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What is captured, by what means and for how long.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CaptureArgs {
    /// Only these operations; empty: all. Each command has an option of its own for it.
    #[arg(skip)]
    pub ops: Vec<Op>,
    /// Stop after this time [default: at ctrl-c, or when the command ends]
    #[arg(short = 's', long, value_name = "DURATION", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// bpf or tracefs [default: bpf, or tracefs where that is refused or sees too little]
    #[arg(long, hide_short_help = true, value_name = "WAY")]
    pub by: Option<CapturedBy>,
    /// Only I/Os of this length or longer, such as 8k
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub min_size: Option<Bytes>,
    /// Only I/Os of this length or shorter
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_size: Option<Bytes>,
    /// Only I/Os that this process queues
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,
    /// Only I/Os that take longer, from queued to complete, such as 1ms
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub latency_above: Option<Nanos>,
    /// Hold so much of the recording in memory, 270 bytes per I/O, and the rest in an unnamed file
    /// [default: a quarter of what is free]
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<Bytes>,
    /// Where that file is made [default: $TMPDIR, or /var/tmp]
    #[arg(long, hide_short_help = true, value_name = "FOLDER")]
    pub spill: Option<PathBuf>,
}

impl CaptureArgs {
    /// The same arguments for these operations only; without operations, for all.
    pub(crate) fn of_ops(&self, ops: impl IntoIterator<Item = Op>) -> CaptureArgs {
        CaptureArgs {
            ops: ops.into_iter().collect(),
            ..self.clone()
        }
    }

    /// The filter in the form that `q2c_capture` takes.
    pub(crate) fn wanted(&self) -> CaptureFilter {
        let defaults = CaptureFilter::default();
        CaptureFilter {
            ops: self.ops.clone(),
            min_size: self.min_size.unwrap_or(defaults.min_size),
            max_size: self.max_size.unwrap_or(defaults.max_size),
            pid: self.pid,
            latency_above: self.latency_above.unwrap_or(defaults.latency_above),
            ..defaults
        }
    }

    /// The first given option of a capture, as typed.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let mut options = [
            ("--seconds", self.seconds.is_some()),
            ("--by", self.by.is_some()),
            ("--min-size", self.min_size.is_some()),
            ("--max-size", self.max_size.is_some()),
            ("--pid", self.pid.is_some()),
            ("--latency-above", self.latency_above.is_some()),
            ("--memory", self.memory.is_some()),
            ("--spill", self.spill.is_some()),
        ]
        .into_iter();
        options.find_map(|(name, given)| given.then_some(name))
    }

    /// The filter as text, such as `read, 8 KiB or longer`; `None` if everything is recorded.
    pub(crate) fn filter(&self) -> Option<String> {
        let ops: Vec<&str> = self.ops.iter().map(|op| op.name()).collect();
        let conditions = [
            (!ops.is_empty()).then(|| ops.join(" or ")),
            self.min_size.map(|size| format!("{size} or longer")),
            self.max_size.map(|size| format!("{size} or shorter")),
            self.pid.map(|pid| format!("queued by process {pid}")),
            self.latency_above.map(|ns| format!("longer than {ns}")),
        ];
        let conditions: Vec<String> = conditions.into_iter().flatten().collect();
        (!conditions.is_empty()).then(|| conditions.join(", "))
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    seconds_within(text, 1e-3..=1e7)
}

/// Most memory for the recording, bytes; also the limit of `--memory`.
const MEMORY_MOST: u64 = 4 << 30;
/// Memory for the recording if the amount of free memory is unknown, bytes.
const MEMORY: u64 = 256 << 20;

/// A running capture: the recorder, the recording so far, and the command, if there is one.
/// [`RunningCapture::begin`] starts it, [`RunningCapture::finish`] ends it.
pub(crate) struct RunningCapture<'a> {
    roots: &'a Roots,
    target: &'a CaptureTarget,
    args: &'a CaptureArgs,
    recorder: Recorder,
    recording: RecordingSorter,
    /// The command that runs during the capture and ends it, once it has started.
    pub(crate) child: Child,
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

    /// One line that says what is recorded, and how. `alone` is true if no command runs.
    pub(crate) fn message(&self, alone: bool) -> String {
        let target_disk = &self.target.target_disk;
        let below = if target_disk.below.is_empty() {
            String::new()
        } else {
            format!(", below {}", target_disk.disk.name)
        };
        let whole = target_disk.partition.as_ref();
        let whole = whole.map(|partition| format!(", the whole disk of {partition}"));
        let filter = self.args.filter().map(|filter| format!("; only {filter}"));
        let (whole, filter) = (whole.unwrap_or_default(), filter.unwrap_or_default());
        let open = alone && self.args.seconds.is_none();
        let until = if open { "; ctrl-c ends it" } else { "" };
        let (names, by) = (self.target.names(), self.recorder.by());
        format!("recording {names}{below}{whole} by {by}{filter}{until}")
    }

    /// Follows the capture until the time is over, the command has ended, `watch` stops it, or
    /// `stop` is set. Then reads the last records, the number of lost ones, and the command's
    /// status. The recorder is removed.
    pub(crate) fn finish(
        mut self,
        watch: &mut impl CaptureWatcher,
        stop: &AtomicBool,
    ) -> Result<(Exit, FinishedCapture), Fault> {
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
        description.command(&self.child.words, self.child.status());
        let finished = FinishedCapture {
            recording: self.recording,
            description,
        };
        Ok((end, finished))
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
