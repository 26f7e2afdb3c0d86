//! Exact decimal numbers. A time of day in nanoseconds has more digits than a float keeps.

use super::error::BadLine;
use super::row::DAY;
use std::str::FromStr;

/// The unit of the times in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TimeUnit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl TimeUnit {
    /// The unit's symbol: `ns`, `us`, `ms` or `s`.
    pub const fn name(self) -> &'static str {
        match self {
            TimeUnit::Nanoseconds => "ns",
            TimeUnit::Microseconds => "us",
            TimeUnit::Milliseconds => "ms",
            TimeUnit::Seconds => "s",
        }
    }

    pub(super) const fn nanos(self) -> u64 {
        10u64.pow(self.places() as u32)
    }

    /// Decimal places from this unit to nanoseconds.
    const fn places(self) -> i64 {
        3 * self as i64
    }
}

impl FromStr for TimeUnit {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        use TimeUnit::{Microseconds, Milliseconds, Nanoseconds, Seconds};
        let mut units = [Nanoseconds, Microseconds, Milliseconds, Seconds].into_iter();
        let unit = units.find(|unit| unit.name() == text);
        unit.ok_or("expected a time unit: ns, us, ms or s")
    }
}

pub(super) const NOT_A_NUMBER: &str = "not a number";
const NEGATIVE: &str = "negative";
const TOO_LARGE: &str = "too large";

/// Converts `text` in `unit` into nanoseconds, rounded half up. It accepts `12`, `1.5`, `.5` and
/// `3.12e+01`. The error says why the text is not a time.
pub(super) fn nanos(text: &str, unit: TimeUnit) -> Result<u64, &'static str> {
    if let Some(ns) = short_nanos(text.as_bytes(), unit.places()) {
        return Ok(ns);
    }
    let (is_negative, text) = match text.as_bytes().first() {
        Some(sign @ (b'-' | b'+')) => (*sign == b'-', &text[1..]),
        _ => (false, text),
    };
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("nan") {
        return Err("not a number (NaN)");
    }
    if is("inf") || is("infinity") {
        return Err(if is_negative { NEGATIVE } else { "infinite" });
    }
    let (digits, exponent) = parse_digits(text)?;
    if is_negative && digits != 0 {
        return Err(NEGATIVE);
    }
    let value = scale(digits, exponent.saturating_add(unit.places()));
    value.ok_or(TOO_LARGE)
}

/// Converts a short number such as `12` or `1.5` into nanoseconds. Its unit is `places` decimal
/// places above ns, and it has at most so many decimals. Nearly all numbers are like this; `None`
/// for others.
fn short_nanos(text: &[u8], places: i64) -> Option<u64> {
    const MAX_LENGTH: usize = 18;
    let mut value = 0_u64;
    let mut point = None;
    for (index, byte) in text.iter().take(MAX_LENGTH + 1).enumerate() {
        match byte {
            b'0'..=b'9' => value = value * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(index),
            _ => return None,
        }
    }
    let digits = text.len() - usize::from(point.is_some());
    if digits == 0 || text.len() > MAX_LENGTH {
        return None;
    }
    let fraction = point.map_or(0, |index| text.len() - index - 1);
    let exponent = u32::try_from(places - fraction as i64).ok()?;
    let factor = 10_u64.checked_pow(exponent)?;
    value.checked_mul(factor)
}

/// Parses a latency into nanoseconds. It must round to at least 1 ns and be below a day. A longer
/// one is a negative number printed as unsigned, or has another unit.
pub(super) fn latency(text: &str, unit: TimeUnit) -> Result<u64, BadLine> {
    const EXPECTED: &str = "a latency above zero and below a day, such as 31.2";
    let bad = |reason| BadLine::new(reason, "latency", EXPECTED, text);
    match nanos(text, unit) {
        Ok(0) => Err(bad("zero latency")),
        Ok(ns) if ns >= DAY.0 => Err(bad("latency of a day or more")),
        Ok(ns) => Ok(ns),
        Err(reason) => Err(bad(reason)),
    }
}

/// Returns `text` times `factor` if that is a whole number. Accepts `12` and `1.5`; no exponents.
pub(super) fn multiply(text: &str, factor: u64) -> Option<u128> {
    if let Ok(whole) = text.parse::<u64>() {
        return Some(u128::from(whole) * u128::from(factor));
    }
    if text.contains(['e', 'E']) {
        return None;
    }
    let (digits, exponent) = parse_digits(text).ok()?;
    let divisor = 10u128.checked_pow(u32::try_from(-exponent).ok()?)?;
    let product = digits.checked_mul(u128::from(factor))?;
    product.is_multiple_of(divisor).then(|| product / divisor)
}

/// Parses a number into its digits without the point, and the power of ten that multiplies them.
fn parse_digits(text: &str) -> Result<(u128, i64), &'static str> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| NOT_A_NUMBER)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Err(NOT_A_NUMBER);
    }
    let mut digits = 0u128;
    for byte in whole.bytes().chain(fraction.bytes()) {
        let digit = (byte as char).to_digit(10).ok_or(NOT_A_NUMBER)?;
        let tens = digits.checked_mul(10).ok_or(TOO_LARGE)?;
        digits = tens.checked_add(u128::from(digit)).ok_or(TOO_LARGE)?;
    }
    let places = i64::try_from(fraction.len()).map_err(|_| TOO_LARGE)?;
    Ok((digits, i64::from(exponent) - places))
}

/// Multiplies by a power of ten and rounds half up; `None` if the result is too large.
fn scale(digits: u128, places: i64) -> Option<u64> {
    if digits == 0 {
        return Some(0);
    }
    // A power of ten that does not fit is larger than any `digits`.
    let factor = u32::try_from(places.unsigned_abs()).ok();
    let factor = factor.and_then(|places| 10u128.checked_pow(places));
    let value = match (places >= 0, factor) {
        (true, factor) => digits.checked_mul(factor?)?,
        (false, None) => 0,
        (false, Some(factor)) => {
            digits / factor + u128::from(digits % factor >= factor.div_ceil(2))
        }
    };
    u64::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_exact() {
        use TimeUnit::{Microseconds, Milliseconds, Nanoseconds, Seconds};
        for (text, unit, ns) in [
            ("31.201", Microseconds, 31_201),
            ("1700000000.123456789", Seconds, 1_700_000_000_123_456_789),
            ("3.1201e+01", Microseconds, 31_201),
            ("18446744073709551615", Nanoseconds, u64::MAX),
            (".5", Nanoseconds, 1),
            ("0.4999", Nanoseconds, 0),
            ("2.", Milliseconds, 2_000_000),
            ("+7", Nanoseconds, 7),
            ("1e-300", Seconds, 0),
            ("-0", Nanoseconds, 0),
        ] {
            assert_eq!(nanos(text, unit), Ok(ns), "{text} {}", unit.name());
        }
    }

    #[test]
    fn what_is_no_time_is_told_apart() {
        for (text, error) in [
            ("", NOT_A_NUMBER),
            (".", NOT_A_NUMBER),
            ("1,5", NOT_A_NUMBER),
            ("0x10", NOT_A_NUMBER),
            ("--1", NOT_A_NUMBER),
            ("1e", NOT_A_NUMBER),
            ("\u{661}", NOT_A_NUMBER),
            ("NaN", "not a number (NaN)"),
            ("-nan", "not a number (NaN)"),
            ("inf", "infinite"),
            ("-1", NEGATIVE),
            ("18446744073709551616", TOO_LARGE),
            ("1e400", TOO_LARGE),
        ] {
            assert_eq!(nanos(text, TimeUnit::Nanoseconds), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whole_microseconds_and_their_thousandths(us in 0u64..1 << 50, ns in 0u64..1_000) {
            let text = format!("{us}.{ns:03}");
            prop_assert_eq!(nanos(&text, TimeUnit::Microseconds), Ok(us * 1_000 + ns));
        }
    }
}
