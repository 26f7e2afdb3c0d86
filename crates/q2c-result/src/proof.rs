//! The proof of an effective mode: counts and facts seen during the trials. `q2c-report` puts them
//! into words.

use q2c_policy::method::Means;
use serde::{Deserialize, Serialize};

/// The proof of an effective mode: one entry for each observation.
pub type Proof = Vec<Evidence>;

/// A count or a fact that shows how I/Os were waited for. Counts are over all trials of a method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// I/Os done.
    Ios(u64),
    /// I/Os that slept in q2c's own threads.
    Slept(u64),
    /// Sleeps in the kernel's hybrid polling, counted by a probe in a run of its own.
    SleptByProbe {
        /// Requests for which a thread slept.
        slept: u64,
        /// Requests that were polled.
        polled: u64,
    },
    /// Why the probe could not observe the kernel's sleeps.
    SleptUnseen(String),
    /// Interrupts of the device; `None` when they could not be read.
    Interrupts(Option<u64>),
    /// Requests that the device completed; `None` when its counters could not be read.
    Requests(Option<u64>),
    /// Flags of the ring, as the kernel names them; empty for none.
    RingFlags(String),
    /// Voluntary context switches per I/O that slept, or per I/O when none slept.
    SwitchesPerWait(f64),
    /// Name of the engine, which implies interface and means.
    Engine(String),
    /// The way that I/Os took around the block layer; absent when they went through it.
    Through(String),
    /// Interrupts of the device per I/O; `None` when they could not be read.
    InterruptsPerIo(Option<f64>),
    /// Requests that the device completed per I/O; `None` when its counters could not be read.
    RequestsPerIo(Option<f64>),
    /// Voluntary context switches of the jobs per I/O.
    SwitchesPerIo(f64),
    /// Sleeps by a rule per I/O.
    SleepsPerIo(f64),
    /// I/Os that a sleep rule left to the interrupt.
    LeftToInterrupt(u64),
    /// Where the engine looked for completions.
    PollsBy(Means),
    /// Flags that the engine was set up with.
    EngineFlags(String),
    /// Kernel threads that submitted for the jobs.
    SqpollThreads(u32),
    /// Kernel threads that executed I/Os which could not be submitted without waiting.
    IoWorkers(u32),
    /// CPUs that each job of an external program used.
    CpusPerJob(f64),
    /// The program had no warm-up, and its throughput was not checked for a trend.
    NoWarmUp,
    /// The percentiles are those of the worst job, because the program prints none over all I/Os.
    WorstJobsPercentiles,
}
