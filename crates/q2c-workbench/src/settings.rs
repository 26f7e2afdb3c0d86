//! Settings that several measuring commands share, in the form of arguments and of stored plans.

use crate::workbench::WorkloadRequest;
use crate::workload::{Background, BackgroundSpec};
use clap::Args;
use q2c_engine::{EngineSpec, Pattern};
use q2c_model::{Bytes, CpuId, List, Nanos, parse_cpus, parse_duration, parse_size};
use q2c_policy::{Formula, PolicySpec, SpecError};
use q2c_run::arguments::RunArgs;
use q2c_sim::{Limits, MinIops, Objective};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

/// Target, job and place.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
pub struct WorkloadArgs {
    /// File or block device; or a simulated device such as sim:50us
    pub target: Option<String>,
    /// Use a scratch file of this size instead, made now, filled with random data, removed at the
    /// end
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "target")]
    pub scratch: Option<Bytes>,
    /// Pattern: randread, randwrite, read or write
    #[arg(long, default_value = "randread")]
    pub rw: Pattern,
    /// Block sizes, separated by commas
    #[arg(short = 'b', long, default_value = "4k", value_delimiter = ',')]
    #[arg(value_parser = parse_size)]
    pub bs: Vec<Bytes>,
    /// CPUs of the foreground threads, separated by commas; auto takes the last ones, leaving CPU 0
    /// to others, unless another one is clearly faster in trials of a moment each
    #[arg(long, alias = "cpu", value_name = "LIST", default_value = "auto", value_parser = parse_cpus)]
    pub cpus: List<u32>,
    /// Background jobs, such as rw=randread,bs=32k,depth=4,jobs=2,cpus=1; several are joined by `;`
    /// or given again, and none stands for no job
    #[arg(long, value_name = "JOBS")]
    pub background: Vec<Background>,
    /// I/O interface [default: io_uring, or what a simulated target names]
    #[arg(short = 'e', long)]
    pub engine: Option<EngineSpec>,
    /// Place of the run.
    #[command(flatten)]
    #[serde(flatten)]
    pub run: RunArgs,
}

impl WorkloadArgs {
    /// All background jobs; the jobs of all values run together.
    pub fn background_jobs(&self) -> Vec<BackgroundSpec> {
        let jobs = self.background.iter().flat_map(|jobs| &jobs.0);
        jobs.cloned().collect()
    }

    /// The workload with `jobs` foreground jobs on `target`.
    pub fn request(&self, jobs: u32, target: String) -> WorkloadRequest {
        WorkloadRequest {
            target,
            engine: self.engine.clone(),
            pattern: self.rw,
            sizes: self.bs.clone(),
            jobs,
            cpus: self.cpus.iter().copied().map(CpuId).collect(),
            background: self.background_jobs(),
            allow_write: self.run.allow_write.clone(),
            seed: self.run.seed,
            machine: None,
        }
    }
}

/// The number of jobs of a command that takes one.
#[derive(Clone, Copy, Debug, Args)]
pub struct JobsArg {
    /// Foreground threads, depth 1 each
    #[arg(short = 'j', long, default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: u32,
}

/// The machine of a simulated target.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct MachineArgs {
    /// Machine of a simulated target: here (as calibrated), keys such as
    /// cores=120,threads=2,nodes=4, or a TOML file of all keys [default: q2c's own, with 8 CPUs;
    /// for replays one whose steps take no time]
    #[arg(long, conflicts_with = "real_time", hide_short_help = true)]
    pub machine: Option<MachineName>,
    /// Measure a simulated target in real time, on the CPUs of this machine
    #[arg(long, hide_short_help = true)]
    pub real_time: bool,
}

/// Names a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineName {
    /// This machine, with the costs of its newest calibration.
    Here,
    /// q2c's own machine with the values of these keys.
    Keys(String),
    /// A machine that a file describes.
    File(PathBuf),
}

impl FromStr for MachineName {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "here" => MachineName::Here,
            keys if has_keys(keys) => MachineName::Keys(keys.to_owned()),
            path => MachineName::File(path.into()),
        })
    }
}

/// True for `cores=120`, but not for `./a=b.toml`.
fn has_keys(text: &str) -> bool {
    let key = text.split_once('=').map(|(key, _)| key);
    key.is_some_and(|key| key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
}

/// Formulas and their windows.
#[derive(Clone, Debug, Default, Args)]
pub struct RuleArgs {
    /// Own sleep rule: a formula over the count, mean, min, max, last, p01 to p99, lmd and misses
    /// of the last window (--period) or the last I/Os (--ios), such as '0.7 * min' or
    /// 'if(p01 > 40us, p01 - 4us, 0)' (may be given again)
    #[arg(long, value_name = "FORMULA")]
    pub rule: Vec<Formula>,
    /// Shortest length of the windows of --rule, which are stretches of time
    #[arg(long, value_name = "DURATION", default_value = "10ms", value_parser = period)]
    #[arg(requires = "rule")]
    pub period: Nanos,
    /// The windows of --rule are the last N I/Os of a thread instead, such as 8; the sleep is
    /// worked out anew after each
    #[arg(long, value_name = "N", requires = "rule", conflicts_with = "period", value_parser = ios)]
    pub ios: Option<u32>,
}

/// Parses a period, and refuses one that windows cannot have.
pub fn period(text: &str) -> Result<Nanos, String> {
    let period = parse_duration(text).map_err(|e| e.to_string())?;
    let rule: PolicySpec = "rule:min".parse().expect("the rule of a statistic");
    let checked = rule.with_param("period", period.0 as f64);
    checked.map(|_| period).map_err(|error| error.reason)
}

/// Parses a number of I/Os, and refuses one that windows cannot have.
fn ios(text: &str) -> Result<u32, String> {
    let ios = text.parse::<u32>().map_err(|e| e.to_string())?;
    let min: Formula = "min".parse().expect("a formula");
    let checked = PolicySpec::from_last_ios(min, ios);
    checked.map(|_| ios).map_err(|error| error.reason)
}

impl RuleArgs {
    /// The formulas as policies, in the order of the arguments.
    pub fn policies(&self) -> Result<Vec<PolicySpec>, SpecError> {
        let policy = |formula: &Formula| match self.ios {
            Some(ios) => PolicySpec::from_last_ios(formula.clone(), ios),
            None => PolicySpec::from_formula(formula.clone(), self.period),
        };
        self.rule.iter().map(policy).collect()
    }
}

/// Options of commands that choose a rule.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
pub struct GoalArgs {
    /// What is best: kiops-per-core, iops or cpu
    #[arg(long, default_value = "kiops-per-core")]
    pub objective: Objective,
    /// The chosen rule keeps at least this many IOPS, or this share of polling's: 9300, 93%
    /// [default: 97%; of the best clean sleep in poll sweep]
    #[arg(long, value_name = "IOPS")]
    pub min_iops: Option<MinIops>,
    /// The chosen rule keeps the 99th percentile of the latency below this, such as 200us
    #[arg(long, value_name = "DURATION", value_parser = latency)]
    #[serde(rename = "max_p99_ns")]
    pub max_p99: Option<Nanos>,
    /// The chosen rule uses at most this much CPU, percent of one CPU and thread
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_hyphen_values = true)]
    #[serde(rename = "max_cpu_pct")]
    pub max_cpu: Option<f64>,
}

impl GoalArgs {
    /// The limits that the chosen rule must keep.
    pub fn limits(&self) -> Limits {
        Limits {
            min_iops: self.min_iops,
            max_p99_ns: self.max_p99.map(|p99| p99.0 as f64),
            max_cpu_pct: self.max_cpu,
        }
    }
}

fn latency(text: &str) -> Result<Nanos, String> {
    let time = parse_duration(text).map_err(|e| e.to_string())?;
    let positive = Some(time).filter(|time| *time > Nanos::ZERO);
    positive.ok_or_else(|| format!("expected a latency above 0, such as 200us, found `{text}`"))
}

fn percent(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let value = value.filter(|percent| *percent > 0.0 && *percent <= 100.0);
    value.ok_or_else(|| format!("expected a percentage above 0 and up to 100, found `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_run::arguments::from_words;

    #[test]
    fn arguments_become_the_workload() {
        let options = "--rw randwrite --bs 4k,32k --cpu 3,1 --seed 9 --allow-write d d";
        let args: WorkloadArgs = from_words(options).unwrap();
        let request = args.request(2, "d".to_owned());
        assert!(request.pattern.writes() && request.engine.is_none());
        assert_eq!(request.sizes, [Bytes(4096), Bytes(32768)]);
        assert_eq!((request.jobs, request.seed), (2, 9));
        assert_eq!(request.cpus, [CpuId(3), CpuId(1)]);
        assert_eq!(request.allow_write, ["d"].map(std::path::PathBuf::from));
    }

    #[test]
    fn a_limit_is_a_number_above_nothing() {
        for text in ["nan", "-5", "0", "inf", "%", "100000%"] {
            assert!(percent(text).is_err(), "{text}");
        }
        assert_eq!(percent("25%"), Ok(25.0));
        assert!(latency("0").is_err() && latency("0us").is_err());
        assert_eq!(latency("200us"), Ok(Nanos::from_micros(200)));
    }
}
