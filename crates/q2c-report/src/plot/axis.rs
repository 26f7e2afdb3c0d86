//! Axes, and the ticks that several plots share.

use super::value::{number, text, texts};
use crate::quantity;
use serde_json::{Value, json};

/// Ticks of the axis of quantiles q: their names, and their places `1 / (1 - q)`.
const QUANTILE_NAMES: [&str; 7] = ["0", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999"];
const QUANTILE_ODDS: [f64; 7] = [1.0, 2.0, 10.0, 100.0, 1e3, 1e4, 1e5];

/// An axis. Its title names the unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlotAxis(pub(super) Value);

impl PlotAxis {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        PlotAxis(json!({"title": {"text": text(&title.into())}}))
    }

    /// An axis that starts at zero, so that lengths can be compared.
    pub(crate) fn from_zero(title: impl Into<String>) -> Self {
        PlotAxis::new(title).with("rangemode", "tozero")
    }

    /// The x axis of time. Such plots of one section start at the same time and zoom together.
    pub(crate) fn over_time(title: impl Into<String>) -> Self {
        // The page's script reads this key and makes such plots zoom together.
        PlotAxis::from_zero(title).with("linked", true)
    }

    /// Names in the order of the series.
    pub(crate) fn names(title: impl Into<String>) -> Self {
        PlotAxis::new(title).with("type", "category")
    }

    pub(crate) fn names_in_order(title: impl Into<String>, names: &[String]) -> Self {
        let axis = PlotAxis::names(title).with("categoryorder", "array");
        axis.with("categoryarray", texts(names))
    }

    pub(crate) fn logarithmic(title: impl Into<String>) -> Self {
        PlotAxis::new(title).with("type", "log")
    }

    /// A logarithmic axis in microseconds, with ticks at 1, 2 and 5 of each decade from 100 ns to
    /// 50 s. The ticks show their units.
    pub(crate) fn logarithmic_us(title: &str) -> Self {
        logarithmic_with_ticks_us(title, &[1.0, 2.0, 5.0])
    }

    /// As [`Self::logarithmic_us`], with one tick per decade.
    pub(crate) fn decades_us(title: &str) -> Self {
        logarithmic_with_ticks_us(title, &[1.0])
    }

    pub(crate) fn shares() -> Self {
        PlotAxis::new("share of I/Os, %").range(0.0, 101.0)
    }

    /// The axis of quantiles q, logarithmic over `1 / (1 - q)`, so that each further nine takes the
    /// same length.
    pub(crate) fn quantiles() -> Self {
        let ticks = std::iter::zip(QUANTILE_ODDS, QUANTILE_NAMES.map(str::to_owned));
        PlotAxis::logarithmic("quantile").named_ticks(ticks)
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        if !value.is_null() {
            self.0[key] = value;
        }
        self
    }

    pub(crate) fn ticks(self, ticks: impl IntoIterator<Item = u32>) -> Self {
        self.with("tickvals", Vec::from_iter(ticks.into_iter().map(f64::from)))
    }

    /// Sets ticks with names. Without any, plotly chooses the ticks.
    pub(crate) fn named_ticks(self, ticks: impl IntoIterator<Item = (f64, String)>) -> Self {
        let (places, names): (Vec<f64>, Vec<String>) = ticks.into_iter().unzip();
        if places.is_empty() {
            return self;
        }
        self.with("tickvals", places)
            .with("ticktext", texts(&names))
    }

    pub(crate) fn without_grid(self) -> Self {
        self.with("showgrid", false).with("zeroline", false)
    }

    pub(crate) fn reversed(self) -> Self {
        self.with("autorange", "reversed")
    }

    pub(crate) fn range(self, from: f64, to: f64) -> Self {
        self.with("range", [from, to].map(number))
    }

    pub(crate) fn hide_tick_labels_if(self, is_hidden: bool) -> Self {
        self.with("showticklabels", is_hidden.then_some(false))
    }
}

fn logarithmic_with_ticks_us(title: &str, steps: &[f64]) -> PlotAxis {
    let ticks = (-1..=7).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    PlotAxis::logarithmic(title).named_ticks(ticks.map(|us| (us, round_duration(us * 1e3))))
}

/// A round duration without decimals: `10 ms`, not `10.0 ms`.
pub(crate) fn round_duration(ns: f64) -> String {
    quantity::trim_zeros(&quantity::duration(ns))
}
