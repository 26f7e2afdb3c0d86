//! A program whose I/Os were recorded and made the workload of `q2c tune`: what it did, what the
//! workload has of that, how like the two are, and what the answer would be worth to the program.

use crate::tune::{MethodName, PerCore};
use q2c_model::{Bytes, Direction, Layer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the recording in the run folder.
pub const TRACE_FILE: &str = "program.parquet";
/// The file in the run folder with the program before the trials, without likeness and worth.
pub const FILE: &str = "program.json";

/// A recorded program and the workload that copies it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Where the I/Os come from.
    pub recording: ProgramRecording,
    /// What the program did.
    pub pattern: ProgramPattern,
    /// The workload that was made of it.
    pub copied: Copied,
    /// Program and workload side by side, one for each block size with trials.
    pub likeness: Vec<Likeness>,
    /// What the answer would be worth to the program, one for each block size with an answer.
    pub worth: Vec<Worth>,
}

/// The recording of a program. It lies in the run folder as [`TRACE_FILE`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramRecording {
    /// The recorded command, word by word; empty for a recording that was named.
    pub command: Vec<String>,
    /// The path of the recording as it was named; `None` for a command.
    pub path: Option<String>,
    /// The program or format that the recording comes from.
    pub source: String,
    /// The disks that were recorded, in words; `None` where the recording does not tell.
    pub disks: Option<String>,
    /// Names of the processes that were taken alone; empty for all.
    pub processes: Vec<String>,
    /// Events that the source lost.
    pub lost: u64,
    /// Events that could not be matched, by reason.
    pub unmatched: BTreeMap<String, u64>,
}

/// The pattern of a program's reads and writes that began and ended in the recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramPattern {
    /// The layer of the times: Q2C for the block layer, U2C for the user layer.
    pub layer: Layer,
    /// Number of reads and writes.
    pub ios: u64,
    /// From the first begin to the last end, seconds.
    pub seconds: f64,
    /// All of them in flight at once.
    pub in_flight: ProgramInFlight,
    /// Reads and writes apart, the more frequent first; a direction without an I/O is left out.
    pub kinds: Vec<KindOfIo>,
    /// Devices that the I/Os went to.
    pub devices: u32,
    /// Submitters with an I/O: threads, where the recording tells them.
    pub lanes: u32,
    /// I/Os that a submitter had in flight, on average over the time in which it had one.
    pub lane_depth: f64,
    /// Share of submitters' time, first begin to last end, with an I/O in flight, 0..1.
    pub lane_busy: f64,
    /// Times from a submitter's last completion to its next submission; `None` where none had one.
    pub think: Option<Think>,
    /// Names of processes and their I/Os, the most frequent first, at most eight.
    pub submitters: Vec<Submitter>,
    /// I/Os that were completed by polling.
    pub polled: u64,
    /// I/Os that the block layer merged into the request of another.
    pub merged: u64,
    /// What was left out.
    pub left_out: LeftOutIos,
}

/// I/Os in flight, over the time in which there was at least one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramInFlight {
    /// That time, seconds.
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
    /// Their number.
    pub ios: u64,
    /// Their sizes, the most frequent first, at most 16.
    pub sizes: Vec<SizeOfIo>,
    /// I/Os of other sizes.
    pub other_sizes: u64,
    /// Share that began where the submitter's last of this kind ended; `None` without offsets.
    pub sequential: Option<f64>,
    /// Those in flight at once.
    pub in_flight: ProgramInFlight,
    /// Their latencies.
    pub latency: IoLatency,
}

/// I/Os of one direction and size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeOfIo {
    /// The size.
    pub bytes: Bytes,
    /// Their number.
    pub ios: u64,
    /// Their latencies.
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

/// The I/Os of processes of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitter {
    /// The name, as the kernel keeps it.
    pub name: String,
    /// Their I/Os.
    pub ios: u64,
}

/// I/Os of a recording that a pattern does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutIos {
    /// Neither reads nor writes: flushes, discards and others.
    pub other_operations: u64,
    /// Reads and writes whose end the recording does not have.
    pub without_end: u64,
    /// Failed reads and writes.
    pub failed: u64,
    /// Reads and writes without data.
    pub empty: u64,
    /// I/Os of processes that were not asked for.
    pub other_processes: u64,
    /// Records of another layer than the first one's.
    pub other_layer: u64,
}

/// A workload that copies a pattern: closed loops of one I/O in flight with one think time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Copied {
    /// Reads or writes in the foreground: the more frequent.
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
    /// Jobs beside them, which wait for interrupts.
    pub background: Vec<CopiedBackground>,
    /// What the workload does not have of the pattern.
    pub not_copied: Vec<NotCopied>,
}

/// A background job of a copied pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedBackground {
    /// Reads or writes.
    pub direction: Direction,
    /// Whether its offsets are random.
    pub random: bool,
    /// Block size.
    pub bs: Bytes,
    /// I/Os in flight.
    pub depth: u16,
}

/// Something of a pattern that a workload does not have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotCopied {
    /// The submitters did something else between I/Os. The jobs submit again at once.
    ThinkTime {
        /// Median of the think times, ns.
        p50_ns: f64,
        /// Share of the submitters' time, 0..1.
        share: f64,
        /// Why the jobs have none.
        why: NoThink,
    },
    /// The submitters paused now and then. The jobs' think time is the median.
    Pauses {
        /// Median of the think times, ns.
        p50_ns: f64,
        /// Mean of the think times, ns.
        mean_ns: f64,
        /// Share of the submitters' time beyond the medians, 0..1.
        share: f64,
    },
    /// A submitter had several I/Os in flight. A foreground job has one.
    LaneDepth {
        /// I/Os in flight of a submitter, on average.
        depth: f64,
    },
    /// Fewer CPUs than foreground jobs needed; a background job has the rest in flight.
    FewerJobs {
        /// Jobs that would be needed.
        needed: u32,
        /// Jobs that there are.
        jobs: u32,
    },
    /// I/Os of the foreground's direction have other sizes.
    OtherSizes {
        /// Their share of the direction's I/Os, 0..1.
        share: f64,
    },
    /// A size is no multiple of 4 KiB, and is rounded up.
    RoundedSize {
        /// The program's size.
        from: Bytes,
        /// The workload's size.
        to: Bytes,
    },
    /// The other direction is too rarely in flight for a job, which always has one in flight.
    OtherDirection {
        /// The direction.
        direction: Direction,
        /// Its share of all I/Os, 0..1.
        share: f64,
        /// Its I/Os in flight, on average over the time in which any I/O was.
        in_flight: f64,
    },
    /// A background job has the program's I/Os in flight all the time, as fast as the device is.
    BackgroundRate {
        /// The direction.
        direction: Direction,
    },
    /// Flushes, discards and other operations.
    OtherOperations {
        /// Their number.
        ios: u64,
    },
    /// I/Os that were merged into others' requests.
    Merged {
        /// Their share of all I/Os, 0..1.
        share: f64,
    },
    /// The offsets are partly in sequence. Those of the workload are all random or all in sequence.
    Order {
        /// Share in sequence, 0..1.
        sequential: f64,
    },
    /// The recording has no offsets; those of the workload are random.
    NoOffsets,
    /// The I/Os went to several devices. The workload has one target.
    Devices {
        /// Their number.
        devices: u32,
    },
    /// The I/Os come in bursts. The workload has none: its jobs are as many at any time.
    Bursts {
        /// I/Os in flight, mean.
        mean: f64,
        /// 99th percentile.
        p99: u64,
    },
}

/// Why a workload does not have the program's think time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoThink {
    /// It is shorter than a sleep.
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
    /// The method whose trials the workload's figures are of.
    pub by: MethodName,
    /// The figures.
    pub figures: Vec<Likened>,
}

/// A figure of the program and of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Likened {
    /// What it is.
    pub figure: LikenedFigure,
    /// The program's.
    pub program: f64,
    /// The workload's.
    pub workload: f64,
    /// Whether their ratio is within the limits for this figure.
    pub like: bool,
}

/// What is compared of program and workload. All are of the foreground's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LikenedFigure {
    /// I/Os per second while any was in flight; the program's in the proportion of the foreground's
    /// jobs to its I/Os in flight, where these are more. With [`Copied::think_ns`] over all time:
    /// the program's over that of its submitters, think times and pauses included, in the
    /// proportion of the foreground's jobs to the submitters that lived at a time.
    Iops,
    /// Mean size, bytes.
    Size,
    /// I/Os in flight, mean, while any was; the workload's are set, not measured. With
    /// [`Copied::think_ns`] over all time: the program's over that of its submitters, the
    /// workload's from its rate and mean latency.
    InFlight,
    /// Median latency of I/Os of this size, ns.
    LatencyP50,
    /// 99th percentile of their latency, ns.
    LatencyP99,
}

impl ProgramRecording {
    /// Whether a disk is among those that were recorded; `None` where the recording does not tell.
    pub fn has_disk(&self, name: &str) -> Option<bool> {
        // The names are written as `vda (253:0), vdb (253:16)`.
        let mut disks = self.disks.as_ref()?.split(", ");
        Some(disks.any(|disk| disk.split(' ').next() == Some(name)))
    }
}

impl Likened {
    /// The workload's figure over the program's.
    pub fn ratio(&self) -> f64 {
        self.workload / self.program
    }
}

/// What the recommended method would be worth to the program at one block size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// Block size of the workload.
    pub bs: Bytes,
    /// The recommended method.
    pub method: MethodName,
    /// Its method now, as taken: polling where most I/Os were polled, else interrupts.
    pub over: MethodName,
    /// Share of the program's I/Os with the workload's direction and this size, 0..1.
    pub ios_share: f64,
    /// Share of submitters' time with such I/Os in flight, 0..1: only this time changes.
    pub wait_share: f64,
    /// The workload's IOPS by the recommended method over those by `over`.
    pub iops_times: f64,
    /// The workload's mean latency (U2C) by the recommended method over that by `over`.
    pub latency_times: f64,
    /// CPU per I/O of the workload by both; `None` where it was not measured.
    pub cpu: Option<CpuOfIo>,
    /// Speed of the submitters that follows, 1 for no change, all other times as before.
    pub program_times: f64,
    /// CPU change at the program's rate of these I/Os, percent of one CPU.
    pub program_cpu_pct: Option<f64>,
    /// What makes this doubtful.
    pub caveats: Vec<WorthCaveat>,
}

/// CPU time per I/O of two methods.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuOfIo {
    /// By the recommended method, ns.
    pub method_ns: f64,
    /// By the method that the program is taken to use, ns.
    pub over_ns: f64,
    /// Whose CPU time it is.
    pub of: PerCore,
}

/// Why a worth is doubtful.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorthCaveat {
    /// The workload is unlike the program in these figures.
    Unlike(Vec<LikenedFigure>),
    /// Its submitters have so many I/Os in flight; the method was measured with one.
    LaneDepth(f64),
    /// The answer itself is not settled.
    NotSettled,
    /// The recording lost events: the program's rates and I/Os in flight are higher than told.
    Lost(u64),
    /// The trials ran on this disk, which is none of the program's.
    OtherDisk(String),
}
