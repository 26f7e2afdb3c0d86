//! Latency distributions of the cells: the bulk and the tail.

use super::NS_TO_US;
use super::tune::CellLine;
use crate::plot::{Plot, PlotAxis, PlotSeries, View};

/// The distribution of the latencies of each cell, with a view of the tail.
pub(crate) fn plot(lines: &[CellLine<'_>]) -> Plot {
    let view = |label, y, height: fn(f64) -> f64| {
        let lines = lines.iter();
        let drawn = lines.filter(|line| !line.cell.latency_quantiles.is_empty());
        View::new(label, PlotAxis::logarithmic_us("latency"), y).series(drawn.map(|line| {
            let points = &line.cell.latency_quantiles;
            curve(points, height, |places| line.series(places, ""))
        }))
    };
    Plot::new("latency", "Latency", 400)
        .note(
            "From just before the submission to the reaping (U2C), all trials of a cell together.",
        )
        .view(view("tail", PlotAxis::quantiles(), odds))
        .view(view("distribution", PlotAxis::shares(), percent))
}

/// A curve of latencies. `points` has pairs of quantile (0 to 1) and latency, and the height is a
/// function of the quantile.
pub(crate) fn curve(
    points: &[(f64, f64)],
    height: fn(f64) -> f64,
    line: impl FnOnce(Vec<(f64, f64)>) -> PlotSeries,
) -> PlotSeries {
    let place = |(quantile, ns): &(f64, f64)| (ns * NS_TO_US, height(*quantile));
    line(points.iter().map(place).collect())
        .texts(points.iter().map(|(quantile, _)| percentile(*quantile)))
        .hover("{text}: {x} us")
}

/// The place of a quantile (0 to 1) on [`PlotAxis::shares`].
pub(crate) fn percent(quantile: f64) -> f64 {
    quantile * 100.0
}

/// The place of a quantile (0 to 1) on [`PlotAxis::quantiles`].
pub(crate) fn odds(quantile: f64) -> f64 {
    1.0 / (1.0 - quantile)
}

/// The name of a quantile as a percentile, with up to four decimals: `p99.95`.
fn percentile(quantile: f64) -> String {
    let text = format!("p{:.4}", quantile * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn quantiles_have_their_usual_names() {
        let names = [0.5, 0.999, 0.0, 0.99999].map(percentile);
        assert_eq!(names, ["p50", "p99.9", "p0", "p99.999"]);
    }
}
