//! Arguments of `q2c poll watch`.

use crate::stream::MetricsArgs;
use clap::Args;
use q2c_model::{Bytes, Nanos, seconds_within, time_within};
use q2c_policy::{LaneMethod, PolicySpec, SpecError};
use q2c_workbench::settings::{JobsArg, RuleArgs, WorkloadArgs};
use std::str::FromStr;

/// Watch a workload while it runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct WatchArgs {
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

impl WatchArgs {
    /// The block size of the workload. The error says what is wrong with sizes and times.
    pub(crate) fn block_size(&self) -> Result<Bytes, String> {
        let [bs] = self.workload.bs[..] else {
            let sizes: Vec<String> = self.workload.bs.iter().map(Bytes::to_string).collect();
            let sizes = sizes.join(", ");
            return Err(format!(
                "watch one block size: expected one for --bs, found {sizes}"
            ));
        };
        let interval = self.interval;
        if self.seconds.is_some_and(|s| s < interval.as_secs_f64()) {
            return Err(format!(
                "watch one interval at least: expected --seconds of {interval} or more, or a shorter --interval"
            ));
        }
        Ok(bs)
    }

    /// The methods to choose among, the first of which runs at the start; at least one.
    pub(crate) fn methods(&self) -> Result<Vec<LaneMethod>, SpecError> {
        let own_rules = self.own.policies()?.into_iter().map(LaneMethod::Hybrid);
        let named = self.policy.iter().map(|method| method.0.clone());
        let methods: Vec<LaneMethod> = named.chain(own_rules).collect();
        Ok(if methods.is_empty() {
            standard()
        } else {
            methods
        })
    }
}

/// The methods without `--policy` and `--rule`: the baselines, Linux's rule, and the best published
/// rules: `min`, which has windows, and `pas`, which learns from every completion.
fn standard() -> Vec<LaneMethod> {
    let rule = |text: &str| -> PolicySpec { text.parse().expect("a known rule") };
    let rules = ["mean:50%,100ms", "min:70%,10ms", "pas"].map(rule);
    let mut methods = vec![LaneMethod::Poll, LaneMethod::Interrupt];
    methods.extend(rules.map(LaneMethod::Hybrid));
    methods
}

/// A method as it is typed: `poll`, `interrupt`, or a sleep rule with or without `hybrid:`.
#[derive(Clone, Debug)]
pub(crate) struct MethodArg(pub LaneMethod);

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
    time_within(text, Nanos::from_millis(100)..=Nanos::from_millis(60_000))
}

fn each(text: &str) -> Result<Nanos, String> {
    let ms = Nanos::from_millis;
    time_within(text, ms(100)..=ms(86_400_000))
}

/// Parses the seconds of a watch or of steering: 0.1 to 86 400 (a day).
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    seconds_within(text, 0.1..=86_400.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::poll;
    use crate::commands::poll::PollCommand;

    fn watch(options: &str) -> WatchArgs {
        match poll(&format!("watch null {options}")) {
            PollCommand::Watch(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_methods_there_are_five() {
        let args = watch("");
        let methods = args.methods().unwrap();
        assert_eq!(methods.len(), 5);
        assert!(matches!(methods[0], LaneMethod::Poll));
        assert_eq!(args.block_size(), Ok(Bytes(4096)));
    }

    #[test]
    fn own_rules_come_after_named_methods() {
        let args = watch("--rule 0.7*min --policy interrupt --policy hybrid:pas");
        let methods = args.methods().unwrap();
        let [
            interrupt,
            LaneMethod::Hybrid(pas),
            LaneMethod::Hybrid(own_rule),
        ] = &methods[..]
        else {
            panic!("{methods:?}");
        };
        assert!(matches!(interrupt, LaneMethod::Interrupt));
        assert!(pas.to_string().starts_with("pas") && own_rule.to_string().contains("0.7"));
    }

    #[test]
    fn one_block_size_and_one_interval_at_least() {
        assert!(watch("--bs 4k,8k").block_size().is_err());
        assert!(watch("--seconds 1 --interval 2s").block_size().is_err());
        assert!(watch("--seconds 2 --interval 2s").block_size().is_ok());
    }
}
