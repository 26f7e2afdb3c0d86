//! The reasons why a request does not go to its target as it was recorded.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A difference between a request of the trace and what the replay did with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Its device has no target, so it is left out.
    NoTarget,
    /// It is a write, and is read instead.
    WriteRead,
    /// It is a write, and is left out.
    WriteLeftOut,
    /// It is a discard, and is left out.
    DiscardLeftOut,
    /// It is an operation that engines do not have, and is left out.
    OtherLeftOut,
    /// It has no bytes, so it is left out.
    Empty,
    /// It lies beyond the end of its device's region of the target, and is left out.
    Beyond,
    /// Its offset or length was not a multiple of the target's blocks and was aligned.
    Aligned,
    /// It was longer than there is room for, and was shortened.
    Shortened,
    /// Its offset was scaled to the target.
    Scaled,
    /// Its piece of 1 MiB was moved to another place.
    Dense,
    /// Its offset began again at the start of its device's region of the target.
    Modulo,
    /// It was done, but the recording of the replay has lost it.
    Unrecorded,
}

impl Change {
    /// Whether a device does less work by it than the trace asks for.
    pub const fn is_less_work(self) -> bool {
        !matches!(
            self,
            Change::Aligned | Change::Scaled | Change::Dense | Change::Modulo
        )
    }

    /// What became of the requests, in words, as reports and warnings tell it behind a number.
    pub const fn text(self) -> &'static str {
        match self {
            Change::NoTarget => "devices without a target, left out",
            Change::WriteRead => "writes, read instead",
            Change::WriteLeftOut => "writes, left out",
            Change::DiscardLeftOut => "discards, left out",
            Change::OtherLeftOut => "other operations, left out",
            Change::Empty => "requests of no bytes, left out",
            Change::Beyond => "requests beyond the target's end, left out",
            Change::Aligned => "requests aligned to the target's blocks",
            Change::Shortened => "requests shortened to what there is room for",
            Change::Scaled => "offsets scaled to the target",
            Change::Dense => "offsets moved together",
            Change::Modulo => "offsets begun again at the target's start (modulo)",
            Change::Unrecorded => "I/Os that the recording lost",
        }
    }
}

/// Numbers of requests by what was changed in them. One request can count under several changes.
pub type Changes = BTreeMap<Change, u64>;
