//! Kinds of changes that a replay makes in requests of the trace. `q2c-report` makes the words.

use q2c_model::replay::Change;
use serde::{Deserialize, Serialize};

/// A kind of change, as a result names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ChangeKind {
    /// A kind that this version knows.
    Known(Change),
    /// The words of a result of an earlier version.
    Told(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn kinds_and_words_of_earlier_versions_are_keys() {
        let counts = BTreeMap::from([
            (ChangeKind::Known(Change::WriteLeftOut), 2),
            (ChangeKind::Told("writes, left out".to_owned()), 3),
        ]);
        let text = serde_json::to_string(&counts).unwrap();
        assert_eq!(text, r#"{"write-left-out":2,"writes, left out":3}"#);
        let read: BTreeMap<ChangeKind, u64> = serde_json::from_str(&text).unwrap();
        assert_eq!(read, counts);
    }
}
