//! Throughput over the number of jobs: the measured points, and the prediction beyond them.

use crate::plot::{Plot, PlotAxis, PlotMark, PlotSeries, View, Whiskers};
use q2c_result::scale::{CurvePoint, ScaleResult};

pub(crate) fn plot(result: &ScaleResult) -> Plot {
    let (measured, predicted): (Vec<CurvePoint>, Vec<CurvePoint>) =
        result.curve.iter().partition(|point| point.measured);
    let [x, y] = ["jobs", "KIOPS"].map(PlotAxis::from_zero);
    let predicted = prediction(&predicted).into_iter();
    let series = predicted.chain([points(&measured)]);
    let end = result.ends_at;
    let end = end.map(|jobs| PlotMark::limit(f64::from(jobs), "end"));
    let view = View::new("IOPS", x, y).series(series.filter_map(PlotSeries::if_any));
    Plot::new("scale", "Over the number of jobs", 460)
        .note("Solid points: measured, with [min, max] over the trials. Dashed with a band: a prediction, never measured.")
        .view(view.marks(end))
}

fn over_jobs(
    points: &[CurvePoint],
    get: fn(&CurvePoint) -> f64,
) -> impl Iterator<Item = (f64, f64)> {
    let points = points.iter();
    points.map(move |point| (f64::from(point.jobs), get(point) * 1e-3))
}

/// The upper edge of the band, its lower edge, from which it is filled upwards, and the prediction.
fn prediction(points: &[CurvePoint]) -> [PlotSeries; 3] {
    let line = |name, get| {
        let line = PlotSeries::line(name, over_jobs(points, get));
        line.colour("@chosen").dash("dash")
    };
    let edge = |get| {
        let edge = line("95 %", get).width(0.5).opacity(0.4);
        edge.unlisted().without_hover()
    };
    let middle = line("predicted", |p| p.iops).width(1.6);
    [
        edge(|p| p.high),
        edge(|p| p.low).filled(),
        middle.hover("{y} KIOPS, predicted"),
    ]
}

fn points(points: &[CurvePoint]) -> PlotSeries {
    let reach = |p: &CurvePoint| ((p.iops - p.low) * 1e-3, (p.high - p.iops) * 1e-3);
    let line = PlotSeries::dotted_line("measured", over_jobs(points, |p| p.iops))
        .y_whiskers(Whiskers::reaching(points.iter().map(reach)));
    let line = line.pen("@interrupt", 1.6).size(8.0);
    line.hover("{y} KIOPS, measured")
}
