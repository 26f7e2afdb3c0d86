//! What the list of rules is made of. A new rule is one file in `rules/` and one line in `rules.rs`: it then appears in
//! specifications, help, simulator, live engine and the contract tests.

mod kind;

pub use crate::rules::RULES;
pub use kind::Kind;

use crate::{Lane, PolicySpec};
use std::fmt::Write as _;

/// Whose I/O a rule's state is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every submitting thread on its own.
    PerLane,
    /// All threads that submit on one CPU together; see [`PolicySpec::build_on`].
    PerCpu,
    /// All threads that submit to one device together.
    PerDevice,
}

/// One sleep rule.
pub struct Rule {
    /// What users type.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// Whose I/O its state is made of.
    pub scope: Scope,
    /// Its parameters, in the order in which they may be given without a name.
    pub params: &'static [Param],
    /// A complete specification with typical values.
    pub example: &'static str,
    /// Makes one lane per submitting thread; see [`PolicySpec::build`].
    pub(crate) build: fn(&PolicySpec, usize) -> Vec<Box<dyn Lane>>,
}

/// One parameter of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// What users type before the `=`.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// How its text is read and what its number means.
    pub kind: Kind,
    /// Value when not given; `None`: it must be given.
    pub default: Option<f64>,
    /// Smallest value allowed.
    pub min: f64,
    /// Largest value allowed.
    pub max: f64,
}

impl Param {
    /// `from 0.01% to 100%`, as errors and help say it.
    pub(crate) fn range(&self) -> String {
        let (min, max) = (self.kind.show(self.min), self.kind.show(self.max));
        match self.kind {
            Kind::Switch => "on or off".to_owned(),
            Kind::Formula => "a formula over the window's statistics".to_owned(),
            _ => format!("from {min} to {max}"),
        }
    }
}

/// The rule of that name, in any case of letters.
#[must_use]
pub fn find(name: &str) -> Option<&'static Rule> {
    RULES
        .iter()
        .find(|rule| rule.name.eq_ignore_ascii_case(name))
}

/// The rules and their parameters as text for a terminal: one line per rule, one indented line per parameter.
#[must_use]
pub fn help() -> String {
    RULES.iter().fold(String::new(), |mut text, rule| {
        let scope = match rule.scope {
            Scope::PerLane => "per thread",
            Scope::PerCpu => "per CPU",
            Scope::PerDevice => "per device",
        };
        let (name, summary, example) = (rule.name, rule.summary, rule.example);
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{name:<8} {summary} ({scope}), as in `{example}`");
        for p in rule.params {
            let (name, summary, range) = (p.name, p.summary, p.range());
            let default = p.default.map_or_else(
                || "must be given".to_owned(),
                |value| format!("default {}", p.kind.show(value)),
            );
            let _ = writeln!(text, "           {name:<10} {summary}; {range}, {default}");
        }
        text
    })
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
        for (rule, p) in RULES
            .iter()
            .flat_map(|r| r.params.iter().map(move |p| (r, p)))
        {
            let within = p.default.is_none_or(|v| (p.min..=p.max).contains(&v));
            assert!(within, "{} {}", rule.name, p.name);
        }
    }

    #[test]
    fn help_names_every_rule_and_parameter() {
        let text = help();
        let names = RULES
            .iter()
            .flat_map(|r| r.params.iter().map(|p| p.name).chain([r.name, r.example]));
        for name in names {
            assert!(text.contains(name), "{name} is not in\n{text}");
        }
        assert!(text.contains("from 0.01% to 100%, default 50%"), "{text}");
    }
}
