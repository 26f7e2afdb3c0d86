//! Options of every command that does I/O.

use clap::Args;
use q2c_engine::{EngineSpec, Pattern};
use q2c_model::{Bytes, parse_size};
use q2c_workbench::workload::BackgroundSpec;
use std::path::PathBuf;

/// Target, job and place.
#[derive(Clone, Debug, Args)]
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
    #[arg(long, default_value = "4k", value_delimiter = ',', value_parser = parse_size)]
    pub bs: Vec<Bytes>,
    /// Foreground threads, depth 1 each
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: u32,
    /// CPUs of the foreground threads, separated by commas [default: the last ones, leaving CPU 0
    /// to others]
    #[arg(long, value_delimiter = ',')]
    pub cpu: Vec<u32>,
    /// A background job, such as rw=randread,bs=32k,depth=4,jobs=2,cpus=1 (may be given again)
    #[arg(long, value_name = "JOB")]
    pub background: Vec<BackgroundSpec>,
    /// I/O interface [default: io_uring, or what a simulated target names]
    #[arg(long)]
    pub engine: Option<EngineSpec>,
    /// Place of the run.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Options of every command that may write and leaves a run.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Allow writing to this existing file or block device: name the target again
    #[arg(long, value_name = "PATH")]
    pub allow_write: Vec<PathBuf>,
    /// Folder for runs and scratch files
    #[arg(long, default_value = "runs", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Seed of offsets and of the order of trials
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..1 << 62))]
    pub seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
