//! Arguments of `q2c poll watch`.

use super::time::{seconds_within, time_within};
use super::{JobsArg, MetricsArgs, RuleArgs, WorkloadArgs};
use clap::Args;
use q2c_model::Nanos;
use q2c_policy::{LaneMethod, SpecError};
use std::str::FromStr;

/// Watch a workload while it runs.
#[derive(Clone, Debug, Args)]
pub struct WatchArgs {
    /// Target, job and place.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// Number of jobs.
    #[command(flatten)]
    pub jobs: JobsArg,
    /// A method to choose among: poll, interrupt, or a sleep rule such as mean or min:70%,10ms (may
    /// be given again); the first runs at the start [default: poll, interrupt, mean:50%,100ms,
    /// min:70%,10ms, pas]
    #[arg(long, value_name = "METHOD")]
    pub policy: Vec<MethodArg>,
    /// Own rules.
    #[command(flatten)]
    pub own: RuleArgs,
    /// Length of an interval
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    pub interval: Nanos,
    /// End by itself after this time [default: at a key or a signal]
    #[arg(short = 's', long, value_name = "DURATION", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Go on to the next method by itself each time this is over
    #[arg(long, value_name = "DURATION", value_parser = each)]
    pub every: Option<Nanos>,
    /// Watch the kernel's own hybrid polling of this device instead (Linux 5.8 to 5.18), whoever
    /// uses it: no I/O is done, and the options of a job mean nothing
    #[arg(long, conflicts_with_all = ["policy", "rule", "every", "scratch", "background"])]
    pub kernel: bool,
    /// Split the latency into submission, device, return, oversleep, wake-up and reap, by the block
    /// layer's capture (root); it slows each I/O
    #[arg(long, conflicts_with = "kernel")]
    pub parts: bool,
    /// A line per interval, as where there is no terminal
    #[arg(long)]
    pub plain: bool,
    /// Where metrics are served.
    #[command(flatten)]
    pub metrics: MetricsArgs,
}

/// A method as it is typed: `poll`, `interrupt`, or a sleep rule with or without `hybrid:`.
#[derive(Clone, Debug)]
pub struct MethodArg(pub LaneMethod);

impl FromStr for MethodArg {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rule = text.strip_prefix("hybrid:").unwrap_or(text);
        Ok(MethodArg(match text {
            "poll" => LaneMethod::Poll,
            "interrupt" => LaneMethod::Interrupt,
            _ => LaneMethod::Hybrid(rule.parse()?),
        }))
    }
}

fn interval(text: &str) -> Result<Nanos, String> {
    time_within(text, Nanos::from_millis(100), Nanos::from_millis(60_000))
}

fn each(text: &str) -> Result<Nanos, String> {
    time_within(
        text,
        Nanos::from_millis(100),
        Nanos::from_millis(86_400_000),
    )
}

/// Parses the seconds of a watch or of steering: 0.1 to 86 400 (a day).
pub fn seconds(text: &str) -> Result<f64, String> {
    seconds_within(text, 0.1..=86_400.0)
}
