//! What can be wrong with a formula.

use super::statistic::NAMES;
use thiserror::Error;

/// A mistake and where it is.
#[derive(Debug)]
pub(crate) struct Mistake {
    /// Byte offset in the formula.
    pub(crate) at: usize,
    pub(crate) error: FormulaError,
}

/// The kinds of mistake.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FormulaError {
    /// Something else should stand there.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What would have been accepted.
        expected: &'static str,
        /// As given.
        found: String,
    },
    /// Parameters behind the formula.
    #[error(
        "expected an operator or the end, found `,`; parameters stand before the formula, as in rule:period=10ms,sleep=0.7 * min"
    )]
    ParameterBehind,
    /// No statistic of that name.
    #[error("unknown name `{0}`, expected one of {NAMES}")]
    UnknownName(String),
    /// No function of that name.
    #[error("unknown function `{0}`, expected one of if, min, max")]
    UnknownFunction(String),
    /// A number with a unit that does not exist.
    #[error("unknown unit `{0}`, expected one of ns, us, ms, s, %")]
    UnknownUnit(String),
    /// Digits that are no number, or one too large.
    #[error("expected a number such as 0.7 or 40us, found `{0}`")]
    BadNumber(String),
    /// A function with too few or too many values.
    #[error("{function} takes {expected}, found {found}")]
    Arguments {
        /// The function.
        function: &'static str,
        /// What it takes.
        expected: &'static str,
        /// How many were given.
        found: usize,
    },
    /// Two values that cannot be added, compared or chosen from, since their units differ.
    #[error(
        "expected {expected}, as the value before it, found {found}; a time has a unit, as in 4us"
    )]
    Unlike {
        /// What the first value is.
        expected: String,
        /// What the second is.
        found: String,
    },
    /// Arithmetic with a comparison.
    #[error(
        "expected a value, found a comparison; if(comparison, value, value) makes a value of it"
    )]
    NoValue,
    /// A value that is asked for its truth.
    #[error("expected a comparison such as p01 > 40us, found {0}")]
    NoTruth(String),
    /// The whole gives something that cannot be slept.
    #[error("expected a formula that gives a time, found {0}; such as 0.7 * min or 40us")]
    NoTime(String),
    /// A divisor that is zero whatever the window.
    #[error("division by zero: this is 0 in every window")]
    ZeroDivisor,
    /// More parentheses or signs within each other than allowed.
    #[error("nested deeper than {0} levels")]
    TooDeep(usize),
    /// A longer text than allowed.
    #[error("longer than {0} bytes")]
    TooLong(usize),
}
