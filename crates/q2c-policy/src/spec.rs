//! A rule with its parameters, as users write it: `mean:50%,100ms` or `mean:ratio=50%,period=100ms`.

mod error;
mod parse;

pub use error::{SpecError, SpecErrorKind};

use crate::Lane;
use crate::form::Form;
use crate::registry::{Param, Rule};
use std::fmt;
use std::str::FromStr;

/// A rule and a value for each of its parameters.
///
/// Text form: the rule's name, then after a colon its parameters, separated by commas, as `name=value` in any order or as
/// values alone in the order of [`Rule::params`]; what is left out has its default. [`Display`](fmt::Display) gives the full form with every
/// name, which parses back to an equal value.
#[derive(Clone)]
pub struct PolicySpec {
    rule: &'static Rule,
    /// One per `rule.params`, in that order, each within its range.
    values: Vec<f64>,
}

impl PolicySpec {
    /// The rule.
    #[must_use]
    pub fn rule(&self) -> &'static Rule {
        self.rule
    }

    /// Parameters by name: shares as fractions, durations in nanoseconds, switches as 0 or 1.
    #[must_use]
    pub fn params(&self) -> Vec<(&'static str, f64)> {
        let names = self.rule.params.iter().map(|p| p.name);
        names.zip(self.values.iter().copied()).collect()
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
        Ok(changed)
    }

    /// One lane per submitting thread, all for one device. A rule of scope per device shares its state among the lanes
    /// of one call; call it once for each device.
    #[must_use]
    pub fn build(&self, lanes: usize) -> Vec<Box<dyn Lane>> {
        (self.rule.build)(self, lanes)
    }

    /// The parts of the rule with these parameters, when it is made of known ones.
    #[must_use]
    pub fn form(&self) -> Form {
        (self.rule.form)(self)
    }

    /// The value of a parameter the rule declares.
    pub(crate) fn value(&self, name: &str) -> f64 {
        let found = self.rule.params.iter().position(|p| p.name == name);
        self.values[found.expect("a rule reads only parameters it declares")]
    }

    /// The same as whole nanoseconds.
    pub(crate) fn nanos(&self, name: &str) -> u64 {
        self.value(name) as u64
    }
}

/// `value`, if the parameter allows it. A duration is whole nanoseconds.
fn within(param: &Param, value: f64) -> Result<f64, SpecErrorKind> {
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
            text += &format!("{before}{}={}", param.name, param.kind.show(value));
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
        self.rule.name == other.rule.name && self.values == other.values
    }
}
