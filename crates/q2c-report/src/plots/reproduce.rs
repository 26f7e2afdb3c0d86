//! The plots of an experiment: ours beside the published points, on the published axes.

use crate::phrase::when;
use crate::plot::{Coordinate, Plot, PlotAxis, PlotMark, PlotSeries, SeriesShape, Style, View};
use crate::plot::{styles, with_data};
use crate::reproduce::{factor_of, unit_of};
use q2c_result::reproduce::{ChartAsked, OurCurve, PublishedCurve, ReproduceResult};

pub(crate) fn plots(result: &ReproduceResult) -> Vec<Plot> {
    let charts = result.charts.iter().enumerate();
    with_data(charts.map(|(n, chart)| plot(n, chart, result)), "")
}

const SECONDS: &str = "seconds since the start";

fn plot(n: usize, chart: &ChartAsked, result: &ReproduceResult) -> Plot {
    let unit = unit_of(&chart.figure);
    let (x, begins) = match chart.over.as_str() {
        "time" => (PlotAxis::over_time(SECONDS), begins(result)),
        other => (PlotAxis::new(other), Vec::new()),
    };
    let styles = styles(chart.ours.len());
    let ours = chart.ours.iter().zip(&styles);
    let published = chart.published.iter();
    let view = View::new("all", x, PlotAxis::from_zero(unit))
        .series(ours.map(|(curve, style)| our_series(style, curve, chart, unit)))
        .series(published.map(|curve| published_series(curve, chart, unit, result.scale)))
        .marks(begins);
    Plot::new(format!("reproduce-{n}"), &chart.title, 420)
        .note(format!(
            "{} over {}. Lines: here, the median over the trials with [min, max].{}",
            chart.figure,
            chart.over,
            diamonds(chart, result.scale)
        ))
        .view(view)
}

/// What the marks of published points are. Published times are shortened as ours are, so that both
/// lie in the same phases.
fn diamonds(chart: &ChartAsked, scale: f64) -> String {
    let times = format!(", with their times multiplied by {scale} as well");
    let times = when(chart.over == "time" && scale != 1.0, &times);
    let diamonds = format!(" Diamonds: published{times}.");
    when(!chart.published.is_empty(), &diamonds).to_owned()
}

fn begins(result: &ReproduceResult) -> Vec<PlotMark> {
    let trial = result.points.iter().find_map(|point| point.trials.first());
    let phases = trial.into_iter().flat_map(|trial| &trial.phases);
    let phases = phases.zip(&result.phases).skip(1);
    let begin = phases.map(|(phase, described)| PlotMark::Begin {
        x: phase.begin_s,
        name: described.label.clone(),
        is_first: false,
        is_upright: true,
    });
    begin.collect()
}

/// The place of a point: a number where it is one, but for phases, which have names.
fn place(at: &str, chart: &ChartAsked) -> Coordinate {
    match at.parse() {
        Ok(number) if chart.over != "phase" => Coordinate::Number(number),
        _ => Coordinate::Name(at.to_owned()),
    }
}

fn our_series(style: &Style, curve: &OurCurve, chart: &ChartAsked, unit: &str) -> PlotSeries {
    let points = curve.points.iter();
    let points = points.map(|(at, median)| (place(at, chart), *median));
    let mut series = PlotSeries::medians(&curve.name, points, 1.0 / factor_of(unit))
        .style(style)
        .width(1.6)
        .hover(format!("{{y}} {unit}, here"));
    if let Some(whiskers) = &mut series.y_whiskers {
        whiskers.thin = false;
    }
    if chart.over == "time" {
        (series.draw, series.y_whiskers) = (SeriesShape::Line, None);
    }
    series
}

fn published_series(
    curve: &PublishedCurve,
    chart: &ChartAsked,
    unit: &str,
    scale: f64,
) -> PlotSeries {
    let place = |at: &str| match place(at, chart) {
        Coordinate::Number(seconds) if chart.over == "time" => (seconds * scale).into(),
        place => place,
    };
    let points = curve.points.iter();
    let points = points.map(|(at, figure)| (place(at), figure / factor_of(unit)));
    let dots = PlotSeries::dots(&curve.name, points).colour("@muted");
    let label = format!("{{y}} {unit}, published");
    dots.size(10.0).symbol("diamond").hover(label)
}
