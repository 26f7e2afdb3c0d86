//! The types of the list of rules: a rule is one file in `rules/` and one line in `rules.rs`.

mod kind;

pub use crate::rules::RULES;
pub use kind::Kind;

use crate::form::Form;
use crate::rules::recent::IOS;
use crate::rules::share::PERIOD;
use crate::{Lane, PolicySpec};

/// The default rule of Linux 4.12 to 6.3 (block/blk-mq.c): half the mean of the last 100 ms.
pub const LINUX: &str = "mean:ratio=50%,period=100ms";
/// The second name of [`LINUX`], read only: every text that q2c writes has the rule itself.
pub(crate) const LINUX_NAME: &str = "linux";

/// The threads whose I/O goes into one state of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every submitting thread has a state of its own.
    PerLane,
    /// All threads that submit on one CPU share a state; see [`PolicySpec::build_on`].
    PerCpu,
    /// All threads that submit to one device share a state.
    PerDevice,
}

/// One sleep rule, as the registry describes it.
pub struct SleepRule {
    /// The name that users type.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// The threads that share a state of the rule.
    pub scope: Scope,
    /// Whether the sleep adapts to the device; other rules are chosen only without such a one.
    pub follows_device: bool,
    /// Whether the rule leaves some I/Os to the interrupt. A simulation of it needs their cost.
    pub interrupts: bool,
    /// The parameters, in the order in which they may be given without a name.
    pub params: &'static [Param],
    /// A complete specification with typical values.
    pub example: &'static str,
    pub(crate) build: fn(&PolicySpec, usize) -> Vec<Box<dyn Lane>>,
    pub(crate) form: fn(&PolicySpec) -> Form,
}

/// What a rule's sleep follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learning {
    /// Nothing: it is always the same.
    Nothing,
    /// Every I/O, without a window.
    EveryIo,
    /// Windows that are stretches of time.
    TimeWindows,
    /// Windows of a number of I/Os.
    IoWindows,
}

impl SleepRule {
    /// What the sleep follows from.
    #[must_use]
    pub fn learning(&self) -> Learning {
        let has = |name: &str| self.params.iter().any(|p| p.name == name);
        let example: Option<PolicySpec> = self.example.parse().ok();
        match example.map(|spec| spec.form()) {
            _ if has(PERIOD.name) => Learning::TimeWindows,
            _ if has(IOS.name) => Learning::IoWindows,
            Some(Form::Fixed(_)) => Learning::Nothing,
            _ => Learning::EveryIo,
        }
    }
}

/// One parameter of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// The name that users type before the `=`.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// How the text is read, and what the number means.
    pub kind: Kind,
    /// The value when the parameter is not given; `None` when it must be given.
    pub default: Option<f64>,
    /// Smallest value allowed, in the unit of `kind`.
    pub min: f64,
    /// Largest value allowed, in the unit of `kind`.
    pub max: f64,
}

impl Param {
    /// The range in words for errors and help, such as `from 0.01% to 100%`.
    #[must_use]
    pub fn range(&self) -> String {
        let (min, max) = (self.kind.show(self.min), self.kind.show(self.max));
        match self.kind {
            Kind::Switch => "on or off".to_owned(),
            Kind::Formula => "a formula over the window's statistics".to_owned(),
            _ => format!("from {min} to {max}"),
        }
    }
}

/// The rule of this name, in upper or lower case.
#[must_use]
pub fn find(name: &str) -> Option<&'static SleepRule> {
    RULES
        .iter()
        .find(|rule| rule.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_lower_case_and_unique() {
        let names: Vec<&str> = RULES.iter().map(|r| r.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        assert!(names.iter().all(|n| *n == n.to_ascii_lowercase()));
    }

    #[test]
    fn defaults_lie_in_their_ranges() {
        for rule in RULES {
            for p in rule.params {
                let within = p.default.is_none_or(|v| (p.min..=p.max).contains(&v));
                assert!(within, "{} {}", rule.name, p.name);
            }
        }
    }
}
