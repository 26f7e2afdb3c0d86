//! The kinds of value in a formula. Every number has its unit, so that `mean - 4` is a mistake and
//! `mean - 4us` is not.

use super::error::FormulaError;
use std::fmt;

/// Whether a value is a comparison or a number, and the unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// True or false.
    Truth,
    /// The number 0, which is zero of any unit.
    Zero,
    /// A number with the unit nanoseconds to this power: 0 is a plain number, 1 a time.
    Power(i32),
}

impl Kind {
    pub(super) const NUMBER: Kind = Kind::Power(0);
    pub(super) const TIME: Kind = Kind::Power(1);

    /// The common kind of two values that are added, compared or chosen from.
    pub(super) fn alike(self, other: Kind) -> Result<Kind, FormulaError> {
        match (self, other) {
            (Kind::Zero, Kind::Power(_)) => Ok(other),
            (Kind::Power(_), Kind::Zero) => Ok(self),
            _ if self == other => Ok(self),
            _ => Err(FormulaError::Unlike {
                expected: self.to_string(),
                found: other.to_string(),
            }),
        }
    }

    /// The power of time; a mistake for a comparison.
    pub(super) fn power(self) -> Result<i32, FormulaError> {
        match self {
            Kind::Truth => Err(FormulaError::NoValue),
            Kind::Zero => Ok(0),
            Kind::Power(power) => Ok(power),
        }
    }

    /// Checks that the kind is a comparison.
    pub(super) fn truth(self) -> Result<(), FormulaError> {
        match self {
            Kind::Truth => Ok(()),
            other => Err(FormulaError::NoTruth(other.to_string())),
        }
    }

    /// Checks that the kind is a time.
    pub(super) fn time(self) -> Result<(), FormulaError> {
        match self {
            Kind::Zero | Kind::TIME => Ok(()),
            other => Err(FormulaError::NoTime(other.to_string())),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Kind::Truth => f.write_str("a comparison"),
            Kind::Zero => f.write_str("0"),
            Kind::NUMBER => f.write_str("a number without a unit"),
            Kind::TIME => f.write_str("a time"),
            Kind::Power(power) => write!(f, "a time to the power of {power}"),
        }
    }
}
