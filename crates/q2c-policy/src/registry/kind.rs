//! The kinds of parameter, each with its way from text to number and back.

use q2c_model::{Bytes, Nanos, parse_duration, parse_percent, parse_size};

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
            Kind::Duration => match parse_duration(text) {
                Ok(Nanos(ns)) => Ok(ns as f64),
                Err(error) => Err(error.to_string()),
            },
            Kind::Number => parse_number(text),
            Kind::Count => parse_count(text),
            Kind::Size => match parse_size(text) {
                Ok(Bytes(bytes)) => Ok(bytes as f64),
                Err(error) => Err(error.to_string()),
            },
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
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Kind::Ratio => show_ratio(value),
            Kind::Duration => show_duration(value as u64),
            Kind::Number | Kind::Count | Kind::Formula => value.to_string(),
            Kind::Size => show_size(value as u64),
            Kind::Switch => (if value == 0.0 { "off" } else { "on" }).to_owned(),
        }
    }
}

fn parse_number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|n: &f64| n.is_finite());
    number.ok_or_else(|| format!("expected a number such as 0.01, found `{text}`"))
}

fn parse_count(text: &str) -> Result<f64, String> {
    let count = text.parse::<u32>().map(f64::from);
    count.map_err(|_| format!("expected a whole number such as 100, found `{text}`"))
}

/// The number in the largest of these units that leaves it whole, else in `unit`.
fn in_units(number: u64, units: [(u64, &str); 3], unit: &str) -> String {
    let fits = |size: u64| number >= size && number.is_multiple_of(size);
    match units.iter().find(|(size, _)| fits(*size)) {
        Some((size, unit)) => format!("{}{unit}", number / size),
        None => format!("{number}{unit}"),
    }
}

fn show_size(bytes: u64) -> String {
    in_units(bytes, [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")], "")
}

/// The shortest percentage that reads back as the same fraction, else the fraction.
fn show_ratio(fraction: f64) -> String {
    (0..=15)
        .map(|decimals| format!("{:.decimals$}%", fraction * 100.0))
        .find(|text| parse_percent(text) == Ok(fraction))
        .unwrap_or_else(|| fraction.to_string())
}

fn show_duration(ns: u64) -> String {
    in_units(
        ns,
        [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")],
        "ns",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
