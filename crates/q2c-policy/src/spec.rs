//! A rule with its parameters: `mean:50%,100ms` or `mean:ratio=50%,period=100ms`.

mod parse;
mod range;

pub use range::{Family, FamilyError, MAX_CONFIGURATIONS};

use crate::form::Form;
use crate::formula::{CountedFormula, Formula, FormulaCounts, Mistake};
use crate::registry::{Param, ParamKind, Scope, SleepRule};
use crate::rules::{fixed::FixedSleep, pas::Pas};
use crate::windowed::WindowRule;
use crate::{Lane, rules, shared};
use q2c_model::{CpuId, Nanos};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A rule and a value for each of its parameters.
///
/// The text form is the rule's name, then after a colon its parameters, separated by commas:
/// `name=value` in any order, or values alone in the order of [`SleepRule::params`]. An omitted
/// parameter has its default. A [formula](ParamKind::Formula) takes the rest of the text, commas
/// included, so it comes last: `rule:period=5ms,sleep=max(min - 4us, 0)`. Before a formula every
/// parameter needs its name; the formula's own name may be omitted. [`Display`](fmt::Display)
/// writes the full form with every name, which parses back to an equal value.
#[derive(Clone)]
pub struct PolicySpec {
    rule: &'static SleepRule,
    values: Vec<f64>,
    formula: Option<CountedFormula>,
}

const PERIOD: &str = rules::share::PERIOD.name;
/// Takes the place of a formula in `PolicySpec::values`.
const NO_NUMBER: f64 = 0.0;

impl PolicySpec {
    /// The rule, as the registry describes it.
    pub fn rule(&self) -> &'static SleepRule {
        self.rule
    }

    /// A policy of the rule `rule`: `formula` over windows of at least `period`.
    ///
    /// # Errors
    /// Fails if `period` is outside its range.
    pub fn from_formula(formula: Formula, period: Nanos) -> Result<Self, SpecError> {
        PolicySpec::with_window(&rules::rule::RULE, formula, PERIOD, period.0 as f64)
    }

    /// A policy of the rule `recent`: `formula` over the last `ios` I/Os.
    ///
    /// # Errors
    /// Fails if `ios` is outside its range.
    pub fn from_last_ios(formula: Formula, ios: u32) -> Result<Self, SpecError> {
        let name = rules::recent::IOS.name;
        PolicySpec::with_window(&rules::recent::RULE, formula, name, f64::from(ios))
    }

    fn with_window(
        rule: &'static SleepRule,
        formula: Formula,
        length_param: &str,
        length: f64,
    ) -> Result<Self, SpecError> {
        let spec = PolicySpec {
            rule,
            values: vec![NO_NUMBER; rule.params.len()],
            formula: Some(CountedFormula::new(formula)),
        };
        spec.with_param(length_param, length)
    }

    /// Name and value of each numeric parameter: fractions, nanoseconds, bytes, switches as 0 or 1.
    pub fn params(&self) -> Vec<(&'static str, f64)> {
        let params = self.rule.params.iter().zip(&self.values);
        let numbers = params.filter(|(param, _)| param.kind != ParamKind::Formula);
        numbers.map(|(param, &value)| (param.name, value)).collect()
    }

    /// The formula; `None` for a rule without one.
    pub fn formula(&self) -> Option<&Formula> {
        self.formula.as_ref().map(|counted| &*counted.formula)
    }

    /// Counts of the formula's results so far over all lanes and clones; `None` without a formula.
    pub fn tally(&self) -> Option<FormulaCounts> {
        self.formula.as_ref().map(CountedFormula::tally)
    }

    /// The same policy with new counts of its formula's results.
    pub fn with_new_counts(&self) -> Self {
        PolicySpec {
            formula: self.formula.as_ref().map(CountedFormula::with_new_counts),
            ..self.clone()
        }
    }

    /// A copy with one parameter changed, as sweeps need it. `value` has the unit of
    /// [`PolicySpec::params`].
    ///
    /// # Errors
    /// Fails if the rule has no such parameter or `value` is outside its range.
    pub fn with_param(&self, name: &str, value: f64) -> Result<Self, SpecError> {
        let fail = |reason| SpecError::new(format!("{name}={value}"), 0, reason);
        let index = parse::param_index(self.rule, name).map_err(fail)?;
        let mut changed = self.clone();
        changed.values[index] = checked_value(&self.rule.params[index], value).map_err(fail)?;
        changed.formula = self.formula.as_ref().map(CountedFormula::with_new_counts);
        Ok(changed)
    }

    /// One lane per submitting thread, each on a CPU of its own. A rule with scope per device
    /// shares its state among the lanes of one call, so call this once for each device.
    pub fn build(&self, lanes: usize) -> Vec<Box<dyn Lane>> {
        let windowed_lanes = |rule: WindowRule| match self.rule.scope {
            Scope::PerDevice => rule.build(lanes),
            _ => (0..lanes).flat_map(|_| rule.build(1)).collect(),
        };
        let make_lanes = |new: &dyn Fn() -> Box<dyn Lane>| (0..lanes).map(|_| new()).collect();
        match self.form() {
            Form::Fixed(sleep) => make_lanes(&|| Box::new(FixedSleep(sleep))),
            Form::Pas(sensitivity) => make_lanes(&|| Box::new(Pas::new(sensitivity))),
            Form::Opaque(new) => make_lanes(&*new),
            Form::Windowed(form) => windowed_lanes(form.rule()),
            Form::Window(rule) => windowed_lanes(rule),
        }
    }

    /// As [`build`](Self::build) for threads on these CPUs; rules with scope per CPU need them.
    pub fn build_on(&self, cpus: &[CpuId]) -> Vec<Box<dyn Lane>> {
        match self.rule.scope {
            Scope::PerCpu => shared::share_by_cpu(cpus, |lanes| self.build(lanes)),
            Scope::PerLane | Scope::PerDevice => self.build(cpus.len()),
        }
    }

    /// True if the sleep adapts to the device. False for a fixed sleep, for io_uring's estimate,
    /// which never rises again, and for a formula without a statistic.
    pub fn follows_the_device(&self) -> bool {
        let statistics = self.formula().map(|formula| formula.statistics());
        self.rule.follows_device && statistics.is_none_or(|read| !read.is_empty())
    }

    /// The shortest length of a window of time, after which the rule changes its sleep. `None` for
    /// a rule without windows of time, or whose sleep does not depend on them.
    pub fn period(&self) -> Option<Nanos> {
        let period = self.params().into_iter().find(|(key, _)| *key == PERIOD);
        let period = period.filter(|_| self.follows_the_device());
        period.map(|(_, ns)| Nanos(ns as u64))
    }

    /// True if both are the same rule, with the same formula if it has one.
    pub(crate) fn same_rule(&self, other: &Self) -> bool {
        self.rule.name == other.rule.name && self.formula() == other.formula()
    }

    pub(crate) fn counted_formula(&self) -> &CountedFormula {
        let formula = self.formula.as_ref();
        formula.expect("a rule asks for a formula only when it declares one")
    }

    /// The arithmetic of the rule, for an engine that keeps the rule's state itself.
    pub fn form(&self) -> Form {
        (self.rule.form)(self)
    }

    pub(crate) fn value(&self, name: &str) -> f64 {
        let index = self.rule.params.iter().position(|p| p.name == name);
        self.values[index.expect("a rule reads only parameters it declares")]
    }

    pub(crate) fn integer(&self, name: &str) -> u64 {
        self.value(name) as u64
    }
}

/// A text that is not a policy.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("parse sleep rule `{text}` at character {position}: {reason}")]
pub struct SpecError {
    /// The whole text as given.
    pub text: String,
    /// Position of the mistake in the text, in characters, from 1.
    pub position: usize,
    /// The mistake, in words.
    pub reason: String,
}

impl SpecError {
    fn new(text: impl Into<String>, offset: usize, reason: String) -> Self {
        let text = text.into();
        let position = text[..offset].chars().count() + 1;
        SpecError {
            text,
            position,
            reason,
        }
    }

    pub(crate) fn formula(text: impl Into<String>, offset: usize, mistake: Mistake) -> Self {
        Self::new(text, offset + mistake.at, mistake.error)
    }

    /// Two lines that show the position: the text, and a caret below the character.
    pub fn pointer(&self) -> String {
        let blank = |c: char| c.is_whitespace() || c.is_control();
        let text = self.text.replace(blank, " ");
        format!("{text}\n{:>1$}", '^', self.position)
    }
}

/// Returns `value` as the parameter stores it, rounded by its kind, or an error out of its range.
fn checked_value(param: &Param, value: f64) -> Result<f64, String> {
    let name = param.name;
    if param.kind == ParamKind::Formula {
        return Err(format!("{name}: expected a formula, found a number"));
    }
    let value = param.kind.quantise(value);
    if (param.min..=param.max).contains(&value) {
        return Ok(value);
    }
    let shown = param.kind.show(value);
    Err(format!("{name} must be {}, found {shown}", param.range()))
}

impl FromStr for PolicySpec {
    type Err = SpecError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::spec(text)
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.rule.name.to_owned();
        for (i, (param, &value)) in self.rule.params.iter().zip(&self.values).enumerate() {
            let before = if i == 0 { ':' } else { ',' };
            let shown = match (param.kind, self.formula()) {
                (ParamKind::Formula, Some(formula)) => formula.to_string(),
                _ => param.kind.show(value),
            };
            text += &format!("{before}{}={shown}", param.name);
        }
        f.pad(&text)
    }
}

impl fmt::Debug for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PolicySpec({self})")
    }
}

impl PartialEq for PolicySpec {
    fn eq(&self, other: &Self) -> bool {
        self.same_rule(other) && self.values == other.values
    }
}
