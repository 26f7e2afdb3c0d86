//! The command `q2c analyze`, and `q2c analyze --live`, which analyses each interval of
//! a capture while it runs, and the whole capture at the end.

use crate::args::RecordingArgs;
use crate::commands::capture::{CaptureArgs, CaptureWatcher, Child, RunningCapture};
use crate::output::{self, NewFile, Redrawn, height, print, print_json, print_line, say, screen};
use crate::progress::Line;
use crate::stream::{MetricsArgs, MetricsStream, listen, print_summary};
use clap::Args;
use q2c_analyze::{LiveAnalysis, Options, RecorderCounts, RecordingAnalysis};
use q2c_capture::{CaptureTarget, Missing, Recorder};
use q2c_host::Roots;
use q2c_host::signals::Orderly;
use q2c_model::{Fault, Nanos, OrFault, parse_duration, parse_time_in};
use q2c_report::prometheus::LiveMetrics;
use q2c_report::terminal::{live, live_head, live_line};
use q2c_result::Exit;
use q2c_result::analyze::AnalyzeResult;
use q2c_result::live::{LiveInterval, SCHEMA};
use q2c_trace::process::Process;
use q2c_trace::recording::RecordedIo;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{IsTerminal, stdout};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Say where the I/Os of a trace spend their time.
#[derive(Clone, Debug, Args)]
pub(crate) struct AnalyzeArgs {
    /// A q2c trace, a recording that can be imported, or the base name of blktrace files
    /// (BASE.blktrace.N); with --live a block device, its kernel name or a file
    pub trace: PathBuf,
    /// Its format, and what it does not say itself.
    #[command(flatten)]
    pub recording: RecordingArgs,
    /// Keep the I/Os in flight in this part of the trace one by one, for the report and --json,
    /// such as 1.5s..1.6s
    #[arg(long, value_name = "FROM..TO", value_parser = window)]
    pub window: Option<Range<Nanos>>,
    /// Only I/Os of this process, by its name or number; with --live there is --pid
    #[arg(long, value_name = "NAME|PID", conflicts_with = "live")]
    pub process: Option<Process>,
    /// Write a page with charts here; a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Lay the figures out as btt does, in seconds
    #[arg(long, conflicts_with = "json")]
    pub btt: bool,
    /// Print the result as JSON; with --live a line for each interval, and the whole as the last
    /// line
    #[arg(long)]
    pub json: bool,
    /// Record a device's I/Os, or those of a file's disk, show at intervals where time goes, and
    /// the whole at the end; --op is the only operation captured then
    #[arg(long, conflicts_with_all = ["format", "bs"])]
    pub live: bool,
    /// With --live: time between two looks
    #[arg(long, value_name = "DURATION", value_parser = interval, default_value = "1s")]
    pub interval: Nanos,
    /// With --live: where metrics are served.
    #[command(flatten, next_help_heading = "With --live")]
    pub metrics: MetricsArgs,
    /// With --live: what is captured.
    #[command(flatten, next_help_heading = "With --live")]
    capture: CaptureArgs,
    /// With --live: capture while this command runs; what it prints goes to stderr
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl AnalyzeArgs {
    /// Refuses options of a capture without `--live`.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let named = match (self.interval != DEFAULT_INTERVAL, !self.command.is_empty()) {
            (true, _) => Some("--interval"),
            (_, true) => Some("a command behind --"),
            _ => self.metrics.prometheus.map(|_| "--prometheus"),
        };
        let Some(option) = named.or(self.capture.first_option()).filter(|_| !self.live) else {
            return Ok(());
        };
        Err(Fault::usage(format!(
            "analyze a trace: {option} is for a capture; add --live, or leave it out"
        )))
    }
}

/// The default of `--interval`: one second.
const DEFAULT_INTERVAL: Nanos = Nanos(1_000_000_000);

fn interval(text: &str) -> Result<Nanos, String> {
    let ms = Nanos::from_millis;
    parse_time_in(text, ms(10)..=ms(86_400_000))
}

/// Parses a part of a trace, `FROM..TO`, in time since the start of the trace's first I/O.
pub(crate) fn window(text: &str) -> Result<Range<Nanos>, String> {
    let time = |text: &str| parse_duration(text).map_err(|error| error.to_string());
    let expected = || "expected two times, the first the smaller, such as 1.5s..1.6s".to_owned();
    let (from, to) = text.split_once("..").ok_or_else(expected)?;
    let (from, to) = (time(from)?, time(to)?);
    (from < to).then_some(from..to).ok_or_else(expected)
}

pub(crate) fn run(args: &AnalyzeArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    args.check()?;
    let page = NewFile::if_named(args.html.as_ref())?;
    if args.live {
        return run_live(args, page, stop);
    }
    let options = Options {
        format: args.recording.format.clone(),
        import: args.recording.options(),
        window: args.window.clone(),
        process: args.process.clone(),
    };
    let line = Line::reading([args.trace.as_path()]);
    let result = line.during(|| q2c_analyze::recording(&args.trace, &options, stop));
    show(args, page, &result?).map(|()| Exit::Done)
}

fn show(args: &AnalyzeArgs, page: Option<NewFile>, result: &AnalyzeResult) -> Result<(), Fault> {
    page.map(|file| file.write_page(result)).transpose()?;
    match (args.json, args.btt) {
        (true, _) if args.live => print_summary(result),
        (true, _) => print_json(result),
        (_, true) => print(&q2c_report::terminal::btt(result)),
        _ => output::show(result, false).map(drop),
    }
}

/// Fewest columns of a terminal that shows the view.
const MIN_VIEW_COLUMNS: u16 = 60;
/// Intervals in the view's history, more than any terminal has columns.
const MAX_HISTORY: usize = 600;

/// Captures, shows each interval, and analyses the whole capture at the end. `page` is the file for
/// the HTML page, if one was requested.
fn run_live(args: &AnalyzeArgs, page: Option<NewFile>, stop: &AtomicBool) -> Result<Exit, Fault> {
    let roots = Roots::live();
    let name = args.trace.to_string_lossy();
    let target = CaptureTarget::find(&roots, &name).or_exit(Exit::Target)?;
    let capture = args.capture.with_ops(args.recording.op);
    let endpoint = listen(args.metrics.prometheus)?;
    // A signal ends the capture, and the data so far is analysed.
    let _orderly = Orderly::begin();
    let mut session = RunningCapture::begin(&roots, &target, &capture)?;
    let title = session.message(args.command.is_empty());
    session.child = Child::start(&args.command)?;
    let interval = Duration::from_nanos(args.interval.0);
    let names = target.disks().iter().map(|disk| disk.name.as_str());
    let device = names.collect::<Vec<_>>().join(",");
    let (schema, metrics) = (args.json.then_some(SCHEMA), LiveMetrics::new(&device));
    let no_preparation = || {};
    // Lines go to stderr if stdout is reserved for the result.
    let to_stderr = args.json || args.btt;
    let is_view = !to_stderr && stdout().is_terminal() && screen().width >= MIN_VIEW_COLUMNS;
    let mut display = LiveDisplay {
        title,
        is_view,
        to_stderr,
        begun: Instant::now(),
        analysis: LiveAnalysis::new(interval),
        history: VecDeque::new(),
        drawn: Redrawn::default(),
        stream: MetricsStream::open(&device, schema, endpoint, metrics, no_preparation)?,
    };
    display.print_head()?;
    let (ended, captured) = session.finish(&mut display, stop)?;
    captured.tell_missing();
    if captured.recording.ios() == 0 {
        say("no I/O completed meanwhile");
    } else {
        // The signal that ended the capture must not end its analysis, too.
        let never_stop = AtomicBool::new(false);
        let mut analysis = RecordingAnalysis::new(&args.trace, args.window.clone(), &never_stop);
        let origin = captured.recording.finish(&mut analysis)?;
        let result = analysis.finish(captured.description.meta(origin));
        show(args, page, &result?)?;
    }
    Ok(ended)
}

struct LiveDisplay {
    title: String,
    /// True if a view is drawn again and again, else there is a line for each interval.
    is_view: bool,
    to_stderr: bool,
    begun: Instant,
    analysis: LiveAnalysis,
    history: VecDeque<LiveInterval>,
    drawn: Redrawn,
    stream: MetricsStream<LiveMetrics>,
}

impl LiveDisplay {
    fn print_head(&self) -> Result<bool, Fault> {
        if self.is_view {
            return Ok(true);
        }
        say(&self.title);
        print_line(&live_head(), self.to_stderr)
    }

    fn show(&mut self, interval: LiveInterval) -> Result<bool, Fault> {
        let is_read = self.stream.tell(&interval)?;
        if self.is_view {
            return self.draw(interval);
        }
        Ok(print_line(&live_line(&interval), self.to_stderr)? && is_read)
    }

    fn draw(&mut self, interval: LiveInterval) -> Result<bool, Fault> {
        if self.history.len() == MAX_HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(interval);
        let intervals = self.history.make_contiguous();
        self.drawn
            .show(&live(&self.title, intervals, screen(), height()))
    }
}

impl CaptureWatcher for LiveDisplay {
    fn io(&mut self, io: &RecordedIo) {
        self.analysis.take(io);
    }

    fn update(&mut self, recorder: &Recorder) -> Result<bool, Fault> {
        let now = self.begun.elapsed();
        if !self.analysis.is_due(now) {
            return Ok(true);
        }
        let Missing { lost, unqueued, .. } = recorder.missing()?;
        let counts = RecorderCounts {
            in_flight: recorder.in_flight()?,
            lost,
            unqueued,
        };
        let interval = self.analysis.end_interval(now, counts);
        self.show(interval)
    }
}
