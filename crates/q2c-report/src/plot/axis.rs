//! Axes, and the ticks that several plots share.

use crate::quantity;

/// Ticks of the axis of quantiles: the names of quantiles q, and their places `1 / (1 - q)`.
const TAIL: [&str; 7] = ["0", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999"];
const TAIL_PLACES: [f64; 7] = [1.0, 2.0, 10.0, 100.0, 1e3, 1e4, 1e5];

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Scale {
    /// Numbers, or names where the series have names.
    #[default]
    Linear,
    Log,
    /// Names, in this order or, without one, in that of the series.
    Names(Vec<String>),
}

/// An axis. Its title names the unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlotAxis {
    pub title: String,
    pub scale: Scale,
    pub from_zero: bool,
    /// Whether the plots of a section that have such an axis zoom together.
    pub linked: bool,
    pub reversed: bool,
    pub range: Option<(f64, f64)>,
    /// Places of the ticks; without any, they are chosen when the axis is drawn.
    pub ticks: Vec<f64>,
    /// Names of the ticks; without any, they are the numbers.
    pub tick_names: Vec<String>,
    /// Whether the ticks are without their numbers or names.
    pub is_bare: bool,
    pub without_grid: bool,
}

impl PlotAxis {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        PlotAxis {
            title: title.into(),
            ..PlotAxis::default()
        }
    }

    /// An axis that begins at zero, so that lengths can be compared.
    pub(crate) fn from_zero(title: impl Into<String>) -> Self {
        PlotAxis::new(title).starting_at_zero()
    }

    /// The x axis of time. Plots of a section that have it count from the same start.
    pub(crate) fn over_time(title: impl Into<String>) -> Self {
        PlotAxis::from_zero(title).linked()
    }

    pub(crate) fn names(title: impl Into<String>) -> Self {
        PlotAxis::names_in_order(title, Vec::new())
    }

    pub(crate) fn names_in_order(title: impl Into<String>, names: Vec<String>) -> Self {
        PlotAxis::new(title).scaled(Scale::Names(names))
    }

    pub(crate) fn logarithmic(title: impl Into<String>) -> Self {
        PlotAxis::new(title).scaled(Scale::Log)
    }

    /// A logarithmic axis of microseconds with ticks at 1, 2 and 5 of each decade from 100 ns to
    /// 50 s; a tick shows its unit.
    pub(crate) fn logarithmic_us(title: &str) -> Self {
        ticks_us(title, &[1.0, 2.0, 5.0])
    }

    /// The same with a tick at each decade alone.
    pub(crate) fn decades_us(title: &str) -> Self {
        ticks_us(title, &[1.0])
    }

    pub(crate) fn shares() -> Self {
        PlotAxis::new("share of I/Os, %").range(0.0, 101.0)
    }

    /// The axis of quantiles q, logarithmic over `1 / (1 - q)`, so that each further nine takes the
    /// same length.
    pub(crate) fn quantiles() -> Self {
        let ticks = std::iter::zip(TAIL_PLACES, TAIL.map(str::to_owned));
        PlotAxis::logarithmic("quantile").named_ticks(ticks)
    }

    setters! {
        ticks(ticks: impl IntoIterator<Item = u32>) {
            ticks = ticks.into_iter().map(f64::from).collect()
        }
        without_grid() { without_grid = true }
        reversed() { reversed = true }
        range(from: f64, to: f64) { range = Some((from, to)) }
        bare_if(is_bare: bool) { is_bare = is_bare }
        starting_at_zero() { from_zero = true }
        linked() { linked = true }
        scaled(scale: Scale) { scale = scale }
    }

    pub(crate) fn named_ticks(mut self, ticks: impl IntoIterator<Item = (f64, String)>) -> Self {
        (self.ticks, self.tick_names) = ticks.into_iter().unzip();
        self
    }
}

fn ticks_us(title: &str, steps: &[f64]) -> PlotAxis {
    let ticks = (-1..=7).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    PlotAxis::logarithmic(title).named_ticks(ticks.map(|us| (us, round_duration(us * 1e3))))
}

/// A duration that is a round number, without decimals: `10 ms`, not `10.0 ms`.
pub(crate) fn round_duration(ns: f64) -> String {
    quantity::bare(&quantity::duration(ns))
}
