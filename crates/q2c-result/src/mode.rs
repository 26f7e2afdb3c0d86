//! What a method really was, as against what was asked: kinds and counts. The words are the
//! report's.

use q2c_policy::Method;
use q2c_policy::method::Means;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What really happened, as against what was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "AnyVersion")]
pub struct EffectiveMode {
    /// The method that was asked for, as on the command line.
    pub asked: Method,
    /// What it was.
    #[serde(flatten)]
    pub was: Mode,
    /// The proof: counts seen during the trials, name to value (device interrupts, switches,
    /// sleeps, polls, ring flags).
    pub proof: BTreeMap<String, String>,
}

/// How I/Os were really waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// What kind of waiting it was.
    pub kind: ModeKind,
    /// Where completions were looked for; `None` where nobody looked, or where it is not known.
    pub means: Option<Means>,
    /// What must be known besides.
    pub note: Option<ModeNote>,
}

/// A kind of waiting. Its text is that of the method which is asked for by it, where there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModeKind {
    /// No trial gave a number.
    #[default]
    NotRun,
    /// The counts do not tell.
    NotProved,
    /// No I/O was done.
    AtRest,
    /// Completions came by interrupts.
    Interrupt,
    /// Somebody looked for completions all the time.
    Poll,
    /// The thread slept by a rule, then looked.
    Hybrid,
    /// A kernel thread submitted.
    Sqpoll,
    /// A kernel thread submitted, and asked the device.
    SqpollIopoll,
    /// io_uring slept in the kernel, then asked the device.
    HybridUring,
    /// The kernel slept as `io_poll_delay` says, then asked the device.
    HybridKernel,
    /// The kernel slept, then asked the device, by an option of the interface and not by a method.
    HybridInKernel,
}

/// What must be known of a mode besides its kind and its means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModeNote {
    /// Why nothing was run.
    Failed(String),
    /// The kernel ignored the request to poll.
    PollIgnored,
    /// The device raised interrupts although it was to be asked in this way: that was ignored.
    Interrupted(Means),
    /// Neither polling nor interrupts can be proved.
    Neither,
    /// Interrupts could not be read, and a wait for them leaves the CPU, too.
    InterruptsUnread,
    /// So many CPUs were used by each thread of a program, where polling takes a whole one.
    CpusPerJob(f64),
    /// No I/O slept, although a sleep was asked for.
    NeverSlept,
    /// Most sleeps, or most waits for an interrupt, ended before the thread left its CPU.
    StayedOnCpu,
    /// The kernel thread that was to submit was not seen.
    NoHelper,
    /// What a result of an earlier version says in words.
    Told(String),
}

impl ModeKind {
    /// Its text in results: `poll`, `hybrid-uring`, ...
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
    /// Of this kind, by no particular means.
    #[must_use]
    pub fn of(kind: ModeKind) -> Self {
        Mode {
            kind,
            ..Mode::default()
        }
    }

    /// Of this kind, by these means.
    #[must_use]
    pub fn by(kind: ModeKind, means: Option<Means>) -> Self {
        Mode {
            means,
            ..Mode::of(kind)
        }
    }

    /// The same with a note.
    #[must_use]
    pub fn noted(self, note: ModeNote) -> Self {
        Mode {
            note: Some(note),
            ..self
        }
    }

    /// From the words of an earlier version: the kind is their first word.
    #[must_use]
    pub fn told(words: &str) -> Self {
        let is_end = |c| matches!(c, ':' | ' ' | '(' | ',');
        let first = words.split(is_end).next().unwrap_or_default();
        let kind = match first {
            "interrupt" => ModeKind::Interrupt,
            "poll" => ModeKind::Poll,
            "hybrid" => ModeKind::Hybrid,
            "sqpoll" => ModeKind::Sqpoll,
            "sqpoll-iopoll" => ModeKind::SqpollIopoll,
            "hybrid-uring" => ModeKind::HybridUring,
            "hybrid-kernel" => ModeKind::HybridKernel,
            "at" => ModeKind::AtRest,
            _ if words.starts_with("not run") => ModeKind::NotRun,
            _ => ModeKind::NotProved,
        };
        Mode::of(kind).noted(ModeNote::Told(words.to_owned()))
    }
}

/// As this version writes it, or with the words `was` of earlier ones.
#[derive(Deserialize)]
struct AnyVersion {
    asked: Method,
    #[serde(default)]
    was: Option<String>,
    #[serde(default)]
    kind: ModeKind,
    #[serde(default)]
    means: Option<Means>,
    #[serde(default)]
    note: Option<ModeNote>,
    proof: BTreeMap<String, String>,
}

impl From<AnyVersion> for EffectiveMode {
    fn from(read: AnyVersion) -> Self {
        let AnyVersion {
            asked,
            was,
            kind,
            means,
            note,
            proof,
        } = read;
        let new = Mode { kind, means, note };
        EffectiveMode {
            asked,
            was: was.map_or(new, |words| Mode::told(&words)),
            proof,
        }
    }
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
            proof: BTreeMap::new(),
        };
        let text = serde_json::to_string(&mode).unwrap();
        assert_eq!(
            text,
            r#"{"asked":"poll","kind":"poll","means":"memory","note":{"interrupted":"iopoll"},"proof":{}}"#
        );
        assert_eq!(serde_json::from_str::<EffectiveMode>(&text).unwrap(), mode);
    }

    /// Texts of results that were written by version 0.1 of q2c.
    #[test]
    fn words_of_earlier_versions_are_read() {
        for (words, kind) in [
            ("interrupt", ModeKind::Interrupt),
            (
                "interrupt: the kernel ignored the request to poll",
                ModeKind::Interrupt,
            ),
            ("poll (ring), no sleep", ModeKind::Poll),
            (
                "hybrid (sleep, then spinning on the ring)",
                ModeKind::Hybrid,
            ),
            ("hybrid-kernel (call)", ModeKind::HybridKernel),
            ("not run: no memory", ModeKind::NotRun),
            (
                "not proved: neither polling nor interrupts",
                ModeKind::NotProved,
            ),
        ] {
            let json = serde_json::json!({ "asked": "poll", "was": words, "proof": {} });
            let mode: EffectiveMode = serde_json::from_value(json).unwrap();
            assert_eq!(mode.was.kind, kind, "{words}");
            assert_eq!(mode.was.note, Some(ModeNote::Told(words.to_owned())));
        }
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
