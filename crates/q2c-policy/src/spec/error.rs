//! What can be wrong with a specification.

use crate::formula::{FormulaError, Mistake};
use thiserror::Error;

/// A text that names no rule or not its parameters.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("parse sleep rule `{text}` at character {position}: {kind}")]
pub struct SpecError {
    /// The whole text.
    pub text: String,
    /// Where in it, in characters from 1.
    pub position: usize,
    /// What is wrong there.
    pub kind: SpecErrorKind,
}

impl SpecError {
    /// At byte `offset` of `text`.
    pub(super) fn new(text: impl Into<String>, offset: usize, kind: SpecErrorKind) -> Self {
        let text = text.into();
        let position = text[..offset].chars().count() + 1;
        SpecError {
            text,
            position,
            kind,
        }
    }

    /// In the formula that begins at byte `offset` of `text`.
    pub(crate) fn formula(text: impl Into<String>, offset: usize, mistake: Mistake) -> Self {
        let kind = SpecErrorKind::Formula(mistake.error);
        Self::new(text, offset + mistake.at, kind)
    }

    /// Two lines that show the place: the text, and a caret below the character.
    #[must_use]
    pub fn pointer(&self) -> String {
        let on_one_line = |c: char| match c.is_whitespace() || c.is_control() {
            true => ' ',
            false => c,
        };
        let text: String = self.text.chars().map(on_one_line).collect();
        format!("{text}\n{:>1$}", '^', self.position)
    }
}

/// The kinds of mistake.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SpecErrorKind {
    /// No rule of that name.
    #[error("unknown rule `{found}`, expected one of {expected}")]
    UnknownRule {
        /// As given.
        found: String,
        /// All names.
        expected: String,
    },
    /// The rule has no parameter of that name.
    #[error("unknown parameter `{found}` of {rule}, expected {expected}")]
    UnknownParam {
        /// The rule.
        rule: &'static str,
        /// As given.
        found: String,
        /// What the rule takes.
        expected: String,
    },
    /// More values than parameters.
    #[error("too many parameters for {rule}, expected {expected}")]
    TooMany {
        /// The rule.
        rule: &'static str,
        /// What the rule takes.
        expected: String,
    },
    /// A parameter given twice.
    #[error("{0} is given twice, keep one of them")]
    Twice(&'static str),
    /// A value without a name after one with.
    #[error("`{0}` stands after a named parameter, give it a name too, as in name={0}")]
    NameMissing(String),
    /// A parameter without a default is not given.
    #[error("{param} is missing, give it as in `{example}`")]
    Missing {
        /// Its name.
        param: &'static str,
        /// A complete specification.
        example: &'static str,
    },
    /// A value that cannot be read, for instance because its unit is missing.
    #[error("{param}: {reason}")]
    BadValue {
        /// Its name.
        param: &'static str,
        /// What was expected and found.
        reason: String,
    },
    /// A value outside its range.
    #[error("{param} must be {range}, found {found}")]
    OutOfRange {
        /// Its name.
        param: &'static str,
        /// As `from 0.01% to 100%`.
        range: String,
        /// As read.
        found: String,
    },
    /// A mistake in a formula.
    #[error(transparent)]
    Formula(FormulaError),
}
