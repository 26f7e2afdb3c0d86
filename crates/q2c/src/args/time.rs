//! Lengths of time, as every command reads them: a bare number is of seconds.

use q2c_model::{Nanos, parse_time};
use std::ops::RangeInclusive;

/// Seconds within a range: `10`, `10s`, `500ms` or `2m`.
pub fn seconds_within(text: &str, range: RangeInclusive<f64>) -> Result<f64, String> {
    let expected = || {
        format!(
            "expected {} s to {} s, such as 10, 10s or 500ms, found `{text}`",
            range.start(),
            range.end()
        )
    };
    let time = parse_time(text).map_err(|_| expected())?;
    let seconds = time.0 as f64 / 1e9;
    match range.contains(&seconds) {
        true => Ok(seconds),
        false => Err(expected()),
    }
}

/// A budget for all trials of a run.
pub fn budget(text: &str) -> Result<Nanos, String> {
    let long_enough = |time: &Nanos| *time >= Nanos::from_millis(1_000);
    let time = parse_time(text).map_err(|e| e.to_string())?;
    Some(time)
        .filter(long_enough)
        .ok_or_else(|| format!("expected 1 s or more, such as 90s or 10m, found `{text}`"))
}

/// A time within a range, which is written in the same ways.
pub fn time_within(text: &str, least: Nanos, most: Nanos) -> Result<Nanos, String> {
    let time = parse_time(text).map_err(|e| e.to_string())?;
    match (least..=most).contains(&time) {
        true => Ok(time),
        false => Err(format!("expected {least} to {most}, found `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_number_is_of_seconds() {
        for (text, seconds) in [
            ("10", 10.0),
            ("10s", 10.0),
            ("500ms", 0.5),
            ("2m", 120.0),
            ("0.25", 0.25),
        ] {
            assert_eq!(seconds_within(text, 0.1..=3600.0), Ok(seconds), "{text}");
        }
        let told = seconds_within("50ms", 0.1..=3600.0).unwrap_err();
        assert_eq!(
            told,
            "expected 0.1 s to 3600 s, such as 10, 10s or 500ms, found `50ms`"
        );
        for wrong in ["", "s", "-1", "nan", "inf", "10 parsecs"] {
            assert!(seconds_within(wrong, 0.0..=1e7).is_err(), "{wrong}");
        }
        let second = Nanos::from_millis(1_000);
        assert_eq!(budget("1s"), Ok(second));
        for wrong in ["0", "999ms"] {
            assert!(
                budget(wrong).unwrap_err().contains("1 s or more"),
                "{wrong}"
            );
        }
        assert_eq!(time_within("1", Nanos::ZERO, second), Ok(second));
    }
}
