//! The mistakes that a formula can have.

use super::statistic::NAMES;
use thiserror::Error;

#[derive(Debug)]
pub(crate) struct Mistake {
    pub(crate) at: usize,
    pub(crate) error: FormulaError,
}

/// The kinds of mistake in a formula.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FormulaError {
    /// The text does not go on as the grammar wants it.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What would have been accepted, in words.
        expected: &'static str,
        /// The next word or character, as given.
        found: String,
    },
    /// Parameters stand behind the formula.
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
    /// No unit of that name.
    #[error("unknown unit `{0}`, expected one of ns, us, ms, s, %")]
    UnknownUnit(String),
    /// Digits that are no number, or a number that is too large.
    #[error("expected a number such as 0.7 or 40us, found `{0}`")]
    BadNumber(String),
    /// A function was called with too few or too many values.
    #[error("{function} takes {expected}, found {found}")]
    Arguments {
        /// The function's name.
        function: &'static str,
        /// The values that the function takes, in words.
        expected: &'static str,
        /// Number of values given.
        found: usize,
    },
    /// Two values cannot be added, compared or chosen from, because their units differ.
    #[error(
        "expected {expected}, as the value before it, found {found}; a time has a unit, as in 4us"
    )]
    Unlike {
        /// The kind of the first value, in words.
        expected: String,
        /// The kind of the second value, in words.
        found: String,
    },
    /// A comparison stands where a value is needed.
    #[error(
        "expected a value, found a comparison; if(comparison, value, value) makes a value of it"
    )]
    NoValue,
    /// A value stands where a comparison is needed.
    #[error("expected a comparison such as p01 > 40us, found {0}")]
    NoTruth(String),
    /// The formula as a whole gives no time.
    #[error("expected a formula that gives a time, found {0}; such as 0.7 * min or 40us")]
    NoTime(String),
    /// A divisor is zero in every window.
    #[error("division by zero: this is 0 in every window")]
    ZeroDivisor,
    /// Parentheses, calls or signs are nested deeper than this limit.
    #[error("nested deeper than {0} levels")]
    TooDeep(usize),
    /// The text is longer than this limit, in bytes.
    #[error("longer than {0} bytes")]
    TooLong(usize),
}
