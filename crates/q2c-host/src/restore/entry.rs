//! The lines of a restore journal.

use super::Owner;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A change of a setting, as the journal announces it before it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Number of the change within the journal, from 0.
    pub seq: u64,
    /// The process that makes the change.
    #[serde(flatten)]
    pub owner: Owner,
    /// The setting's file, with links resolved. Journals name it `object`.
    #[serde(rename = "object")]
    pub file: PathBuf,
    /// The value before the change.
    pub old: String,
    /// The value that the owner writes.
    pub written: String,
}

/// One line of a journal. A line is on the disk before the write that it announces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Line {
    /// The owner is about to change a setting.
    Change(Change),
    /// Change `seq` has a further value that belongs to its owner: the kernel took `value` instead
    /// of the one written (rounding), or the owner writes it next.
    Settled { seq: u64, value: String },
    /// Change `seq` was undone, or the kernel refused it.
    Undone { seq: u64 },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change {
            file, old, written, ..
        } = self;
        write!(f, "{} from {old:?}, changed to {written:?}", file.display())
    }
}
