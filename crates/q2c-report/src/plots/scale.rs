//! Throughput over the number of jobs: measured points, and the prediction beyond them.

use crate::plot::{Axis, Mark, Plot, Series, View, Whiskers};
use q2c_result::scale::{CurvePoint, ScaleResult};

/// The plot of a prediction.
pub(crate) fn plot(result: &ScaleResult) -> Plot {
    let (measured, predicted): (Vec<CurvePoint>, Vec<CurvePoint>) =
        result.curve.iter().partition(|point| point.measured);
    let predicted = (!predicted.is_empty()).then(|| prediction(&predicted));
    let measured = (!measured.is_empty()).then(|| points(&measured));
    let view = View::new("IOPS", Axis::from_zero("jobs"), Axis::from_zero("KIOPS"))
        .series(predicted.into_iter().flatten())
        .series(measured)
        .marks(result.ends_at.map(|x| Mark::Limit {
            x: f64::from(x),
            name: "end",
        }));
    Plot::new("scale", "Over the number of jobs", 460)
        .note("Solid points: measured, with [min, max] over the trials. Dashed with a band: a prediction, never measured.")
        .view(view)
}

fn over_jobs(
    points: &[CurvePoint],
    of: fn(&CurvePoint) -> f64,
) -> impl Iterator<Item = (f64, f64)> {
    let points = points.iter();
    points.map(move |point| (f64::from(point.jobs), of(point) * 1e-3))
}

/// The upper end of the band, the lower one, to which the colour reaches, and the prediction.
fn prediction(points: &[CurvePoint]) -> [Series; 3] {
    let line = |name, of| {
        Series::line(name, over_jobs(points, of))
            .colour("@chosen")
            .dash("dash")
    };
    let edge = |of| {
        line("95 %", of)
            .width(0.5)
            .opacity(0.4)
            .unlisted()
            .without_hover()
    };
    [
        edge(|p| p.high),
        edge(|p| p.low).filled(),
        line("predicted", |p| p.iops)
            .width(1.6)
            .hover("{y} KIOPS, predicted"),
    ]
}

fn points(points: &[CurvePoint]) -> Series {
    let side = |of: fn(&CurvePoint) -> f64| over_jobs(points, of).map(|(_, kiops)| kiops).collect();
    let whiskers = Whiskers {
        above: side(|p| p.high - p.iops),
        below: side(|p| p.iops - p.low),
        thin: false,
    };
    Series::dotted_line("measured", over_jobs(points, |p| p.iops))
        .y_whiskers(whiskers)
        .pen("@interrupt", 1.6)
        .size(8.0)
        .hover("{y} KIOPS, measured")
}
