//! A capture of a disk's I/Os, as `q2c trace record` and `q2c analyze --live` make it.

mod child;
mod following;
mod of_command;
mod running;

pub(crate) use child::{Child, kill_the_command};
pub(crate) use following::{CaptureCounter, CaptureEnd, CaptureWatcher};
pub(crate) use of_command::OfCommand;
pub(crate) use running::{FinishedCapture, RunningCapture};

use clap::Args;
use q2c_capture::{CaptureFilter, CapturedBy};
use q2c_model::{Bytes, Nanos, Op, parse_duration, parse_size, seconds_within};
use std::path::PathBuf;

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
    /// Hold so much of the recording in memory, 200 bytes per I/O, and the rest in an unnamed file
    /// [default: a quarter of what is free]
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<Bytes>,
    /// Where that file is made [default: $TMPDIR, or /var/tmp]
    #[arg(long, hide_short_help = true, value_name = "FOLDER")]
    pub spill: Option<PathBuf>,
}

impl CaptureArgs {
    /// The same of these operations alone; of all where there are none.
    pub(crate) fn of_ops(&self, ops: impl IntoIterator<Item = Op>) -> CaptureArgs {
        CaptureArgs {
            ops: ops.into_iter().collect(),
            ..self.clone()
        }
    }

    /// The filter as `q2c_capture` takes it.
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

    /// The first of these options that was given, as it is typed.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--seconds", self.seconds.is_some()),
            ("--by", self.by.is_some()),
            ("--min-size", self.min_size.is_some()),
            ("--max-size", self.max_size.is_some()),
            ("--pid", self.pid.is_some()),
            ("--latency-above", self.latency_above.is_some()),
            ("--memory", self.memory.is_some()),
            ("--spill", self.spill.is_some()),
        ];
        let mut options = options.into_iter();
        options.find_map(|(name, given)| given.then_some(name))
    }

    /// The filter in words, such as `read, 8 KiB or longer`; `None` when all is recorded.
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
