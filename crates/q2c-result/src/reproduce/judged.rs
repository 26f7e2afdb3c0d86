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
    /// The published figures; `None` where the claim has none.
    pub published: Option<String>,
    /// How the words were made into expressions, where they leave that open.
    pub read_as: Option<String>,
    /// The verdict.
    pub verdict: ReproduceVerdict,
    /// Whether figures were measured here, or a model gave them.
    pub basis: Basis,
    /// The expressions, each judged.
    pub expects: Vec<Expected>,
    /// What the claim needs of the machine.
    pub needs: Vec<Need>,
    /// Why the verdict is not `holds` or `does-not-hold`, or what qualifies it.
    pub reasons: Vec<Reason>,
}

words! {
    /// The verdict on a claim or on one of its expressions.
    #[derive(Default)]
    pub enum ReproduceVerdict, name {
        /// The interval over the trials lies wholly inside the claim.
        Holds = "holds",
        /// It lies wholly outside.
        DoesNotHold = "does-not-hold",
        /// It lies across the claim's edge, or there are too few trials.
        Undecided = "undecided",
        /// This machine cannot show it.
        #[default]
        CannotJudge = "cannot-judge",
    }
}

words! {
    /// Where the figures of a claim are from.
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
pub struct Expected {
    /// The expression as the file has it.
    pub text: String,
    /// Its left side over the trials; times in ns, shares 0..1; `None` where no trial has it.
    pub measured: Option<Interval>,
    /// Its right side (middle of a tolerance); `None` if numbers alone, or no trial has it.
    pub right: Option<Interval>,
    /// The unit of both sides, that of the first number on the right: `%`, `us` or nothing.
    pub unit: String,
    /// The trials that it was judged from.
    pub trials: TrialsJudged,
    /// Its verdict.
    pub verdict: ReproduceVerdict,
}

/// The trials of an expression.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialsJudged {
    /// Trials that have all its figures.
    pub judged: u32,
    /// Trials that were asked for.
    pub asked: u32,
    /// Trials that ran and lack one of its figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<FailedTrial>,
}

/// Something that a claim needs of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// What is needed.
    pub kind: NeedKind,
    /// How much of it, or which.
    pub needed: String,
    /// What there is.
    pub present: String,
    /// Whether that is enough.
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
    /// A kind of device.
    Device,
    /// A kernel module.
    Module,
    /// A file system of the kernel, with its mkfs.
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
    /// The machine lacks something; the claim's needs say what.
    Lacks,
    /// A figure is missing.
    Missing(MissingFigure),
    /// A window is too short for the sleep rule of the job that a figure speaks of.
    ShortWindow(ShortWindow),
    /// There are fewer trials than an interval needs.
    FewTrials {
        /// Trials that there are.
        trials: u32,
        /// Trials that a verdict needs.
        least: u32,
    },
    /// The interval lies across the edge of an expression.
    Across {
        /// The expression.
        text: String,
    },
    /// An expression is wholly outside.
    Outside {
        /// The expression.
        text: String,
    },
    /// A model was fitted to the very figure that the claim is about, so it says nothing of it.
    Fitted {
        /// The model.
        model: String,
    },
    /// A model gave the figures, with this error.
    Predicted(StatedError),
    /// All times were shortened.
    Scaled {
        /// By this factor.
        scale: f64,
    },
}

/// A window, or a whole phase, that ends before a sleep rule has settled in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortWindow {
    /// The figure that is of this window.
    pub figure: String,
    /// The shortest time between two changes of the rule's sleep, seconds.
    pub period_s: f64,
    /// Periods of the rule at work that a window needs.
    pub periods: u32,
    /// The part of the window in which the rule has only begun, seconds.
    pub starting_s: f64,
    /// Length that the window needs, with that part, seconds.
    pub needed_s: f64,
    /// Length of the window, seconds.
    pub present_s: f64,
    /// The factor by which times were multiplied.
    pub scale: f64,
}

/// The error that a model states of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatedError {
    /// The model.
    pub model: String,
    /// Its error in words.
    pub error: String,
}

/// A figure that an expression needs and no trial has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingFigure {
    /// The figure.
    pub figure: String,
    /// The point at which it is missing.
    pub at: BTreeMap<String, String>,
    /// Why the point has it not, as far as that is known.
    pub why: String,
}
