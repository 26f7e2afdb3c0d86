//! Arguments of `q2c poll study` and `q2c poll search`.

use super::{SimulatedArgs, TimingArgs};
use clap::Args;
use q2c_model::Nanos;
use q2c_policy::{Family, FamilyError, PolicySpec};
use q2c_study::standard;
use q2c_workbench::settings::GoalArgs;
use std::path::PathBuf;

/// Which patterns, how they are simulated, and where the result goes.
#[derive(Clone, Debug, Args)]
pub struct PatternsArgs {
    /// Patterns: recordings as q2c poll sweep takes them, or folders of Parquet files [default: the
    /// patterns that q2c brings along]
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub patterns: Vec<PathBuf>,
    /// Own rules, the reading of the patterns, and costs: without an option those of --cost
    /// published.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
    /// What is best.
    #[command(flatten)]
    pub goal: GoalArgs,
    /// Simulated time.
    #[command(flatten)]
    pub timing: TimingArgs,
    /// Go on even when it takes long
    #[arg(long)]
    pub yes: bool,
    /// Write a report with charts to this file, a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write losses by pattern as CSV to this file, a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Which rules on which patterns, and what counts as best.
#[derive(Clone, Debug, Args)]
pub struct StudyArgs {
    /// Patterns, costs, and where the result goes.
    #[command(flatten)]
    pub on: PatternsArgs,
    /// Rule or family beside the standard grid: min:ratio=20%..90%/5%
    ///
    /// Rule or family of rules that competes with the standard grid of q2c poll sweep, such as pas
    /// or min:ratio=5%..95%/5%,period=1ms|10ms (may be given again)
    #[arg(long, value_name = "FAMILY")]
    pub rules: Vec<Family>,
    /// Leave the standard grid out
    #[arg(long)]
    pub only: bool,
    /// Rank the rules that take interrupts, too
    #[arg(long)]
    pub interrupts: bool,
}

/// How a better rule is searched for, and what is held out of the search.
#[derive(Clone, Debug, Args)]
pub struct SearchArgs {
    /// Patterns, costs, and where the result goes.
    #[command(flatten)]
    pub on: PatternsArgs,
    /// Hold this source out of the search, with all of its patterns (may be given again) [default:
    /// a third of the sources, drawn by --seed]
    #[arg(long, value_name = "SOURCE")]
    pub hold_out: Vec<String>,
    /// A known rule that a new one has to beat, beside those of --rule (may be given again)
    #[arg(long, value_name = "POLICY", default_values = ["min:70%,10ms", "pas", "mean:50%,100ms"])]
    pub reference: Vec<PolicySpec>,
    /// Rounds: the first tries points anywhere, the others near the best
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Points of each family and round
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub points: u32,
    /// Number of families whose best may win
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=15))]
    pub finalists: u32,
}

impl StudyArgs {
    /// The policies: those asked for, and behind them those of the standard grid
    /// that are not among them. Its fixed sleeps are for this median latency; they are named in the
    /// result, not ranked.
    pub fn policies(&self, p50: Nanos) -> Result<Vec<PolicySpec>, FamilyError> {
        let families = self.rules.iter().map(Family::spell_out);
        let mut all = families.collect::<Result<Vec<_>, _>>()?.concat();
        all.extend(self.on.simulated.own.policies()?);
        if !self.only {
            let standard = standard(p50).into_iter();
            let asked = all.clone();
            all.extend(standard.filter(|policy| !asked.contains(policy)));
        }
        Ok(all)
    }
}
