//! The effective mode: what the kernel really did when a method was asked for, with the counts that
//! prove it. The report makes the words.

use crate::proof::Proof;
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
    pub was: Mode,
    /// Counts and facts seen during the trials.
    pub proof: Proof,
}

/// The way in which I/Os were really waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// The kind of waiting.
    pub kind: ModeKind,
    /// Where completions were looked for; `None` for a mode that does not look for them, or where
    /// the place is not known.
    pub means: Option<Means>,
    /// A fact about the mode that the kind and the means do not express.
    pub note: Option<ModeNote>,
}

/// A kind of waiting. Its text in results is the name of the method that asks for it, where there
/// is such a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModeKind {
    /// No trial has figures.
    #[default]
    NotRun,
    /// The counts do not prove any kind.
    NotProved,
    /// No I/O was done.
    AtRest,
    /// Completions came by interrupts.
    Interrupt,
    /// A thread looked for completions all the time.
    Poll,
    /// The thread slept by a rule, then looked for the completion.
    Hybrid,
    /// A kernel thread submitted.
    Sqpoll,
    /// A kernel thread submitted, and polled the device.
    SqpollIopoll,
    /// io_uring slept in the kernel, then polled the device.
    HybridUring,
    /// The kernel slept as `io_poll_delay` sets, then polled the device.
    HybridKernel,
    /// The kernel slept, then polled the device, because of an option of the interface and not of
    /// the method.
    HybridInKernel,
}

/// A fact about a mode that its kind and its means do not express.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModeNote {
    /// The reason why nothing was run.
    Failed(String),
    /// The kernel ignored the request to poll.
    PollIgnored,
    /// The device raised interrupts although it was to be polled by these means: the request to
    /// poll it was ignored.
    Interrupted(Means),
    /// Neither polling nor interrupts can be proved.
    Neither,
    /// Interrupts could not be read. The thread left its CPU, but it also does so when it waits for
    /// an interrupt.
    InterruptsUnread,
    /// CPUs that each thread of an external program used; a thread that polls uses a whole one.
    CpusPerJob(f64),
    /// No I/O slept, although a sleep was asked for.
    NeverSlept,
    /// No I/O slept, because the sleep rule left this share of them to the interrupt, 0..1; most of
    /// them.
    LeftToInterrupt(f64),
    /// Most sleeps, or most waits for an interrupt, ended before the thread left its CPU.
    StayedOnCpu,
    /// The kernel thread that should submit was not seen.
    NoHelper,
}

impl ModeKind {
    /// The kind that runs when a method does what it was asked for.
    #[must_use]
    pub fn asked_for(method: &Method) -> Self {
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

    /// The kind's text in results: `poll`, `hybrid-uring`, ...
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            ModeKind::NotRun => "not-run",
            ModeKind::NotProved => "not-proved",
            ModeKind::AtRest => "at-rest",
            ModeKind::Interrupt => "interrupt",
            ModeKind::Poll => "poll",
            ModeKind::Hybrid => "hybrid",
            ModeKind::Sqpoll => "sqpoll",
            ModeKind::SqpollIopoll => "sqpoll-iopoll",
            ModeKind::HybridUring => "hybrid-uring",
            ModeKind::HybridKernel => "hybrid-kernel",
            ModeKind::HybridInKernel => "hybrid-in-kernel",
        }
    }
}

impl Mode {
    /// A mode of this kind, without means and note.
    #[must_use]
    pub fn of(kind: ModeKind) -> Self {
        Mode {
            kind,
            ..Mode::default()
        }
    }

    /// A mode of this kind by these means.
    #[must_use]
    pub fn by(kind: ModeKind, means: Option<Means>) -> Self {
        Mode {
            means,
            ..Mode::of(kind)
        }
    }

    /// The kind, and behind a colon the place where completions were looked for: `poll:ring`.
    #[must_use]
    pub fn text(&self) -> String {
        let means = self
            .means
            .map_or_else(String::new, |means| format!(":{means}"));
        self.kind.text().to_owned() + &means
    }

    /// The same mode with this note.
    #[must_use]
    pub fn noted(self, note: ModeNote) -> Self {
        Mode {
            note: Some(note),
            ..self
        }
    }
}

/// The ways in which the methods of q2c's own threads looked for completions; more than one means
/// that their figures are of different paths to the device. Modes in which nothing was looked for,
/// or that are another's than q2c's own threads', do not count.
#[must_use]
pub fn paths<'a>(modes: impl IntoIterator<Item = &'a EffectiveMode>) -> BTreeSet<Means> {
    let own = modes.into_iter().filter(|mode| mode.asked.lane().is_some());
    let looked = own.filter(|mode| matches!(mode.was.kind, ModeKind::Poll | ModeKind::Hybrid));
    looked.filter_map(|mode| mode.was.means).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mode = EffectiveMode {
            asked: Method::POLL,
            was: Mode::by(ModeKind::Poll, Some(Means::Memory))
                .noted(ModeNote::Interrupted(Means::IoPoll)),
            proof: Proof::default(),
        };
        let text = serde_json::to_string(&mode).unwrap();
        assert_eq!(
            text,
            r#"{"asked":"poll","kind":"poll","means":"memory","note":{"interrupted":"iopoll"},"proof":[]}"#
        );
        assert_eq!(serde_json::from_str::<EffectiveMode>(&text).unwrap(), mode);
    }

    #[test]
    fn paths_are_those_of_polling_methods_alone() {
        let mode = |asked: &str, kind, means| EffectiveMode {
            asked: asked.parse().unwrap(),
            was: Mode::by(kind, means),
            proof: Proof::default(),
        };
        let rule = "hybrid:min:70%,10ms";
        let all = [
            mode("interrupt", ModeKind::Interrupt, Some(Means::Ring)),
            mode("poll", ModeKind::Poll, Some(Means::IoPoll)),
            mode("hybrid-kernel", ModeKind::HybridKernel, Some(Means::Call)),
            mode(rule, ModeKind::NotRun, None),
            mode(rule, ModeKind::Hybrid, Some(Means::IoPoll)),
            mode(rule, ModeKind::Hybrid, Some(Means::Ring)),
        ];
        assert_eq!(paths(&all[..5]), BTreeSet::from([Means::IoPoll]));
        let two = BTreeSet::from([Means::Ring, Means::IoPoll]);
        assert_eq!(paths(&all), two);
    }

    #[test]
    fn a_kind_has_the_text_that_results_have() {
        let kinds = [
            ModeKind::NotRun,
            ModeKind::SqpollIopoll,
            ModeKind::HybridInKernel,
        ];
        for kind in kinds {
            let json = serde_json::to_value(kind).unwrap();
            assert_eq!(json, kind.text());
        }
    }
}
