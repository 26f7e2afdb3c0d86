//! Arguments of `q2c place`.

use clap::{Args, Subcommand};
use q2c_corun::run::spec::PlaceRunSettings;
use q2c_model::{Nanos, parse_duration, parse_percent, parse_time, seconds_within};
use std::path::PathBuf;

/// Placement of polling tasks beside computing tasks on SMT cores.
#[derive(Clone, Debug, Args)]
pub struct PlaceArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PlaceCommand,
}

/// The commands of `q2c place`.
#[derive(Clone, Debug, Subcommand)]
pub enum PlaceCommand {
    /// Simulate placements: run time of computing tasks, latency of polling tasks, by policy
    Sim(PlaceSimArgs),
    /// Watch by core who polls, who computes, what that costs, and what would be better; changes
    /// nothing
    Watch(PlaceWatchArgs),
    /// Place tasks until interrupted: polling tasks spread over the cores, on one logical CPU of
    /// each, computing tasks beside them; every task gets its own CPUs back at the end
    Start(PlaceStartArgs),
    /// Measure what a neighbour on the same core costs here, for place sim and place watch
    Calibrate(PlaceCalibrateArgs),
    /// Measure computing and polling tasks together in several placements: what each costs, and
    /// what the rules gain here
    Run(PlaceRunSettings),
}

/// How to measure.
#[derive(Clone, Debug, Args)]
pub struct PlaceCalibrateArgs {
    /// File or block device whose device has poll queues: tasks that poll it in the kernel (IOPOLL)
    /// are measured as well
    pub target: Option<String>,
    /// Write the speeds here, for --speeds; a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub speeds: Option<PathBuf>,
    /// Trials of each pair
    #[arg(long, default_value_t = 5, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(3..=100))]
    pub trials: u32,
    /// Length of a trial
    #[arg(long, default_value = "300ms", value_name = "DURATION", value_parser = parse_time)]
    pub trial: Nanos,
    /// Seed of the trials' order
    #[arg(long, hide_short_help = true, default_value_t = 1)]
    pub seed: u64,
    /// Print the result as JSON; q2c report draws it again
    #[arg(long)]
    pub json: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    seconds_within(text, 0.0..=1e7)
}

/// How tasks are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PlaceMode {
    /// By the CPUs that each task may run on (sched_setaffinity)
    Affinity,
    /// By a scheduler of q2c's in the kernel (sched_ext, Linux 6.16 or later)
    Scx,
}

/// How to place tasks.
#[derive(Clone, Debug, Args)]
pub struct PlaceStartArgs {
    /// How tasks are moved
    #[arg(long, value_enum, default_value = "affinity")]
    pub mode: PlaceMode,
    /// Hints and window.
    #[command(flatten)]
    pub detect: DetectArgs,
    /// Place tasks even where no core has two logical CPUs: polling tasks get a CPU each, as far as
    /// there are enough
    #[arg(long)]
    pub without_smt: bool,
    /// End after this time [default: go on until interrupted]
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Folder of the restore journals [default: /var/lib/q2c/restore for root]
    #[arg(long, value_name = "FOLDER")]
    pub journal: Option<PathBuf>,
}

/// How to tell polling tasks.
#[derive(Clone, Debug, Args)]
pub struct DetectArgs {
    /// Names of threads that poll, that compute, and that are never moved, from this TOML file:
    /// polling = ["name", "begin*"], compute, leave
    #[arg(long, value_name = "FILE")]
    pub hints: Option<PathBuf>,
    /// Length of a window: tasks that polled in it count as polling
    #[arg(long, default_value = "500ms", value_parser = parse_time, value_name = "DURATION")]
    pub window: Nanos,
}

/// What to watch.
#[derive(Clone, Debug, Args)]
pub struct PlaceWatchArgs {
    /// Hints and window.
    #[command(flatten)]
    pub detect: DetectArgs,
    /// Speeds beside neighbours from this TOML file [default: from published figures]
    #[arg(long, value_name = "FILE")]
    pub speeds: Option<PathBuf>,
    /// End after so many windows [default: go on until interrupted; 3 with --json]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub windows: Option<u32>,
    /// Print the last look as JSON; q2c report draws it again
    #[arg(long, conflicts_with = "json_lines")]
    pub json: bool,
    /// Print each look as a line of JSON
    #[arg(long)]
    pub json_lines: bool,
}

/// Which tasks on which machine.
#[derive(Clone, Debug, Args)]
pub struct PlaceSimArgs {
    /// Simulate the published set-ups, and show the published gains beside the simulated ones
    #[arg(long, conflicts_with_all = [
        "cores", "threads", "caches", "compute", "polling", "work",
        "compute_phases", "polling_phases"
    ])]
    pub published: bool,
    /// Physical cores
    #[arg(long, default_value_t = 4, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub cores: u32,
    /// Logical CPUs of each core
    #[arg(long, default_value_t = 2, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=8))]
    pub threads: u32,
    /// Last-level caches that the cores share
    #[arg(long, default_value_t = 1, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub caches: u32,
    /// Computing tasks
    #[arg(long, default_value_t = 8, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub compute: u32,
    /// Polling tasks
    #[arg(long, default_value_t = 8, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub polling: u32,
    /// Time that a computing task needs alone
    #[arg(long, default_value = "20s", value_parser = parse_time)]
    pub work: Nanos,
    /// Computing tasks sleep in between: mean time on a CPU, and of a sleep, such as 50ms/10ms
    #[arg(long, value_name = "RUNS/SLEEPS", value_parser = phases)]
    pub compute_phases: Option<(Nanos, Nanos)>,
    /// Polling tasks sleep in between
    #[arg(long, value_name = "RUNS/SLEEPS", value_parser = phases)]
    pub polling_phases: Option<(Nanos, Nanos)>,
    /// Speeds beside neighbours from this TOML file [default: from
    /// published figures]
    #[arg(long, value_name = "FILE")]
    pub speeds: Option<PathBuf>,
    /// Cost of each further computing task in a last-level cache
    ///
    /// What each further computing task in the same last-level cache adds to the time of one
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub cache_term: Option<f64>,
    /// Work lost by a move to another last-level cache
    ///
    /// Work that a computing task loses when it moves to another last-level cache
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "cache_term")]
    pub cache_refill: Option<Nanos>,
    /// Latency of a polled I/O when the task has its CPU for itself
    #[arg(long, default_value = "80us", value_parser = parse_duration, value_name = "DURATION")]
    pub io: Nanos,
    /// Time for which a task keeps its CPU while others wait for it
    #[arg(long, default_value = "3ms", value_parser = parse_duration, value_name = "DURATION")]
    pub slice: Nanos,
    /// Starts of each policy that moves tasks: tasks come in another order each time [default: 100,
    /// 5 where tasks sleep]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub starts: Option<u32>,
    /// Seed of the starts
    #[arg(long, hide_short_help = true, default_value_t = 1)]
    pub seed: u64,
    /// Write a page with charts here; a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the result as JSON; q2c report draws it again
    #[arg(long)]
    pub json: bool,
}

/// Two durations with a slash between them.
fn phases(text: &str) -> Result<(Nanos, Nanos), String> {
    let wrong = || format!("expected two durations such as 50ms/10ms, found `{text}`");
    let (runs, sleeps) = text.split_once('/').ok_or_else(wrong)?;
    let time = |text: &str| parse_duration(text.trim()).map_err(|e| e.to_string());
    let (runs, sleeps) = (time(runs)?, time(sleeps)?);
    match runs.0 > 0 && sleeps.0 > 0 {
        true => Ok((runs, sleeps)),
        false => Err(format!("expected durations above 0, found `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_two_durations() {
        let ms = |n: u64| Nanos(n * 1_000_000);
        assert_eq!(phases("50ms/10ms"), Ok((ms(50), ms(10))));
        assert!(phases("50ms").is_err());
        assert!(phases("50ms/0ms").unwrap_err().contains("above 0"));
        assert!(phases("50/x").is_err());
    }
}
