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
    /// False when the run was stopped early; the figures that it has are still valid.
    pub complete: bool,
    /// Seed of offsets and of the order of trials.
    pub seed: u64,
    /// Facts of the machine.
    pub machine: Machine,
    /// The file systems that were made.
    pub file_systems: Vec<CreatedFs>,
    /// The file system whose ratios are shown beside all others; `None` without a control.
    pub control: Option<FileSystem>,
    /// Settings that all trials had in common.
    pub job: FsJob,
    /// Every point that was measured.
    pub cells: Vec<FsCell>,
    /// Throughput of jobs that share a file over that of jobs with private files.
    pub ratios: Vec<SharedRatio>,
    /// Figures of a program or the built-in mix; there are no cells and ratios then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<FsProgram>,
    /// Points and file systems that cannot run here.
    pub left_out: Vec<FsLeftOut>,
    /// Conditions under which the figures mislead.
    pub warnings: Vec<Warning>,
}

words! {
    /// A kind of file system, as the kernel names it.
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
    /// How jobs share files, after FxMark's levels low, medium and high.
    pub enum Sharing, name {
        /// A file for each job.
        Private = "private",
        /// One file, in which each job has its own blocks. Appending jobs share the file's end.
        Blocks = "blocks",
        /// One file, of which all jobs use the first block.
        Same = "same",
    }
}

words! {
    /// What jobs do with blocks.
    pub enum Access, name {
        /// Reads of random blocks.
        Read = "read",
        /// Reads of all blocks in order. At the start of a pass the page cache has none of them.
        Scan = "scan",
        /// Writes over random blocks.
        Write = "write",
        /// Writes after the file's end (`O_APPEND`).
        Append = "append",
    }
}

words! {
    /// Whether I/O goes through the page cache.
    pub enum Caching, name {
        /// Through the page cache.
        Buffered = "buffered",
        /// Around the page cache (`O_DIRECT`).
        Direct = "direct",
    }
}

/// Implements `Display` and `FromStr` of an axis by its names.
macro_rules! impl_name_traits {
    ($($axis:ty),*) => {$(
        impl fmt::Display for $axis {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $axis {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.into_iter().find(|value| value.name() == text).ok_or_else(|| {
                    let names = Self::ALL.map(Self::name);
                    format!("expected one of {}, found `{text}`", names.join(", "))
                })
            }
        }
    )*};
}

impl_name_traits!(FileSystem, Sharing, Access, Caching);

/// A file system that the run made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CreatedFs {
    /// Kind of the file system.
    pub fs: FileSystem,
    /// The block device that it was made on.
    pub device: String,
    /// Size of that device.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Whether the loop device bypasses the page cache of its file; `None` without a loop device.
    pub loop_direct: Option<bool>,
    /// The program that made it, with its version if it prints one.
    pub made_by: String,
    /// Mount options, as they were read back.
    pub options: String,
}

/// Settings that all trials had in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FsJob {
    /// Length of the counted part of a trial, seconds.
    pub trial_seconds: f64,
    /// Length of the warm-up before the counted part, seconds.
    pub warm_up_seconds: f64,
    /// Trials of each point.
    pub trials: u32,
    /// Bytes that each job uses, of its own file or of the shared one.
    #[serde(rename = "file_bytes")]
    pub file: Bytes,
    /// The CPUs, in the order in which jobs take them.
    pub cpus: Vec<CpuId>,
}

/// A point, whose jobs all do the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FsPoint {
    /// The file system.
    pub fs: FileSystem,
    /// How files are shared.
    pub sharing: Sharing,
    /// What the jobs do.
    pub access: Access,
    /// Whether the page cache is used.
    pub caching: Caching,
    /// Number of threads; each has one request in flight.
    pub jobs: u32,
    /// Bytes of a request.
    #[serde(rename = "bs_bytes")]
    pub bs: Bytes,
    /// How far the kernel reads ahead; `None` leaves the setting, or nothing is read ahead.
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
    /// Mean requests in the device, including small requests of the file system itself.
    pub in_flight: Interval,
    /// Bytes that the device read per byte that a buffered scan read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_device: Option<Interval>,
    /// Waits for locks, from an additional run; `None` if not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locks: Option<FsLocks>,
    /// Where in the kernel the jobs' CPU time went, from the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<FsProfile>,
    /// Reasons of the trials that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// What an additional run observed, apart from the trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FsObservation<T> {
    /// The observation.
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

/// Waits for locks by the kernel's tracepoints, which do not report that a free lock was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeenLocks {
    /// Time of all jobs together, seconds.
    pub thread_seconds: f64,
    /// The waiting code, the longest total wait first.
    pub sites: Vec<LockSite>,
    /// Waits that `sites` lacks.
    pub lost: u64,
}

/// Waits of one kernel function for locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockSite {
    /// The waiting function: the first caller above the lock's own functions.
    pub site: String,
    /// The layer of the first function, from `site` upwards, whose layer is known.
    pub layer: KernelLayer,
    /// Kind of the lock.
    pub kind: LockKind,
    /// Number of waits.
    pub waits: u64,
    /// Total wait of all jobs, ns.
    pub wait_ns: u64,
}

impl SeenLocks {
    /// The share of the jobs' time that this code waited, 0..1.
    pub fn share(&self, site: &LockSite) -> f64 {
        site.wait_ns as f64 / 1e9 / self.thread_seconds
    }
}

/// Samples of the code that the jobs ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeenProfile {
    /// The source of the samples.
    pub by: ProfiledBy,
    /// Samples outside of the kernel.
    pub user: u64,
    /// Samples in the kernel by function, the most frequent first.
    pub functions: Vec<ProfiledFunction>,
    /// Samples that are in neither `user` nor `functions`.
    pub lost: u64,
}

/// The event that triggers samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfiledBy {
    /// The processor's counter of cycles.
    Cycles,
    /// The kernel's clock of each CPU, which does not tick while interrupts are off.
    CpuClock,
}

/// Samples in a function of the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfiledFunction {
    /// The function itself, without the functions that it calls.
    pub function: String,
    /// The layer of the first function, from `function` upwards, whose layer is known.
    pub layer: KernelLayer,
    /// Number of samples.
    pub samples: u64,
}

impl SeenProfile {
    /// The number of samples in `user` and `functions`.
    pub fn samples(&self) -> u64 {
        self.user + self.functions.iter().map(|f| f.samples).sum::<u64>()
    }
}

/// A layer between a job and a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelLayer {
    /// ext4 and its journal.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs.
    Btrfs,
    /// F2FS.
    F2fs,
    /// Code that file systems share (vfs, iomap).
    Vfs,
    /// The page cache and its writeback.
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
    /// A spinning reader-writer lock, wanted by a reader.
    RwlockRead,
    /// A spinning reader-writer lock, wanted by a writer.
    RwlockWrite,
    /// A mutex.
    Mutex,
    /// A sleeping reader-writer lock, wanted by a reader.
    RwsemRead,
    /// A sleeping reader-writer lock, wanted by a writer.
    RwsemWrite,
    /// A sleeping reader-writer lock with a counter for each CPU.
    PercpuRwsem,
    /// A mutex with priority inheritance.
    RtMutex,
    /// A lock of which the kernel reports only that its waiters sleep.
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
    /// The command, as a shell takes it; `None` for the built-in mix.
    pub command: Option<String>,
    /// The regular expression that finds the figure in the output; for the built-in mix its unit.
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
    /// Number of CPUs that the program may use; for the built-in mix, of tasks.
    pub cpus: u32,
}

/// A file system, or a part of its points, that cannot run here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FsLeftOut {
    /// The file system.
    pub fs: FileSystem,
    /// The part that is left out; `None` for the whole file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// The reason in words.
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
