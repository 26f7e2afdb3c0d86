//! Why `tune` tried a method.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a method was tried first. A role does not rate the method (docs/how-tune-works.md#roles).
///
/// Journals hold it in the form of serde, in which words are joined (`below-floor`); results hold
/// its [`text`](Role::text).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Interrupts and classic polling: tried in every run.
    Baseline,
    /// The rule of Linux 4.12 to 6.3: tried in every run.
    Linux,
    /// The rule that the published study found best: tried in every run.
    Published,
    /// The kernel's own hybrid polling. The referee never orders it; a study adds it.
    Kernel,
    /// A rule that the user wrote or named.
    User,
    /// The highest robust objective by simulation.
    Robust,
    /// The highest objective among the rules that simulation puts 0.8 standard errors or more above
    /// the floor.
    Safe,
    /// The highest objective among the rules that simulation puts at or above the floor on average.
    Sharp,
    /// The highest robust objective among the rules of one name.
    Family,
    /// The highest robust objective among the rules that simulation puts up to 8 % below the floor.
    /// In truth such a rule may keep the floor.
    BelowFloor,
    /// One of up to three rules spread over the simulated Pareto front of IOPS against CPU.
    Front,
}

const ALL: [Role; 11] = [
    Role::Baseline,
    Role::Linux,
    Role::Published,
    Role::Kernel,
    Role::User,
    Role::Robust,
    Role::Safe,
    Role::Sharp,
    Role::Family,
    Role::BelowFloor,
    Role::Front,
];

impl Role {
    /// Its text in results and tables.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Role::Baseline => "baseline",
            Role::Linux => "linux",
            Role::Published => "published",
            Role::Kernel => "kernel",
            Role::User => "user",
            Role::Robust => "robust",
            Role::Safe => "safe",
            Role::Sharp => "sharp",
            Role::Family => "family",
            Role::BelowFloor => "below floor",
            Role::Front => "front",
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
    /// The word of another version.
    Other(String),
}

impl CellRole {
    /// Its text in results and tables.
    #[must_use]
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
        let known = ALL.into_iter().find(|role| role.text() == word);
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

    #[test]
    fn results_have_the_text_and_journals_joined_words() {
        let cell = CellRole::from(Role::BelowFloor);
        let text = serde_json::to_string(&cell).unwrap();
        assert_eq!(text, r#""below floor""#);
        assert_eq!(serde_json::from_str::<CellRole>(&text).unwrap(), cell);
        let journal = serde_json::to_string(&Role::BelowFloor).unwrap();
        assert_eq!(journal, r#""below-floor""#);
    }

    #[test]
    fn every_role_is_read_back_and_other_words_are_kept() {
        for role in ALL {
            let read = CellRole::from(role.to_string());
            assert_eq!(read, CellRole::Known(role));
        }
        let other: CellRole = serde_json::from_str(r#""lucky""#).unwrap();
        assert_eq!(other, CellRole::Other("lucky".to_owned()));
        assert_eq!(serde_json::to_string(&other).unwrap(), r#""lucky""#);
    }
}
