//! Evaluates expressions, trial by trial.

pub(crate) mod series;

pub use series::FIGURES;

use crate::expr::{Aggregate, Compare, Expect, Expr, Extreme, Figure, Join};
use crate::scope::{Context, Place, Scope};
use q2c_result::reproduce::{CpuUse, FailedTrial, Missing, Point, WhyNot};
use q2c_stats::mean;
use series::{Whole, of_whole_phase, of_window, over_time};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub trial: u32,
    pub left: f64,
    /// The middle where it has a tolerance.
    pub right: f64,
    pub side: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Below,
    Inside,
    Above,
}

/// A window of a figure whose job sleeps by a rule with windows of time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RuleWindow {
    pub figure: String,
    /// The rule's period, seconds.
    pub period_s: f64,
    /// Length of the figure's window, or of the phase where it is of the whole, seconds.
    pub seconds: f64,
    /// The part of it in which the rule has only begun, seconds.
    pub starting_s: f64,
}

/// Periods in which a rule begins: in the first it knows nothing, and in the second only the times
/// of I/Os that nothing let sleep.
const STARTING: f64 = 2.0;

impl RuleWindow {
    /// Periods in the window in which the rule is at work.
    pub fn periods(&self) -> f64 {
        (self.seconds - self.starting_s) / self.period_s
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Evaluated {
    pub samples: Vec<Sample>,
    /// The first figure that no trial has, or that the first trial without it lacks.
    pub missing: Option<Missing>,
    /// The trials that ran and lack one of its figures.
    pub left_out: Vec<FailedTrial>,
    /// The window that is shortest beside the period of its job's sleep rule.
    pub shortest: Option<RuleWindow>,
    pub predicted: bool,
    /// The largest lack of CPUs, or else the largest use, of the phases that it looks at.
    pub cpus: Option<CpuUse>,
}

pub(crate) fn evaluate(
    expect: &Expect,
    scope: &Scope,
    context: &Context,
    points: &[Point],
) -> Evaluated {
    let trials: BTreeSet<u32> = points.iter().flat_map(ran).collect();
    let ran_any = !trials.is_empty();
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
            Ok(sample) => found.samples.push(sample),
            Err(missing) => {
                let left_out = ran_any.then(|| left_out(trial, &missing, points));
                found.left_out.extend(left_out);
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

fn ran(point: &Point) -> impl Iterator<Item = u32> {
    let well = point.trials.iter().map(|trial| trial.trial);
    well.chain(point.failed.iter().map(|failed| failed.trial))
}

/// A trial that lacks a figure, with the reason that it gave itself where it failed.
fn left_out(trial: u32, missing: &Missing, points: &[Point]) -> FailedTrial {
    let point = points.iter().find(|point| point.at == missing.at);
    let mut failed = point.into_iter().flat_map(|point| &point.failed);
    let own = failed.find(|failed| failed.trial == trial).cloned();
    own.unwrap_or_else(|| FailedTrial {
        trial,
        why: WhyNot::Told(missing.why.clone()),
    })
}

struct Look<'a> {
    scope: &'a Scope,
    points: &'a [Point],
    trial: u32,
    /// The whole comparison, for messages.
    text: &'a str,
    found: &'a mut Evaluated,
}

impl Look<'_> {
    fn expect(&mut self, expect: &Expect, context: &Context) -> Result<Sample, Missing> {
        let left = self.value(&expect.left, context)?;
        let right = self.value(expect.right(), context)?;
        let side = match &expect.compare {
            Compare::Above(_) => side(left > right, Side::Below),
            Compare::AtLeast(_) => side(left >= right, Side::Below),
            Compare::Below(_) => side(left < right, Side::Above),
            Compare::AtMost(_) => side(left <= right, Side::Above),
            Compare::Near(_, within) => {
                let (away, within) = (left - right, self.value(within, context)?);
                match away {
                    _ if away.abs() <= within => Side::Inside,
                    _ if away < 0.0 => Side::Below,
                    _ => Side::Above,
                }
            }
        };
        Ok(Sample {
            trial: self.trial,
            left,
            right,
            side,
        })
    }

    /// One that is no finite number has no side, so the comparison lacks it.
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
        let more = point.cpus.get(place.phase).copied();
        let all = self.found.cpus.into_iter().chain(more);
        self.found.cpus = all.max_by_key(|&of| lack(of));
        let trial = point.trials.iter().find(|trial| trial.trial == self.trial);
        let trial = trial.ok_or_else(|| missing(absent(point, self.trial)))?;
        let whole = Whole::of(trial, place);
        self.note_window(figure, place, &whole);
        read(whole).map_err(missing)
    }

    fn note_window(&mut self, figure: &Figure, place: &Place, whole: &Whole<'_>) {
        let mut place = place.clone();
        place.window = place.window.filter(|_| !of_whole_phase(&figure.name));
        let seconds = self.scope.seconds(&place);
        let own = whole.rule_period_s().zip(seconds);
        let own = own.map(|(period_s, seconds)| RuleWindow {
            figure: figure.to_string(),
            period_s,
            seconds,
            starting_s: starting(&place, period_s).min(seconds),
        });
        let all = self.found.shortest.take().into_iter().chain(own);
        self.found.shortest = all.min_by(|a, b| a.periods().total_cmp(&b.periods()));
    }
}

/// Seconds of the window in which a rule begins: with the first phase of a trial alone.
fn starting(place: &Place, period_s: f64) -> f64 {
    let from_s = place.window.as_ref().map_or(0.0, |window| window.from_s);
    match place.phase {
        0 => (STARTING * period_s - from_s).max(0.0),
        _ => 0.0,
    }
}

fn absent(point: &Point, trial: u32) -> String {
    let own = point.failed.iter().find(|failed| failed.trial == trial);
    match own.map(|failed| &failed.why) {
        Some(WhyNot::Told(why)) => why.clone(),
        Some(WhyNot::Invalid(_)) => "its trials cannot be compared with others".to_owned(),
        None if !point.trials.is_empty() => "the trial was not run there".to_owned(),
        None => {
            let why = point.failures.first().cloned();
            why.unwrap_or_else(|| "no trial was finished".to_owned())
        }
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
