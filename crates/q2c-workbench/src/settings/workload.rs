//! The workload of a command that measures one.

use crate::workbench::WorkloadRequest;
use crate::workload::{Background, BackgroundSpec};
use clap::Args;
use q2c_engine::{EngineSpec, Pattern};
use q2c_model::{Bytes, CpuId, List, parse_cpus, parse_size};
use q2c_run::arguments::RunArgs;
use serde::{Deserialize, Serialize};

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
    #[arg(
        short = 'b',
        long,
        default_value = "4k",
        value_delimiter = ',',
        value_parser = parse_size
    )]
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
    /// All background jobs: those of one value run beside those of the others.
    pub fn background_jobs(&self) -> Vec<BackgroundSpec> {
        self.background
            .iter()
            .flat_map(|jobs| &jobs.0)
            .cloned()
            .collect()
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
    #[arg(
        short = 'j',
        long,
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1024)
    )]
    pub jobs: u32,
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
        assert!(request.pattern.write && request.engine.is_none());
        assert_eq!(request.sizes, [Bytes(4096), Bytes(32768)]);
        assert_eq!((request.jobs, request.seed), (2, 9));
        assert_eq!(request.cpus, [CpuId(3), CpuId(1)]);
        assert_eq!(request.allow_write, ["d"].map(std::path::PathBuf::from));
    }
}
