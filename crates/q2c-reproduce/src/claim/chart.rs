//! The curves of charts: a figure over time, over phases or over an axis.

use crate::claim::eval::{TrialPhase, figure_at, interval_figures};
use crate::claim::expr::FigureReference;
use crate::claim::parse::figure;
use crate::claim::scope::{ClaimContext, ClaimScope, FigurePlace};
use q2c_model::stats::Interval;
use q2c_result::reproduce::{Chart, Point, RunCurve};
use std::collections::BTreeMap;

/// The curves of a chart. A figure that was not measured has no point.
pub(crate) fn curves(chart: &Chart, scope: &ClaimScope, points: &[Point]) -> Vec<RunCurve> {
    let Ok(figure) = figure(&chart.figure) else {
        return Vec::new();
    };
    let mut curves = match chart.over.as_str() {
        "time" => by_time(&figure, scope, points),
        axis => by_axis(&figure, axis, chart.by.as_deref(), scope, points),
    };
    curves.retain(|curve| !curve.points.is_empty());
    curves
}

/// One curve for each point and job; time starts with the first phase.
fn by_time(figure: &FigureReference, scope: &ClaimScope, points: &[Point]) -> Vec<RunCurve> {
    let mut curves = Vec::new();
    for point in points {
        for job in &scope.jobs {
            let at = point.at.iter().filter(|_| points.len() > 1);
            let suffix: String = at.map(|(axis, value)| format!(" {axis}={value}")).collect();
            curves.push(RunCurve {
                name: format!("{job}{suffix}"),
                points: values_over_time(figure, job, point, scope),
            });
        }
    }
    curves
}

fn values_over_time(
    figure: &FigureReference,
    job: &str,
    point: &Point,
    scope: &ClaimScope,
) -> Vec<(String, Interval)> {
    let mut curve = Vec::new();
    for phase in 0..scope.phases.len() {
        let place = FigurePlace {
            window: None,
            phase,
            job: job.to_owned(),
            at: point.at.clone(),
        };
        // Time and values of each interval, by its end in ms, since a trial may lack intervals.
        let mut ticks: BTreeMap<u64, (f64, Vec<f64>)> = BTreeMap::new();
        for trial in &point.trials {
            let begin_s = trial.phases.get(phase).map_or(0.0, |phase| phase.begin_s);
            let data = TrialPhase::from_trial(trial, &place);
            let values = interval_figures(&figure.name, &place, &data).unwrap_or_default();
            for (end_s, value) in values {
                let end_ms = (end_s * 1e3).round() as u64;
                let (_, samples) = ticks.entry(end_ms).or_insert((begin_s + end_s, Vec::new()));
                samples.extend(value);
            }
        }
        let to_point =
            |(at, values): (f64, Vec<f64>)| (format!("{at:.3}"), Interval::from_samples(&values));
        let measured = ticks.into_values().filter(|(_, values)| !values.is_empty());
        curve.extend(measured.map(to_point));
    }
    curve
}

/// One curve for each value of `by`, or a single curve.
fn by_axis(
    figure: &FigureReference,
    over: &str,
    by: Option<&str>,
    scope: &ClaimScope,
    points: &[Point],
) -> Vec<RunCurve> {
    let xs = scope.values(over, None).unwrap_or_default();
    let curve = |name: String, base: ClaimContext| {
        let at = |x: &String| {
            let value = over_trials(figure, &base.with(over, x), scope, points)?;
            Some((x.clone(), value))
        };
        let points = xs.iter().filter_map(at).collect();
        RunCurve { name, points }
    };
    let Some(axis) = by else {
        return vec![curve(figure.to_string(), ClaimContext::default())];
    };
    let values = scope.values(axis, None).unwrap_or_default().into_iter();
    let curve_at = |value: String| {
        let base = ClaimContext::default().with(axis, &value);
        curve(value, base)
    };
    values.map(curve_at).collect()
}

fn over_trials(
    figure: &FigureReference,
    at: &ClaimContext,
    scope: &ClaimScope,
    points: &[Point],
) -> Option<Interval> {
    let place = scope.place(figure, at).ok()?;
    let point = points.iter().find(|point| point.at == place.at)?;
    let value = |trial| figure_at(&figure.name, &place, &TrialPhase::from_trial(trial, &place));
    let values = point.trials.iter().filter_map(|trial| value(trial).ok());
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| Interval::from_samples(&values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::reproduce::{Axis, JobSeries, PhaseTrial, PointTrial, Tick};

    fn point(n: &str, values: &[f64]) -> Point {
        let trial = |(trial, value): (usize, &f64)| PointTrial {
            trial: trial as u32,
            figures: BTreeMap::from([("x".to_owned(), *value)]),
            ..PointTrial::default()
        };
        Point {
            at: BTreeMap::from([("n".to_owned(), n.to_owned())]),
            trials: values.iter().enumerate().map(trial).collect(),
            ..Point::default()
        }
    }

    /// A trial of one phase whose intervals of a second end at these instants, with these I/Os.
    fn trial_with_ticks(trial: u32, ticks: &[(f64, f64)]) -> PointTrial {
        let tick = |&(end_s, ios): &(f64, f64)| Tick {
            end_s,
            seconds: 1.0,
            ios,
            ..Tick::default()
        };
        PointTrial {
            trial,
            phases: vec![PhaseTrial {
                jobs: vec![JobSeries {
                    job: "reader".to_owned(),
                    ticks: ticks.iter().map(tick).collect(),
                    ..JobSeries::default()
                }],
                ..PhaseTrial::default()
            }],
            ..PointTrial::default()
        }
    }

    #[test]
    fn intervals_of_trials_meet_by_their_time_where_one_has_fewer() {
        let scope = ClaimScope {
            phases: vec!["only".to_owned()],
            jobs: vec!["reader".to_owned()],
            figures: vec!["iops".to_owned()],
            ..ClaimScope::default()
        };
        let chart = Chart {
            figure: "iops".to_owned(),
            over: "time".to_owned(),
            ..Chart::default()
        };
        let points = [Point {
            trials: vec![
                trial_with_ticks(0, &[(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)]),
                trial_with_ticks(1, &[(2.0, 22.0), (3.0, 32.0)]),
            ],
            ..Point::default()
        }];
        let curves = curves(&chart, &scope, &points);
        let range = |(at, i): &(String, Interval)| (at.clone(), i.min, i.max);
        let ranges: Vec<_> = curves[0].points.iter().map(range).collect();
        let wanted = [
            ("1.000".to_owned(), 10.0, 10.0),
            ("2.000".to_owned(), 20.0, 22.0),
            ("3.000".to_owned(), 30.0, 32.0),
        ];
        assert_eq!(ranges, wanted);
    }

    #[test]
    fn a_figure_over_an_axis_has_its_interval_and_no_point_where_nothing_was_seen() {
        let scope = ClaimScope {
            axes: vec![Axis {
                name: "n".to_owned(),
                values: ["1", "2", "4"].map(str::to_owned).to_vec(),
            }],
            figures: vec!["x".to_owned()],
            ..ClaimScope::default()
        };
        let chart = Chart {
            figure: "x".to_owned(),
            over: "n".to_owned(),
            ..Chart::default()
        };
        let points = [
            point("1", &[1.0, 3.0, 2.0]),
            point("2", &[]),
            point("4", &[7.0]),
        ];
        let curves = curves(&chart, &scope, &points);
        let value = |(at, i): &(String, Interval)| (at.clone(), i.median, i.max);
        let values: Vec<_> = curves[0].points.iter().map(value).collect();
        let wanted = [("1".to_owned(), 2.0, 3.0), ("4".to_owned(), 7.0, 7.0)];
        assert_eq!(values, wanted);
    }
}
