//! Checks of a plan that is read back. A user may have edited the file, and a value that the
//! command line would refuse must not enter a run that way.

use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A plan that can check its values against the limits of the command line.
pub trait CheckedPlan: DeserializeOwned {
    /// Checks every value that its type alone does not keep valid.
    fn check(&self) -> Result<(), PlanFault>;
}

/// A field of a plan with a value that no valid plan has.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{field}: expected {expected}, found {found}")]
pub struct PlanFault {
    field: &'static str,
    expected: String,
    found: String,
}

impl PlanFault {
    /// Makes the fault of `field` from the expected and the found value.
    pub fn new(field: &'static str, expected: impl Display, found: impl Display) -> Self {
        PlanFault {
            field,
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }

    /// Checks that a value lies in a range. NaN lies in none.
    pub fn check_range<T: PartialOrd + Display>(
        field: &'static str,
        value: &T,
        range: RangeInclusive<T>,
    ) -> Result<(), PlanFault> {
        if range.contains(value) {
            return Ok(());
        }
        let expected = format!("{} to {}", range.start(), range.end());
        Err(PlanFault::new(field, expected, value))
    }

    /// Checks that the list is not empty, and that each value lies in a range.
    pub fn check_ranges<T: PartialOrd + Display + Clone>(
        field: &'static str,
        values: &[T],
        range: &RangeInclusive<T>,
    ) -> Result<(), PlanFault> {
        PlanFault::check_not_empty(field, values)?;
        let mut values = values.iter();
        values.try_for_each(|value| PlanFault::check_range(field, value, range.clone()))
    }

    /// Checks that the list is not empty.
    pub fn check_not_empty<T>(field: &'static str, values: &[T]) -> Result<(), PlanFault> {
        let filled = (!values.is_empty()).then_some(());
        filled.ok_or_else(|| PlanFault::new(field, "an entry at least", "none"))
    }

    /// Checks that no entry appears twice. Each entry makes cells of its own, and two cells of the
    /// same name would become one.
    pub fn check_unique<T: PartialEq + Display>(
        field: &'static str,
        values: &[T],
    ) -> Result<(), PlanFault> {
        let is_repeated = |(n, value): &(usize, &T)| values[..*n].contains(value);
        let repeated = values.iter().enumerate().find(is_repeated);
        repeated.map_or(Ok(()), |(_, value)| {
            let finding = format!("{value} twice");
            Err(PlanFault::new(field, "each entry once", finding))
        })
    }

    /// Parses a text of the plan.
    pub fn parse<T>(field: &'static str, text: &str) -> Result<T, PlanFault>
    where
        T: FromStr,
        T::Err: Display,
    {
        text.parse().map_err(|error| {
            let finding = format!("`{text}` ({error})");
            PlanFault::new(field, "a text that q2c writes", finding)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_no_range_is_named() {
        assert_eq!(PlanFault::check_range("seconds", &1.0, 0.1..=2.0), Ok(()));
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 2.1] {
            let fault = PlanFault::check_range("seconds", &wrong, 0.1..=2.0).unwrap_err();
            let message = format!("seconds: expected 0.1 to 2, found {wrong}");
            assert_eq!(fault.to_string(), message);
        }
        assert_eq!(PlanFault::check_ranges("jobs", &[1, 9], &(1..=9)), Ok(()));
        assert!(PlanFault::check_ranges("jobs", &[1, 10], &(1..=9)).is_err());
        assert!(PlanFault::check_ranges::<u32>("jobs", &[], &(1..=9)).is_err());
        assert_eq!(PlanFault::check_unique("jobs", &[1, 2]), Ok(()));
        let twice = PlanFault::check_unique("jobs", &[1, 2, 1]).unwrap_err();
        let message = "jobs: expected each entry once, found 1 twice";
        assert_eq!(twice.to_string(), message);
    }

    #[test]
    fn a_text_that_is_not_understood_is_named() {
        assert_eq!(PlanFault::parse("trials", "7"), Ok(7_u32));
        let fault = PlanFault::parse::<u32>("trials", "x")
            .unwrap_err()
            .to_string();
        assert!(fault.starts_with("trials: "), "{fault}");
        assert!(fault.contains("`x`"), "{fault}");
    }
}
