//! Values of options that several commands share, as users type them: times within bounds, lists of
//! numbers, lists of CPUs.

use crate::{Nanos, parse_time};
use std::ops::RangeInclusive;

/// A list that an option takes as one value. For a field whose type is written `Vec`, clap's derive
/// would take one value for each occurrence of the option.
pub type List<T> = Vec<T>;

/// Parses seconds within a range: `10`, `10s`, `500ms` or `2m`.
pub fn parse_seconds_in(text: &str, range: RangeInclusive<f64>) -> Result<f64, String> {
    let seconds = parse_time(text).ok().map(|time| time.0 as f64 / 1e9);
    seconds.filter(|s| range.contains(s)).ok_or_else(|| {
        let (min, max) = (range.start(), range.end());
        format!("expected {min} s to {max} s, such as 10, 10s or 500ms, found `{text}`")
    })
}

/// Parses a time within a range, with the syntax of [`parse_seconds_in`].
pub fn parse_time_in(text: &str, range: RangeInclusive<Nanos>) -> Result<Nanos, String> {
    let time = parse_time(text).map_err(|e| e.to_string())?;
    if range.contains(&time) {
        return Ok(time);
    }
    let (min, max) = (range.start(), range.end());
    Err(format!("expected {min} to {max}, found `{text}`"))
}

/// Parses the time budget for all trials of a run, at least 1 s. Returns seconds.
pub fn parse_budget(text: &str) -> Result<f64, String> {
    let time = parse_time(text).map_err(|e| e.to_string())?;
    if time < Nanos::from_millis(1_000) {
        let message = format!("expected 1 s or more, such as 90s or 10m, found `{text}`");
        return Err(message);
    }
    Ok(time.as_secs_f64())
}

/// Parses CPU numbers, each once. Returns an empty list for `auto`: q2c then chooses the CPUs.
pub fn parse_cpus(text: &str) -> Result<List<u32>, String> {
    if text == "auto" {
        return Ok(Vec::new());
    }
    let cpus = text.split(',').map(|part| part.trim().parse());
    let cpus: Vec<u32> = cpus
        .collect::<Result<_, _>>()
        .map_err(|_| format!("expected numbers of CPUs such as 0,2, or auto, found `{text}`"))?;
    let mut indexed = cpus.iter().enumerate();
    match indexed.find(|(i, cpu)| cpus[..*i].contains(cpu)) {
        // Jobs beyond the last CPU start again at the first one, so nobody needs to repeat a CPU.
        Some((_, cpu)) => Err(format!("expected each CPU once, found CPU {cpu} twice")),
        None => Ok(cpus),
    }
}

/// Parses whole numbers from 1 to 1024, with the syntax of [`parse_numbers`].
pub fn parse_counts<T: TryFrom<u32> + PartialEq>(text: &str) -> Result<List<T>, String> {
    whole_numbers(text, 1024)
}

/// Parses whole numbers from 1 to 65536: `1,2,4`, `1..8` (both ends included), or with a step
/// `5..120/5`, from 5 on. Keeps their order and drops repetitions.
pub fn parse_numbers(text: &str) -> Result<List<u32>, String> {
    whole_numbers(text, 65_536)
}

fn whole_numbers<T: TryFrom<u32> + PartialEq>(text: &str, max: u32) -> Result<List<T>, String> {
    let message = || {
        format!(
            "expected whole numbers from 1 to {max}, such as 1,2,4 or 1..8 or 5..120/5, found `{text}`"
        )
    };
    let number = |part: &str| {
        let n: Option<u32> = part.trim().parse().ok();
        n.filter(|n| (1..=max).contains(n)).ok_or_else(message)
    };
    let mut numbers: Vec<T> = Vec::new();
    for part in text.split(',') {
        let (from, end) = part.split_once("..").unwrap_or((part, part));
        let end_and_step = end.split_once('/').filter(|_| part.contains(".."));
        let (to, step) = end_and_step.unwrap_or((end, "1"));
        let (from, to, step) = (number(from)?, number(to)?, number(step)?);
        if from > to {
            return Err(message());
        }
        for n in (from..=to).step_by(step as usize) {
            let n = T::try_from(n).map_err(|_| message())?;
            if !numbers.contains(&n) {
                numbers.push(n);
            }
        }
    }
    Ok(numbers)
}

/// Parses names separated by commas, where a name may itself contain commas. A part begins a name
/// if `begins` returns true; any other part belongs to the name before it.
pub fn parse_names<T: std::str::FromStr>(
    text: &str,
    begins: impl Fn(&str) -> bool,
) -> Result<List<T>, T::Err> {
    let mut names: Vec<String> = Vec::new();
    for part in text.split(',') {
        match names.last_mut() {
            Some(last) if !begins(part) => {
                last.push(',');
                last.push_str(part);
            }
            _ => names.push(part.to_owned()),
        }
    }
    names.iter().map(|name| name.parse()).collect()
}

/// Serialises a type as its text, which `Display` writes and `FromStr` reads.
#[macro_export]
macro_rules! serde_as_text {
    ($($value:ty),+) => {$(
        impl $crate::serde::Serialize for $value {
            fn serialize<S: $crate::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $value {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text: String = $crate::serde::Deserialize::deserialize(from)?;
                text.parse().map_err($crate::serde::de::Error::custom)
            }
        }
    )+};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_number_is_of_seconds() {
        let texts = ["10", "10s", "500ms", "2m", "0.25"];
        let seconds = texts.map(|text| parse_seconds_in(text, 0.1..=3600.0).unwrap());
        assert_eq!(seconds, [10.0, 10.0, 0.5, 120.0, 0.25]);
        let message = parse_seconds_in("50ms", 0.1..=3600.0).unwrap_err();
        assert_eq!(
            message,
            "expected 0.1 s to 3600 s, such as 10, 10s or 500ms, found `50ms`"
        );
        for wrong in ["", "s", "-1", "nan", "inf", "10 parsecs"] {
            assert!(parse_seconds_in(wrong, 0.0..=1e7).is_err(), "{wrong}");
        }
        let second = Nanos::from_millis(1_000);
        assert_eq!(parse_budget("1s"), Ok(1.0));
        for wrong in ["0", "999ms"] {
            assert!(parse_budget(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_time_in("1", Nanos::ZERO..=second), Ok(second));
    }

    #[test]
    fn cpus_are_named_or_left_to_q2c() {
        assert_eq!(parse_cpus("3,0"), Ok(vec![3, 0]));
        assert_eq!(parse_cpus("auto"), Ok(Vec::new()));
        let twice = parse_cpus("1,0,1").unwrap_err();
        assert_eq!(twice, "expected each CPU once, found CPU 1 twice");
        for wrong in ["", "0,0", "1,,2", "-1", "all", "auto,1"] {
            assert!(parse_cpus(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts_are_lists_and_ranges() {
        assert_eq!(parse_counts::<u16>("1..3,8,2"), Ok(vec![1, 2, 3, 8]));
        assert_eq!(parse_counts::<u16>("5..21/5,1"), Ok(vec![5, 10, 15, 20, 1]));
        assert_eq!(parse_counts::<u16>("7..7/3"), Ok(vec![7]));
        let numbers = parse_numbers("4,2048..65536/32768");
        assert_eq!(numbers, Ok(vec![4, 2048, 34_816]));
        for wrong in ["65537", "1..2/0", "1..65536/65537"] {
            assert!(parse_numbers(wrong).is_err(), "{wrong}");
        }
        for wrong in [
            "", "0", "4..2", "a", "1,,2", "1025", "3/2", "1..4/0", "1..4/", "1..4/2/2",
        ] {
            assert!(parse_counts::<u16>(wrong).is_err(), "{wrong}");
        }
    }
}
