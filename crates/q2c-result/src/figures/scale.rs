//! The figures of `q2c scale predict`: each point of the curve.

use super::Better::More;
use super::Columns;
use super::FigureUnit::PerSecond;
use crate::scale::{CurvePoint, ScaleResult};

measures!(ScaleResult, columns(), |result| &result.curve);

fn columns<'a>() -> Columns<&'a CurvePoint> {
    Columns::new(|point: &&CurvePoint| Some(format!("jobs {}", point.jobs)))
        .key("jobs", |point| point.jobs.to_string())
        .key("measured", |point| point.measured.to_string())
        .number("iops", PerSecond, More, |point| point.iops)
        .aside()
        .number("iops_low", PerSecond, More, |point| point.low)
        .number("iops_high", PerSecond, More, |point| point.high)
}
