//! Arguments of `q2c replay` and `q2c compare`.

use super::{Cpus, LimitArgs, RecordingArgs, RunArgs};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use q2c_capture::CapturedBy;
use q2c_compare::{DeviceMap, Precondition};
use q2c_engine::EngineSpec;
use q2c_model::replay::{
    Count, Discards, Fit, Idle, LaneBy, OnError, ParseValueError, ShareBy, Writes,
};
use q2c_model::{DevId, Nanos, parse_duration};
use q2c_trace::process::Process;
use std::path::PathBuf;
use std::str::FromStr;

/// Replay a trace on one target, or on one for each of its devices.
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// A q2c trace, or a recording that can be imported
    pub trace: PathBuf,
    /// File or block device, or a simulated device such as sim:50us,servers=8 or null; none with
    /// --map
    pub target: Option<String>,
    /// Send a device of the trace there, such as 8:16=/dev/sdb; for each of its devices, others are
    /// left out
    #[arg(long, value_name = "DEVICE=TARGET", conflicts_with = "target")]
    pub map: Vec<Map>,
    /// What is kept of the trace: its times, its depth or its lanes
    ///
    /// timed: each request at its recorded time; outstanding: when no more is in flight than was at
    /// its place in the trace; closed: each lane a recorded think time after its last completion
    #[arg(long, value_enum, default_value = "timed")]
    pub mode: ModeName,
    /// Trials
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Store every I/O of the replay in this trace; a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// What the run must keep.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// How.
    #[command(flatten)]
    pub how: HowArgs,
}

/// Replay traces on several devices in turns, and say which serves them better.
#[derive(Clone, Debug, Args)]
pub struct CompareArgs {
    /// A q2c trace, or a recording that can be imported
    pub trace: PathBuf,
    /// Two or more files, block devices or simulated devices; files in front of them that are
    /// recognised as traces or recordings are further traces
    #[arg(required = true, num_args = 2.., value_name = "TARGET")]
    pub targets: Vec<String>,
    /// A further trace, also where its format is not recognised; as often as needed
    #[arg(long = "trace", value_name = "FILE")]
    pub more: Vec<PathBuf>,
    /// What is kept of the trace: its times, its depth or its lanes
    ///
    /// timed: each request at its recorded time; outstanding: when no more is in flight than was at
    /// its place in the trace; closed: each lane a recorded think time after its last completion.
    /// Several, as in timed,outstanding, are compared one by one
    #[arg(long, value_enum, default_value = "timed", value_delimiter = ',')]
    pub mode: Vec<ModeName>,
    /// Compare sums of U2C, without a capture of the block layer [default: capture where every
    /// target has disks and the kernel permits it]
    #[arg(long, conflicts_with_all = ["capture", "by"])]
    pub no_capture: bool,
    /// Trials of each target, in turns, for each trace and mode
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// How.
    #[command(flatten)]
    pub how: HowArgs,
}

/// How a trace is replayed.
#[derive(Clone, Debug, Args)]
pub struct HowArgs {
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
    #[arg(
        long,
        hide_short_help = true,
        value_parser = one_of::<ShareBy>(ShareBy::NAMES),
        default_value = "offset"
    )]
    pub share: ShareBy,
    /// CPUs of the submitting threads, in turn [default: the last ones that do not take the
    /// device's interrupts]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<Cpus>,
    /// Submitting threads never sleep, so that no wake-up is late; each takes a whole CPU
    #[arg(long, hide_short_help = true)]
    pub spin: bool,
    /// Requests in flight of each thread at most; a device that reaches it is saturated
    #[arg(
        long,
        hide_short_help = true,
        default_value_t = 1024,
        value_parser = clap::value_parser!(u16).range(1..=32768)
    )]
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
    #[arg(
        long,
        hide_short_help = true,
        default_value = "0%",
        value_name = "PERCENT",
        value_parser = percent
    )]
    pub compress: u8,
    /// Write each target before each trial: sequential, sequential:N (passes) or random; needs
    /// --allow-write
    #[arg(long, value_name = "HOW")]
    pub precondition: Option<Precondition>,
    /// When a request fails: stop, or go on and count
    #[arg(
        long,
        hide_short_help = true,
        value_parser = one_of::<OnError>(OnError::NAMES),
        default_value = "stop"
    )]
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
    /// Also run the trials of what was invalid twice for one reason
    #[arg(long)]
    pub all_trials: bool,
    /// Only what starts in this part of the trace, such as 10s..70s
    #[arg(long, value_name = "FROM..TO", value_parser = super::analyze::window)]
    pub part: Option<super::Window>,
    /// Only requests of this process, by its name or number
    #[arg(long, value_name = "NAME|PID")]
    pub process: Option<Process>,
    /// Its format, and what it does not say itself.
    #[command(flatten)]
    pub recording: RecordingArgs,
    /// Place of the run.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The value of `--map`, such as `8:16=/dev/sdb`.
#[derive(Clone, Debug)]
pub struct Map(pub DeviceMap);

impl FromStr for Map {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let (device, target) = text.split_once('=')?;
            let (major, minor) = device.split_once(':')?;
            let device = DevId {
                major: major.parse().ok()?,
                minor: minor.parse().ok()?,
            };
            let target = target.to_owned();
            Some(Map(DeviceMap { device, target }))
        };
        parsed().ok_or_else(|| {
            format!("expected MAJOR:MINOR=TARGET, such as 8:16=/dev/sdb, found `{text}`")
        })
    }
}

/// The modes, as they are named by `--mode`. Other options hold the rest of a [`Mode`].
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

/// Takes the name of one of an option's values.
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

fn speed(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.strip_suffix('x').unwrap_or(text).parse().ok();
    let value = value.filter(|s| *s >= 1e-3 && *s <= 1e6);
    value.ok_or_else(|| "expected a number from 0.001 to 1000000".to_owned())
}

fn percent(text: &str) -> Result<u8, String> {
    let value: Option<u8> = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let value = value.filter(|p| *p <= 100);
    value.ok_or_else(|| "expected a whole percentage from 0 to 100".to_owned())
}
