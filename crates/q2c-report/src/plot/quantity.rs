//! Quantities that each have a view of a plot.

use super::{PlotAxis, PlotSeries, View};
use q2c_model::stats::Interval;
use serde_json::Value;

/// A quantity of `T`: the label of its view, the title of its axis, the factor for its numbers, and
/// the function that reads them.
pub(crate) struct Quantity<T, V = f64> {
    pub label: &'static str,
    pub axis: &'static str,
    pub scale: f64,
    pub of: fn(&T) -> V,
}

impl<T, V> Quantity<T, V> {
    pub(crate) const fn new(
        label: &'static str,
        axis: &'static str,
        scale: f64,
        of: fn(&T) -> V,
    ) -> Self {
        Quantity {
            label,
            axis,
            scale,
            of,
        }
    }

    /// The unit: the first word after the comma in the axis title, or the title's first word.
    pub(crate) fn unit(&self) -> &'static str {
        let (_, unit) = self.axis.split_once(", ").unwrap_or(("", self.axis));
        unit.split(' ').next().unwrap_or_default()
    }

    pub(crate) fn view(&self, x: PlotAxis) -> View {
        View::new(self.label, x, PlotAxis::from_zero(self.axis))
    }
}

impl<T> Quantity<T> {
    pub(crate) fn figure(&self, item: &T) -> f64 {
        (self.of)(item) * self.scale
    }
}

impl<'a, T: 'a> Quantity<T, Interval> {
    pub(crate) fn medians<X: Into<Value>>(
        &self,
        name: &str,
        points: impl Iterator<Item = (X, &'a T)>,
    ) -> PlotSeries {
        let points = points.map(|(x, item)| (x, (self.of)(item)));
        PlotSeries::medians(name, points, self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::Quantity;

    #[test]
    fn the_unit_stands_in_the_title_of_the_axis() {
        let unit = |axis| Quantity::new("", axis, 1.0, |number: &f64| *number).unit();
        let axes = [
            "KIOPS of the background",
            "CPU, % of one",
            "mean latency, us",
        ];
        assert_eq!(axes.map(unit), ["KIOPS", "%", "us"]);
    }
}
