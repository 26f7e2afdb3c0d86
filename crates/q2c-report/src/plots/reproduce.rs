//! The plots of an experiment: our points and the published ones, on the published axes.

use crate::phrase::when;
use crate::plot::{Plot, PlotAxis, PlotMark, PlotSeries, Style, View, Whiskers};
use crate::plot::{median_or_gap, styles, with_data};
use crate::reproduce::{factor_of, unit_of};
use q2c_result::reproduce::{
    Chart, PhaseAsRun, PhaseTrial, PublishedCurve, ReproduceResult, RunCurve,
};
use serde_json::Value;

pub(crate) fn plots(result: &ReproduceResult) -> Vec<Plot> {
    let charts = result.charts.iter().enumerate();
    with_data(charts.map(|(n, chart)| plot(n, chart, result)), "")
}

const SECONDS_LABEL: &str = "seconds since the start";

fn plot(n: usize, chart: &Chart, result: &ReproduceResult) -> Plot {
    let (x, starts) = match chart.over.as_str() {
        "time" => (PlotAxis::over_time(SECONDS_LABEL), phase_starts(result)),
        other => (PlotAxis::new(other), Vec::new()),
    };
    let styles = styles(chart.ours.len());
    let ours = chart.ours.iter().zip(&styles);
    let published = chart.published.iter();
    let view = View::new("all", x, PlotAxis::from_zero(unit_of(&chart.figure)))
        .series(ours.map(|(curve, style)| our_series(style, curve, chart)))
        .series(published.map(|curve| published_series(curve, chart, result.scale)))
        .marks(starts);
    Plot::new(format!("reproduce-{n}"), &chart.title, 420)
        .note(format!(
            "{} over {}. Lines: here, the median over the trials with [min, max].{}",
            chart.figure,
            chart.over,
            diamond_note(chart, result.scale)
        ))
        .view(view)
}

/// Explains the diamonds of the published points. Published times are shortened as ours are, so
/// that both lie in the same phases.
fn diamond_note(chart: &Chart, scale: f64) -> String {
    let times = format!(", with their times multiplied by {scale} as well");
    let times = when(chart.over == "time" && scale != 1.0, &times);
    let diamonds = format!(" Diamonds: published{times}.");
    when(!chart.published.is_empty(), &diamonds).to_owned()
}

fn phase_starts(result: &ReproduceResult) -> Vec<PlotMark> {
    let trial = result.points.iter().find_map(|point| point.trials.first());
    let phases = trial.into_iter().flat_map(|trial| &trial.phases);
    let phases = phases.zip(&result.phases).skip(1);
    let phase_start = |(phase, described): (&PhaseTrial, &PhaseAsRun)| {
        let (is_first, is_upright) = (false, true);
        PlotMark::phase_start(phase.begin_s, &described.label, is_first, is_upright)
    };
    phases.map(phase_start).collect()
}

/// The place of a point on the x axis: a number if `x` is one, else a name, as phases have. Times
/// are multiplied by `scale`.
fn x_value(x: &str, chart: &Chart, scale: f64) -> Value {
    match x.parse::<f64>() {
        Ok(seconds) if chart.over == "time" => (seconds * scale).into(),
        Ok(number) if chart.over != "phase" => number.into(),
        _ => x.into(),
    }
}

fn our_series(style: &Style, curve: &RunCurve, chart: &Chart) -> PlotSeries {
    let unit = unit_of(&chart.figure);
    let scale = 1.0 / factor_of(unit);
    let intervals = Vec::from_iter(curve.points.iter().map(|(_, interval)| *interval));
    let places = curve.points.iter().map(|(x, _)| x_value(x, chart, 1.0));
    let series = if chart.over == "time" {
        let medians = intervals.iter().map(|i| median_or_gap(i) * scale);
        PlotSeries::line(&curve.name, places.zip(medians))
    } else {
        let medians = PlotSeries::medians(&curve.name, places.zip(intervals.clone()), scale);
        medians.y_whiskers(Whiskers::thick(&intervals, scale))
    };
    let series = series.style(style).width(1.6);
    series.hover(format!("{{y}} {unit}, here"))
}

fn published_series(curve: &PublishedCurve, chart: &Chart, scale: f64) -> PlotSeries {
    let unit = unit_of(&chart.figure);
    let points = curve.points.iter();
    let points = points.map(|(x, figure)| (x_value(x, chart, scale), figure / factor_of(unit)));
    let dots = PlotSeries::dots(&curve.name, points).colour("@muted");
    let label = format!("{{y}} {unit}, published");
    dots.size(10.0).symbol("diamond").hover(label)
}
