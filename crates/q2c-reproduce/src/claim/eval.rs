//! Evaluates expressions, trial by trial.

pub(crate) mod series;

pub(crate) use series::FIGURES;

use crate::claim::expr::{Aggregate, Compare, Expect, Expr, Extreme, FigureReference, Join};
use crate::claim::scope::{ClaimContext, ClaimScope, FigurePlace};
use q2c_model::stats::mean;
use q2c_result::reproduce::{CpuUse, FailedTrial, MissingFigure, Point, TrialFailure};
use series::{WholePhase, covers_whole_phase, figure_at, interval_figures};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClaimSample {
    pub trial: u32,
    pub left: f64,
    /// The right side, or the middle if the comparison has a tolerance.
    pub right: f64,
    pub side: ClaimSide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimSide {
    Below,
    Inside,
    Above,
}

/// The window of a figure whose job uses a sleep rule with windows of time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RuleWindow {
    pub figure: String,
    /// The rule's period, seconds.
    pub period_s: f64,
    /// Length of the figure's window, or of the phase if the figure covers all of it, seconds.
    pub seconds: f64,
    /// Part of the window in which the rule is still starting, seconds.
    pub starting_s: f64,
}

/// Periods that a rule needs to start. In the first it knows nothing; in the second it knows only
/// times of I/Os that did not sleep.
const STARTING_PERIODS: f64 = 2.0;

impl RuleWindow {
    /// Number of periods in the window after the rule has started.
    pub(crate) fn periods(&self) -> f64 {
        (self.seconds - self.starting_s) / self.period_s
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Evaluated {
    pub samples: Vec<ClaimSample>,
    /// The first figure that no trial has; else the one that the first incomplete trial lacks.
    pub missing: Option<MissingFigure>,
    /// The trials that ran but lack one of the figures.
    pub left_out: Vec<FailedTrial>,
    /// The window that is shortest relative to the period of its job's sleep rule.
    pub shortest: Option<RuleWindow>,
    pub predicted: bool,
    /// The phase with the largest lack of CPUs, else the largest use, of the phases looked at.
    pub cpus: Option<CpuUse>,
}

pub(crate) fn evaluate(
    expect: &Expect,
    scope: &ClaimScope,
    context: &ClaimContext,
    points: &[Point],
) -> Evaluated {
    let mut trials: BTreeSet<u32> = points.iter().flat_map(trial_numbers).collect();
    let ran_any = !trials.is_empty();
    let mut evaluated = Evaluated::default();
    if !ran_any {
        // Trial 0 is evaluated even if it did not run, so that its absence gets a reason.
        trials.insert(0);
    }
    for trial in trials {
        let mut evaluator = TrialEvaluator {
            scope,
            points,
            trial,
            text: &expect.text,
            result: &mut evaluated,
        };
        match evaluator.expect(expect, context) {
            Ok(sample) => evaluated.samples.push(sample),
            Err(missing) => {
                let left_out = ran_any.then(|| left_out_trial(trial, &missing, points));
                evaluated.left_out.extend(left_out);
                evaluated.missing.get_or_insert(missing);
            }
        }
    }
    if !evaluated.samples.is_empty() {
        // An incomplete trial does not prevent a verdict from the others.
        evaluated.missing = None;
    }
    evaluated
}

fn trial_numbers(point: &Point) -> impl Iterator<Item = u32> {
    let well = point.trials.iter().map(|trial| trial.trial);
    well.chain(point.failed.iter().map(|failed| failed.trial))
}

/// A trial that lacks a figure, with the trial's own reason if it failed.
fn left_out_trial(trial: u32, missing: &MissingFigure, points: &[Point]) -> FailedTrial {
    let point = points.iter().find(|point| point.at == missing.at);
    let mut failed = point.into_iter().flat_map(|point| &point.failed);
    let failure = failed.find(|failed| failed.trial == trial).cloned();
    failure.unwrap_or_else(|| FailedTrial {
        trial,
        why: TrialFailure::Told(missing.why.clone()),
    })
}

struct TrialEvaluator<'a> {
    scope: &'a ClaimScope,
    points: &'a [Point],
    trial: u32,
    /// The text of the whole comparison, for messages.
    text: &'a str,
    result: &'a mut Evaluated,
}

impl TrialEvaluator<'_> {
    fn expect(
        &mut self,
        expect: &Expect,
        context: &ClaimContext,
    ) -> Result<ClaimSample, MissingFigure> {
        let left = self.value(&expect.left, context)?;
        let right = self.value(&expect.right, context)?;
        let within = expect.within.as_ref();
        let within = within.map_or(Ok(0.0), |within| self.value(within, context))?;
        let inside = match expect.compare {
            Compare::Above => left > right,
            Compare::AtLeast => left >= right,
            Compare::Below => left < right,
            Compare::AtMost => left <= right,
            Compare::Near => (left - right).abs() <= within,
        };
        let side = match expect.compare {
            _ if inside => ClaimSide::Inside,
            Compare::Above | Compare::AtLeast => ClaimSide::Below,
            Compare::Near if left < right => ClaimSide::Below,
            Compare::Near | Compare::Below | Compare::AtMost => ClaimSide::Above,
        };
        Ok(ClaimSample {
            trial: self.trial,
            left,
            right,
            side,
        })
    }

    /// A value that is not a finite number cannot be compared, so it counts as missing.
    fn value(&mut self, expr: &Expr, context: &ClaimContext) -> Result<f64, MissingFigure> {
        let value = self.any_value(expr, context)?;
        let divides = || "a part of it divides by 0".to_owned();
        let finite = value.is_finite().then_some(value);
        finite.ok_or_else(|| missing(&self.text, &context.at, divides()))
    }

    fn any_value(&mut self, expr: &Expr, context: &ClaimContext) -> Result<f64, MissingFigure> {
        match expr {
            Expr::Number(number) => Ok(*number),
            Expr::Figure(figure) => self.figure(figure, None, context),
            Expr::OverTime(extreme, figure) => self.figure(figure, Some(*extreme), context),
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
                let values = values.map_err(|reason| missing(axis, &context.at, reason))?;
                let mut pairs = Vec::with_capacity(values.len());
                for value in values {
                    let figure = self.value(each, &context.with(axis, &value))?;
                    pairs.push((value.parse().unwrap_or(f64::NAN), figure));
                }
                Ok(aggregate(*of, &pairs))
            }
        }
    }

    /// A figure, or the value of its highest or lowest interval.
    fn figure(
        &mut self,
        figure: &FigureReference,
        extreme: Option<Extreme>,
        context: &ClaimContext,
    ) -> Result<f64, MissingFigure> {
        let place = self.scope.place(figure, context);
        let place = &place.map_err(|reason| missing(figure, &context.at, reason))?;
        let missing = |reason: String| missing(figure, &place.at, reason);
        let point = self.points.iter().find(|point| point.at == place.at);
        let point = point.ok_or_else(|| missing("the point was not run".to_owned()))?;
        self.result.predicted |= point.predicted;
        let lack = |cpu_use: &CpuUse| {
            let lacking = i64::from(cpu_use.needed) - i64::from(cpu_use.present);
            (lacking, cpu_use.needed)
        };
        let more = point.cpus.get(place.phase).copied();
        self.result.cpus = self.result.cpus.into_iter().chain(more).max_by_key(lack);
        let trial = point.trials.iter().find(|trial| trial.trial == self.trial);
        let trial = trial.ok_or_else(|| missing(missing_trial_reason(point, self.trial)))?;
        let whole = WholePhase::from_trial(trial, place);
        self.note_rule(figure, place, &whole);
        let Some(extreme) = extreme else {
            return figure_at(&figure.name, place, &whole).map_err(missing);
        };
        let values = interval_figures(&figure.name, place, &whole).map_err(missing)?;
        let values = values.into_iter().filter_map(|(_, value)| value);
        Ok(match extreme {
            Extreme::Highest => values.fold(f64::NEG_INFINITY, f64::max),
            Extreme::Lowest => values.fold(f64::INFINITY, f64::min),
        })
    }

    fn note_rule(&mut self, figure: &FigureReference, place: &FigurePlace, whole: &WholePhase<'_>) {
        let mut place = place.clone();
        place.window = place.window.filter(|_| !covers_whole_phase(&figure.name));
        let seconds = self.scope.seconds(&place);
        let rule_window = whole.rule_period_s().zip(seconds);
        let rule_window = rule_window.map(|(period_s, seconds)| RuleWindow {
            figure: figure.to_string(),
            period_s,
            seconds,
            starting_s: starting_s(&place, period_s).min(seconds),
        });
        let rule_windows = self.result.shortest.take().into_iter().chain(rule_window);
        self.result.shortest = rule_windows.min_by(|a, b| a.periods().total_cmp(&b.periods()));
    }
}

/// Seconds of the window in which a rule is still starting; 0 after the first phase of a trial.
fn starting_s(place: &FigurePlace, period_s: f64) -> f64 {
    let from_s = place.window.as_ref().map_or(0.0, |window| window.from_s);
    match place.phase {
        0 => (STARTING_PERIODS * period_s - from_s).max(0.0),
        _ => 0.0,
    }
}

fn missing_trial_reason(point: &Point, trial: u32) -> String {
    let failure = point.failed.iter().find(|failed| failed.trial == trial);
    let first = point.failures.first();
    let reason = match failure.map(|failed| &failed.why) {
        Some(TrialFailure::Told(reason)) => reason,
        Some(TrialFailure::Invalid(_)) => "its trials cannot be compared with others",
        None if !point.trials.is_empty() => "the trial was not run there",
        None => first.map_or("no trial was finished", String::as_str),
    };
    reason.to_owned()
}

fn missing(figure: &impl ToString, at: &BTreeMap<String, String>, why: String) -> MissingFigure {
    MissingFigure {
        figure: figure.to_string(),
        at: at.clone(),
        why,
    }
}

fn aggregate(of: Aggregate, all: &[(f64, f64)]) -> f64 {
    let values = || all.iter().map(|(_, value)| *value);
    let max = values().fold(f64::NEG_INFINITY, f64::max);
    let min = values().fold(f64::INFINITY, f64::min);
    let mean = || mean(&values().collect::<Vec<_>>());
    let at = |wanted: f64| {
        let pair = all.iter().find(|(_, value)| *value == wanted);
        pair.map_or(f64::NAN, |(at, _)| *at)
    };
    match of {
        Aggregate::Min => min,
        Aggregate::Max => max,
        Aggregate::Mean => mean(),
        Aggregate::Spread => (max - min) / mean(),
        Aggregate::ArgMax => at(max),
        Aggregate::ArgMin => at(min),
    }
}

#[cfg(test)]
mod tests;
