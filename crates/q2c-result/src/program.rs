//! A program whose I/Os were recorded and became the workload of `q2c tune`: what it did, what the
//! workload copies, how alike the two are, and what the answer is worth to the program.

use crate::tune::{MethodName, PerCore};
use q2c_model::{Bytes, Direction, Layer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the recording in the run folder.
pub const TRACE_FILE: &str = "program.parquet";
/// File in the run folder with the program before the trials, so without likeness and worth.
pub const FILE: &str = "program.json";

/// A recorded program and the workload that copies it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The origin of the I/Os.
    pub recording: ProgramRecording,
    /// What the program did.
    pub pattern: ProgramPattern,
    /// The workload that copies the pattern.
    pub copied: CopiedWorkload,
    /// Program and workload side by side, one for each block size with trials.
    pub likeness: Vec<Likeness>,
    /// What the answer is worth to the program, one for each block size with an answer.
    pub worth: Vec<AnswerWorth>,
}

/// The recording of a program, which the run folder holds as [`TRACE_FILE`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramRecording {
    /// The recorded command, word by word; empty if the user named a recording.
    pub command: Vec<String>,
    /// The path of the recording that the user named; `None` for a command.
    pub path: Option<String>,
    /// The program or format that the recording comes from.
    pub source: String,
    /// The disks that were recorded, in words; `None` if the recording does not name them.
    pub disks: Option<String>,
    /// Names of the processes that were selected; empty for all.
    pub processes: Vec<String>,
    /// Events that the source lost.
    pub lost: u64,
    /// Events that could not be matched, by reason.
    pub unmatched: BTreeMap<String, u64>,
}

/// The pattern of a program's reads and writes that started and ended within the recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramPattern {
    /// The layer of the times: Q2C for the block layer, U2C for the user layer.
    pub layer: Layer,
    /// Number of reads and writes.
    pub ios: u64,
    /// From the first start to the last end, seconds.
    pub seconds: f64,
    /// Reads and writes in flight at once.
    pub in_flight: ProgramInFlight,
    /// Reads and writes separately, the more frequent first; a direction without an I/O is missing.
    pub kinds: Vec<KindOfIo>,
    /// Number of devices that the I/Os went to.
    pub devices: u32,
    /// Number of submitters with an I/O: threads, if the recording names them.
    pub lanes: u32,
    /// Mean I/Os in flight of a submitter, over the time in which it had at least one.
    pub lane_depth: f64,
    /// Share of submitters' time, from first start to last end, with an I/O in flight, 0..1.
    pub lane_busy: f64,
    /// Times from a submitter's last completion to its next submission; `None` without such a time.
    pub think: Option<Think>,
    /// Names of processes with their I/Os, the most frequent first, at most eight names.
    pub submitters: Vec<Submitter>,
    /// Number of I/Os that were completed by polling.
    pub polled: u64,
    /// Number of I/Os that the block layer merged into the request of another I/O.
    pub merged: u64,
    /// What was left out.
    pub left_out: LeftOutIos,
}

/// I/Os in flight, over the time in which there was at least one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramInFlight {
    /// Time with at least one I/O in flight, seconds.
    pub busy_seconds: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Most.
    pub most: u64,
}

/// The reads or the writes of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindOfIo {
    /// Reads or writes.
    pub direction: Direction,
    /// Number of I/Os.
    pub ios: u64,
    /// The sizes, the most frequent first, at most 16.
    pub sizes: Vec<SizeOfIo>,
    /// Number of I/Os of all other sizes.
    pub other_sizes: u64,
    /// Share that started where the submitter's last such I/O ended, 0..1; `None` without offsets.
    pub sequential: Option<f64>,
    /// I/Os of this kind in flight at once.
    pub in_flight: ProgramInFlight,
    /// Latencies of these I/Os.
    pub latency: IoLatency,
}

/// I/Os of one direction and size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeOfIo {
    /// The size.
    pub bytes: Bytes,
    /// Number of I/Os.
    pub ios: u64,
    /// Latencies of these I/Os.
    pub latency: IoLatency,
}

/// Latencies in the layer of a [`ProgramPattern`], ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IoLatency {
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
}

/// Think times of a program's submitters, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Think {
    /// Number of think times.
    pub n: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
}

/// The I/Os of all processes with the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitter {
    /// The name, as the kernel keeps it.
    pub name: String,
    /// Number of I/Os of these processes.
    pub ios: u64,
}

/// I/Os of a recording that a pattern does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutIos {
    /// Operations that are neither reads nor writes: flushes, discards and others.
    pub other_operations: u64,
    /// Reads and writes whose end is not in the recording.
    pub without_end: u64,
    /// Failed reads and writes.
    pub failed: u64,
    /// Reads and writes without data.
    pub empty: u64,
    /// I/Os of processes that were not selected.
    pub other_processes: u64,
    /// Records whose layer differs from that of the first record.
    pub other_layer: u64,
}

/// A workload that copies a pattern: closed loops of one I/O in flight with one think time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CopiedWorkload {
    /// Direction of the foreground: the program's more frequent one.
    pub direction: Direction,
    /// Whether the foreground's offsets are random.
    pub random: bool,
    /// Block sizes of the foreground, the most frequent first. They are measured one after another.
    pub sizes: Vec<Bytes>,
    /// Foreground jobs.
    pub jobs: u32,
    /// Think time of a foreground job, ns: the program's median; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_ns: Option<f64>,
    /// Background jobs, which wait for interrupts.
    pub background: Vec<CopiedBackground>,
    /// What the workload does not copy from the pattern.
    pub not_copied: Vec<NotCopied>,
}

/// A background job of a copied pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedBackground {
    /// Reads or writes.
    pub direction: Direction,
    /// Whether the job's offsets are random.
    pub random: bool,
    /// Block size.
    pub bs: Bytes,
    /// I/Os in flight.
    pub depth: u16,
}

/// A property of a pattern that the workload does not copy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotCopied {
    /// The submitters did something else between I/Os, but the jobs submit again at once.
    ThinkTime {
        /// Median of the think times, ns.
        p50_ns: f64,
        /// Share of think time in the submitters' time, 0..1.
        share: f64,
        /// Why the jobs have no think time.
        why: NoThink,
    },
    /// The submitters paused at times, but the jobs' think time is always the median.
    Pauses {
        /// Median of the think times, ns.
        p50_ns: f64,
        /// Mean of the think times, ns.
        mean_ns: f64,
        /// Share of the submitters' time that exceeds the median think times, 0..1.
        share: f64,
    },
    /// A submitter had several I/Os in flight, but a foreground job has one.
    LaneDepth {
        /// I/Os in flight of a submitter, on average.
        depth: f64,
    },
    /// There are too few CPUs for the foreground jobs; a background job does the other I/Os.
    FewerJobs {
        /// Jobs that would be needed.
        needed: u32,
        /// Jobs that run.
        jobs: u32,
    },
    /// I/Os of the foreground's direction have other sizes.
    OtherSizes {
        /// Share of I/Os of other sizes in the direction's I/Os, 0..1.
        share: f64,
    },
    /// A size is not a multiple of 4 KiB and is rounded up.
    RoundedSize {
        /// The program's size.
        from: Bytes,
        /// The workload's size.
        to: Bytes,
    },
    /// The other direction is too rarely in flight to copy it by a job, which always has one I/O.
    OtherDirection {
        /// The direction.
        direction: Direction,
        /// Share of this direction in all I/Os, 0..1.
        share: f64,
        /// Mean I/Os in flight of this direction, over the time in which any I/O was.
        in_flight: f64,
    },
    /// A background job always has the program's I/Os in flight, at the speed of the device.
    BackgroundRate {
        /// The direction.
        direction: Direction,
    },
    /// Flushes, discards and other operations.
    OtherOperations {
        /// Number of these operations.
        ios: u64,
    },
    /// I/Os that were merged into others' requests.
    Merged {
        /// Share of merged I/Os in all I/Os, 0..1.
        share: f64,
    },
    /// The offsets are partly sequential; the workload's are either all random or all sequential.
    Order {
        /// Share of sequential I/Os, 0..1.
        sequential: f64,
    },
    /// The recording has no offsets; those of the workload are random.
    NoOffsets,
    /// The I/Os went to several devices, but the workload has one target.
    Devices {
        /// Number of devices.
        devices: u32,
    },
    /// The I/Os come in bursts, but the workload's number in flight is constant.
    Bursts {
        /// Mean I/Os in flight.
        mean: f64,
        /// 99th percentile of the I/Os in flight.
        p99: u64,
    },
}

/// Why a workload does not have the program's think time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoThink {
    /// The think time is shorter than a sleep can be.
    TooShort,
    /// A trial would have too few I/Os.
    TooLong,
}

/// Program and workload side by side at one block size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Likeness {
    /// Block size of the workload.
    pub bs: Bytes,
    /// Share of the program's I/Os with the workload's direction and this size, 0..1.
    pub share: f64,
    /// The method from whose trials the workload's figures are.
    pub by: MethodName,
    /// The figures.
    pub figures: Vec<FigureLikeness>,
}

/// A figure of the program and of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureLikeness {
    /// Which figure it is.
    pub figure: LikenedFigure,
    /// The program's value.
    pub program: f64,
    /// The workload's value.
    pub workload: f64,
    /// Whether their ratio is within the limits for this figure.
    pub like: bool,
}

/// What is compared of program and workload. All are of the foreground's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LikenedFigure {
    /// I/Os per second while any was in flight. If the program had more in flight than there are
    /// foreground jobs, its value is scaled down to the jobs. With [`CopiedWorkload::think_ns`] the
    /// time includes think times and pauses: the program's value is per submitters' time, scaled to
    /// the foreground's jobs over the submitters that lived at a time.
    Iops,
    /// Mean size, bytes.
    Size,
    /// Mean I/Os in flight while any was; the workload's value is set, not measured. With
    /// [`CopiedWorkload::think_ns`] over all time: the program's value is that of its submitters,
    /// the workload's comes from its rate and mean latency.
    InFlight,
    /// Median latency of I/Os of this size, ns.
    LatencyP50,
    /// 99th percentile latency of I/Os of this size, ns.
    LatencyP99,
}

impl ProgramRecording {
    /// True if a disk is among the recorded ones; `None` if the recording does not name them.
    pub fn has_disk(&self, name: &str) -> Option<bool> {
        // The text is like `vda (253:0), vdb (253:16)`.
        let mut disks = self.disks.as_ref()?.split(", ");
        Some(disks.any(|disk| disk.split(' ').next() == Some(name)))
    }
}

impl FigureLikeness {
    /// The workload's figure divided by the program's.
    pub fn ratio(&self) -> f64 {
        self.workload / self.program
    }
}

/// What the recommended method is worth to the program at one block size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerWorth {
    /// Block size of the workload.
    pub bs: Bytes,
    /// The recommended method.
    pub method: MethodName,
    /// The program's assumed method: polling if most of its I/Os were polled, else interrupts.
    pub over: MethodName,
    /// Share of the program's I/Os with the workload's direction and this size, 0..1.
    pub ios_share: f64,
    /// Share of the submitters' time with such I/Os in flight, 0..1. Only this time changes.
    pub wait_share: f64,
    /// The workload's IOPS by the recommended method over those by `over`.
    pub iops_times: f64,
    /// The workload's mean latency (U2C) by the recommended method over that by `over`.
    pub latency_times: f64,
    /// CPU time per I/O of the workload by both methods; `None` if it was not measured.
    pub cpu: Option<CpuOfIo>,
    /// The program's speed with the method over that without it, if all other times stay the same.
    pub program_times: f64,
    /// Change of CPU use at the program's rate of these I/Os, percent of one CPU.
    pub program_cpu_pct: Option<f64>,
    /// Reasons to doubt the other fields.
    pub caveats: Vec<WorthCaveat>,
}

/// CPU time per I/O of two methods.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuOfIo {
    /// By the recommended method, ns.
    pub method_ns: f64,
    /// By the method that the program is taken to use, ns.
    pub over_ns: f64,
    /// Which CPU time was divided.
    pub of: PerCore,
}

/// Why a worth is doubtful.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorthCaveat {
    /// The workload is unlike the program in these figures.
    Unlike(Vec<LikenedFigure>),
    /// The program's submitters have so many I/Os in flight; the method was measured with one.
    LaneDepth(f64),
    /// The answer itself is not settled.
    NotSettled,
    /// The recording lost this many events, so the program's rates and I/Os in flight are higher.
    Lost(u64),
    /// The trials ran on this disk, which the program did not use.
    OtherDisk(String),
}
