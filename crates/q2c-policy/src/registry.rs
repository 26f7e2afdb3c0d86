//! The types of the list of rules: a rule is one file in `rules/` and one line in `rules.rs`. Each
//! kind of parameter defines how its text becomes a number, and back.

pub use crate::rules::RULES;

use crate::PolicySpec;
use crate::form::Form;
use crate::rules::recent::IOS;
use crate::rules::share::PERIOD;
use q2c_model::{parse_duration, parse_percent, parse_size};
use std::ops::RangeInclusive;

/// The default rule of Linux 4.12 to 6.3 (block/blk-mq.c): half the mean of the last 100 ms.
pub const LINUX: &str = "mean:ratio=50%,period=100ms";
/// The second name of [`LINUX`], for reading only: q2c always writes the rule itself.
pub(crate) const LINUX_NAME: &str = "linux";

/// The threads that share one state of a rule.
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
    /// True if the sleep adapts to the device. If there is such a rule, no other is chosen.
    pub follows_device: bool,
    /// True if the rule leaves some I/Os to the interrupt. Simulating it needs their cost.
    pub interrupts: bool,
    /// The parameters, in the order in which they may be given without a name.
    pub params: &'static [Param],
    /// A complete specification with typical values.
    pub example: &'static str,
    pub(crate) form: fn(&PolicySpec) -> Form,
}

/// The input that a rule's sleep depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learning {
    /// Nothing: it is always the same.
    Nothing,
    /// Every I/O, without a window.
    EveryIo,
    /// Windows of a length of time.
    TimeWindows,
    /// Windows of a number of I/Os.
    IoWindows,
}

impl SleepRule {
    /// Returns the input that the sleep depends on.
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
    /// The kind of value: how its text is read, and what the number means.
    pub kind: ParamKind,
    /// The value if the parameter is not given; `None` if it must be given.
    pub default: Option<f64>,
    /// Smallest value allowed, in the unit of `kind`.
    pub min: f64,
    /// Largest value allowed, in the unit of `kind`.
    pub max: f64,
}

impl Param {
    pub(crate) const fn new(
        name: &'static str,
        summary: &'static str,
        kind: ParamKind,
        default: Option<f64>,
        range: RangeInclusive<f64>,
    ) -> Param {
        Param {
            name,
            summary,
            kind,
            default,
            min: *range.start(),
            max: *range.end(),
        }
    }

    /// The range in words for errors and help, such as `from 0.01% to 100%`.
    pub fn range(&self) -> String {
        let (min, max) = (self.kind.show(self.min), self.kind.show(self.max));
        match self.kind {
            ParamKind::Switch => "on or off".to_owned(),
            ParamKind::Formula => "a formula over the window's statistics".to_owned(),
            _ => format!("from {min} to {max}"),
        }
    }
}

/// The rule with this name, in upper or lower case.
pub fn find(name: &str) -> Option<&'static SleepRule> {
    let mut rules = RULES.iter();
    rules.find(|rule| rule.name.eq_ignore_ascii_case(name))
}

/// The kind of a parameter. Values of all kinds are `f64`, so that sweeps can treat them alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A share, held as a fraction: `70%` is 0.7.
    Ratio,
    /// A time with its unit, held in nanoseconds.
    Duration,
    /// A plain number.
    Number,
    /// A whole number.
    Count,
    /// A size, held in bytes: `64k` is 65536.
    Size,
    /// `on` (1) or `off` (0).
    Switch,
    /// A [`Formula`](crate::Formula): all the text up to the end, which is no number.
    Formula,
}

impl ParamKind {
    pub(crate) fn parse(self, text: &str) -> Result<f64, String> {
        let expected = |what: &str| format!("expected {what}, found `{text}`");
        match self {
            ParamKind::Ratio => parse_percent(text).map_err(|e| e.to_string()),
            ParamKind::Duration => Ok(parse_duration(text).map_err(|e| e.to_string())?.0 as f64),
            ParamKind::Size => Ok(parse_size(text).map_err(|e| e.to_string())?.0 as f64),
            ParamKind::Number => {
                let number = text.parse().ok().filter(|n: &f64| n.is_finite());
                number.ok_or_else(|| expected("a number such as 0.01"))
            }
            ParamKind::Count => {
                let count = text.parse::<u32>().map(f64::from);
                count.map_err(|_| expected("a whole number such as 100"))
            }
            ParamKind::Switch if text == "on" => Ok(1.0),
            ParamKind::Switch if text == "off" => Ok(0.0),
            ParamKind::Switch => Err(expected("on or off")),
            ParamKind::Formula => Err("a formula is no number".to_owned()),
        }
    }

    /// Rounds to a whole number for durations, sizes and counts, and to 0 or 1 for a switch.
    pub(crate) fn quantise(self, value: f64) -> f64 {
        match self {
            ParamKind::Ratio | ParamKind::Number | ParamKind::Formula => value,
            ParamKind::Duration | ParamKind::Count | ParamKind::Size => value.round(),
            ParamKind::Switch => f64::from(u8::from(value != 0.0)),
        }
    }

    /// A text that parses back to exactly `value`.
    pub fn show(self, value: f64) -> String {
        match self {
            ParamKind::Ratio => show_ratio(value),
            ParamKind::Duration => show_in_units(value as u64, &TIME_UNITS),
            ParamKind::Number | ParamKind::Count | ParamKind::Formula => value.to_string(),
            ParamKind::Size => show_in_units(value as u64, &SIZE_UNITS),
            ParamKind::Switch => (if value == 0.0 { "off" } else { "on" }).to_owned(),
        }
    }
}

/// Sizes and names of units, the largest first. The size of the last one is 1.
type UnitSizes = [(u64, &'static str); 4];

const TIME_UNITS: UnitSizes = [
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1_000, "us"),
    (1, "ns"),
];
const SIZE_UNITS: UnitSizes = [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k"), (1, "")];

/// Writes the number in the largest of these units in which it is whole.
fn show_in_units(number: u64, units: &UnitSizes) -> String {
    let fits = |size: u64| number >= size && number.is_multiple_of(size);
    let (size, unit) = units
        .iter()
        .find(|(size, _)| fits(*size))
        .unwrap_or(&units[3]);
    format!("{}{unit}", number / size)
}

/// The shortest percentage that reads back as the same fraction; if there is none, the fraction.
fn show_ratio(fraction: f64) -> String {
    (0..=15)
        .map(|decimals| format!("{:.decimals$}%", fraction * 100.0))
        .find(|text| parse_percent(text) == Ok(fraction))
        .unwrap_or_else(|| fraction.to_string())
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
