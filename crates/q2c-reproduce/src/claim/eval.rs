//! Evaluates expressions, trial by trial.

use crate::claim::expr::{Aggregate, Compare, Expect, Expr, Extreme, FigureReference, Join};
use crate::claim::scope::{ClaimContext, ClaimScope, FigurePlace};
use q2c_model::stats::{mean, median, sorted};
use q2c_result::reproduce::{
    CpuUse, FailedTrial, JobSeries, MissingFigure, PhaseTrial, Point, PointTrial, Tick,
    TrialFailure,
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClaimSample {
    pub trial: u32,
    pub left: f64,
    /// The right side, or the middle if the comparison has a tolerance.
    pub right: f64,
    pub side: ClaimSide,
}

/// Where the left side of a comparison lies: inside the expected range, or outside on one side.
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
    /// Of the evaluated phases, the one that lacks most CPUs; on a tie, the one that needs most.
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
        match evaluator.sample(expect, context) {
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
    let finished = point.trials.iter().map(|trial| trial.trial);
    finished.chain(point.failed.iter().map(|failed| failed.trial))
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
    fn sample(
        &mut self,
        expect: &Expect,
        context: &ClaimContext,
    ) -> Result<ClaimSample, MissingFigure> {
        let left = self.value(&expect.left, context)?;
        let right = self.value(&expect.right, context)?;
        let within = expect.within.as_ref();
        let tolerance = within.map_or(Ok(0.0), |within| self.value(within, context))?;
        let inside = match expect.compare {
            Compare::Above => left > right,
            Compare::AtLeast => left >= right,
            Compare::Below => left < right,
            Compare::AtMost => left <= right,
            Compare::Near => (left - right).abs() <= tolerance,
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
        let value = self.raw_value(expr, context)?;
        let divides = || "a part of it divides by 0".to_owned();
        let finite = value.is_finite().then_some(value);
        finite.ok_or_else(|| missing(&self.text, &context.at, divides()))
    }

    fn raw_value(&mut self, expr: &Expr, context: &ClaimContext) -> Result<f64, MissingFigure> {
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
                    Join::Div => one / other,
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
        let rank = |cpu_use: &CpuUse| {
            let lacking = i64::from(cpu_use.needed) - i64::from(cpu_use.present);
            (lacking, cpu_use.needed)
        };
        let cpus = point.cpus.get(place.phase).copied();
        self.result.cpus = self.result.cpus.into_iter().chain(cpus).max_by_key(rank);
        let trial = point.trials.iter().find(|trial| trial.trial == self.trial);
        let trial = trial.ok_or_else(|| missing(missing_trial_reason(point, self.trial)))?;
        let data = TrialPhase::from_trial(trial, place);
        self.note_rule(figure, place, &data);
        let Some(extreme) = extreme else {
            return figure_at(&figure.name, place, &data).map_err(missing);
        };
        let values = interval_figures(&figure.name, place, &data).map_err(missing)?;
        let values = values.into_iter().filter_map(|(_, value)| value);
        Ok(match extreme {
            Extreme::Highest => values.fold(f64::NEG_INFINITY, f64::max),
            Extreme::Lowest => values.fold(f64::INFINITY, f64::min),
        })
    }

    fn note_rule(&mut self, figure: &FigureReference, place: &FigurePlace, data: &TrialPhase<'_>) {
        let mut place = place.clone();
        place.window = place.window.filter(|_| !covers_whole_phase(&figure.name));
        let seconds = self.scope.seconds(&place);
        let rule_window = data.rule_period_s().zip(seconds);
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

/// Aggregates pairs of an axis value and the figure there.
fn aggregate(of: Aggregate, pairs: &[(f64, f64)]) -> f64 {
    let values = || pairs.iter().map(|(_, value)| *value);
    let max = values().fold(f64::NEG_INFINITY, f64::max);
    let min = values().fold(f64::INFINITY, f64::min);
    let mean = || mean(&values().collect::<Vec<_>>());
    let axis_value = |wanted: f64| {
        let pair = pairs.iter().find(|(_, value)| *value == wanted);
        pair.map_or(f64::NAN, |(axis_value, _)| *axis_value)
    };
    match of {
        Aggregate::Min => min,
        Aggregate::Max => max,
        Aggregate::Mean => mean(),
        Aggregate::Spread => (max - min) / mean(),
        Aggregate::ArgMax => axis_value(max),
        Aggregate::ArgMin => axis_value(min),
    }
}

/// The figures that jobs have in every phase, with their meaning and unit.
pub(crate) const FIGURES: [&str; 9] = [
    "iops",              // I/Os per second
    "miss_rate",         // misses over the I/Os that a sleep rule handled, 0..1
    "effective_sleep",   // sum of sleeps asked over the I/Os that a sleep rule handled, ns
    "cpu",               // CPU time of the job's threads over time, per thread, 0..1
    "latency",           // mean U2C, ns
    "p50",               // median over the intervals of each interval's median of U2C, ns
    "p99",               // median over the intervals of each interval's 99th percentile of U2C, ns
    "kiops_per_core",    // thousand I/Os per second and CPU that was busy for the job, whole phase
    "interrupts_per_io", // interrupts of the target's device over the I/Os of all jobs, whole phase
];

/// This many first [`FIGURES`] are computed over a window; the others over the whole phase.
const WINDOWED_FIGURES: usize = 7;

pub(crate) struct TrialPhase<'a> {
    trial: &'a PointTrial,
    phase: Option<&'a PhaseTrial>,
    job: Option<&'a JobSeries>,
}

impl<'a> TrialPhase<'a> {
    pub(crate) fn from_trial(trial: &'a PointTrial, place: &FigurePlace) -> Self {
        let phase = trial.phases.get(place.phase);
        let job = phase.and_then(|phase| phase.jobs.iter().find(|job| job.job == place.job));
        TrialPhase { trial, phase, job }
    }

    /// The shortest time between two changes of the sleep that the job's rule makes, seconds.
    pub(crate) fn rule_period_s(&self) -> Option<f64> {
        self.job.and_then(|job| job.rule_period_s)
    }

    /// The intervals whose middle lies in the place's window.
    fn ticks(&self, place: &FigurePlace) -> Result<Vec<&'a Tick>, String> {
        let idle = || match place.job.as_str() {
            "" => "the study gave none here".to_owned(),
            job => format!("the job {job} did no I/O in this phase"),
        };
        let job = self.job.ok_or_else(idle)?;
        let inside = |tick: &&Tick| {
            let middle = tick.end_s - tick.seconds / 2.0;
            let window = place.window.as_ref();
            window.is_none_or(|w| middle >= w.from_s && w.to_s.is_none_or(|to| middle < to))
        };
        let ticks: Vec<&Tick> = job.ticks.iter().filter(inside).collect();
        if ticks.is_empty() {
            Err(format!(
                "none of the {} intervals of its series lies in the window; a longer window, or a \
                 larger --scale, has more",
                job.ticks.len()
            ))
        } else {
            Ok(ticks)
        }
    }
}

/// True if a figure covers the whole phase, whatever window a claim names.
pub(crate) fn covers_whole_phase(name: &str) -> bool {
    !FIGURES[..WINDOWED_FIGURES].contains(&name)
}

pub(crate) fn figure_at(
    name: &str,
    place: &FigurePlace,
    data: &TrialPhase<'_>,
) -> Result<f64, String> {
    if let Some(value) = data.trial.figures.get(name) {
        return Ok(*value);
    }
    if let Some(value) = data.job.and_then(|job| job.figures.get(name)) {
        return Ok(*value);
    }
    match name {
        "kiops_per_core" => per_core(data, place),
        "interrupts_per_io" => interrupts_per_io(data),
        _ => figure_over_ticks(name, &data.ticks(place)?)
            .map_err(|reason| unseen_reason(name, data).unwrap_or(reason)),
    }
}

fn unseen_reason(name: &str, data: &TrialPhase<'_>) -> Option<String> {
    let needs_sleeps = ["miss_rate", "effective_sleep"].contains(&name);
    let reason = data.job?.sleeps_unseen.as_ref().filter(|_| needs_sleeps)?;
    let text = format!("the kernel's sleeps could not be watched: {reason}");
    Some(text)
}

/// Each interval's end, seconds since the phase's start, and its figure. Fails if none has one.
pub(crate) fn interval_figures(
    name: &str,
    place: &FigurePlace,
    data: &TrialPhase<'_>,
) -> Result<Vec<(f64, Option<f64>)>, String> {
    let ticks = data.ticks(place)?;
    let value = |tick: &&Tick| (tick.end_s, figure_over_ticks(name, &[*tick]).ok());
    let values: Vec<(f64, Option<f64>)> = ticks.iter().map(value).collect();
    if values.iter().any(|(_, value)| value.is_some()) {
        Ok(values)
    } else {
        figure_at(name, place, data).map(|_| values)
    }
}

fn figure_over_ticks(name: &str, ticks: &[&Tick]) -> Result<f64, String> {
    let seconds: f64 = ticks.iter().map(|tick| tick.seconds).sum();
    let mean = |weight: fn(&Tick) -> f64, value: fn(&Tick) -> f64| {
        let sum: f64 = ticks.iter().map(|tick| weight(tick)).sum();
        let weighted: f64 = ticks.iter().map(|tick| weight(tick) * value(tick)).sum();
        (sum > 0.0).then(|| weighted / sum)
    };
    let median = |value: fn(&Tick) -> f64| {
        let busy = ticks.iter().filter(|tick| tick.ios > 0.0);
        let values = sorted(&busy.map(|tick| value(tick)).collect::<Vec<_>>());
        (!values.is_empty()).then(|| median(&values))
    };
    let figure = match name {
        "iops" => Some(ticks.iter().map(|tick| tick.ios).sum::<f64>() / seconds),
        "cpu" => mean(|tick| tick.seconds, |tick| tick.rates.cpu_pct / 100.0),
        "miss_rate" => mean(|tick| tick.handled, |tick| tick.rates.miss_rate),
        "effective_sleep" => mean(|tick| tick.handled, |tick| tick.rates.effective_sleep_ns),
        "latency" => mean(|tick| tick.ios, |tick| tick.mean_ns),
        "p50" => median(|tick| tick.p50_ns),
        "p99" => median(|tick| tick.p99_ns),
        _ => return Err(no_figure_reason(name)),
    };
    figure.ok_or_else(|| match name {
        "miss_rate" | "effective_sleep" => "no sleep rule handled an I/O".to_owned(),
        _ => "no I/O was done".to_owned(),
    })
}

fn no_figure_reason(name: &str) -> String {
    match name {
        "queue_spread" => "no two hardware queues were seen".to_owned(),
        "request_waits" => {
            "sleeps for a request could not be counted here; that takes kprobes and root".to_owned()
        }
        _ => format!("this study has no figure `{name}`"),
    }
}

fn per_core(data: &TrialPhase<'_>, place: &FigurePlace) -> Result<f64, String> {
    let busy = data.job.and_then(|job| job.busy_cpus);
    let busy = busy.ok_or("the machine's busy CPUs could not be read")?;
    let whole_phase = FigurePlace {
        window: None,
        ..place.clone()
    };
    Ok(figure_over_ticks("iops", &data.ticks(&whole_phase)?)? / 1e3 / busy)
}

fn interrupts_per_io(data: &TrialPhase<'_>) -> Result<f64, String> {
    let unread = "the device's interrupts could not be read";
    let phase = data.phase.ok_or(unread)?;
    let count = phase.interrupts.ok_or(unread)? as f64;
    let ticks = phase.jobs.iter().flat_map(|job| &job.ticks);
    Ok(count / ticks.map(|tick| tick.ios).sum::<f64>())
}

#[cfg(test)]
mod tests;
