//! The settings of a replay, as the user gives them.

use super::Precondition;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use q2c_capture::CapturedBy;
use q2c_engine::{EngineSpec, SimMachine, TimeSource, World};
use q2c_model::replay::{
    Count, Discards, Fit, Idle, LaneBy, Mode, OnError, ParseValueError, ShareBy, Writes,
};
use q2c_model::{CpuId, List, Nanos, parse_cpus, parse_duration};
use q2c_replay::ReplaySelection;
use q2c_sys::Clock;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The wish to capture the block layer during a replay, to sum up Q2C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaptureRequest {
    /// Nothing is captured.
    #[default]
    Off,
    /// The block layer is captured if every target is on disks that can be captured and the kernel
    /// permits it.
    WherePermitted,
    /// It is captured by these means (`None`: by the first that work), or the replay fails.
    By(Option<CapturedBy>),
}

/// How a trace is replayed. A field that is `None` gets a default that depends on the targets.
#[derive(Clone, Debug, Args)]
pub struct ReplayRequest {
    /// timed: so many times as fast, such as 2 or 0.5
    #[arg(long, default_value = "1", value_parser = speed)]
    pub speed: f64,
    /// outstanding: what becomes of the time with nothing in flight
    #[arg(long, value_parser = one_of::<Idle>(idle()), default_value = "squeeze")]
    pub idle: Idle,
    /// outstanding: what in flight is counted in; blocks are of 4 KiB
    #[arg(long, value_parser = one_of::<Count>(Count::NAMES), default_value = "blocks")]
    pub count: Count,
    /// closed: what a lane is
    #[arg(long, value_parser = one_of::<LaneBy>(LaneBy::NAMES), default_value = "lane")]
    pub lane: LaneBy,
    /// io_uring or libaio, with their options [default: io_uring, or what a simulated target names]
    #[arg(long)]
    pub engine: Option<EngineSpec>,
    /// Submitting threads of each target
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub submitters: u16,
    /// timed: by what several threads share the requests; where two overlap, the trace's order is
    /// kept all the same
    #[arg(long, hide_short_help = true)]
    #[arg(value_parser = one_of::<ShareBy>(ShareBy::NAMES))]
    #[arg(default_value = "offset")]
    pub share: ShareBy,
    /// CPUs of the submitting threads, in turn [default: the last ones that do not take the
    /// device's interrupts]
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpus: Option<List<CpuId>>,
    /// Submitting threads never sleep, so that no wake-up is late; each takes a whole CPU
    #[arg(long, hide_short_help = true)]
    pub spin: bool,
    /// Requests in flight of each thread at most; a device that reaches it is saturated
    #[arg(long, hide_short_help = true, default_value_t = 1024)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=32768))]
    pub in_flight: u16,
    /// What becomes of offsets that the target does not have
    ///
    /// Begin again at its start, leave their requests out, scale all, or move used parts together
    #[arg(long, value_parser = one_of::<Fit>(Fit::NAMES), default_value = "modulo")]
    pub offsets: Fit,
    /// Writes: skip, as-reads, or allow
    ///
    /// To allow them needs --allow-write for each target [default: allow where all targets are
    /// named by --allow-write, else as-reads]
    #[arg(long, value_parser = one_of::<Writes>(Writes::NAMES))]
    pub writes: Option<Writes>,
    /// Discards: skip or allow
    ///
    /// libaio has none [default: as writes are allowed, skip with libaio]
    #[arg(long, hide_short_help = true, value_parser = one_of::<Discards>(Discards::NAMES))]
    pub discards: Option<Discards>,
    /// Share of what is written that compresses to nothing, such as 50%
    #[arg(long, hide_short_help = true, default_value = "0%")]
    #[arg(value_name = "PERCENT", value_parser = percent)]
    pub compress: u8,
    /// Write each target before each trial: sequential, sequential:N (passes) or random; needs
    /// --allow-write
    #[arg(long, value_name = "HOW")]
    pub precondition: Option<Precondition>,
    /// When a request fails: stop, or go on and count
    #[arg(long, hide_short_help = true)]
    #[arg(value_parser = one_of::<OnError>(OnError::NAMES))]
    #[arg(default_value = "stop")]
    pub on_error: OnError,
    /// Sum Q2C in the block layer while replaying, and fail where that cannot be done; needs root
    #[arg(long)]
    pub capture: bool,
    /// With --capture: bpf or tracefs [default: BPF, or tracefs where that is refused]
    #[arg(long, hide_short_help = true, requires = "capture")]
    pub by: Option<CapturedBy>,
    /// Own lateness (p99) above which a trial is invalid
    ///
    /// The replayer's own lateness above this at the 99th percentile makes a trial invalid
    #[arg(long, default_value = "100us", value_name = "DURATION", value_parser = parse_duration)]
    pub max_lateness: Nanos,
    /// The rule that decides when a request goes.
    #[arg(skip = Mode::Timed { speed: 1.0 })]
    pub mode: Mode,
    /// The wish to capture the block layer, made from `capture` and `by`.
    #[arg(skip)]
    pub capture_request: CaptureRequest,
    /// The requests of the trace that are replayed.
    #[arg(skip)]
    pub selection: ReplaySelection,
    /// Files and devices that may be written.
    #[arg(skip)]
    pub allow_write: Vec<PathBuf>,
    /// Seed of simulated devices.
    #[arg(skip)]
    pub seed: u64,
    /// The simulated machine of simulated targets; `None` replays in real time.
    #[arg(skip)]
    pub machine: Option<SimMachine>,
}

/// The modes, as they are named by `--mode`. Other options hold the fields of a [`Mode`].
///
/// [`Mode`]: q2c_model::replay::Mode
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    /// Each request at its recorded time
    Timed,
    /// Each when no more is in flight than was in the trace
    Outstanding,
    /// Each lane a think time after its last completion
    Closed,
}

/// Parses the name of one of an option's values.
fn one_of<T>(values: impl Into<PossibleValuesParser>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = ParseValueError> + Clone + Send + Sync + 'static,
{
    let values: PossibleValuesParser = values.into();
    values.try_map(|name| name.parse::<T>())
}

/// The values of `--idle` with their help texts.
fn idle() -> [PossibleValue; 2] {
    let value = |idle: Idle, help| PossibleValue::new(idle.name()).help(help);
    [value(Idle::Keep, "Kept"), value(Idle::Squeeze, "Left out")]
}

fn speed(text: &str) -> Result<f64, &'static str> {
    let value: Option<f64> = text.strip_suffix('x').unwrap_or(text).parse().ok();
    let value = value.filter(|s| *s >= 1e-3 && *s <= 1e6);
    value.ok_or("expected a number from 0.001 to 1000000")
}

fn percent(text: &str) -> Result<u8, &'static str> {
    let value: Option<u8> = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let value = value.filter(|p| *p <= 100);
    value.ok_or("expected a whole percentage from 0 to 100")
}

fn cpus(text: &str) -> Result<List<CpuId>, String> {
    Ok(parse_cpus(text)?.into_iter().map(CpuId).collect())
}

impl ReplayRequest {
    /// The clock of the replays: that of a new world, or of this machine.
    pub fn time_source(&self) -> TimeSource {
        match &self.machine {
            Some(machine) => World::new(machine.clone()).into(),
            None => Clock::new().into(),
        }
    }

    /// This request with a mode and a wish to capture, made from the options that belong to them.
    pub fn with_mode(&self, mode: ModeName) -> ReplayRequest {
        let mode = match mode {
            ModeName::Timed => Mode::Timed { speed: self.speed },
            ModeName::Outstanding => Mode::Outstanding {
                count: self.count,
                idle: self.idle,
            },
            ModeName::Closed => Mode::Closed { lane: self.lane },
        };
        let wish = self.capture.then_some(CaptureRequest::By(self.by));
        ReplayRequest {
            mode,
            capture_request: wish.unwrap_or_default(),
            ..self.clone()
        }
    }

    pub(crate) fn allows_writing(&self, target: &str) -> bool {
        let mut allowed = self.allow_write.iter();
        allowed.any(|path| path == Path::new(target))
    }

    pub(crate) fn opens_for_writing(&self, target: &str) -> bool {
        match self.writes {
            Some(Writes::Allow) => true,
            Some(_) => self.precondition.is_some(),
            None => self.allows_writing(target) || self.precondition.is_some(),
        }
    }

    /// Discards as asked for, else as `writes` are treated; skipped if the engine has none.
    pub(crate) fn discards(&self, writes: Writes) -> Discards {
        let has_discards = self.engine.as_ref().is_none_or(EngineSpec::has_discards);
        match self.discards {
            _ if !has_discards => Discards::Skip,
            Some(asked) => asked,
            None if writes == Writes::Allow => Discards::Allow,
            None => Discards::Skip,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use q2c_run::arguments::from_words;

    pub(crate) fn request() -> ReplayRequest {
        ReplayRequest {
            seed: 1,
            ..from_words("--in-flight 64").unwrap()
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
