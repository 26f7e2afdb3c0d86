//! Claims with their verdicts.

use super::observed::FailedTrial;
use q2c_model::stats::Interval;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A published claim, judged by what was seen here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedClaim {
    /// The claim in words.
    pub says: String,
    /// The published figures; `None` if the claim has none.
    pub published: Option<String>,
    /// How the words were read, if they allow several expressions.
    pub read_as: Option<String>,
    /// The verdict.
    pub verdict: ReproduceVerdict,
    /// Whether figures were measured here, or a model gave them.
    pub basis: Basis,
    /// The expressions, each judged.
    pub expects: Vec<Expectation>,
    /// What the claim needs of the machine.
    pub needs: Vec<Need>,
    /// Why the verdict is neither `holds` nor `does-not-hold`, or what qualifies it.
    pub reasons: Vec<Reason>,
}

words! {
    /// The verdict on a claim or on one of its expressions.
    #[derive(Default)]
    pub enum ReproduceVerdict, name {
        /// The interval over the trials lies wholly inside the claim.
        Holds = "holds",
        /// The interval lies wholly outside the claim.
        DoesNotHold = "does-not-hold",
        /// The interval crosses the claim's edge, or there are too few trials.
        Undecided = "undecided",
        /// This machine cannot test the claim.
        #[default]
        CannotJudge = "cannot-judge",
    }
}

words! {
    /// The origin of a claim's figures.
    #[derive(Default)]
    pub enum Basis, name {
        /// They were measured.
        #[default]
        Measured = "measured",
        /// A model gave them.
        Predicted = "predicted",
    }
}

/// An expression of a claim, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The expression as written in the experiment's file.
    pub text: String,
    /// Left side over the trials; times in ns, shares 0..1; `None` if no trial has it.
    pub measured: Option<Interval>,
    /// Right side (the middle of a tolerance); `None` if it is only numbers, or no trial has it.
    pub right: Option<Interval>,
    /// Unit of both sides, from the first number on the right: `%`, `us` or empty.
    pub unit: String,
    /// The trials from which the expression was judged.
    pub trials: TrialsJudged,
    /// Verdict on the expression.
    pub verdict: ReproduceVerdict,
}

/// The trials of an expression.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialsJudged {
    /// Number of trials that have all figures of the expression.
    pub judged: u32,
    /// Number of trials that were asked for.
    pub asked: u32,
    /// Trials that ran and lack a figure of the expression.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<FailedTrial>,
}

/// Something that a claim needs of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// What is needed.
    pub kind: NeedKind,
    /// The needed amount, or which one is needed.
    pub needed: String,
    /// What the machine has.
    pub present: String,
    /// True if that is enough.
    pub met: bool,
}

/// A kind of thing that claims need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeedKind {
    /// CPUs, each for one job.
    Cpus,
    /// Hardware threads of each core.
    ThreadsPerCore,
    /// NUMA nodes.
    NumaNodes,
    /// A version of the kernel.
    Kernel,
    /// Poll queues of the device.
    PollQueues,
    /// Hardware queues of the device.
    HwQueues,
    /// A setting of the machine, by the name of the check of `q2c doctor`.
    Setting,
    /// A need that no machine meets, because q2c itself lacks something.
    NoMachine,
    /// A kernel module.
    Module,
    /// A file system that the kernel supports, with its mkfs program.
    FileSystem,
    /// SPDK's tool and a controller for it.
    Spdk,
    /// The right to capture the block layer.
    Capture,
    /// Another part of the machine or its set-up.
    Other,
}

/// Why a claim has its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Reason {
    /// The machine lacks something; the claim's needs name it.
    Lacks,
    /// A figure is missing.
    Missing(MissingFigure),
    /// A window is too short for the sleep rule of the job whose figure is judged.
    ShortWindow(ShortWindow),
    /// There are fewer trials than an interval needs.
    FewTrials {
        /// Number of trials.
        trials: u32,
        /// Number of trials that a verdict needs.
        least: u32,
    },
    /// The interval crosses the edge of an expression.
    Across {
        /// The expression.
        text: String,
    },
    /// An expression's interval is wholly outside.
    Outside {
        /// The expression.
        text: String,
    },
    /// A model was fitted to the very figure of the claim, so it cannot test the claim.
    Fitted {
        /// The model.
        model: String,
    },
    /// A model gave the figures, with this error.
    Predicted(StatedError),
    /// All times were multiplied.
    Scaled {
        /// The factor, below 1 for shorter times.
        scale: f64,
    },
}

/// A window, or a whole phase, that ends before a sleep rule has settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortWindow {
    /// The figure over this window.
    pub figure: String,
    /// The shortest time between two changes of the rule's sleep, seconds.
    pub period_s: f64,
    /// Number of periods that a window needs while the rule is at work.
    pub periods: u32,
    /// The first part of the window, in which the rule only starts, seconds.
    pub starting_s: f64,
    /// Length that the window needs, including that first part, seconds.
    pub needed_s: f64,
    /// Length of the window, seconds.
    pub present_s: f64,
    /// The factor by which times were multiplied.
    pub scale: f64,
}

/// The error that a model states about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatedError {
    /// The model.
    pub model: String,
    /// The error in words.
    pub error: String,
}

/// A figure that an expression needs and no trial has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingFigure {
    /// The figure.
    pub figure: String,
    /// The point at which it is missing.
    pub at: BTreeMap<String, String>,
    /// Why the point lacks the figure, as far as that is known.
    pub why: String,
}
