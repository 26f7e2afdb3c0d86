//! The result of `q2c fs bench`: schema `q2c.fs/1`.

use crate::{Machine, Warning};
use q2c_model::stats::{Interval, Ratio};
use q2c_model::{Bytes, CpuId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// This version's schema name.
pub const SCHEMA: &str = "q2c.fs/1";

/// File systems compared by how they share a file among jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FsResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// Wall time of the whole run, seconds.
    pub seconds: f64,
    /// False when the run was stopped early. The figures that it has are valid then.
    pub complete: bool,
    /// Seed of offsets and of the order of trials.
    pub seed: u64,
    /// Facts of the machine.
    pub machine: Machine,
    /// The file systems that were made.
    pub file_systems: Vec<MadeFs>,
    /// The file system beside which the others' ratios stand; `None` for none.
    pub control: Option<FileSystem>,
    /// Settings that all trials had in common.
    pub job: FsJob,
    /// Every point that was measured.
    pub cells: Vec<FsCell>,
    /// Throughput of jobs that share a file over that of jobs with a file each.
    pub ratios: Vec<SharedRatio>,
    /// Figures of a program or the built-in mix; there are no cells and ratios then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<FsProgram>,
    /// Points and file systems that do not exist here.
    pub left_out: Vec<FsLeftOut>,
    /// Conditions under which the figures mislead.
    pub warnings: Vec<Warning>,
}

words! {
    /// A kind of file system, as the kernel names it.
    #[derive(PartialOrd, Ord)]
    pub enum FileSystem, name {
        /// ext4.
        Ext4 = "ext4",
        /// XFS.
        Xfs = "xfs",
        /// Btrfs.
        Btrfs = "btrfs",
        /// F2FS.
        F2fs = "f2fs",
    }
}

words! {
    /// How jobs share files; after FxMark's levels low, medium and high.
    #[derive(PartialOrd, Ord)]
    pub enum Sharing, name {
        /// A file for each job.
        Private = "private",
        /// One file, and blocks in it that are each job's own. Appending jobs share the file's end.
        Blocks = "blocks",
        /// The first block of one file.
        Same = "same",
    }
}

words! {
    /// What jobs do with blocks.
    #[derive(PartialOrd, Ord)]
    pub enum Access, name {
        /// Reads of random blocks.
        Read = "read",
        /// Reads of all blocks in order; a page cache has none of them when a pass begins.
        Scan = "scan",
        /// Writes over random blocks.
        Write = "write",
        /// Writes behind the file's end (`O_APPEND`).
        Append = "append",
    }
}

words! {
    /// Whether I/O passes the page cache.
    #[derive(PartialOrd, Ord)]
    pub enum Caching, name {
        /// Through the page cache.
        Buffered = "buffered",
        /// Past it (`O_DIRECT`).
        Direct = "direct",
    }
}

/// Reads and writes the names of an axis.
macro_rules! named {
    ($($of:ty),*) => {$(
        impl fmt::Display for $of {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $of {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.into_iter().find(|one| one.name() == text).ok_or_else(|| {
                    let names = Self::ALL.map(Self::name);
                    format!("expected one of {}, found `{text}`", names.join(", "))
                })
            }
        }
    )*};
}

named!(FileSystem, Sharing, Access, Caching);

/// A file system that the run made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MadeFs {
    /// Its kind.
    pub fs: FileSystem,
    /// The block device that it was made on.
    pub device: String,
    /// Size of that device.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Whether a loop device passes the page cache of the file below, as read back.
    pub loop_direct: Option<bool>,
    /// The program that made it, with its version where it tells one.
    pub made_by: String,
    /// Its mount options, as they were read back.
    pub options: String,
}

/// Settings that all trials had in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FsJob {
    /// Length of the counted part of a trial, seconds.
    pub trial_seconds: f64,
    /// Length of the part before it that does not count, seconds.
    pub warm_up_seconds: f64,
    /// Trials of each point.
    pub trials: u32,
    /// Bytes of a file, or of a part of the shared file, that each job uses.
    #[serde(rename = "file_bytes")]
    pub file: Bytes,
    /// The CPUs, in the order in which jobs take them.
    pub cpus: Vec<CpuId>,
}

/// A point: all jobs do the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FsPoint {
    /// The file system.
    pub fs: FileSystem,
    /// How files are shared.
    pub sharing: Sharing,
    /// What is done.
    pub access: Access,
    /// Whether the page cache is passed.
    pub caching: Caching,
    /// Number of threads; each has one request in flight.
    pub jobs: u32,
    /// Bytes of a request.
    #[serde(rename = "bs_bytes")]
    pub bs: Bytes,
    /// How far the kernel reads ahead; `None` as it was found, and where nothing is read ahead.
    #[serde(rename = "readahead_bytes", default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readahead: Option<Bytes>,
}

/// The figures of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FsCell {
    /// The point.
    #[serde(flatten)]
    pub point: FsPoint,
    /// I/Os per second of all jobs.
    pub iops: Interval,
    /// Mean requests in the device, small ones that the file system makes included.
    pub in_flight: Interval,
    /// Bytes that the device read for each byte that a cached scan read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_device: Option<Interval>,
    /// Waits for locks, from a run of its own; `None` where they were not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locks: Option<FsLocks>,
    /// Where in the kernel the jobs' CPU time went, from the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<FsProfile>,
    /// Reasons of the trials that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// What was watched in a run of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FsObservation<T> {
    /// It was seen.
    Seen(T),
    /// It could not be seen, for this reason.
    Unseen(String),
}

impl<T, E: fmt::Display> From<Result<T, E>> for FsObservation<T> {
    fn from(observed: Result<T, E>) -> Self {
        observed.map_or_else(|error| Self::Unseen(error.to_string()), Self::Seen)
    }
}

/// Waits of the jobs for locks of the kernel.
pub type FsLocks = FsObservation<SeenLocks>;
/// Where the CPU time of the jobs went.
pub type FsProfile = FsObservation<SeenProfile>;

/// Waits for locks, by the kernel's tracepoints, which pass over a lock that is free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeenLocks {
    /// Time of all jobs together, seconds.
    pub thread_seconds: f64,
    /// The code that waited, the longest wait first.
    pub sites: Vec<LockSite>,
    /// Waits that are not among them.
    pub lost: u64,
}

/// Waits for locks that a function of the kernel wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockSite {
    /// The function: the first one below those of the lock itself.
    pub site: String,
    /// The layer of the first function, from this one on, of which it is known.
    pub layer: LockLayer,
    /// Kind of the lock.
    pub kind: LockKind,
    /// Number of waits.
    pub waits: u64,
    /// Their time, summed up over the jobs, ns.
    pub wait_ns: u64,
}

impl SeenLocks {
    /// The share of the jobs' time that this code waited.
    pub fn share(&self, site: &LockSite) -> f64 {
        site.wait_ns as f64 / 1e9 / self.thread_seconds
    }
}

/// Samples of where the jobs were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeenProfile {
    /// What the samples were taken by.
    pub by: ProfiledBy,
    /// Samples outside of the kernel.
    pub user: u64,
    /// Samples in the kernel, by function, the most first.
    pub functions: Vec<ProfiledFunction>,
    /// Samples that are in neither.
    pub lost: u64,
}

/// What samples are taken by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfiledBy {
    /// The processor's counter of cycles.
    Cycles,
    /// The kernel's clock of each CPU, which does not tick in code that keeps interrupts off.
    CpuClock,
}

/// Samples in a function of the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfiledFunction {
    /// The function itself, not those that it calls.
    pub function: String,
    /// The layer of the first function, from this one on, of which it is known.
    pub layer: LockLayer,
    /// Number of samples.
    pub samples: u64,
}

impl SeenProfile {
    /// All samples that were seen.
    pub fn samples(&self) -> u64 {
        self.user + self.functions.iter().map(|f| f.samples).sum::<u64>()
    }
}

/// A layer between a job and a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockLayer {
    /// ext4 and its journal.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs.
    Btrfs,
    /// F2FS.
    F2fs,
    /// What file systems share (vfs, iomap).
    Vfs,
    /// The page cache and its writing back.
    PageCache,
    /// The block layer.
    Block,
    /// The device's driver.
    Driver,
    /// Anything else.
    Other,
}

/// A kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// A spin lock.
    Spinlock,
    /// A spinning lock for many readers, wanted by one.
    RwlockRead,
    /// The same, wanted by a writer.
    RwlockWrite,
    /// A mutex.
    Mutex,
    /// A sleeping lock for many readers, wanted by one.
    RwsemRead,
    /// The same, wanted by a writer.
    RwsemWrite,
    /// A lock with a counter for each CPU.
    PercpuRwsem,
    /// A mutex that passes priorities on.
    RtMutex,
    /// A lock of which the kernel tells only that it sleeps.
    Sleeping,
}

/// Throughput with a shared file over throughput with a file for each job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedRatio {
    /// The point with the shared file.
    #[serde(flatten)]
    pub point: FsPoint,
    /// The ratio, with its bootstrap interval.
    pub shared_to_private: Ratio,
    /// The ratio of the control file system at the same point.
    pub of_control: Option<Ratio>,
}

/// A program that was run on each file system, under several numbers of CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FsProgram {
    /// The command, as a shell has it; `None` for the built-in mix.
    pub command: Option<String>,
    /// The regular expression of the figure in the output; the unit of the built-in mix.
    pub metric: String,
    /// The figures.
    pub cells: Vec<ProgramCell>,
}

/// The figures of a program on one file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramCell {
    /// The point.
    #[serde(flatten)]
    pub point: ProgramPoint,
    /// The figure that the program printed.
    pub value: Interval,
    /// Reasons of the trials that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// A program on a file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramPoint {
    /// The file system.
    pub fs: FileSystem,
    /// CPUs on which the program may run; tasks of the built-in mix.
    pub cpus: u32,
}

/// What does not exist here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FsLeftOut {
    /// The file system.
    pub fs: FileSystem,
    /// What of it is left out; all of it where nothing is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Why.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for fs in FileSystem::ALL {
            assert_eq!(fs.to_string().parse(), Ok(fs));
            crate::tests::assert_json(&fs, &format!("\"{fs}\""));
        }
        let wrong = "fat".parse::<FileSystem>().unwrap_err();
        assert_eq!(wrong, "expected one of ext4, xfs, btrfs, f2fs, found `fat`");
    }
}
