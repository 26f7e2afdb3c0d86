//! What rules are made of: for an engine that advances many configurations at once and keeps their state itself.
//!
//! The arithmetic that a rule is about stays here, one copy for all; the engine brings the statistics.

use crate::MAX_SLEEP;
use crate::rules::share::Share;
use crate::windowed::Window;
use q2c_model::Nanos;

pub use crate::rules::pas::{COOL_DOWN, COOLEST, HEAT_UP, NOTHING, SHORTEST, Sensitivity};

/// A rule's parts; see [`PolicySpec::form`](crate::PolicySpec::form).
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Always this sleep.
    Fixed(Nanos),
    /// A function of one statistic of the last window, per bucket and device.
    Windowed(WindowForm),
    /// The feedback of `pas`, per bucket and lane.
    Pas(Sensitivity),
    /// None of these: only its [`Lane`](crate::Lane) knows.
    Opaque,
}

/// What a windowed rule keeps of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// [`Window::mean`].
    Mean,
    /// [`Window::min`].
    Min,
}

/// A windowed rule that sleeps a share of one statistic.
#[derive(Clone, Copy, Debug)]
pub struct WindowForm {
    /// The statistic.
    pub statistic: Statistic,
    /// Length of a window, at least 1 ns.
    pub period: Nanos,
    pub(crate) share: Share,
}

impl WindowForm {
    /// The sleep for a window whose statistic is `value`.
    #[inline]
    #[must_use]
    pub fn sleep(&self, value: Nanos) -> Nanos {
        self.share.of(value).min(MAX_SLEEP)
    }

    /// The share in parts per billion: a sleep is `(value * share + 5e8) / 1e9`, rounded down.
    #[must_use]
    pub fn parts_per_billion(&self) -> u64 {
        self.share.parts_per_billion()
    }

    /// The sleep for `window`.
    #[inline]
    #[must_use]
    pub fn sleep_after(&self, window: &Window) -> Nanos {
        self.sleep(match self.statistic {
            Statistic::Mean => window.mean(),
            Statistic::Min => window.min,
        })
    }
}
