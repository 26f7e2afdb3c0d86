//! Arguments of `q2c bench`.

use super::MachineArgs;
use super::time::{budget, seconds_within};
use super::{Counts, Cpus, LimitArgs, Numbers, RunArgs};
use clap::Args;
pub use q2c_bench::SECONDS;
use q2c_bench::interface::Interface;
use q2c_engine::Pattern;
use q2c_model::{Bytes, Nanos, parse_size};
use q2c_policy::Method;
use q2c_workbench::workload::Background;
use std::path::PathBuf;
use std::str::FromStr;

/// Compare interfaces and methods over jobs.
#[derive(Clone, Debug, Args)]
pub struct BenchArgs {
    /// File or block device; an NVMe namespace's character device (/dev/ng0n1); for spdk a
    /// controller's PCI address (0000:04:00.0); or a simulated device such as sim:50us,servers=8
    pub target: Option<String>,
    /// Use a scratch file of this size instead, made now, filled with random data, removed at the
    /// end
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "target")]
    pub scratch: Option<Bytes>,
    /// The machine of a simulated target.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Points and target from a fio job file; flags win over it, and what q2c does not have is
    /// named with its line
    #[arg(long, value_name = "FILE")]
    pub fio: Option<PathBuf>,
    /// Interfaces, separated by commas: io_uring, libaio, pvsync2, io_uring_cmd (NVMe commands),
    /// spdk (spdk_nvme_perf) [default: io_uring,libaio,pvsync2; on /dev/ng0n1 io_uring_cmd, on a
    /// PCI address spdk]
    #[arg(short = 'e', long, value_name = "LIST")]
    pub engine: Option<Engines>,
    /// Methods, separated by commas: interrupt, poll, sqpoll, sqpoll-iopoll, hybrid-uring,
    /// hybrid-kernel, hybrid:RULE [default: interrupt,poll]
    #[arg(short = 'm', long, value_name = "LIST")]
    pub method: Option<Methods>,
    /// Numbers of threads: 1,2,4 or 1..8 or 5..120/5, which is every fifth [default: 1]
    #[arg(short = 'j', long, value_name = "LIST")]
    pub jobs: Option<Counts>,
    /// Requests in flight of each thread [default: 1]
    #[arg(short = 'd', long, value_name = "LIST")]
    pub depth: Option<Counts>,
    /// Hardware queues of the device, for null_blk and ramdisk_mq; put back after each trial (needs
    /// root)
    #[arg(long, value_name = "LIST")]
    pub hw_queues: Option<Numbers>,
    /// Requests of each hardware queue (queue/nr_requests); put back after each trial (needs root)
    #[arg(long, value_name = "LIST")]
    pub nr_requests: Option<Numbers>,
    /// Block sizes [default: 4k]
    #[arg(short = 'b', long, value_name = "LIST", value_delimiter = ',', value_parser = parse_size)]
    pub bs: Option<Vec<Bytes>>,
    /// Patterns: randread, randwrite, read, write [default: randread]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub rw: Option<Vec<Pattern>>,
    /// Background jobs beside the points, such as rw=randread,bs=32k,depth=4,jobs=2,cpus=1, or
    /// none; several that run at once are joined by `;`, and given again it is a further value of
    /// the axis
    #[arg(long, value_name = "JOBS")]
    pub background: Vec<Background>,
    /// Make the backgrounds phases of one trial: the jobs run on while the background changes
    #[arg(long, requires = "background")]
    pub phases: bool,
    /// Also measure what this run of q2c tune recommends
    ///
    /// Also measure the method that this run of `q2c tune` recommends for each block size
    #[arg(long, value_name = "RUN")]
    pub tuned: Option<PathBuf>,
    /// Measure stages in the block layer, in a run of its own (root)
    ///
    /// After all trials, run each point once more with the block layer captured: where its I/Os
    /// spend their time, stage by stage, and which hardware queues take them (needs root)
    #[arg(long)]
    pub stages: bool,
    /// Measured part of each trial [default: 3s]
    #[arg(short = 's', long, value_name = "DURATION", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Warm-up before it at most: it ends when throughput has settled [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    pub warm_up: Option<f64>,
    /// Trials of each point
    #[arg(
        short = 't',
        long,
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub trials: u32,
    /// Also run the trials of what was invalid twice for one reason
    #[arg(long)]
    pub all_trials: bool,
    /// Add trials until the median is known this well, such as 3%
    ///
    /// Add trials until the median's interval is narrower than this share of it, such as 3%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub precision: Option<f64>,
    /// Open loop: submissions of each job per second, as a Poisson process; latency counts from the
    /// intended time
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    pub rate: Option<f64>,
    /// CPUs in the order in which jobs take them, separated by commas; auto takes cores before SMT
    /// siblings, the device's NUMA node first, and the first job's by trials of a moment each
    #[arg(long, value_name = "LIST", default_value = "auto")]
    pub cpus: Cpus,
    /// The device's rating in IOPS: what lies above it is flagged
    #[arg(long, value_name = "IOPS", value_parser = rate, allow_hyphen_values = true)]
    pub rating: Option<f64>,
    /// Time for all trials, such as 10m: fewer trials are run when they do not fit
    #[arg(long, value_name = "DURATION", value_parser = budget)]
    pub budget: Option<Nanos>,
    /// What the run must keep.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Go on with this interrupted run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["target", "scratch", "fio"])]
    pub resume: Option<PathBuf>,
    /// Place of the run.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Splits names at commas, where a name may contain commas itself. A part with which no name begins
/// belongs to the name before it; `begins` tells which part begins one.
fn names(text: &str, begins: impl Fn(&str) -> bool) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in text.split(',') {
        match names.last_mut() {
            Some(last) if !begins(part) => {
                last.push(',');
                last.push_str(part);
            }
            _ => names.push(part.to_owned()),
        }
    }
    names
}

/// The value of `--engine`: a list of interfaces.
#[derive(Clone, Debug)]
pub struct Engines(pub Vec<Interface>);

impl FromStr for Engines {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let each = names(text, Interface::begins).into_iter();
        let all = each.map(|name| name.parse());
        all.collect::<Result<_, _>>().map(Engines)
    }
}

/// The value of `--method`: a list of methods.
#[derive(Clone, Debug)]
pub struct Methods(pub Vec<Method>);

impl FromStr for Methods {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let each = names(text, Method::begins).into_iter();
        let all = each.map(|name| name.parse().map_err(|e| format!("{e}")));
        all.collect::<Result<_, _>>().map(Methods)
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    seconds_within(text, SECONDS)
}

fn rate(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok();
    let value = value.filter(|r| *r > 0.0 && *r <= 1e9);
    value.ok_or_else(|| "expected a number above 0 and up to 10^9".to_owned())
}

fn percent(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let value = value.filter(|p| *p > 0.0 && *p < 100.0);
    let value = value.ok_or_else(|| "expected a percentage above 0 and below 100".to_owned());
    value.map(|p| p / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_ratings_are_numbers_that_a_device_can_have() {
        for text in ["nan", "-5", "0", "inf", "-0", "1e10", ""] {
            assert!(rate(text).is_err(), "{text}");
        }
        assert_eq!(rate("750e3"), Ok(750_000.0));
    }

    #[test]
    fn commas_within_names_stay_there() {
        let Methods(methods) = "interrupt,hybrid:min:70%,10ms,poll".parse().unwrap();
        let texts: Vec<String> = methods.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            ["interrupt", "hybrid:min:ratio=70%,period=10ms", "poll"]
        );
        let Engines(engines) = "io_uring:sqpoll,cpu=1,libaio,spdk,io_uring_cmd"
            .parse()
            .unwrap();
        let texts: Vec<String> = engines.iter().map(ToString::to_string).collect();
        let wanted = ["io_uring:sqpoll,cpu=1", "libaio", "spdk", "io_uring_cmd"];
        assert_eq!(texts, wanted);
        assert!(
            "interrupt,often"
                .parse::<Methods>()
                .unwrap_err()
                .contains("often")
        );
    }
}
