//! Binary blktrace: the kernel's event records, and how they become I/Os.
//!
//! [`EventFile`] reads one file of any version and byte order, [`Merge`] merges several in the
//! order of time, and [`Matcher`] makes [`crate::Span`]s of the events. [`FileSet`] finds the files
//! of a base name; [`match_events`] runs all steps.
//!
//! The record layout is from include/uapi/linux/blktrace_api.h: records of 48 bytes (version 7) or
//! 64 bytes (version 8) in the byte order of the traced machine, each followed by `pdu_len` bytes
//! of payload.

mod error;
mod event;
mod file;
mod hash;
mod layout;
mod loss;
mod matching;
mod merge;
mod notes;
mod queue;
mod rwbs;
mod set;

pub use error::BlktraceError;
pub use event::{BlktraceEvent, action, category};
pub use file::EventFile;
pub(crate) use hash::{GOLDEN, IntMap};
pub(crate) use layout::BlktraceLayout;
pub use loss::BlktraceLosses;
pub(crate) use loss::{SequenceStep, Sequences};
pub use matching::{Matcher, MatcherCounts};
pub use merge::Merge;
pub use notes::Notes;
pub(crate) use rwbs::kind_of_rwbs;
pub use rwbs::{TRACEPOINTS, category_of_rwbs};
pub use set::{EventSource, FileSet, MatchSummary, match_events};
