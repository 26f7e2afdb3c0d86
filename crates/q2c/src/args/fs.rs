//! Arguments of `q2c fs`.

use super::time::seconds_within;
use super::{Counts, Cpus, RunArgs};
use clap::{Args, Subcommand};
use q2c_model::{Bytes, parse_size};
use q2c_result::fs::{Access, Caching, FileSystem, Sharing};

/// File systems under jobs that share their files.
#[derive(Clone, Debug, Args)]
pub struct FsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: FsCommand,
}

/// The commands of `q2c fs`.
#[derive(Clone, Debug, Subcommand)]
pub enum FsCommand {
    /// Make file systems, and measure jobs that share their files or have files of their own
    Bench(FsBenchArgs),
}

/// Arguments of `q2c fs bench`.
#[derive(Clone, Debug, Args)]
pub struct FsBenchArgs {
    /// Block device on which the file system is made, over what is there; name it again with
    /// --allow-write [default: loop devices over files without names in the folder of --out]
    pub device: Option<String>,
    /// File systems: ext4, xfs, btrfs, f2fs [default: all that can be made here]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub fs: Option<Vec<FileSystem>>,
    /// The file system beside which the others' ratios stand [default: xfs]
    #[arg(long, value_name = "FS")]
    pub control: Option<FileSystem>,
    /// How jobs share files: private (a file each), blocks (their own ones of one file), same (the
    /// first block of one file)
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "private,blocks,same"
    )]
    pub sharing: Vec<Sharing>,
    /// What jobs do: read or write random blocks, scan (read the blocks in order, of which the page
    /// cache has none), or append to the file
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "read"
    )]
    pub rw: Vec<Access>,
    /// buffered goes through the page cache, direct past it
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "direct"
    )]
    pub io: Vec<Caching>,
    /// Numbers of threads, with one request in flight each: 1,2,4 or 1..8 or 5..120/5 [default: 1
    /// to the number of CPUs]
    #[arg(long, value_name = "LIST")]
    pub jobs: Option<Counts>,
    /// Run a built-in mix of work on many files instead
    ///
    /// Run a built-in mix of what programs do with many small files and a large one: jobs per
    /// minute, with as many tasks as --jobs says
    #[arg(long, conflicts_with_all = ["program", "locks"])]
    pub mix: bool,
    /// Run this shell command on each file system instead
    ///
    /// Run this shell command on each file system instead of jobs of q2c, in an empty folder there,
    /// on as many CPUs as --jobs says ($Q2C_CPUS holds the number)
    #[arg(long = "macro", value_name = "COMMAND", requires = "metric")]
    pub program: Option<String>,
    /// Regular expression that finds the figure in what it prints
    ///
    /// Regular expression whose first group is the figure in what the command prints; the last one
    /// that fits counts
    #[arg(long, value_name = "REGEX", requires = "program")]
    pub metric: Option<String>,
    /// Block sizes
    #[arg(long, default_value = "4k", value_delimiter = ',', value_parser = parse_size)]
    pub bs: Vec<Bytes>,
    /// How far the kernel reads ahead, for --rw scan --io buffered, such as 0,128k,1m [default: as
    /// it is]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size_or_none)]
    pub readahead: Vec<Bytes>,
    /// CPUs of the threads, in this order [default: each core before any SMT sibling]
    #[arg(long, value_name = "LIST", default_value = "auto")]
    pub cpus: Cpus,
    /// Size of each file system on a loop device
    #[arg(long, default_value = "1g", value_parser = parse_size)]
    pub size: Bytes,
    /// Bytes of the file, or of the part of the shared one, that each thread uses
    #[arg(long, default_value = "16m", value_parser = parse_size)]
    pub file: Bytes,
    /// Also name the locks that jobs wait for, in a run of its own
    ///
    /// Name the locks that jobs wait for with the code that wants them (Linux 5.19 and later), and
    /// the functions in which their CPU time goes, from one more run of each point
    #[arg(long, conflicts_with = "program")]
    pub locks: bool,
    /// Trials of each point
    #[arg(long, default_value_t = 5)]
    pub trials: u32,
    /// Also run the trials of what was invalid twice for one reason
    #[arg(long)]
    pub all_trials: bool,
    /// Length of the counted part of a trial
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = trial)]
    pub seconds: f64,
    /// Length of the part before it
    #[arg(long, value_name = "DURATION", default_value = "300ms", value_parser = warm_up)]
    pub warm_up: f64,
    /// Place of the run.
    #[command(flatten)]
    pub run: RunArgs,
}

fn trial(text: &str) -> Result<f64, String> {
    seconds_within(text, 0.01..=3600.0)
}

fn warm_up(text: &str) -> Result<f64, String> {
    seconds_within(text, 0.0..=3600.0)
}

/// Reads a size, or 0.
fn size_or_none(text: &str) -> Result<Bytes, String> {
    match text {
        "0" => Ok(Bytes(0)),
        _ => parse_size(text).map_err(|error| error.to_string()),
    }
}
