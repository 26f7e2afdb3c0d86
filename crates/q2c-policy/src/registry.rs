//! The types of the list of rules: a rule is one file in `rules/` and one line in `rules.rs`. The
//! kinds of parameter have each its way from text to number and back.

pub use crate::rules::RULES;

use crate::PolicySpec;
use crate::form::Form;
use crate::rules::recent::IOS;
use crate::rules::share::PERIOD;
use q2c_model::{Bytes, Nanos, parse_duration, parse_percent, parse_size};
use std::ops::RangeInclusive;

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
    pub(crate) const fn new(
        name: &'static str,
        summary: &'static str,
        kind: Kind,
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
            Kind::Switch => "on or off".to_owned(),
            Kind::Formula => "a formula over the window's statistics".to_owned(),
            _ => format!("from {min} to {max}"),
        }
    }
}

/// The rule of this name, in upper or lower case.
pub fn find(name: &str) -> Option<&'static SleepRule> {
    let mut rules = RULES.iter();
    rules.find(|rule| rule.name.eq_ignore_ascii_case(name))
}

/// The meaning of a parameter's number, `f64` for all kinds, as sweeps treat all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
    /// A [`Formula`](crate::Formula), which takes the rest of the text and has no number.
    Formula,
}

impl Kind {
    pub(crate) fn parse(self, text: &str) -> Result<f64, String> {
        match self {
            Kind::Ratio => parse_percent(text).map_err(|e| e.to_string()),
            Kind::Duration => {
                let time = parse_duration(text).map(|Nanos(ns)| ns as f64);
                time.map_err(|e| e.to_string())
            }
            Kind::Number => {
                let number = text.parse().ok().filter(|n: &f64| n.is_finite());
                number.ok_or_else(|| format!("expected a number such as 0.01, found `{text}`"))
            }
            Kind::Count => {
                let count = text.parse::<u32>().map(f64::from);
                count.map_err(|_| format!("expected a whole number such as 100, found `{text}`"))
            }
            Kind::Size => {
                let size = parse_size(text).map(|Bytes(bytes)| bytes as f64);
                size.map_err(|e| e.to_string())
            }
            Kind::Switch => match text {
                "on" => Ok(1.0),
                "off" => Ok(0.0),
                _ => Err(format!("expected on or off, found `{text}`")),
            },
            Kind::Formula => Err("a formula is no number".to_owned()),
        }
    }

    /// Whole for durations, sizes and counts, 0 or 1 for a switch.
    pub(crate) fn quantised(self, value: f64) -> f64 {
        match self {
            Kind::Ratio | Kind::Number | Kind::Formula => value,
            Kind::Duration | Kind::Count | Kind::Size => value.round(),
            Kind::Switch => f64::from(u8::from(value != 0.0)),
        }
    }

    /// A text that parses back to exactly `value`.
    pub fn show(self, value: f64) -> String {
        match self {
            Kind::Ratio => show_ratio(value),
            Kind::Duration => in_units(
                value as u64,
                [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")],
                "ns",
            ),
            Kind::Number | Kind::Count | Kind::Formula => value.to_string(),
            Kind::Size => in_units(
                value as u64,
                [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")],
                "",
            ),
            Kind::Switch => (if value == 0.0 { "off" } else { "on" }).to_owned(),
        }
    }
}

/// The number in the largest of these units that leaves it whole, else in `unit`.
fn in_units(number: u64, units: [(u64, &str); 3], unit: &str) -> String {
    let fits = |size: u64| number >= size && number.is_multiple_of(size);
    match units.iter().find(|(size, _)| fits(*size)) {
        Some((size, unit)) => format!("{}{unit}", number / size),
        None => format!("{number}{unit}"),
    }
}

/// The shortest percentage that reads back as the same fraction, else the fraction.
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

    #[test]
    fn values_are_shown_as_users_type_them() {
        assert_eq!(Kind::Ratio.show(0.07), "7%");
        assert_eq!(Kind::Ratio.show(0.125), "12.5%");
        assert_eq!(Kind::Duration.show(100e6), "100ms");
        assert_eq!(Kind::Duration.show(1500.0), "1500ns");
        assert_eq!(Kind::Duration.show(2e9), "2s");
        assert_eq!(Kind::Number.show(0.01), "0.01");
        assert_eq!(Kind::Count.show(10_000.0), "10000");
        assert_eq!(Kind::Size.show(131_072.0), "128k");
        assert_eq!(Kind::Size.show(1_536.0), "1536");
    }

    #[test]
    fn text_of_the_wrong_kind_is_refused() {
        for (kind, text) in [
            (Kind::Ratio, "70"),
            (Kind::Duration, "10"),
            (Kind::Number, "inf"),
            (Kind::Number, "1%"),
            (Kind::Switch, "yes"),
            (Kind::Count, "1.5"),
            (Kind::Count, "-1"),
            (Kind::Size, "4q"),
        ] {
            let error = kind.parse(text).expect_err(text);
            let named = error.starts_with("expected ") && error.contains(text);
            assert!(named, "{error}");
        }
    }
}
