//! The command `q2c analyze`. With `--live` it is `q2c top` of one device.

use crate::args::RecordingArgs;
use crate::commands::top::{self, LiveArgs, TopArgs};
use crate::output::{self, NewFile, print, print_json};
use crate::progress::Line;
use clap::Args;
use q2c_analyze::Options;
use q2c_model::{Fault, Nanos, parse_duration};
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
    /// With --live: what is captured and shown.
    #[command(flatten, next_help_heading = "With --live")]
    live_args: LiveArgs,
    /// With --live: capture while this command runs; what it prints goes to stderr
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl AnalyzeArgs {
    /// Refuses options of a capture without `--live`.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let has_command = !self.command.is_empty();
        let command = has_command.then_some("a command behind --");
        let option = self.live_args.first_option().or(command);
        let Some(option) = option.filter(|_| !self.live) else {
            return Ok(());
        };
        Err(Fault::usage(format!(
            "analyze a trace: {option} is for a capture; add --live, or leave it out"
        )))
    }

    fn to_top(&self) -> TopArgs {
        TopArgs {
            disks: vec![self.trace.to_string_lossy().into_owned()],
            op: self.recording.op,
            html: self.html.clone(),
            json: self.json,
            live: self.live_args.clone(),
            command: self.command.clone(),
            window: self.window.clone(),
            btt: self.btt,
        }
    }
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
    if args.live {
        return top::run(&args.to_top(), stop);
    }
    let page = NewFile::if_named(args.html.as_ref())?;
    let options = Options {
        format: args.recording.format.clone(),
        import: args.recording.options(),
        window: args.window.clone(),
        process: args.process.clone(),
    };
    let line = Line::reading([args.trace.as_path()]);
    let result = line.during(|| q2c_analyze::recording(&args.trace, &options, stop));
    let result = result?;
    page.map(|file| file.write_page(&result)).transpose()?;
    if args.json {
        print_json(&result)?;
    } else {
        show(&result, args.btt)?;
    }
    Ok(Exit::Done)
}

/// Prints an analysis for people.
pub(super) fn show(result: &AnalyzeResult, as_btt: bool) -> Result<(), Fault> {
    if as_btt {
        print(&q2c_report::terminal::btt(result))
    } else {
        output::show(result, false).map(drop)
    }
}
