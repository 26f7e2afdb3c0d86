//! The names that the values of a replay have in results. They are also the words that are typed.

use q2c_replay::{Count, Discards, Fit, LaneBy, Mode, OnError, ShareBy, Writes};

/// A value with a name.
pub(crate) trait Named {
    /// The value's name.
    fn name(self) -> &'static str;
}

impl Named for Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Timed { .. } => "timed",
            Mode::Outstanding { .. } => "outstanding",
            Mode::Closed { .. } => "closed",
        }
    }
}

impl Named for Count {
    fn name(self) -> &'static str {
        match self {
            Count::Requests => "requests",
            Count::Bytes => "bytes",
            Count::Blocks => "blocks",
        }
    }
}

impl Named for LaneBy {
    fn name(self) -> &'static str {
        match self {
            LaneBy::Lane => "lane",
            LaneBy::Pid => "pid",
            LaneBy::Cpu => "cpu",
            LaneBy::Device => "device",
        }
    }
}

impl Named for ShareBy {
    fn name(self) -> &'static str {
        match self {
            ShareBy::Offset => "offset",
            ShareBy::Cpu => "cpu",
            ShareBy::Hctx => "hctx",
        }
    }
}

impl Named for Fit {
    fn name(self) -> &'static str {
        match self {
            Fit::Modulo => "modulo",
            Fit::Clip => "clip",
            Fit::Scale => "scale",
            Fit::Dense => "dense",
        }
    }
}

impl Named for Writes {
    fn name(self) -> &'static str {
        match self {
            Writes::Skip => "skip",
            Writes::AsReads => "as-reads",
            Writes::Allow => "allow",
        }
    }
}

impl Named for Discards {
    fn name(self) -> &'static str {
        match self {
            Discards::Skip => "skip",
            Discards::Allow => "allow",
        }
    }
}

impl Named for OnError {
    fn name(self) -> &'static str {
        match self {
            OnError::Stop => "stop",
            OnError::GoOn => "go-on",
        }
    }
}
