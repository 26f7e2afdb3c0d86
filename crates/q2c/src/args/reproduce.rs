//! Arguments of `q2c reproduce`.

use super::{Cpus, MachineArgs, RunArgs};
use clap::Args;
use q2c_engine::EngineSpec;
use q2c_model::{Bytes, parse_size};
use std::path::PathBuf;

/// Run published experiments here, and judge each published claim.
#[derive(Clone, Debug, Args)]
pub struct ReproduceArgs {
    /// The experiment: a name of --list, or a file like those in experiments/
    #[arg(
        required_unless_present_any = ["list", "all", "resume"],
        conflicts_with_all = ["list", "all", "resume"]
    )]
    pub name: Option<String>,
    /// List the experiments: what they ask and need, what of them can be judged here, how long they
    /// take. What depends on a target is told with --target
    #[arg(long, conflicts_with_all = ["all", "resume", "scratch"])]
    pub list: bool,
    /// Run all experiments
    #[arg(long)]
    pub all: bool,
    /// File or block device, or a simulated device such as sim:50us, for jobs whose file makes no
    /// device
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Use a scratch file of this size instead, made now, filled with random data, removed at the
    /// end
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "target")]
    pub scratch: Option<Bytes>,
    /// Shorten all times: a factor such as 0.1 or 10%, or small, which is 2 %. Block sizes, depths
    /// and CPUs stay, and the result says so
    #[arg(long, default_value = "1", value_parser = scale)]
    pub scale: f64,
    /// Trials of each point [default: those of the file, mostly 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Also run the trials of what was invalid twice for one reason
    #[arg(long)]
    pub all_trials: bool,
    /// CPUs in the order in which jobs take them, separated by commas; auto takes cores before SMT
    /// siblings
    #[arg(long, value_name = "LIST", default_value = "auto")]
    pub cpus: Cpus,
    /// I/O interface of jobs whose file names none [default: io_uring, or what a simulated target
    /// names]
    #[arg(long)]
    pub engine: Option<EngineSpec>,
    /// The machine of simulated devices.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// For an experiment that judges a result of another command: the folder or file of that result
    #[arg(long, value_name = "RUN", conflicts_with_all = ["list", "all", "resume"])]
    pub from: Option<PathBuf>,
    /// Go on with this interrupted run. It keeps its own target, machine, CPUs, engine, lengths,
    /// trials and seed
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = [
            "all", "target", "scratch", "scale", "trials", "cpus", "engine", "seed", "machine",
            "real_time"
        ]
    )]
    pub resume: Option<PathBuf>,
    /// Place of the run.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The factor that `small` stands for.
const SMALL: f64 = 0.02;
/// The least factor.
const LEAST: f64 = 0.001;

fn scale(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(percent) => (percent, 0.01),
        None => (text, 1.0),
    };
    let value = match text {
        "small" => Some(SMALL),
        _ => number.trim().parse().ok().map(|number: f64| number * unit),
    };
    let value = value.filter(|value| (LEAST..=1.0).contains(value));
    value
        .ok_or_else(|| "expected a factor from 0.001 to 1, such as 0.1 or 10%, or small".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_shorten_and_never_lengthen() {
        assert_eq!(scale("0.1"), Ok(0.1));
        assert_eq!(scale("10%"), Ok(0.1));
        assert_eq!(scale("small"), Ok(0.02));
        for wrong in ["2", "0", "-1", "nan", "x", ""] {
            assert!(scale(wrong).unwrap_err().contains("0.001"), "{wrong}");
        }
    }
}
