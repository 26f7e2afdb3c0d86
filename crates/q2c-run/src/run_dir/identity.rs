//! The conditions that must be the same in two sessions, so that their trials may stand in one run.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Facts by name, such as target, kernel, binary and calibration. The caller chooses them; the
/// folder only stores and compares them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identity(pub BTreeMap<String, String>);

/// A fact that has changed since the run's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the fact.
    pub key: String,
    /// Value at the run's start; `None` when the fact was not stated then.
    pub stored: Option<String>,
    /// Value today; `None` when the fact is not stated now.
    pub now: Option<String>,
}

impl Identity {
    /// Adds a fact, or replaces the fact of that name.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Every fact in which `now` differs from `self`, sorted by name. Facts that only one of the
    /// two states are among them.
    pub fn differences(&self, now: &Identity) -> Vec<Difference> {
        let keys: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        keys.into_iter()
            .filter(|key| self.0.get(*key) != now.0.get(*key))
            .map(|key| Difference {
                key: key.clone(),
                stored: self.0.get(key).cloned(),
                now: now.0.get(key).cloned(),
            })
            .collect()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        let (stored, now) = (show(&self.stored), show(&self.now));
        write!(f, "{}: was {stored}, is {now}", self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_changed_added_and_missing_facts_only() {
        let stored = Identity::default()
            .with("kernel", "6.1")
            .with("target", "/dev/vdb")
            .with("calibration", "ab12");
        let now = Identity::default()
            .with("kernel", "6.12")
            .with("target", "/dev/vdb")
            .with("binary", "0.2");
        let differences = stored.differences(&now);
        let shown: Vec<String> = differences.iter().map(ToString::to_string).collect();
        let wanted = [
            "binary: was nothing, is 0.2",
            "calibration: was ab12, is nothing",
            "kernel: was 6.1, is 6.12",
        ];
        assert_eq!(shown, wanted);
        assert!(stored.differences(&stored).is_empty());
    }
}
