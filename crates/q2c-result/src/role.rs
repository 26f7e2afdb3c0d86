//! The reasons for which `tune` tries a method.

use serde::{Deserialize, Serialize};
use std::fmt;

words! {
    /// Why a method was tried first. A role does not rate it (docs/how-tune-works.md#roles).
    /// Journals store a word without blanks (`below-floor`), results the [`text`](Role::text).
    pub enum Role, journal_word {
        /// Interrupts and classic polling: tried in every run.
        Baseline = "baseline",
        /// The rule of Linux 4.12 to 6.3: tried in every run.
        Linux = "linux",
        /// The rule that the published study found best: tried in every run.
        Published = "published",
        /// The kernel's own hybrid polling. `tune` never chooses it by itself; a study adds it.
        Kernel = "kernel",
        /// A rule that the user wrote or named.
        User = "user",
        /// The rule with the highest robust objective by simulation.
        Robust = "robust",
        /// The highest objective among rules simulated to be 0.8 standard errors above the floor.
        Safe = "safe",
        /// The highest objective among rules that simulation puts at or above the floor on average.
        Sharp = "sharp",
        /// The highest robust objective among the rules of one name.
        Family = "family",
        /// The highest robust objective among rules that are simulated up to 8 % below the floor.
        BelowFloor = "below-floor",
        /// One of up to three rules spread over the simulated Pareto front of IOPS against CPU.
        Front = "front",
    }
}

impl Role {
    /// The role's text in results and tables.
    pub fn text(self) -> &'static str {
        match self {
            Role::BelowFloor => "below floor",
            _ => self.journal_word(),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

/// The role of a cell in a result, which may come from another version of q2c.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CellRole {
    /// A role that this version knows.
    Known(Role),
    /// A word that only another version knows.
    Other(String),
}

impl CellRole {
    /// The role's text in results and tables.
    pub fn text(&self) -> &str {
        match self {
            CellRole::Known(role) => role.text(),
            CellRole::Other(word) => word,
        }
    }
}

impl From<Role> for CellRole {
    fn from(role: Role) -> Self {
        CellRole::Known(role)
    }
}

impl From<String> for CellRole {
    fn from(word: String) -> Self {
        let known = Role::ALL.into_iter().find(|role| role.text() == word);
        known.map_or(CellRole::Other(word), CellRole::Known)
    }
}

impl From<CellRole> for String {
    fn from(role: CellRole) -> Self {
        role.text().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::assert_json;

    #[test]
    fn results_have_the_text_and_journals_joined_words() {
        assert_json(&CellRole::from(Role::BelowFloor), r#""below floor""#);
        assert_json(&Role::BelowFloor, r#""below-floor""#);
    }

    #[test]
    fn every_role_is_read_back_and_other_words_are_kept() {
        for role in Role::ALL {
            assert_eq!(CellRole::from(role.to_string()), CellRole::Known(role));
        }
        assert_json(&CellRole::Other("lucky".to_owned()), r#""lucky""#);
    }
}
