//! The command `q2c trace record`.

mod place;

use super::capture::{
    CaptureCounter, CaptureEnd, Child, FinishedCapture, OfCommand, RunningCapture,
};
use super::trace::info_of;
use crate::commands::capture::CaptureArgs;
use crate::output::say;
use crate::progress::Line;
use clap::Args;
use place::RecordOutput;
use q2c_capture::CaptureTarget;
use q2c_host::Roots;
use q2c_host::signals::Orderly;
use q2c_model::{Fault, Op, OrFault, TraceMeta};
use q2c_result::Exit;
use q2c_trace::TraceWriter;
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
    let target = CaptureTarget::find(&roots, &args.target).or_exit(Exit::Target)?;
    let capture = args.capture.of_ops(args.op.iter().copied());
    // What was recorded when a signal comes is kept.
    let _orderly = Orderly::begin();
    let create = |path: &Path| {
        let writer = TraceWriter::create(path, TraceMeta::default());
        writer.map_err(Fault::from)
    };
    let named = args.output.as_deref().map(create).transpose()?;
    let mut capturing = RunningCapture::begin(&roots, &target, &capture)?;
    let child = Child::start(&args.command)?;
    // Nothing can be refused any more: a run folder is made for recordings alone.
    let place = RecordOutput::new(args, &capture)?;
    let writer = named.map_or_else(|| create(&place.trace), Ok)?;
    say(&capturing.message(args.command.is_empty()));
    let of_command = child.id().map(|first| OfCommand::new(&roots, first));
    capturing.run(child);
    let mut counted = CaptureCounter::new(capture.seconds, args.command.is_empty(), of_command);
    let (ended, mut captured) = capturing.finish(&mut counted, stop)?;
    if let Some(pid) = capture.pid.filter(|_| counted.ios == 0) {
        say(&format!(
            "no I/O of process {pid} was seen; its children have numbers of their own"
        ));
    }
    let of_command = counted.of_command;
    if let Some(of_command) = &of_command {
        captured.description.ios_of_command(of_command.ios());
    }
    captured.tell_missing();
    let line = Line::working("writing the trace");
    write(captured, writer)?;
    drop(line);
    let trace = place.finish()?;
    // The signal that ended the recording is not to end the reading of the trace, too.
    info_of(&trace, args.json, &AtomicBool::new(false))?;
    if let Some(of_command) = of_command {
        say(&of_command.message(&trace));
    }
    Ok(match ended {
        CaptureEnd::Asked => Exit::Done,
        CaptureEnd::Stopped => Exit::Interrupted,
    })
}

/// Writes the I/Os of a capture and returns their description.
pub(super) fn write(
    captured: FinishedCapture,
    mut writer: TraceWriter,
) -> Result<TraceMeta, Fault> {
    let FinishedCapture {
        recording,
        description,
    } = captured;
    let origin = recording.finish(&mut writer)?;
    let meta = description.meta(origin);
    writer.meta_mut().clone_from(&meta);
    writer.finish()?;
    Ok(meta)
}
