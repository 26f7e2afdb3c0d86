//! Binary blktrace: the kernel's event records, and how they become I/Os.
//!
//! [`EventFile`] reads one file of any version and byte order. [`Merge`] merges several files by
//! time, and [`Matcher`] turns the events into [`crate::Span`]s. [`FileSet`] finds the files of a
//! base name. [`match_events`] runs all steps.
//!
//! Records have the layout of include/uapi/linux/blktrace_api.h: 48 bytes (version 7) or 64 bytes
//! (version 8) in the byte order of the traced machine, each followed by `pdu_len` bytes of
//! payload.

mod context;
mod event;
mod file;
mod layout;
mod matching;
mod merge;
mod set;

pub use context::{BlktraceLosses, EventContext, EventSource, Notes};
pub(crate) use context::{SequenceStep, Sequences};
pub(crate) use event::kind_of_rwbs;
pub use event::{BlktraceEvent, TRACEPOINTS, action, category, category_of_rwbs};
pub use file::EventFile;
pub(crate) use layout::BlktraceLayout;
pub use matching::{Matcher, MatcherCounts};
pub use merge::Merge;
/// Map by numbers of processes or devices. A crafted trace could only slow down its own reading.
pub(crate) use rustc_hash::FxHashMap as IntMap;
pub use set::{FileSet, MatchSummary, match_events};

/// 2^64 / the golden ratio, rounded to an odd number: the multiplier of a Fibonacci hash.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
