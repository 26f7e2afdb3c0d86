//! The command `q2c analyze`.

mod live;

use crate::args::RecordingArgs;
use crate::commands::capture::CaptureArgs;
use crate::output::{NewFile, print, print_json, screen};
use crate::progress::Line;
use crate::stream::{MetricsArgs, print_summary};
use clap::Args;
use q2c_analyze::Options;
use q2c_model::{Fault, Nanos, parse_duration, time_within};
use q2c_report::Reported;
use q2c_result::Exit;
use q2c_result::analyze::AnalyzeResult;
use q2c_trace::process::Process;
use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

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
    window: Option<AnalyzeWindow>,
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
    /// The part of the trace whose I/Os the result keeps one by one.
    pub(crate) fn window(&self) -> Option<Range<Nanos>> {
        self.window.map(|AnalyzeWindow { from, to }| from..to)
    }

    /// Refuses options of a capture where `--live` is not given.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let other = match (self.interval == SECOND, self.command.is_empty()) {
            (false, _) => Some("--interval"),
            (_, false) => Some("a command behind --"),
            _ => self.metrics.prometheus.map(|_| "--prometheus"),
        };
        let Some(option) = other.or(self.capture.given()).filter(|_| !self.live) else {
            return Ok(());
        };
        let message =
            format!("analyze a trace: {option} is for a capture; add --live, or leave it out");
        Err(Fault::new(Exit::Usage, message))
    }
}

/// The default of `--interval`.
const SECOND: Nanos = Nanos(1_000_000_000);

fn interval(text: &str) -> Result<Nanos, String> {
    let ms = Nanos::from_millis;
    time_within(text, ms(10)..=ms(86_400_000))
}

/// A part of a trace, in times from the start of its first I/O.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnalyzeWindow {
    /// Start, which is in the part.
    pub from: Nanos,
    /// End, which is not in the part.
    pub to: Nanos,
}

pub(crate) fn window(text: &str) -> Result<AnalyzeWindow, String> {
    let time = |text: &str| parse_duration(text).map_err(|error| error.to_string());
    let expected = || "expected two times, the first the smaller, such as 1.5s..1.6s".to_owned();
    let (from, to) = text.split_once("..").ok_or_else(expected)?;
    let (from, to) = (time(from)?, time(to)?);
    if from < to {
        Ok(AnalyzeWindow { from, to })
    } else {
        Err(expected())
    }
}

pub(crate) fn run(args: &AnalyzeArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    args.check()?;
    let page = NewFile::if_named(args.html.as_ref())?;
    if args.live {
        return live::run(args, page, stop);
    }
    let options = Options {
        format: args.recording.format.clone(),
        import: args.recording.options(),
        window: args.window(),
        process: args.process.clone(),
    };
    let line = Line::reading([args.trace.as_path()]);
    let result = q2c_analyze::recording(&args.trace, &options, stop);
    drop(line);
    show(args, page, &result?)?;
    Ok(Exit::Done)
}

fn show(args: &AnalyzeArgs, page: Option<NewFile>, result: &AnalyzeResult) -> Result<(), Fault> {
    if let Some(file) = page {
        file.write_page(result)?;
    }
    match (args.json, args.btt) {
        (true, _) if args.live => print_summary(result),
        (true, _) => print_json(result),
        (_, true) => print(&q2c_report::terminal::btt(result)),
        _ => print(&result.document().text(screen())),
    }
}
