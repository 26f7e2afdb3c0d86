//! The forms in which a simulator of many configurations uses the rules: this crate does the
//! arithmetic, the simulator keeps the state and gathers the statistics.

use crate::rules::share::Share;
use crate::windowed::{BucketWindow, Gather, WindowRule};
use crate::{Lane, MAX_SLEEP};
use q2c_model::Nanos;

pub use crate::rules::pas::{COOL_DOWN, HEAT_UP, MIN_HEAT, MIN_SLEEP_NS, MIN_STEP, Sensitivity};

/// The arithmetic of a rule with its parameters; see [`PolicySpec::form`](crate::PolicySpec::form).
pub enum Form {
    /// The sleep is always this long.
    Fixed(Nanos),
    /// The sleep is a function of one statistic of the last window, per bucket and device.
    Windowed(WindowForm),
    /// The decision is a function of the last window, per bucket.
    Window(WindowRule),
    /// The sleep follows the feedback of `pas`, per bucket and lane.
    Pas(Sensitivity),
    /// The rule has none of these forms. It is used only through lanes, which this function makes.
    Opaque(Box<dyn Fn() -> Box<dyn Lane>>),
}

impl Form {
    pub(crate) fn opaque<L: Lane + 'static>(new: impl Fn() -> L + 'static) -> Form {
        Form::Opaque(Box::new(move || Box::new(new())))
    }

    /// The function of the last window; `None` for a rule that is not such a function.
    pub fn window_rule(self) -> Option<WindowRule> {
        match self {
            Form::Window(rule) => Some(rule),
            Form::Windowed(form) => Some(form.rule()),
            Form::Fixed(_) | Form::Pas(_) | Form::Opaque(_) => None,
        }
    }
}

/// The statistic of a window that a windowed rule uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowStatistic {
    /// The mean observed time, [`BucketWindow::mean`].
    Mean,
    /// The shortest observed time, [`BucketWindow::min`].
    Min,
}

/// A windowed rule that sleeps a share of one statistic.
#[derive(Clone, Copy, Debug)]
pub struct WindowForm {
    /// The statistic whose share is slept.
    pub statistic: WindowStatistic,
    /// Length of a window, at least 1 ns.
    pub period: Nanos,
    pub(crate) share: Share,
}

impl WindowForm {
    /// The sleep after a window whose statistic is `value`, at most [`MAX_SLEEP`].
    #[inline]
    pub fn sleep(&self, value: Nanos) -> Nanos {
        self.share.apply(value).min(MAX_SLEEP)
    }

    /// The share in parts per billion: a sleep is `(value * share + 5e8) / 1e9`, rounded down.
    pub fn parts_per_billion(&self) -> u64 {
        self.share.0
    }

    pub(crate) fn rule(self) -> WindowRule {
        let sleep = move |window: &BucketWindow<'_>| {
            self.sleep(match self.statistic {
                WindowStatistic::Mean => window.mean(),
                WindowStatistic::Min => window.min,
            })
        };
        WindowRule::new(sleep, Gather::Totals, self.period)
    }
}
