//! The command `q2c trace record`.

use super::capture::{CaptureCounter, Child, CommandIos, FinishedCapture, RunningCapture};
use super::trace::show_info;
use crate::commands::capture::CaptureArgs;
use crate::commands::run_folder;
use crate::output::say;
use crate::progress::Line;
use clap::Args;
use q2c_capture::CaptureTarget;
use q2c_host::Roots;
use q2c_host::signals::Orderly;
use q2c_model::{Fault, Op, OrFault, TraceMeta};
use q2c_result::Exit;
use q2c_run::{Identity, RunDir, RunState};
use q2c_trace::TraceWriter;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What to record, how long, and where to put it.
#[derive(Clone, Debug, Args)]
pub(crate) struct RecordArgs {
    /// Block device, its kernel name such as nvme0n1, or a file: then the disk of its file system
    pub target: String,
    /// Only these operations, separated by commas: read, write, flush, discard, other
    #[arg(long, value_delimiter = ',')]
    pub op: Vec<Op>,
    /// What else and how.
    #[command(flatten)]
    capture: CaptureArgs,
    /// The trace to make, a name that is not taken yet [default: trace.parquet in a new folder in
    /// runs]
    #[arg(short, long, alias = "out", value_name = "TRACE")]
    pub output: Option<PathBuf>,
    /// Print the trace's description as JSON
    #[arg(long)]
    pub json: bool,
    /// Record while this command runs; what it prints goes to stderr
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

pub(crate) fn run(args: &RecordArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let roots = Roots::live();
    let target = CaptureTarget::find(&roots, &[&args.target]).or_exit(Exit::Target)?;
    let capture = args.capture.with_ops(args.op.iter().copied());
    // A signal ends the recording, and the I/Os so far are stored.
    let _orderly = Orderly::begin();
    let create = |path: &Path| TraceWriter::create(path, TraceMeta::default());
    let named_writer = args.output.as_deref().map(create).transpose()?;
    let mut capturing = RunningCapture::begin(&roots, &target, &capture)?;
    let child = Child::start(&args.command)?;
    // From here on nothing is refused, so a run folder is made only for a real recording.
    let (trace, folder) = output(args, &capture)?;
    let writer = named_writer.map_or_else(|| create(&trace), Ok)?;
    say(&capturing.message(args.command.is_empty()));
    let command_ios = child.id().map(|pid| CommandIos::new(&roots, pid));
    capturing.child = child;
    let mut counter = CaptureCounter::new(capture.seconds, args.command.is_empty(), command_ios);
    let (ended, mut captured) = capturing.finish(&mut counter, stop)?;
    if let Some(pid) = capture.pid.filter(|_| counter.ios == 0) {
        say(&format!(
            "no I/O of process {pid} was seen; its children have numbers of their own"
        ));
    }
    let command_ios = counter.command_ios;
    if let Some(command_ios) = &command_ios {
        captured.description.ios_of_command(command_ios.ios());
    }
    captured.tell_missing();
    Line::with_elapsed("writing the trace").during(|| write(captured, writer))?;
    if let Some(folder) = folder {
        folder.finish(RunState::Complete)?;
    }
    // The signal that ended the recording must not end the reading of the trace, too.
    show_info(&trace, args.json, &AtomicBool::new(false))?;
    if let Some(command_ios) = command_ios {
        say(&command_ios.message(&trace));
    }
    Ok(ended)
}

/// Writes the I/Os of a capture and returns their description.
pub(super) fn write(capture: FinishedCapture, mut writer: TraceWriter) -> Result<TraceMeta, Fault> {
    let origin = capture.recording.finish(&mut writer)?;
    let meta = capture.description.meta(origin);
    writer.meta_mut().clone_from(&meta);
    writer.finish()?;
    Ok(meta)
}

const RUNS_FOLDER: &str = "runs";

#[derive(Serialize)]
struct RecordPlan {
    target: String,
    filter: Option<String>,
    seconds: Option<f64>,
    command: Vec<String>,
}

/// The path of the trace. If the user named none, it lies in a new run folder, which is returned.
fn output(args: &RecordArgs, capture: &CaptureArgs) -> Result<(PathBuf, Option<RunDir>), Fault> {
    if let Some(path) = &args.output {
        return Ok((path.clone(), None));
    }
    let plan = RecordPlan {
        target: args.target.clone(),
        filter: capture.filter_text(),
        seconds: capture.seconds,
        command: run_folder::command_words(&args.command),
    };
    let identity = Identity::default().with("target", &args.target);
    let folder = RunDir::create(Path::new(RUNS_FOLDER), "record", &plan, &identity)?;
    let trace = run_folder::announce(&folder).join("trace.parquet");
    Ok((trace, Some(folder)))
}
