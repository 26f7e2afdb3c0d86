//! Parses quantities as users type them: `4k`, `100ms`, `70%`.

use crate::{Bytes, Nanos};
use thiserror::Error;

/// A text that is not a value of the expected kind.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected {expected}, found `{found}`")]
pub struct ParseTextError {
    /// Description of accepted texts, with an example.
    pub expected: &'static str,
    /// The text as given.
    pub found: String,
}

impl ParseTextError {
    /// The error for `text`, which should have been `expected`.
    pub fn new(expected: &'static str, text: &str) -> Self {
        ParseTextError {
            expected,
            found: text.to_owned(),
        }
    }
}

/// Splits a number and its unit; `None` if the number is missing, negative or not finite.
fn split_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(unit_at.unwrap_or(text.len()));
    let number: f64 = number.parse().ok()?;
    number.is_finite().then_some((number, unit.trim()))
}

fn parse_scaled(
    text: &str,
    expected: &'static str,
    unit_factor: impl Fn(&str) -> Option<f64>,
) -> Result<f64, ParseTextError> {
    let error = || ParseTextError::new(expected, text);
    let (number, unit) = split_unit(text).ok_or_else(error)?;
    let value = number * unit_factor(&unit.to_ascii_lowercase()).ok_or_else(error)?;
    (value <= 2f64.powi(63)).then_some(value).ok_or_else(error)
}

/// Parses a size: `512`, `4k`, `64KiB`, `1g`. Units are powers of 1024, as usual for block sizes.
/// Zero is an error.
pub fn parse_size(text: &str) -> Result<Bytes, ParseTextError> {
    const EXPECTED: &str = "a size such as 4k, 64k or 1m";
    let bytes = parse_scaled(text, EXPECTED, |unit| {
        Some(match unit {
            "" | "b" => 1.0,
            "k" | "kb" | "kib" => 1024.0,
            "m" | "mb" | "mib" => 1024f64.powi(2),
            "g" | "gb" | "gib" => 1024f64.powi(3),
            "t" | "tb" | "tib" => 1024f64.powi(4),
            _ => return None,
        })
    })?;
    if bytes < 1.0 || bytes.fract() != 0.0 {
        return Err(ParseTextError::new(EXPECTED, text));
    }
    Ok(Bytes(bytes as u64))
}

/// Parses a duration with its unit: `40us`, `100ms`, `2s`, `1m`. A number without a unit is an
/// error, except zero.
pub fn parse_duration(text: &str) -> Result<Nanos, ParseTextError> {
    const EXPECTED: &str = "a duration with its unit, such as 40us, 100ms or 2s";
    if text.trim() == "0" {
        return Ok(Nanos::ZERO);
    }
    let ns = parse_scaled(text, EXPECTED, |unit| {
        Some(match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" | "min" => 60e9,
            _ => return None,
        })
    })?;
    Ok(Nanos(ns.round() as u64))
}

/// Parses a duration as [`parse_duration`], but a number without a unit means seconds: `10`, `0.5`,
/// `500ms`, `2m`.
pub fn parse_time(text: &str) -> Result<Nanos, ParseTextError> {
    match text.trim().parse::<f64>() {
        Ok(_) => parse_duration(&format!("{}s", text.trim())),
        Err(_) => parse_duration(text),
    }
}

/// Parses a share as a fraction: `70%` and `0.7` are 0.7. A share above 1 needs the `%`.
///
/// # Errors
/// Fails if the text is not a number, has another unit than `%`, or is above 1 without the `%`,
/// which was then probably forgotten.
pub fn parse_percent(text: &str) -> Result<f64, ParseTextError> {
    const EXPECTED: &str = "a share such as 70% or 0.7";
    let error = || ParseTextError::new(EXPECTED, text);
    match split_unit(text).ok_or_else(error)? {
        (number, "%") => Ok(number / 100.0),
        (number, "") if number <= 1.0 => Ok(number),
        _ => Err(error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let sizes = ["512", "4k", "64KiB", "1.5m"].map(|text| parse_size(text).unwrap().0);
        assert_eq!(sizes, [512, 4096, 65_536, 1_572_864]);
        for bad in ["", "k", "0", "-4k", "4x", "0.5", "nan", "99999999t"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse_duration("1.5ms"), Ok(Nanos(1_500_000)));
        assert_eq!(parse_duration("0"), Ok(Nanos::ZERO));
        for bad in ["10", "ms", "10 parsecs", "-1ms", "infs"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shares() {
        assert_eq!(parse_percent("70%"), Ok(0.7));
        assert_eq!(parse_percent("0.7"), Ok(0.7));
        assert_eq!(parse_percent("150%"), Ok(1.5));
        assert!(parse_percent("70").is_err(), "a forgotten percent sign");
    }
}
