//! The command `q2c trace record`.

mod place;

use super::capture::{CaptureEnd, Captured, Child, Counted, OfCommand, RunningCapture};
use super::trace::info_of;
use crate::args::RecordArgs;
use crate::output::say;
use crate::progress::Line;
use place::Place;
use q2c_capture::CaptureTarget;
use q2c_host::Roots;
use q2c_host::signals::Orderly;
use q2c_model::{Fault, OrFault, TraceMeta};
use q2c_result::Exit;
use q2c_trace::TraceWriter;
use std::path::Path;
use std::sync::atomic::AtomicBool;

pub fn run(args: &RecordArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let roots = Roots::live();
    let target = CaptureTarget::find(&roots, &args.target).or_exit(Exit::Target)?;
    let capture = args.capture();
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
    let place = Place::new(args, &capture)?;
    let writer = named.map_or_else(|| create(&place.trace), Ok)?;
    say(&capturing.told(args.command.is_empty()));
    let of_command = child.id().map(|first| OfCommand::new(&roots, first));
    capturing.run(child);
    let mut counted = Counted::new(capture.seconds, args.command.is_empty(), of_command);
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
        say(&of_command.told(&trace));
    }
    Ok(match ended {
        CaptureEnd::Asked => Exit::Done,
        CaptureEnd::Stopped => Exit::Interrupted,
    })
}

/// Writes the I/Os of a capture and returns their description.
pub(super) fn write(captured: Captured, mut writer: TraceWriter) -> Result<TraceMeta, Fault> {
    let Captured {
        recording,
        description,
    } = captured;
    let origin = recording.finish(&mut writer)?;
    let meta = description.meta(origin);
    writer.meta_mut().clone_from(&meta);
    writer.finish()?;
    Ok(meta)
}
