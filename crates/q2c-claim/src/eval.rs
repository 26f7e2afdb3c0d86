//! Evaluates expressions, trial by trial.

pub(crate) mod series;

pub use series::FIGURES;

use crate::expr::{Aggregate, Compare, Expect, Expr, Extreme, Figure, Join};
use crate::scope::{Context, Place, Scope};
use q2c_result::reproduce::{CpuUse, Missing, Point};
use q2c_stats::mean;
use series::{Whole, of_window, over_time};
use std::collections::BTreeSet;

/// An expression in one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Number of the trial.
    pub trial: u32,
    /// The left side.
    pub left: f64,
    /// Where it lies.
    pub side: Side,
}

/// Where a value lies with respect to what a claim expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Below it.
    Below,
    /// Inside.
    Inside,
    /// Above it.
    Above,
}

/// An expression over all trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluated {
    /// The trials that have all its figures.
    pub samples: Vec<Sample>,
    /// The first figure that no trial has, or that the first trial without it lacks.
    pub missing: Option<Missing>,
    /// Whether a model gave one of the figures.
    pub predicted: bool,
    /// The largest lack of CPUs, or else the largest use, of the phases that it looks at.
    pub cpus: Option<CpuUse>,
}

/// Evaluates an expression that was [checked](Scope::check).
#[must_use]
pub fn evaluate(expect: &Expect, scope: &Scope, context: &Context, points: &[Point]) -> Evaluated {
    let trials: BTreeSet<u32> = points
        .iter()
        .flat_map(|point| point.trials.iter().map(|trial| trial.trial))
        .collect();
    let mut found = Evaluated::default();
    // Without any trial the first one is looked for, so that its absence gets its reason.
    let trials = match trials.is_empty() {
        true => BTreeSet::from([0]),
        false => trials,
    };
    for trial in trials {
        let mut look = Look {
            scope,
            points,
            trial,
            text: &expect.text,
            found: &mut found,
        };
        match look.expect(expect, context) {
            Ok((left, side)) => found.samples.push(Sample { trial, left, side }),
            Err(missing) => {
                found.missing.get_or_insert(missing);
            }
        }
    }
    if !found.samples.is_empty() {
        // A trial that was not finished everywhere takes no verdict away from the others.
        found.missing = None;
    }
    found
}

/// One trial, and what is noted of the points that were looked at.
struct Look<'a> {
    scope: &'a Scope,
    points: &'a [Point],
    trial: u32,
    /// The whole comparison, for messages.
    text: &'a str,
    found: &'a mut Evaluated,
}

impl Look<'_> {
    fn expect(&mut self, expect: &Expect, context: &Context) -> Result<(f64, Side), Missing> {
        let left = self.value(&expect.left, context)?;
        let mut right = |expr| self.value(expr, context);
        let side = match &expect.compare {
            Compare::Above(edge) => side(left > right(edge)?, Side::Below),
            Compare::AtLeast(edge) => side(left >= right(edge)?, Side::Below),
            Compare::Below(edge) => side(left < right(edge)?, Side::Above),
            Compare::AtMost(edge) => side(left <= right(edge)?, Side::Above),
            Compare::Near(middle, within) => {
                let (away, within) = (left - right(middle)?, right(within)?);
                match away {
                    _ if away.abs() <= within => Side::Inside,
                    _ if away < 0.0 => Side::Below,
                    _ => Side::Above,
                }
            }
        };
        Ok((left, side))
    }

    /// A part of a comparison. One that is no finite number has no side, so the comparison lacks
    /// it.
    fn value(&mut self, expr: &Expr, context: &Context) -> Result<f64, Missing> {
        let value = self.any_value(expr, context)?;
        match value.is_finite() {
            true => Ok(value),
            false => Err(Missing {
                figure: self.text.to_owned(),
                at: context.at.clone(),
                why: "a part of it divides by 0".to_owned(),
            }),
        }
    }

    fn any_value(&mut self, expr: &Expr, context: &Context) -> Result<f64, Missing> {
        match expr {
            Expr::Number(number) => Ok(*number),
            Expr::Figure(figure) => self.figure(figure, context),
            Expr::OverTime(extreme, figure) => self.extreme(*extreme, figure, context),
            Expr::Minus(inner) => Ok(-self.value(inner, context)?),
            Expr::Join(join, one, other) => {
                let (one, other) = (self.value(one, context)?, self.value(other, context)?);
                Ok(match join {
                    Join::Plus => one + other,
                    Join::Minus => one - other,
                    Join::Times => one * other,
                    Join::By => one / other,
                    Join::Greater => one.max(other),
                })
            }
            Expr::Over {
                of,
                each,
                axis,
                range,
            } => {
                let values = self.scope.values(axis, range.as_ref());
                let values = values.map_err(|why| unknown(axis, context, why))?;
                let mut all = Vec::with_capacity(values.len());
                for value in values {
                    let found = self.value(each, &context.with(axis, &value))?;
                    all.push((value.parse().unwrap_or(f64::NAN), found));
                }
                Ok(aggregate(*of, &all))
            }
        }
    }

    fn place(&self, figure: &Figure, context: &Context) -> Result<Place, Missing> {
        let place = self.scope.place(figure, context);
        place.map_err(|why| unknown(&figure.to_string(), context, why))
    }

    fn figure(&mut self, figure: &Figure, context: &Context) -> Result<f64, Missing> {
        let place = self.place(figure, context)?;
        self.whole(figure, &place, |whole| {
            of_window(&figure.name, &place, &whole)
        })
    }

    fn extreme(
        &mut self,
        extreme: Extreme,
        figure: &Figure,
        context: &Context,
    ) -> Result<f64, Missing> {
        let place = self.place(figure, context)?;
        self.whole(figure, &place, |whole| {
            let values = over_time(&figure.name, &place, &whole)?;
            let values = values.into_iter().filter_map(|(_, value)| value);
            Ok(match extreme {
                Extreme::Highest => values.fold(f64::NEG_INFINITY, f64::max),
                Extreme::Lowest => values.fold(f64::INFINITY, f64::min),
            })
        })
    }

    /// Calls `read` with the trial's part at a place, and notes what is known of the point.
    fn whole(
        &mut self,
        figure: &Figure,
        place: &Place,
        read: impl FnOnce(Whole<'_>) -> Result<f64, String>,
    ) -> Result<f64, Missing> {
        let missing = |why: String| Missing {
            figure: figure.to_string(),
            at: place.at.clone(),
            why,
        };
        let point = self.points.iter().find(|point| point.at == place.at);
        let point = point.ok_or_else(|| missing("the point was not run".to_owned()))?;
        self.found.predicted |= point.predicted;
        let lack = |of: CpuUse| (i64::from(of.needed) - i64::from(of.present), of.needed);
        self.found.cpus = self
            .found
            .cpus
            .into_iter()
            .chain(point.cpus.get(place.phase).copied())
            .max_by_key(|&of| lack(of));
        let trial = point.trials.iter().find(|trial| trial.trial == self.trial);
        let trial = trial.ok_or_else(|| {
            let why = point.failures.first().cloned();
            missing(why.unwrap_or_else(|| "no trial was finished".to_owned()))
        })?;
        read(Whole::of(trial, place)).map_err(missing)
    }
}

fn unknown(figure: &str, context: &Context, why: String) -> Missing {
    Missing {
        figure: figure.to_owned(),
        at: context.at.clone(),
        why,
    }
}

fn side(inside: bool, outside: Side) -> Side {
    match inside {
        true => Side::Inside,
        false => outside,
    }
}

fn aggregate(of: Aggregate, all: &[(f64, f64)]) -> f64 {
    let values = || all.iter().map(|(_, value)| *value);
    let max = values().fold(f64::NEG_INFINITY, f64::max);
    let min = values().fold(f64::INFINITY, f64::min);
    let at = |wanted: f64| {
        all.iter()
            .find(|(_, value)| *value == wanted)
            .map(|(at, _)| *at)
    };
    match of {
        Aggregate::Min => min,
        Aggregate::Max => max,
        Aggregate::Mean => mean(&values().collect::<Vec<_>>()),
        Aggregate::Spread => (max - min) / mean(&values().collect::<Vec<_>>()),
        Aggregate::ArgMax => at(max).unwrap_or(f64::NAN),
        Aggregate::ArgMin => at(min).unwrap_or(f64::NAN),
    }
}

#[cfg(test)]
mod tests;
