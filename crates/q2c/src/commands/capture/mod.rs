//! Captures the I/Os of disks, for `q2c trace record`, `q2c top` and `q2c analyze --live`.

mod child;
mod following;

pub(crate) use child::{Child, kill_command};
pub(crate) use following::{CaptureCounter, CaptureWatcher, CommandIos};

use crate::args::temporary_folder;
use crate::output::say;
use clap::Args;
use following::CaptureFollower;
use q2c_capture::{CaptureFilter, CaptureTarget, CapturedBy, Description, Missing, Pace, Recorder};
use q2c_host::block::TargetDisk;
use q2c_host::{Roots, machine};
use q2c_model::lost::{Losses, unrecorded_text};
use q2c_model::{Bytes, Exit, Fault, Nanos, Op, parse_duration, parse_seconds_in, parse_size};
use q2c_trace::recording::RecordingSorter;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What is captured, by what means and for how long.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CaptureArgs {
    /// The operations to capture; all if the list is empty. Each command has an option for them.
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
    pub(crate) fn with_ops(&self, ops: impl IntoIterator<Item = Op>) -> CaptureArgs {
        CaptureArgs {
            ops: ops.into_iter().collect(),
            ..self.clone()
        }
    }

    /// The filter in the form that `q2c_capture` takes.
    pub(crate) fn to_filter(&self) -> CaptureFilter {
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

    /// The name of the first option of a capture that was typed.
    pub(crate) fn first_option(&self) -> Option<&'static str> {
        let options = [
            self.seconds.map(|_| "--seconds"),
            self.by.map(|_| "--by"),
            self.min_size.map(|_| "--min-size"),
            self.max_size.map(|_| "--max-size"),
            self.pid.map(|_| "--pid"),
            self.latency_above.map(|_| "--latency-above"),
            self.memory.map(|_| "--memory"),
            self.spill.as_ref().map(|_| "--spill"),
        ];
        options.into_iter().flatten().next()
    }

    /// The filter as text, such as `read, 8 KiB or longer`; `None` if everything is recorded.
    pub(crate) fn filter_text(&self) -> Option<String> {
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
    parse_seconds_in(text, 1e-3..=1e7)
}

/// Memory for the recording; also the limit of `--memory`.
const MAX_MEMORY_BYTES: u64 = 4 << 30;
/// Memory for the recording if the amount of free memory is unknown.
const DEFAULT_MEMORY_BYTES: u64 = 256 << 20;

/// A running capture: the recorder, the recording so far, and the command, if there is one.
/// [`RunningCapture::begin`] starts it, [`RunningCapture::finish`] ends it.
pub(crate) struct RunningCapture<'a> {
    roots: &'a Roots,
    target: &'a CaptureTarget,
    args: &'a CaptureArgs,
    recorder: Recorder,
    recording: RecordingSorter,
    /// The command, once it has started. The capture ends when the command ends.
    pub(crate) child: Child,
}

impl<'a> RunningCapture<'a> {
    pub(crate) fn begin(
        roots: &'a Roots,
        target: &'a CaptureTarget,
        args: &'a CaptureArgs,
    ) -> Result<RunningCapture<'a>, Fault> {
        let recorder = Recorder::attach(roots, target.disks(), &args.to_filter(), args.by)?;
        if let Some(reason) = recorder.bpf_refusal() {
            say(&format!("no BPF, failed to {reason}; {TAKE_TRACEFS}"));
        }
        let recorder = match args.by {
            None => recorder.with_tracefs_fallback(roots, target.disks(), &args.to_filter()),
            Some(_) => recorder,
        };
        let quarter = || machine::free_memory(roots).map(|free| free.0 / 4);
        let memory = args.memory.map(|memory| memory.0).or_else(quarter);
        let memory = memory.unwrap_or(DEFAULT_MEMORY_BYTES).min(MAX_MEMORY_BYTES);
        let folder = args.spill.clone().unwrap_or_else(temporary_folder);
        Ok(RunningCapture {
            roots,
            target,
            args,
            recorder,
            recording: RecordingSorter::new(Bytes(memory), &folder),
            child: Child::default(),
        })
    }

    /// One line that says what is recorded, and how. `alone` is true if no command runs.
    pub(crate) fn message(&self, alone: bool) -> String {
        let details = |target_disk: &TargetDisk| {
            let has_below = !target_disk.below.is_empty();
            let below = has_below.then(|| format!(", below {}", target_disk.disk.name));
            let partition = target_disk.partition.as_ref();
            let partition = partition.map(|name| format!(", the whole disk of {name}"));
            below.into_iter().chain(partition).collect::<String>()
        };
        let details: String = self.target.target_disks.iter().map(details).collect();
        let filter = self.args.filter_text().map(|f| format!("; only {f}"));
        let filter = filter.unwrap_or_default();
        let endless = alone && self.args.seconds.is_none();
        let until = if endless { "; ctrl-c ends it" } else { "" };
        let (names, by) = (self.target.names(), self.recorder.captured_by());
        format!("recording {names}{details} by {by}{filter}{until}")
    }

    /// Follows the capture until the time is over, the command has ended, `watch` stops it, or
    /// `stop` is set. Then reads the last records, the number of lost records, and the command's
    /// status, and removes the recorder.
    pub(crate) fn finish(
        mut self,
        watch: &mut impl CaptureWatcher,
        stop: &AtomicBool,
    ) -> Result<(Exit, FinishedCapture), Fault> {
        let mut follower = CaptureFollower {
            begun: Instant::now(),
            length: self.args.seconds.map(Duration::from_secs_f64),
            child: &mut self.child,
            recording: &mut self.recording,
            watch,
            stop,
        };
        let started_by = self.recorder.captured_by();
        let (end, missing) = self.recorder.follow(Pace::default(), &mut follower)?;
        let refusal = self.recorder.bpf_refusal();
        if let Some(reason) = refusal.filter(|_| started_by != self.recorder.captured_by()) {
            say(&format!("failed to {reason}; it went on {TAKE_TRACEFS}"));
        }
        let (target, filter) = (self.target, self.args.filter_text());
        let mut description = Description::new(self.roots, target, filter, &self.recorder, missing);
        description.command(&self.child.words, self.child.status());
        let finished = FinishedCapture {
            recording: self.recording,
            description,
        };
        Ok((end, finished))
    }
}

const TAKE_TRACEFS: &str =
    "recording by tracefs: at more cost, without hardware queues, tags and cgroups";

fn loss_text(missing: &Missing) -> String {
    let lost = missing.lost;
    let Some(losses) = Losses::from_counts(&missing.reasons) else {
        return format!("{lost} I/Os or events were lost");
    };
    let consequence = if losses.of_ios {
        unrecorded_text(lost) + ", so that counts are too low"
    } else {
        format!("{lost} events lost, so that I/Os are missing or lack stages")
    };
    let (causes, remedies) = (losses.causes, losses.remedies);
    format!("{consequence}: {causes}. To do: {remedies}")
}

pub(crate) struct FinishedCapture {
    pub recording: RecordingSorter,
    pub description: Description,
}

impl FinishedCapture {
    pub(crate) fn tell_missing(&self) {
        let missing = self.description.missing();
        if missing.lost > 0 {
            say(&loss_text(missing));
        }
        if missing.unqueued > 0 {
            say(&format!(
                "{} I/Os completed that were not seen queued: in flight when the recording began, or not shown by the kernel",
                missing.unqueued
            ));
        }
    }
}
