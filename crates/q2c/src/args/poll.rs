//! Arguments of `q2c poll sim` and `q2c poll sweep`, and the commands of `q2c poll`.

use super::{
    CostArgs, SearchArgs, SourceArgs, SteerArgs, StudyArgs, TimingArgs, TuneKernelArgs, WatchArgs,
};
use clap::{Args, Subcommand};
use q2c_policy::{Family, PolicySpec, SpecError};
use q2c_report::terminal::{self, Screen};
use q2c_workbench::settings::{GoalArgs, RuleArgs};
use std::path::PathBuf;

/// Hybrid polling: simulated, watched at work, or steered in the kernel.
#[derive(Clone, Debug, Args)]
pub struct PollArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PollCommand,
}

/// The commands of `q2c poll`.
#[derive(Clone, Debug, Subcommand)]
pub enum PollCommand {
    /// Simulate sleep rules on a trace, beside classic polling and the oracle
    #[command(after_help = WHERE, after_long_help = rules())]
    Sim(SimArgs),
    /// Simulate whole families of sleep rules, and find the best
    #[command(after_help = WHERE, after_long_help = families())]
    Sweep(SweepArgs),
    /// List the sleep rules with their parameters and windows, and say how to write one
    Rules,
    /// Set every rule against every pattern of a set, and score each on patterns that had no part
    /// in the choice of its parameters
    #[command(after_help = WHERE, after_long_help = families())]
    Study(StudyArgs),
    /// Search families of rules for a better one: on some patterns of a set, and then, once, on
    /// those of sources that were held out
    Search(SearchArgs),
    /// Watch a workload while it runs; its method, ratio and background are changed by key
    #[command(after_help = WHERE, after_long_help = rules())]
    Watch(WatchArgs),
    /// Let the kernel's own hybrid polling sleep by a rule of q2c's: follow a device's latencies,
    /// write io_poll_delay (Linux 5.8 to 5.18)
    Steer(SteerArgs),
    /// Find the rule that the kernel's own hybrid polling should sleep by: record its latencies
    /// under your load, simulate, steer by the best rule, verify in the kernel (Linux 5.8 to 5.18)
    TuneKernel(TuneKernelArgs),
}

/// Arguments of every simulation.
#[derive(Clone, Debug, Args)]
pub struct SimulatedArgs {
    /// Own rules.
    #[command(flatten)]
    pub own: RuleArgs,
    /// What the trace does not say itself.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Costs.
    #[command(flatten)]
    pub cost: CostArgs,
}

/// Which rules on which trace, at which costs.
#[derive(Clone, Debug, Args)]
pub struct SimArgs {
    /// Trace of the block layer, or of classic polling
    ///
    /// Trace of the block layer (q2c trace record, blktrace, or imported), or of classic polling: a
    /// run's trace-BS.parquet
    pub trace: PathBuf,
    /// Sleep rule, such as mean or min:70%,10ms (may be given again)
    #[arg(long, required_unless_present = "rule", value_name = "POLICY")]
    pub policy: Vec<PolicySpec>,
    /// Own rules, the reading of the trace, and costs.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
    /// Simulated time.
    #[command(flatten)]
    pub timing: TimingArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What is swept on what, and what counts as best.
#[derive(Clone, Debug, Args)]
pub struct SweepArgs {
    /// Traces of the block layer, or of classic polling
    ///
    /// Traces of the block layer (q2c trace record, blktrace, or imported), or of classic polling:
    /// q2c's own, lists of latencies (name their --unit), CSV (name its --columns)
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Rule or family of rules, such as min:ratio=20%..90%/5%
    ///
    /// Rule or family of rules, such as pas or min:ratio=5%..95%/5%,period=1ms|10ms|100ms (may be
    /// given again) [default: mean and min over ratios 5 to 95 % and periods 1 to 200 ms, every
    /// other rule as it comes, and fixed sleeps up to the median latency]
    #[arg(long, value_name = "FAMILY")]
    pub policy: Vec<Family>,
    /// Own rules, the reading of the traces, and costs.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
    /// What is best.
    #[command(flatten)]
    pub goal: GoalArgs,
    /// Simulated time.
    #[command(flatten)]
    pub timing: TimingArgs,
    /// Sweep even when it takes long
    #[arg(long)]
    pub yes: bool,
    /// Show this rule I/O by I/O in the report [default: the best]
    #[arg(long, value_name = "POLICY")]
    pub follow: Option<PolicySpec>,
    /// Write a report with charts to this file, a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write every cell as CSV to this file, a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write every cell as Parquet to this file
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Where `-h`, which fits a screen, sends its reader.
const WHERE: &str =
    "q2c poll rules lists the sleep rules and says how to write one; --help has it as well";

fn families() -> String {
    format!(
        "Families: any value may be a list A|B|C, a range A..B/STEP or a range A..B*FACTOR, both ends included.\n\n{}",
        rules()
    )
}

/// The sleep rules with their parameters, and how to write one, as wide as a classic terminal.
fn rules() -> String {
    terminal::rules(Screen::new(80, false))
}

impl SimArgs {
    /// The rules: the named ones, then the user's own.
    pub fn policies(&self) -> Result<Vec<PolicySpec>, SpecError> {
        let own = self.simulated.own.policies()?;
        Ok([self.policy.clone(), own].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::poll;
    use q2c_model::Nanos;

    fn sim(words: &str) -> SimArgs {
        match poll(&format!("sim {words}")) {
            PollCommand::Sim(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn sweep(words: &str) -> SweepArgs {
        match poll(&format!("sweep {words}")) {
            PollCommand::Sweep(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_sweep_is_as_long_as_a_simulation() {
        let of_sim = |words: &str| sim(&format!("t --policy pas {words}")).timing.timing();
        let of_sweep = |words: &str| sweep(&format!("t {words}")).timing.timing();
        assert_eq!(of_sweep(""), of_sim(""));
        let named = of_sim("--measure 10ms --warm-up 1ms --seed 9");
        assert_eq!(of_sweep("--measure 10ms --warm-up 1ms --seed 9"), named);
        let ms = Nanos::from_millis;
        assert_eq!(named.measure, Some(ms(10)));
        assert_eq!(named.warm_up, ms(1));
        assert_eq!(named.seed, 9);
    }

    #[test]
    fn own_rules_come_after_named_ones() {
        let rules = sim("t --rule 0.7*min --policy pas --policy mean")
            .policies()
            .unwrap();
        let names: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), 3);
        assert!(
            names[0].starts_with("pas") && names[1].starts_with("mean"),
            "{names:?}"
        );
    }
}
