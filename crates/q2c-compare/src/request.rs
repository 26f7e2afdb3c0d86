//! A replay as it is asked for.

use super::Precondition;
use q2c_capture::CapturedBy;
use q2c_engine::EngineSpec;
use q2c_model::{CpuId, Nanos};
use q2c_replay::{Discards, Fit, Mode, OnError, ShareBy, Wanted, Writes};
use std::path::{Path, PathBuf};

/// Whether the block layer is captured during a replay, for the sum of Q2C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaptureWish {
    /// Nothing is captured.
    #[default]
    Off,
    /// It is captured if every target stands on disks that can be captured and the kernel permits
    /// it.
    WherePermitted,
    /// It is captured, by these means; `None` takes the first means that this machine has. A replay
    /// that cannot be captured fails.
    By(Option<CapturedBy>),
}

/// How a trace is replayed. A field that is `None` gets a default that depends on the targets.
#[derive(Clone, Debug)]
pub struct ReplayRequest {
    /// The rule that decides when a request goes.
    pub mode: Mode,
    /// How submitting threads share the requests in timed mode.
    pub share: ShareBy,
    /// The engine; `None` takes the one that the target's text names, else io_uring.
    pub engine: Option<EngineSpec>,
    /// Submitting threads of each target; at least 1.
    pub submitters: u16,
    /// CPUs of the submitting threads, in turn; `None` lets q2c choose.
    pub cpus: Option<Vec<CpuId>>,
    /// Whether submitting threads never sleep.
    pub spin: bool,
    /// The most requests that each thread has in flight, 1 to 32768.
    pub in_flight: u16,
    /// The treatment of offsets that the target does not have.
    pub fit: Fit,
    /// The treatment of writes. With `None` they are written where every target is simulated or may
    /// be written, and are reads elsewhere.
    pub writes: Option<Writes>,
    /// The treatment of discards; `None` follows that of writes.
    pub discards: Option<Discards>,
    /// Share of the written data that compresses to nothing, percent.
    pub compressible_pct: u8,
    /// How targets are written before each trial.
    pub precondition: Option<Precondition>,
    /// Whether the replay goes on or stops when a request fails.
    pub on_error: OnError,
    /// Whether the block layer is captured.
    pub capture: CaptureWish,
    /// Own lateness at the 99th percentile above which a trial is invalid.
    pub max_lateness: Nanos,
    /// The requests of the trace that are replayed.
    pub wanted: Wanted,
    /// Files and devices that may be written.
    pub allow_write: Vec<PathBuf>,
    /// Seed of simulated devices.
    pub seed: u64,
}

impl ReplayRequest {
    /// Whether `target` may be written.
    pub(crate) fn allows_writing(&self, target: &str) -> bool {
        let mut allowed = self.allow_write.iter();
        allowed.any(|path| path == Path::new(target))
    }

    /// Whether `target` has to be opened for writing.
    pub(crate) fn opens_for_writing(&self, target: &str) -> bool {
        match self.writes {
            Some(Writes::Allow) => true,
            Some(_) => self.precondition.is_some(),
            None => self.allows_writing(target) || self.precondition.is_some(),
        }
    }

    /// The treatment of discards that was asked for. Where nothing was asked for, it depends on
    /// `writes`, the treatment of writes. An engine that has none leaves them out in any case.
    pub(crate) fn discards(&self, writes: Writes) -> Discards {
        let engine = self.engine.as_ref();
        let has = engine.is_none_or(EngineSpec::has_discards);
        let asked = self.discards.unwrap_or(match writes {
            Writes::Allow => Discards::Allow,
            _ => Discards::Skip,
        });
        match has {
            true => asked,
            false => Discards::Skip,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A timed replay with defaults.
    pub(crate) fn request() -> ReplayRequest {
        ReplayRequest {
            mode: Mode::Timed { speed: 1.0 },
            share: ShareBy::Offset,
            engine: None,
            submitters: 1,
            cpus: None,
            spin: false,
            in_flight: 64,
            fit: Fit::Modulo,
            writes: None,
            discards: None,
            compressible_pct: 0,
            precondition: None,
            on_error: OnError::Stop,
            capture: CaptureWish::Off,
            max_lateness: Nanos(100_000),
            wanted: Wanted::default(),
            allow_write: Vec::new(),
            seed: 1,
        }
    }

    #[test]
    fn a_target_is_opened_for_writing_only_where_something_writes() {
        let mut asked = request();
        assert!(!asked.opens_for_writing("a"));
        asked.allow_write = vec!["a".into()];
        assert!(asked.opens_for_writing("a") && !asked.opens_for_writing("b"));
        asked.writes = Some(Writes::Skip);
        assert!(!asked.opens_for_writing("a"));
        asked.precondition = Some("random".parse().unwrap());
        assert!(asked.opens_for_writing("b"));
        asked.precondition = None;
        asked.writes = Some(Writes::Allow);
        assert!(asked.opens_for_writing("b"));
    }
}
