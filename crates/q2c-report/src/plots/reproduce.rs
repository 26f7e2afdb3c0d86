//! The plots of an experiment: ours beside the published points, on the published axes.

use crate::plot::{
    Axis, Draw, Mark, Plot, Series, Style, Values, View, Whiskers, styles, with_data,
};
use crate::reproduce::{factor_of, unit_of};
use q2c_result::reproduce::{ChartAsked, OurCurve, PublishedCurve, ReproduceResult};
use q2c_stats::Interval;

/// The plots that have something to draw.
pub(crate) fn plots(result: &ReproduceResult) -> Vec<Plot> {
    let charts = result.charts.iter().enumerate();
    with_data(charts.map(|(n, chart)| plot(n, chart, result)), "")
}

fn plot(n: usize, chart: &ChartAsked, result: &ReproduceResult) -> Plot {
    let unit = unit_of(&chart.figure);
    let is_over_time = chart.over == "time";
    let x = if is_over_time {
        Axis::over_time("seconds since the start")
    } else {
        Axis::new(&chart.over)
    };
    let styles = styles(chart.ours.len());
    let ours = chart.ours.iter().zip(&styles);
    let published = chart.published.iter();
    let begins = if is_over_time {
        begins(result)
    } else {
        Vec::new()
    };
    let view = View::new("all", x, Axis::from_zero(unit))
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
    if chart.published.is_empty() {
        String::new()
    } else if chart.over == "time" && scale != 1.0 {
        format!(" Diamonds: published, with their times multiplied by {scale} as well.")
    } else {
        " Diamonds: published.".to_owned()
    }
}

/// The begin of each phase but the first.
fn begins(result: &ReproduceResult) -> Vec<Mark> {
    let trial = result.points.iter().find_map(|point| point.trials.first());
    let phases = trial
        .map(|trial| trial.phases.as_slice())
        .unwrap_or_default();
    let phases = phases.iter().zip(&result.phases).skip(1);
    let begin = phases.map(|(phase, described)| Mark::Begin {
        x: phase.begin_s,
        name: described.label.clone(),
        is_first: false,
        is_upright: true,
    });
    begin.collect()
}

/// The places of points: numbers where all are, but for phases, which are names.
fn places(points: impl Iterator<Item = String>, chart: &ChartAsked) -> Values {
    let names: Vec<String> = points.collect();
    let numbers = names.iter().map(|name| name.parse().ok());
    let numbers: Option<Vec<f64>> = numbers.collect();
    match numbers.filter(|_| chart.over != "phase") {
        Some(numbers) => Values::Numbers(numbers),
        None => Values::Names(names),
    }
}

fn our_series(style: &Style, curve: &OurCurve, chart: &ChartAsked, unit: &str) -> Series {
    let x = places(curve.points.iter().map(|(at, _)| at.clone()), chart);
    let intervals: Vec<Interval> = curve.points.iter().map(|(_, interval)| *interval).collect();
    let scale = 1.0 / factor_of(unit);
    let series = Series::medians(&curve.name, x, &intervals, scale)
        .style(style)
        .width(1.6)
        .hover(format!("{{y}} {unit}, here"));
    if chart.over == "time" {
        return Series {
            draw: Draw::Line,
            y_whiskers: None,
            ..series
        };
    }
    series.y_whiskers(Whiskers::of(&intervals, scale).thick())
}

fn published_series(curve: &PublishedCurve, chart: &ChartAsked, unit: &str, scale: f64) -> Series {
    let place = |at: &String| match at.parse::<f64>() {
        Ok(seconds) if chart.over == "time" => (seconds * scale).to_string(),
        _ => at.clone(),
    };
    let x = places(curve.points.iter().map(|(at, _)| place(at)), chart);
    let figures = curve
        .points
        .iter()
        .map(|(_, figure)| figure * (1.0 / factor_of(unit)));
    Series::dots(&curve.name, x, figures.collect())
        .size(10.0)
        .symbol("diamond")
        .colour("@muted")
        .hover(format!("{{y}} {unit}, published"))
}
