//! Kinds of value in a formula: every number has its unit, so that `mean - 4` is a mistake.

use super::error::FormulaError;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Truth,
    /// The number 0, which is zero of any unit.
    Zero,
    /// A number with the unit nanoseconds to this power: 0 is a plain number, 1 a time.
    Power(i32),
}

impl ValueKind {
    pub(super) const NUMBER: ValueKind = ValueKind::Power(0);
    pub(super) const TIME: ValueKind = ValueKind::Power(1);

    pub(super) fn alike(self, other: ValueKind) -> Result<ValueKind, FormulaError> {
        match (self, other) {
            (ValueKind::Zero, ValueKind::Power(_)) => Ok(other),
            (ValueKind::Power(_), ValueKind::Zero) => Ok(self),
            _ if self == other => Ok(self),
            _ => Err(FormulaError::Unlike {
                expected: self.to_string(),
                found: other.to_string(),
            }),
        }
    }

    pub(super) fn power(self) -> Result<i32, FormulaError> {
        match self {
            ValueKind::Truth => Err(FormulaError::NoValue),
            ValueKind::Zero => Ok(0),
            ValueKind::Power(power) => Ok(power),
        }
    }

    pub(super) fn truth(self) -> Result<(), FormulaError> {
        match self {
            ValueKind::Truth => Ok(()),
            other => Err(FormulaError::NoTruth(other.to_string())),
        }
    }

    pub(super) fn time(self) -> Result<(), FormulaError> {
        match self {
            ValueKind::Zero | ValueKind::TIME => Ok(()),
            other => Err(FormulaError::NoTime(other.to_string())),
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ValueKind::Truth => f.write_str("a comparison"),
            ValueKind::Zero => f.write_str("0"),
            ValueKind::NUMBER => f.write_str("a number without a unit"),
            ValueKind::TIME => f.write_str("a time"),
            ValueKind::Power(power) => write!(f, "a time to the power of {power}"),
        }
    }
}
