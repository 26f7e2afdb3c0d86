//! A rule with its parameters, as users write it: `mean:50%,100ms` or `mean:ratio=50%,period=100ms`.

mod error;
mod parse;
mod range;

pub use error::{SpecError, SpecErrorKind};
pub use range::{Family, FamilyError};

use crate::formula::{Formula, Tally, Written};
use crate::registry::{Kind, Param, Rule, Scope};
use crate::{Lane, rules, shared};
use q2c_model::{CpuId, Nanos};
use std::fmt;
use std::str::FromStr;

/// A rule and a value for each of its parameters.
///
/// Text form: the rule's name, then after a colon its parameters, separated by commas, as `name=value` in any order or as
/// values alone in the order of [`Rule::params`]; what is left out has its default. A [formula](Kind::Formula) takes the rest of
/// the text, commas included, so it stands last: `rule:period=5ms,sleep=max(min - 4us, 0)`. Before it every parameter has its name,
/// and its own may be left out. [`Display`](fmt::Display) gives the full form with every name, which parses back to an equal value.
#[derive(Clone)]
pub struct PolicySpec {
    rule: &'static Rule,
    /// One per `rule.params`, in that order, each within its range; [`NO_NUMBER`] for a formula.
    values: Vec<f64>,
    /// The formula, of a rule that takes one.
    written: Option<Written>,
}

/// Stands in the place of a formula's value.
const NO_NUMBER: f64 = 0.0;

impl PolicySpec {
    /// The rule.
    #[must_use]
    pub fn rule(&self) -> &'static Rule {
        self.rule
    }

    /// The rule that a user writes: `formula` after windows of at least `period`.
    ///
    /// # Errors
    /// When `period` is outside its range.
    pub fn of_formula(formula: Formula, period: Nanos) -> Result<Self, SpecError> {
        let spec = PolicySpec {
            rule: &rules::rule::RULE,
            values: vec![NO_NUMBER; rules::rule::RULE.params.len()],
            written: Some(Written::new(formula)),
        };
        spec.with("period", period.0 as f64)
    }

    /// Parameters that are numbers, by name: shares as fractions, durations in nanoseconds, sizes in bytes, switches as 0 or 1.
    #[must_use]
    pub fn params(&self) -> Vec<(&'static str, f64)> {
        let params = self.rule.params.iter().zip(&self.values);
        let numbers = params.filter(|(param, _)| param.kind != Kind::Formula);
        numbers.map(|(param, &value)| (param.name, value)).collect()
    }

    /// The formula, of a rule that takes one.
    #[must_use]
    pub fn formula(&self) -> Option<&Formula> {
        self.written.as_ref().map(Written::formula)
    }

    /// How the windows of this specification's lanes, and of its clones', ended so far; `None` for a rule without a formula.
    #[must_use]
    pub fn tally(&self) -> Option<Tally> {
        self.written.as_ref().map(Written::tally)
    }

    /// The same rule with one parameter changed, as sweeps do; `value` in the unit of [`PolicySpec::params`].
    ///
    /// # Errors
    /// When the rule has no such parameter or `value` is outside its range.
    pub fn with(&self, name: &str, value: f64) -> Result<Self, SpecError> {
        let fail = |kind| SpecError::new(format!("{name}={value}"), 0, kind);
        let index = parse::index_of(self.rule, name).map_err(fail)?;
        let mut changed = self.clone();
        changed.values[index] = within(&self.rule.params[index], value).map_err(fail)?;
        changed.written = self.written.as_ref().map(Written::anew);
        Ok(changed)
    }

    /// One lane per submitting thread, all for one device and each thread on a CPU of its own. A rule of scope per device shares
    /// its state among the lanes of one call; call it once for each device.
    #[must_use]
    pub fn build(&self, lanes: usize) -> Vec<Box<dyn Lane>> {
        (self.rule.build)(self, lanes)
    }

    /// The same for threads of which each is bound to a CPU, several perhaps to the same: those share the state of a rule of
    /// scope per CPU.
    #[must_use]
    pub fn build_on(&self, cpus: &[CpuId]) -> Vec<Box<dyn Lane>> {
        match self.rule.scope {
            Scope::PerCpu => shared::by_cpu(cpus, |lanes| self.build(lanes)),
            Scope::PerLane | Scope::PerDevice => self.build(cpus.len()),
        }
    }

    /// The formula of a rule that takes one.
    pub(crate) fn written(&self) -> &Written {
        let written = self.written.as_ref();
        written.expect("a rule asks for a formula only when it declares one")
    }

    /// The value of a parameter the rule declares.
    pub(crate) fn value(&self, name: &str) -> f64 {
        let found = self.rule.params.iter().position(|p| p.name == name);
        self.values[found.expect("a rule reads only parameters it declares")]
    }

    /// The same as whole nanoseconds.
    pub(crate) fn nanos(&self, name: &str) -> u64 {
        self.whole(name)
    }

    /// The same of a parameter that is a whole number of something.
    pub(crate) fn whole(&self, name: &str) -> u64 {
        self.value(name) as u64
    }
}

/// `value`, if the parameter allows it. A duration is whole nanoseconds.
fn within(param: &Param, value: f64) -> Result<f64, SpecErrorKind> {
    if param.kind == Kind::Formula {
        let reason = "expected a formula, found a number".to_owned();
        let param = param.name;
        return Err(SpecErrorKind::BadValue { param, reason });
    }
    let value = param.kind.quantised(value);
    if (param.min..=param.max).contains(&value) {
        return Ok(value);
    }
    Err(SpecErrorKind::OutOfRange {
        param: param.name,
        range: param.range(),
        found: param.kind.show(value),
    })
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
                (Kind::Formula, Some(formula)) => formula.to_string(),
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
        self.rule.name == other.rule.name
            && self.values == other.values
            && self.formula() == other.formula()
    }
}
