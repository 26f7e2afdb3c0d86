//! Axes, and the ticks that several plots share.

use crate::quantity;

/// Ticks of the axis of quantiles: name of the quantile q, and its place `1 / (1 - q)`.
const TAIL: [(f64, &str); 7] = [
    (1.0, "0"),
    (2.0, "p50"),
    (10.0, "p90"),
    (100.0, "p99"),
    (1e3, "p99.9"),
    (1e4, "p99.99"),
    (1e5, "p99.999"),
];

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
        PlotAxis {
            from_zero: true,
            ..PlotAxis::new(title)
        }
    }

    /// The x axis of time. Plots of a section that have it count from the same start.
    pub(crate) fn over_time(title: impl Into<String>) -> Self {
        PlotAxis {
            linked: true,
            ..PlotAxis::from_zero(title)
        }
    }

    pub(crate) fn names(title: impl Into<String>) -> Self {
        PlotAxis::names_in_order(title, Vec::new())
    }

    pub(crate) fn names_in_order(title: impl Into<String>, names: Vec<String>) -> Self {
        PlotAxis {
            scale: Scale::Names(names),
            ..PlotAxis::new(title)
        }
    }

    pub(crate) fn logarithmic(title: impl Into<String>) -> Self {
        PlotAxis {
            scale: Scale::Log,
            ..PlotAxis::new(title)
        }
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
        PlotAxis {
            range: Some((0.0, 101.0)),
            ..PlotAxis::new("share of I/Os, %")
        }
    }

    /// The axis of quantiles q, logarithmic over `1 / (1 - q)`, so that each further nine takes the
    /// same length.
    pub(crate) fn quantiles() -> Self {
        let ticks = TAIL.map(|(at, name)| (at, name.to_owned()));
        PlotAxis::logarithmic("quantile").named_ticks(ticks)
    }

    setters! {
        ticks(ticks: impl IntoIterator<Item = u32>) {
            ticks = ticks.into_iter().map(f64::from).collect()
        }
        without_grid() { without_grid = true }
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
