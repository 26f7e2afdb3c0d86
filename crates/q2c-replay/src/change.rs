//! What becomes of requests that do not go to their target as they were recorded.

use std::collections::BTreeMap;

/// Why a request is not that of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Its device has no target: it is left out.
    NoTarget,
    /// A write that is read.
    WriteRead,
    /// A write that is left out.
    WriteLeftOut,
    /// A discard that is left out.
    DiscardLeftOut,
    /// An operation that engines do not have: it is left out.
    OtherLeftOut,
    /// It has no bytes: it is left out.
    Empty,
    /// It lies beyond the target's end: it is left out.
    Beyond,
    /// Offset or length are no multiples of the target's blocks.
    Aligned,
    /// There is no room for its length.
    Shortened,
    /// Its offset is scaled.
    Scaled,
    /// Its part is moved to others.
    Dense,
    /// Its offset begins again.
    Modulo,
    /// It was done but is missing from the recording of the replay.
    Unrecorded,
}

/// Requests by what was changed in them.
pub type Changes = BTreeMap<Change, u64>;

impl Change {
    /// All of them.
    pub const ALL: [Change; 13] = [
        Change::NoTarget,
        Change::WriteRead,
        Change::WriteLeftOut,
        Change::DiscardLeftOut,
        Change::OtherLeftOut,
        Change::Empty,
        Change::Beyond,
        Change::Aligned,
        Change::Shortened,
        Change::Scaled,
        Change::Dense,
        Change::Modulo,
        Change::Unrecorded,
    ];

    /// In words, after a count.
    #[must_use]
    pub fn says(self) -> &'static str {
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

    /// Whether it is a write that is not written.
    #[must_use]
    pub fn spares_writes(self) -> bool {
        matches!(self, Change::WriteRead | Change::WriteLeftOut)
    }

    /// Whether something is missing that the trace has, writes apart.
    #[must_use]
    pub fn leaves_out(self) -> bool {
        use Change::{Beyond, DiscardLeftOut, Empty, NoTarget, OtherLeftOut, Unrecorded};
        matches!(
            self,
            NoTarget | DiscardLeftOut | OtherLeftOut | Empty | Beyond | Unrecorded
        )
    }
}
