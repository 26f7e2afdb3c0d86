//! The lines of a journal.

use super::Owner;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A change announced before it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Number within the journal, from 0.
    pub seq: u64,
    /// Who changes it.
    #[serde(flatten)]
    pub owner: Owner,
    /// The setting's file, links resolved.
    pub object: PathBuf,
    /// Value before.
    pub old: String,
    /// Value written.
    pub written: String,
}

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Line {
    /// A change follows.
    Change(Change),
    /// This value is ours, too: the kernel took it instead of the one written (rounding), or it is written next.
    Settled { seq: u64, value: String },
    /// The change was undone, or never came about.
    Undone { seq: u64 },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change {
            object,
            old,
            written,
            ..
        } = self;
        write!(
            f,
            "{} from {old:?}, changed to {written:?}",
            object.display()
        )
    }
}
