//! Arguments of `q2c replay` and `q2c compare`.

use crate::commands::analyze::window;
use clap::Args;
use clap::builder::PossibleValuesParser;
use q2c_compare::{CaptureRequest, DeviceMap, ModeName, ReplayRequest};
use q2c_model::{Bytes, DevId, Nanos, Op, parse_size};
use q2c_replay::ReplaySelection;
use q2c_run::arguments::{LimitArgs, RunArgs};
use q2c_trace::import::{ColumnMap, FORMATS, ImportOptions, Input, TimeUnit};
use q2c_trace::process::Process;
use q2c_trace::samples::is_sample;
use q2c_workbench::settings::MachineArgs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The format of a recording, and what the recording does not say itself.
#[derive(Clone, Debug, Args)]
pub(crate) struct RecordingArgs {
    /// Format of an input that is no q2c trace [default: recognised by its first bytes]
    #[arg(long, value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.name)))]
    pub format: Option<String>,
    /// Unit of all its times: ns, us, ms or s; never guessed
    #[arg(long)]
    unit: Option<TimeUnit>,
    /// Operation of requests that name none: read, write, flush, discard or other
    #[arg(long)]
    pub op: Option<Op>,
    /// Bytes per unit of its offsets, such as 512 [default: the format's own]
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = unit)]
    offset_unit: Option<Bytes>,
    /// disksim: the lowest bit of the flags of reads [default: 1]; csv: the number of a read where
    /// operations are 0 and 1
    #[arg(long, hide_short_help = true, value_name = "BIT")]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=1))]
    read_flag: Option<u8>,
    /// csv: which header holds which field, such as submit_ns=start,latency=took, with a unit where
    /// needed (bytes=length:KB)
    #[arg(long, value_name = "FIELD=HEADER,...", value_parser = columns)]
    columns: Option<ColumnMapList>,
    /// csv: the character between cells [default: detected]
    #[arg(long, hide_short_help = true, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// blkparse: the format that was given to blkparse -f [default: blkparse's own]
    #[arg(long, hide_short_help = true, value_name = "FORMAT")]
    blkparse_format: Option<String>,
    /// Sort requests that are out of order by more than 65 536, through an unnamed file in $TMPDIR
    /// or /var/tmp
    #[arg(long, hide_short_help = true)]
    sort: bool,
    /// Leave out what cannot be read, counted by reason, instead of stopping at the first
    #[arg(long, hide_short_help = true)]
    skip_bad: bool,
    /// Length of requests that have none, such as 4k
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub bs: Option<Bytes>,
}

impl RecordingArgs {
    /// The options in the form that `q2c_trace` takes.
    pub(crate) fn options(&self) -> ImportOptions {
        ImportOptions {
            unit: self.unit,
            op: self.op,
            bytes: self.bs,
            offset_unit: self.offset_unit,
            read_flag: self.read_flag,
            sort: self.sort.then(temporary_folder),
            columns: self.columns.clone().map_or(Vec::new(), |columns| columns.0),
            delimiter: self.delimiter,
            blkparse_format: self.blkparse_format.clone(),
            skip_bad: self.skip_bad,
            ..ImportOptions::default()
        }
    }
}

/// The folder for data that exceeds memory: `$TMPDIR`, else `/var/tmp`.
pub(crate) fn temporary_folder() -> PathBuf {
    std::env::var_os("TMPDIR").map_or(PathBuf::from("/var/tmp"), PathBuf::from)
}

/// The value of `--columns`, which maps headers of a CSV file to fields.
#[derive(Clone, Debug)]
struct ColumnMapList(Vec<ColumnMap>);

fn columns(text: &str) -> Result<ColumnMapList, String> {
    let map = ColumnMap::parse_list(text).map(ColumnMapList);
    map.ok_or_else(|| "expected FIELD=HEADER, several separated by commas".to_owned())
}

fn unit(text: &str) -> Result<Bytes, String> {
    let size = parse_size(text).map_err(|error| error.to_string())?;
    match size.0 {
        0 => Err("expected 1 or more".to_owned()),
        _ => Ok(size),
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ if text == "tab" => Ok(b'\t'),
        _ => Err("expected one ASCII character, or tab".to_owned()),
    }
}

/// Fewest devices of a comparison.
const MIN_TARGETS: usize = 2;

/// Replay a trace on one target, or on one for each of its devices.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A q2c trace, or a recording that can be imported
    pub trace: PathBuf,
    /// File or block device, or a simulated device such as sim:50us,servers=8 or null; none with
    /// --map
    pub target: Option<String>,
    /// Send a device of the trace there, such as 8:16=/dev/sdb; for each of its devices, others are
    /// left out
    #[arg(long, value_name = "DEVICE=TARGET", conflicts_with = "target", value_parser = device_map)]
    pub map: Vec<DeviceMap>,
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
pub(crate) struct CompareArgs {
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
pub(crate) struct HowArgs {
    /// The replay itself.
    #[command(flatten)]
    pub replay: ReplayRequest,
    /// Also run the trials of what was invalid twice for one reason
    #[arg(long)]
    pub all_trials: bool,
    /// The machine of simulated targets.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Only what starts in this part of the trace, such as 10s..70s
    #[arg(long, value_name = "FROM..TO", value_parser = window)]
    pub part: Option<Range<Nanos>>,
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

impl HowArgs {
    /// The request for a replay in this mode.
    pub(crate) fn request(&self, mode: ModeName) -> ReplayRequest {
        ReplayRequest {
            selection: self.selection(),
            allow_write: self.run.allow_write.clone(),
            seed: self.run.seed,
            ..self.replay.with_mode(mode)
        }
    }

    /// Selects the requests of the trace to replay.
    pub(crate) fn selection(&self) -> ReplaySelection {
        ReplaySelection {
            range: self.part.clone().map(|part| (part.start, part.end)),
            process: self.process.clone(),
        }
    }
}

impl CompareArgs {
    /// The replays of a comparison, one for each mode. A mode that is named twice counts once.
    pub(crate) fn requests(&self) -> Vec<ReplayRequest> {
        let modes = self.mode.iter().enumerate();
        let modes = modes.filter(|(nth, mode)| !self.mode[..*nth].contains(mode));
        let request = |(_, &mode): (usize, &ModeName)| {
            let mut request = self.how.request(mode);
            if !self.no_capture && !self.how.replay.capture {
                request.capture_request = CaptureRequest::WherePermitted;
            }
            request
        };
        modes.map(request).collect()
    }

    /// The traces and the targets of a comparison. The first word is a trace. Each further word is
    /// a trace if it names a file recognised as one, as long as two targets are left.
    pub(crate) fn traces_and_targets(&self) -> (Vec<PathBuf>, &[String]) {
        let max_traces = self.targets.len().saturating_sub(MIN_TARGETS);
        let leading = self.targets.iter().take(max_traces);
        let trace_count = leading.take_while(|word| is_trace(Path::new(word))).count();
        let (leading_traces, targets) = self.targets.split_at(trace_count);
        let traces = std::iter::once(self.trace.clone())
            .chain(leading_traces.iter().map(PathBuf::from))
            .chain(self.more.iter().cloned());
        (traces.collect(), targets)
    }
}

fn is_trace(path: &Path) -> bool {
    (is_sample(path) || path.is_file()) && Input::recognise(path, None).is_ok()
}

/// The value of `--map`, such as `8:16=/dev/sdb`.
fn device_map(text: &str) -> Result<DeviceMap, String> {
    let parsed = || {
        let (device, target) = text.split_once('=')?;
        let (major, minor) = device.split_once(':')?;
        let device = DevId {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        };
        let target = target.to_owned();
        Some(DeviceMap { device, target })
    };
    let wrong = || format!("expected MAJOR:MINOR=TARGET, such as 8:16=/dev/sdb, found `{text}`");
    parsed().ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_compare::{OpenTargets, PreparedReplay};
    use q2c_host::Roots;
    use q2c_model::CpuId;
    use q2c_model::replay::{Count, Discards, Fit, Idle, LaneBy, Mode, OnError, ShareBy, Writes};
    use q2c_replay::ReplayFacts;
    use q2c_result::replay::ReplayJob;
    use q2c_run::arguments::from_words;

    fn compare(arguments: &str) -> CompareArgs {
        from_words(arguments).unwrap()
    }

    fn asked(arguments: &str) -> ReplayRequest {
        let args: ReplayArgs = from_words(arguments).unwrap();
        args.how.request(args.mode)
    }

    fn job(options: &str) -> ReplayJob {
        let request = asked(&format!("trace null {options}"));
        let facts = ReplayFacts::default();
        let site =
            OpenTargets::with_one_target(&Roots::live(), &request, "null", &facts, 0).unwrap();
        PreparedReplay::new(&Roots::live(), &request, &facts, &[site], 1)
            .unwrap()
            .job
    }

    #[test]
    fn options_of_other_modes_mean_nothing() {
        let mode_of = |arguments: &str| asked(&format!("t d {arguments}")).mode;
        assert_eq!(mode_of("--speed 2x --lane pid"), Mode::Timed { speed: 2.0 });
        let outstanding = Mode::Outstanding {
            count: Count::Blocks,
            idle: Idle::Keep,
        };
        let options = "--mode outstanding --count blocks --idle keep --speed 3";
        assert_eq!(mode_of(options), outstanding);
        let closed = Mode::Closed { lane: LaneBy::Cpu };
        assert_eq!(mode_of("--mode closed --lane cpu"), closed);
    }

    #[test]
    fn what_is_not_typed_is_left_to_the_library() {
        let bare = asked("t d");
        assert!(bare.writes.is_none() && bare.discards.is_none() && bare.cpus.is_none());
        assert_eq!(bare.capture_request, CaptureRequest::Off);
        let typed = asked("t d --capture --cpus 3,1 --part 1s..2s --process fio");
        assert_eq!(typed.capture_request, CaptureRequest::By(None));
        assert_eq!(typed.cpus, Some(vec![CpuId(3), CpuId(1)]));
        assert!(typed.selection.range.is_some() && typed.selection.process.is_some());
    }

    #[test]
    fn outstanding_counts_blocks_unless_other_units_are_asked_for() {
        let count = |options: &str| match asked(&format!("t d --mode outstanding {options}")).mode {
            Mode::Outstanding { count, .. } => count,
            other => panic!("{other:?}"),
        };
        assert_eq!(count(""), Count::Blocks);
        assert_eq!(count("--count requests"), Count::Requests);
    }

    #[test]
    fn a_comparison_captures_where_permitted_unless_it_is_told_otherwise() {
        let wish =
            |options: &str| compare(&format!("t a b {options}")).requests()[0].capture_request;
        assert_eq!(wish(""), CaptureRequest::WherePermitted);
        assert_eq!(wish("--capture"), CaptureRequest::By(None));
        assert_eq!(wish("--no-capture"), CaptureRequest::Off);
    }

    #[test]
    fn each_mode_is_a_request() {
        let modes = |options: &str| -> Vec<Mode> {
            let requests = compare(&format!("t a b {options}")).requests();
            requests.into_iter().map(|request| request.mode).collect()
        };
        let outstanding = Mode::Outstanding {
            count: Count::Blocks,
            idle: Idle::Squeeze,
        };
        let timed = Mode::Timed { speed: 1.0 };
        assert_eq!(modes(""), [timed]);
        assert_eq!(
            modes("--mode outstanding,timed,outstanding"),
            [outstanding, timed]
        );
    }

    /// Files of random bytes count as targets, even before devices; and at least two words stay
    /// targets.
    #[test]
    fn leading_files_that_are_recognised_are_traces() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let trace = place("one.parquet", b"PAR1 and more");
        let other = place("two.parquet", b"PAR1 and more");
        let file = place("file.bin", &[0x9d; 4096]);
        let split = |arguments: &str| {
            let args = compare(arguments);
            let (traces, targets) = args.traces_and_targets();
            let traces = traces.iter().map(|path| path.display().to_string());
            (traces.collect::<Vec<String>>(), targets.to_vec())
        };
        let (a, b) = ("sim:50us".to_owned(), "null".to_owned());
        let (traces, targets) = split(&format!("{trace} {other} {a} {b}"));
        assert_eq!((traces.len(), targets), (2, vec![a.clone(), b.clone()]));
        let (traces, targets) = split(&format!("{trace} {file} {a} {b}"));
        assert_eq!((traces.len(), targets.len()), (1, 3));
        let (traces, targets) = split(&format!("{trace} {other} {file}"));
        assert_eq!(traces.len(), 1);
        assert_eq!(targets, vec![other.clone(), file.clone()]);
        let (traces, targets) = split(&format!("{trace} {a} {b} --trace {other} --trace {file}"));
        assert_eq!((traces, targets.len()), (vec![trace, other, file], 2));
    }

    /// Checks that each name of an option's values is accepted and appears in the result.
    fn check_names(option: &str, names: &[&str], field: &str) {
        for name in names {
            let job = job(&format!("{option} {name}"));
            let job_json = serde_json::to_value(job).unwrap();
            assert_eq!(job_json[field], *name);
        }
    }

    #[test]
    fn results_name_values_as_they_are_typed() {
        check_names("--mode", &["timed", "outstanding", "closed"], "mode");
        check_names("--mode outstanding --idle", Idle::NAMES, "idle");
        check_names("--mode outstanding --count", Count::NAMES, "count");
        check_names("--mode closed --lane", LaneBy::NAMES, "lane");
        check_names("--share", ShareBy::NAMES, "by");
        check_names("--offsets", Fit::NAMES, "offsets");
        check_names("--writes", Writes::NAMES, "writes");
        check_names("--discards", Discards::NAMES, "discards");
        check_names("--on-error", OnError::NAMES, "on_error");
    }
}
