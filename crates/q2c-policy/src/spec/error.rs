//! The mistakes that a specification can have.

use crate::formula::{FormulaError, Mistake};
use thiserror::Error;

/// A text that is no policy.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("parse sleep rule `{text}` at character {position}: {kind}")]
pub struct SpecError {
    /// The whole text as given.
    pub text: String,
    /// The place of the mistake in the text, in characters from 1.
    pub position: usize,
    /// The mistake.
    pub kind: SpecErrorKind,
}

impl SpecError {
    pub(super) fn new(text: impl Into<String>, offset: usize, kind: SpecErrorKind) -> Self {
        let text = text.into();
        let position = text[..offset].chars().count() + 1;
        SpecError {
            text,
            position,
            kind,
        }
    }

    pub(crate) fn formula(text: impl Into<String>, offset: usize, mistake: Mistake) -> Self {
        let kind = SpecErrorKind::Formula(mistake.error);
        Self::new(text, offset + mistake.at, kind)
    }

    /// Two lines that show the place: the text, and a caret below the character.
    #[must_use]
    pub fn pointer(&self) -> String {
        let on_one_line = |c: char| {
            if c.is_whitespace() || c.is_control() {
                ' '
            } else {
                c
            }
        };
        let text: String = self.text.chars().map(on_one_line).collect();
        format!("{text}\n{:>1$}", '^', self.position)
    }
}

/// The kinds of mistake in a specification.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SpecErrorKind {
    /// No rule of that name.
    #[error("unknown rule `{found}`, expected one of {expected}")]
    UnknownRule {
        /// As given.
        found: String,
        /// The names of all rules.
        expected: String,
    },
    /// The rule has no parameter of this name.
    #[error("unknown parameter `{found}` of {rule}, expected {expected}")]
    UnknownParam {
        /// The rule's name.
        rule: &'static str,
        /// As given.
        found: String,
        /// The parameters that the rule takes, in words.
        expected: String,
    },
    /// There are more values than the rule has parameters.
    #[error("too many parameters for {rule}, expected {expected}")]
    TooMany {
        /// The rule's name.
        rule: &'static str,
        /// The parameters that the rule takes, in words.
        expected: String,
    },
    /// A parameter is given twice.
    #[error("{0} is given twice, keep one of them")]
    Twice(&'static str),
    /// A value without a name stands after a named one.
    #[error("`{0}` stands after a named parameter, give it a name too, as in name={0}")]
    NameMissing(String),
    /// A parameter without a default is not given.
    #[error("{param} is missing, give it as in `{example}`")]
    Missing {
        /// The parameter's name.
        param: &'static str,
        /// A complete specification of the rule.
        example: &'static str,
    },
    /// A value that cannot be read, for instance because its unit is missing.
    #[error("{param}: {reason}")]
    BadValue {
        /// The parameter's name.
        param: &'static str,
        /// What was expected and what was found, in words.
        reason: String,
    },
    /// A value is outside its range.
    #[error("{param} must be {range}, found {found}")]
    OutOfRange {
        /// The parameter's name.
        param: &'static str,
        /// The range in words, such as `from 0.01% to 100%`.
        range: String,
        /// The value as it was read.
        found: String,
    },
    /// The formula has a mistake.
    #[error(transparent)]
    Formula(FormulaError),
}
