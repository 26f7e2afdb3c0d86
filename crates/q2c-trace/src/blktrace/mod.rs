//! Binary blktrace: the kernel's event records, and how they become I/Os.
//!
//! [`EventFile`] reads one file of any version and byte order, [`Merge`] merges several in the
//! order of time, and [`Matcher`] makes [`crate::Span`]s of the events. [`FileSet`] finds the files
//! of a base name; [`match_events`] runs all steps.
//!
//! The record layout is from include/uapi/linux/blktrace_api.h: records of 48 bytes (version 7) or
//! 64 bytes (version 8) in the byte order of the traced machine, each followed by `pdu_len` bytes
//! of payload.

mod event;
mod file;
mod layout;
mod loss;
mod matching;
mod merge;
mod notes;
mod set;

pub(crate) use event::kind_of_rwbs;
pub use event::{BlktraceEvent, TRACEPOINTS, action, category, category_of_rwbs};
pub use file::EventFile;
pub(crate) use layout::BlktraceLayout;
pub use loss::BlktraceLosses;
pub(crate) use loss::{SequenceStep, Sequences};
pub use matching::{Matcher, MatcherCounts};
pub use merge::Merge;
pub use notes::Notes;
/// For numbers of processes and devices: no attacker gains from slow look-ups in his own trace.
pub(crate) use rustc_hash::FxHashMap as IntMap;
pub use set::{BesideEvents, EventSource, FileSet, MatchSummary, match_events};

/// 2^64 / the golden ratio, rounded to an odd number.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
