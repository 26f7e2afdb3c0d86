//! The effective mode: what the kernel really did when a method was asked for, with the counts that
//! prove it. `q2c-report` puts it into words.

use q2c_policy::method::Means;
use q2c_policy::{LaneMethod, Method};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The method that was asked for, the mode that really ran, and its proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectiveMode {
    /// The method that was asked for, as on the command line.
    pub asked: Method,
    /// The mode that really ran.
    #[serde(flatten)]
    pub mode: WaitMode,
    /// Counts and facts seen during the trials.
    pub proof: Proof,
}

/// The way in which I/Os were really waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitMode {
    /// The kind of waiting.
    pub kind: ModeKind,
    /// Where the wait looked for completions; `None` if it does not look, or if that is unknown.
    pub means: Option<Means>,
    /// A fact about the mode that the kind and the means do not express.
    pub note: Option<ModeNote>,
}

words! {
    /// A kind of waiting. Its text is the name of the method that asks for it, if there is one.
    #[derive(Default)]
    pub enum ModeKind, text {
        /// No trial has figures.
        #[default]
        NotRun = "not-run",
        /// The counts do not prove any kind.
        NotProved = "not-proved",
        /// No I/O was done.
        AtRest = "at-rest",
        /// Completions came by interrupts.
        Interrupt = "interrupt",
        /// A thread looked for completions all the time.
        Poll = "poll",
        /// The thread slept by a rule, then looked for the completion.
        Hybrid = "hybrid",
        /// A kernel thread submitted the I/Os.
        Sqpoll = "sqpoll",
        /// A kernel thread submitted the I/Os, and polled the device.
        SqpollIopoll = "sqpoll-iopoll",
        /// io_uring slept in the kernel, then polled the device.
        HybridUring = "hybrid-uring",
        /// The kernel slept as `io_poll_delay` says, then polled the device.
        HybridKernel = "hybrid-kernel",
        /// The kernel slept, then polled the device, though the method asked for is neither of the
        /// two
    /// above: an option of the interface made it do so.
        HybridInKernel = "hybrid-in-kernel",
    }
}

/// A fact about a mode that its kind and its means do not express.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModeNote {
    /// The reason why nothing was run.
    Failed(String),
    /// The kernel ignored the request to poll, and the thread slept until the interrupt.
    PollIgnored,
    /// The request to poll the device was ignored: interrupts came, and the thread, which kept its
    /// CPU, found by these means what they had brought.
    Interrupted(Means),
    /// Neither polling nor interrupts can be proved.
    Neither,
    /// Interrupts could not be counted, but the thread left its CPU as it does to wait for one.
    InterruptsUnread,
    /// CPUs that each thread of an external program used. A thread that polls uses a whole CPU.
    CpusPerJob(f64),
    /// No I/O slept, although a sleep was asked for.
    NeverSlept,
    /// No I/O slept: the sleep rule left this share of the I/Os (most) to the interrupt, 0..1.
    LeftToInterrupt(f64),
    /// Most sleeps, or most waits for an interrupt, ended before the thread left its CPU.
    StayedOnCpu,
    /// The kernel thread that should submit was not seen.
    NoHelper,
}

impl ModeKind {
    /// The kind of waiting that a method asks for.
    pub fn from_method(method: &Method) -> Self {
        match method {
            Method::Lane(LaneMethod::Interrupt) => ModeKind::Interrupt,
            Method::Lane(LaneMethod::Poll) => ModeKind::Poll,
            Method::Lane(LaneMethod::Hybrid(_)) => ModeKind::Hybrid,
            Method::SqPoll => ModeKind::Sqpoll,
            Method::SqPollIoPoll => ModeKind::SqpollIopoll,
            Method::HybridUring => ModeKind::HybridUring,
            Method::HybridKernel(_) => ModeKind::HybridKernel,
        }
    }
}

impl WaitMode {
    /// A mode of this kind, without means and note.
    pub fn from_kind(kind: ModeKind) -> Self {
        WaitMode::new(kind, None)
    }

    /// A mode of this kind by these means.
    pub fn new(kind: ModeKind, means: Option<Means>) -> Self {
        WaitMode {
            kind,
            means,
            note: None,
        }
    }

    /// The kind and, after a colon, where completions were looked for: `poll:ring`.
    pub fn text(&self) -> String {
        let means = self.means.map(|means| format!(":{means}"));
        self.kind.text().to_owned() + &means.unwrap_or_default()
    }

    /// Returns the mode with this note.
    #[must_use]
    pub fn with_note(self, note: ModeNote) -> Self {
        WaitMode {
            note: Some(note),
            ..self
        }
    }
}

/// Where the modes poll and hybrid of q2c's own threads looked for completions. If there are
/// several such means, the figures are of different paths to the device.
pub fn paths<'a>(modes: impl IntoIterator<Item = &'a EffectiveMode>) -> BTreeSet<Means> {
    let by_threads = modes.into_iter().filter(|mode| mode.asked.lane().is_some());
    let polling =
        by_threads.filter(|mode| matches!(mode.mode.kind, ModeKind::Poll | ModeKind::Hybrid));
    polling.filter_map(|mode| mode.mode.means).collect()
}

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
    /// Flags of the ring, as the kernel names them; empty without flags.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mode = EffectiveMode {
            asked: Method::POLL,
            mode: WaitMode::new(ModeKind::Poll, Some(Means::Memory))
                .with_note(ModeNote::Interrupted(Means::IoPoll)),
            proof: Proof::default(),
        };
        let json = r#"{"asked":"poll","kind":"poll","means":"memory","note":{"interrupted":"iopoll"},"proof":[]}"#;
        crate::tests::assert_json(&mode, json);
    }

    #[test]
    fn paths_are_those_of_polling_methods_alone() {
        let mode = |asked: &str, kind, means| EffectiveMode {
            asked: asked.parse().unwrap(),
            mode: WaitMode::new(kind, means),
            proof: Proof::default(),
        };
        let rule = "hybrid:min:70%,10ms";
        let modes = [
            mode("interrupt", ModeKind::Interrupt, Some(Means::Ring)),
            mode("poll", ModeKind::Poll, Some(Means::IoPoll)),
            mode("hybrid-kernel", ModeKind::HybridKernel, Some(Means::Call)),
            mode(rule, ModeKind::NotRun, None),
            mode(rule, ModeKind::Hybrid, Some(Means::IoPoll)),
            mode(rule, ModeKind::Hybrid, Some(Means::Ring)),
        ];
        assert_eq!(paths(&modes[..5]), BTreeSet::from([Means::IoPoll]));
        assert_eq!(paths(&modes), BTreeSet::from([Means::Ring, Means::IoPoll]));
    }
}
