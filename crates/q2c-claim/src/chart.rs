//! The curves of charts: a figure over time, over phases or over an axis.

use crate::eval::series::{Whole, of_window, over_time};
use crate::expr::Figure;
use crate::parse::figure;
use crate::scope::{Context, Place, Scope};
use q2c_result::reproduce::{ChartAsked, OurCurve, Point};
use q2c_stats::Interval;
use std::collections::BTreeMap;

/// The curves of a chart. What was not seen has no point.
#[must_use]
pub fn curves(chart: &ChartAsked, scope: &Scope, points: &[Point]) -> Vec<OurCurve> {
    let Ok(of) = figure(&chart.figure) else {
        return Vec::new();
    };
    let all = match chart.over.as_str() {
        "time" => by_time(&of, scope, points),
        axis => by_axis(&of, axis, chart.by.as_deref(), scope, points),
    };
    all.into_iter()
        .filter(|curve| !curve.points.is_empty())
        .collect()
}

/// One curve for each point and job, from the begin of the first phase.
fn by_time(of: &Figure, scope: &Scope, points: &[Point]) -> Vec<OurCurve> {
    let mut curves = Vec::new();
    for point in points {
        for job in &scope.jobs {
            let named = points.len() > 1;
            curves.push(OurCurve {
                name: if named {
                    format!("{job}{}", told(&point.at))
                } else {
                    job.clone()
                },
                points: course(of, job, point, scope),
            });
        }
    }
    curves
}

fn told(at: &BTreeMap<String, String>) -> String {
    at.iter()
        .map(|(axis, value)| format!(" {axis}={value}"))
        .collect()
}

fn course(of: &Figure, job: &str, point: &Point, scope: &Scope) -> Vec<(String, Interval)> {
    let mut course = Vec::new();
    for phase in 0..scope.phases.len() {
        let place = Place {
            window: None,
            phase,
            job: job.to_owned(),
            at: point.at.clone(),
        };
        let mut ticks: Vec<(f64, Vec<f64>)> = Vec::new();
        for trial in &point.trials {
            let begin_s = trial.phases.get(phase).map_or(0.0, |phase| phase.begin_s);
            let Ok(values) = over_time(&of.name, &place, &Whole::of(trial, &place)) else {
                continue;
            };
            for (n, (end_s, value)) in values.into_iter().enumerate() {
                if n == ticks.len() {
                    ticks.push((begin_s + end_s, Vec::new()));
                }
                ticks[n].1.extend(value);
            }
        }
        let shown = |(at, values): (f64, Vec<f64>)| (format!("{at:.3}"), Interval::of(&values));
        let seen = ticks.into_iter().filter(|(_, values)| !values.is_empty());
        course.extend(seen.map(shown));
    }
    course
}

/// One curve for each value of `by`, or one alone.
fn by_axis(
    of: &Figure,
    over: &str,
    by: Option<&str>,
    scope: &Scope,
    points: &[Point],
) -> Vec<OurCurve> {
    let curves = match by {
        None => vec![None],
        Some(axis) => {
            let values = scope.values(axis, None).unwrap_or_default();
            values
                .into_iter()
                .map(|value| Some((axis, value)))
                .collect()
        }
    };
    let xs = scope.values(over, None).unwrap_or_default();
    let curve = |by: Option<(&str, String)>| {
        let base = match &by {
            Some((axis, value)) => Context::default().with(axis, value),
            None => Context::default(),
        };
        let at = |x: &String| {
            let value = over_trials(of, &base.with(over, x), scope, points)?;
            Some((x.clone(), value))
        };
        OurCurve {
            name: by.map_or_else(|| of.to_string(), |(_, value)| value),
            points: xs.iter().filter_map(at).collect(),
        }
    };
    curves.into_iter().map(curve).collect()
}

/// A figure at a place over the trials that have it.
fn over_trials(of: &Figure, at: &Context, scope: &Scope, points: &[Point]) -> Option<Interval> {
    let place = scope.place(of, at).ok()?;
    let point = points.iter().find(|point| point.at == place.at)?;
    let each = point.trials.iter();
    let values: Vec<f64> = each
        .filter_map(|trial| of_window(&of.name, &place, &Whole::of(trial, &place)).ok())
        .collect();
    (!values.is_empty()).then(|| Interval::of(&values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::reproduce::{Axis, PointTrial};

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

    #[test]
    fn a_figure_over_an_axis_has_its_interval_and_no_point_where_nothing_was_seen() {
        let scope = Scope {
            axes: vec![Axis {
                name: "n".to_owned(),
                values: ["1", "2", "4"].map(str::to_owned).to_vec(),
            }],
            figures: vec!["x".to_owned()],
            ..Scope::default()
        };
        let chart = ChartAsked {
            figure: "x".to_owned(),
            over: "n".to_owned(),
            ..ChartAsked::default()
        };
        let points = [
            point("1", &[1.0, 3.0, 2.0]),
            point("2", &[]),
            point("4", &[7.0]),
        ];
        let found = curves(&chart, &scope, &points);
        let told: Vec<(&str, f64, f64)> = found[0]
            .points
            .iter()
            .map(|(at, value)| (at.as_str(), value.median, value.max))
            .collect();
        assert_eq!(told, [("1", 2.0, 3.0), ("4", 7.0, 7.0)]);
    }
}
