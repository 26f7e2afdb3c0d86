//! The command `q2c top`, and `q2c analyze --live`: analyses each interval of a capture while it
//! runs, and the whole capture at the end.

mod display;

use super::analyze;
use super::capture::{CaptureArgs, Child, RunningCapture};
use crate::output::{NewFile, say};
use crate::stream::{MetricsArgs, MetricsStream, listen, print_summary};
use clap::Args;
use display::{LiveDisplay, TopForm};
use q2c_analyze::{LiveAnalysis, RecordingAnalysis};
use q2c_capture::{CaptureTarget, MAX_DISKS};
use q2c_host::Roots;
use q2c_host::block::{Disk, DiskStats, hardware_disks};
use q2c_host::signals::Orderly;
use q2c_model::{Fault, Nanos, Op, OrFault, parse_time_in};
use q2c_report::prometheus::LiveMetrics;
use q2c_result::Exit;
use q2c_result::live::SCHEMA;
use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, stderr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Show what disks do.
#[derive(Clone, Debug, Args)]
pub(crate) struct TopArgs {
    /// Block devices, their kernel names, or files, whose disks are shown [default: every disk of
    /// hardware]
    #[arg(value_name = "DISK")]
    pub disks: Vec<String>,
    /// Only this operation: read, write, flush, discard, other
    #[arg(long)]
    pub op: Option<Op>,
    /// Write a page with charts of the whole here at the end; a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print a line of JSON for each interval, and the whole as the last line
    #[arg(long)]
    pub json: bool,
    /// What is captured and shown.
    #[command(flatten)]
    pub live: LiveArgs,
    /// Show the disks while this command runs; what it prints goes to stderr, at the end if the
    /// screen is taken
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// The part of the capture whose I/Os in flight are listed one by one at the end.
    #[arg(skip)]
    pub window: Option<Range<Nanos>>,
    /// True if the figures at the end are laid out as btt does.
    #[arg(skip)]
    pub btt: bool,
}

/// The options of a live view.
#[derive(Clone, Debug, Args)]
pub(crate) struct LiveArgs {
    /// Time between two looks
    #[arg(long, value_name = "DURATION", value_parser = interval, default_value = "1s")]
    pub interval: Nanos,
    /// Where metrics are served.
    #[command(flatten)]
    pub metrics: MetricsArgs,
    /// What is captured.
    #[command(flatten)]
    pub capture: CaptureArgs,
}

/// The default of `--interval`: one second.
const DEFAULT_INTERVAL: Nanos = Nanos(1_000_000_000);

impl LiveArgs {
    /// The name of the first option that was typed.
    pub(crate) fn first_option(&self) -> Option<&'static str> {
        let interval = (self.interval != DEFAULT_INTERVAL).then_some("--interval");
        let prometheus = self.metrics.prometheus.map(|_| "--prometheus");
        interval.or(prometheus).or(self.capture.first_option())
    }
}

fn interval(text: &str) -> Result<Nanos, String> {
    let ms = Nanos::from_millis;
    parse_time_in(text, ms(10)..=ms(86_400_000))
}

/// Captures, shows each interval, and analyses the whole capture at the end.
pub(crate) fn run(args: &TopArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let page = NewFile::if_named(args.html.as_ref())?;
    let roots = Roots::live();
    let target = find_target(&roots, &args.disks)?;
    let capture = args.live.capture.with_ops(args.op);
    let endpoint = listen(args.live.metrics.prometheus)?;
    // A signal ends the capture, and the data so far is analysed.
    let _orderly = Orderly::begin();
    let mut session = RunningCapture::begin(&roots, &target, &capture)?;
    let title = session.message(args.command.is_empty());
    let form = TopForm::open(args.json || args.btt, &title)?;
    let output = start_command(&mut session.child, &args.command, &form)?;
    let device = disk_names(target.disks()).join(",");
    let (schema, metrics) = (args.json.then_some(SCHEMA), LiveMetrics::new(&device));
    let stream = MetricsStream::open(&device, schema, endpoint, metrics, || {})?;
    let interval = Duration::from_nanos(args.live.interval.0);
    let disks = target
        .disks()
        .iter()
        .map(|disk| (disk.dev, disk.name.clone()));
    let analysis = LiveAnalysis::new(interval).split_by_disk(disks);
    let mut display = LiveDisplay::new(title, form, analysis, stream, stop);
    let finished = session.finish(&mut display, stop);
    // The terminal is restored before anything is printed.
    drop(display);
    output.map(copy_to_stderr).transpose()?;
    let (ended, captured) = finished?;
    captured.tell_missing();
    if captured.recording.ios() == 0 {
        say("no I/O completed meanwhile");
        return Ok(ended);
    }
    // The signal that ended the capture must not end its analysis, too.
    let never_stop = AtomicBool::new(false);
    let path = Path::new(&target.name);
    let mut analysis = RecordingAnalysis::new(path, args.window.clone(), &never_stop);
    let origin = captured.recording.finish(&mut analysis)?;
    let result = analysis.finish(captured.description.meta(origin))?;
    page.map(|file| file.write_page(&result)).transpose()?;
    if args.json {
        print_summary(&result)?;
    } else {
        analyze::show(&result, args.btt)?;
    }
    Ok(ended)
}

/// The disks that were named, or every disk of hardware that can be captured.
fn find_target(roots: &Roots, names: &[String]) -> Result<CaptureTarget, Fault> {
    if !names.is_empty() {
        return CaptureTarget::find(roots, names).or_exit(Exit::Target);
    }
    let (disks, left_out) = choose_disks(hardware_disks(roots));
    if !left_out.is_empty() {
        let names = disk_names(&left_out).join(", ");
        say(&format!(
            "not shown: {names}; at most {MAX_DISKS} disks are, the busiest since the boot, unless you name others"
        ));
    }
    if disks.is_empty() {
        let message = "find a disk of hardware: expected one at least in /sys/block, found none; name a device such as zram0";
        return Err(Fault::new(Exit::Target, message));
    }
    CaptureTarget::find(roots, &disk_names(&disks)).or_exit(Exit::Target)
}

fn disk_names(disks: &[Disk]) -> Vec<&str> {
    disks.iter().map(|disk| disk.name.as_str()).collect()
}

/// The disks that can be captured at once, in their order, and those left out. The busiest ones
/// since the boot are chosen.
fn choose_disks(mut disks: Vec<Disk>) -> (Vec<Disk>, Vec<Disk>) {
    disks.sort_by_cached_key(|disk| {
        let stats = DiskStats::read(&disk.dir).unwrap_or_default();
        Reverse(stats.read.requests + stats.write.requests)
    });
    let left_out = disks.split_off(disks.len().min(MAX_DISKS));
    disks.sort_by(|a, b| a.name.cmp(&b.name));
    (disks, left_out)
}

/// Starts the command. If the screen is taken, the command's output goes to a file, which is
/// returned.
fn start_command(
    child: &mut Child,
    words: &[OsString],
    form: &TopForm,
) -> Result<Option<File>, Fault> {
    match form {
        TopForm::Screen(_) if !words.is_empty() => {
            let output = tempfile::tempfile();
            let output =
                output.or_fault(Exit::Environment, "make a file for the command's output")?;
            *child = Child::start_apart(words, &output)?;
            Ok(Some(output))
        }
        _ => {
            *child = Child::start(words)?;
            Ok(None)
        }
    }
}

fn copy_to_stderr(mut output: File) -> Result<(), Fault> {
    let copied = output
        .rewind()
        .and_then(|()| std::io::copy(&mut output, &mut stderr()));
    copied
        .map(drop)
        .or_fault(Exit::Environment, "show the command's output")
}
