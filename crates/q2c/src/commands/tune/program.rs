//! The program that a run is for: its recording, made now or named, and the workload that copies
//! it.

use crate::commands::capture::CaptureArgs;
use crate::commands::capture::{CaptureCounter, Child, RunningCapture};
use crate::commands::record;
use crate::commands::run_folder::command_words;
use crate::output::say;
use q2c_capture::CaptureTarget;
use q2c_host::Roots;
use q2c_host::signals::Orderly;
use q2c_host::topology::AllowedCpus;
use q2c_model::{Fault, TraceMeta};
use q2c_result::Exit;
use q2c_result::program::{FILE, Program, ProgramRecording, TRACE_FILE};
use q2c_run::RunDir;
use q2c_trace::TraceWriter;
use q2c_trace::import::{ImportError, ImportOptions, Input, to_trace};
use q2c_tune::TuneSettings;
use q2c_tune::program::{RecordingSelection, nearest_workload, read};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

pub(super) struct RecordedProgram {
    pub program: Program,
    trace: PathBuf,
    /// The folder of a trace that was made now. Dropping this value removes it.
    _folder: Option<TempDir>,
}

impl RecordedProgram {
    pub(crate) fn copy_into(&self, folder: &RunDir) -> Result<(), Fault> {
        let copy = |out: &mut dyn io::Write| {
            let mut trace = q2c_trace::samples::open(&self.trace)?;
            io::copy(&mut trace, out).map(drop)
        };
        folder.publish(TRACE_FILE, copy)?;
        Ok(folder.publish_json(FILE, &self.program)?)
    }
}

/// The program that the arguments name, recorded or read; `None` if they name none.
pub(super) fn record_or_read(
    args: &TuneSettings,
    stop: &AtomicBool,
) -> Result<Option<RecordedProgram>, Fault> {
    let recorded = match &args.program.from {
        Some(path) => import(path, args, stop)?,
        None if args.program.has_program() => record_command(args, stop)?,
        None => return Ok(None),
    };
    say(&q2c_report::program::summary(&recorded.program));
    Ok(Some(recorded))
}

/// The program in the recording at `path`. A recording of another tool is converted to a trace.
fn import(path: &Path, args: &TuneSettings, stop: &AtomicBool) -> Result<RecordedProgram, Fault> {
    let name = path.display().to_string();
    let program = program_in(path, &name, args, stop)?;
    if matches!(Input::recognise(path, None), Ok(Input::Trace)) {
        return Ok(RecordedProgram {
            program,
            trace: path.to_owned(),
            _folder: None,
        });
    }
    let folder = make_folder(args)?;
    let trace = folder.path().join(TRACE_FILE);
    let options = ImportOptions::default();
    to_trace(&[path.to_owned()], None, &options, &trace, stop)
        .map_err(|error| suggest_import(error.into()))?;
    Ok(RecordedProgram {
        program,
        trace,
        _folder: Some(folder),
    })
}

fn record_command(args: &TuneSettings, stop: &AtomicBool) -> Result<RecordedProgram, Fault> {
    let folder = make_folder(args)?;
    let trace = folder.path().join(TRACE_FILE);
    let meta = capture(args, &trace, stop)?;
    let command = command_words(&args.program.command);
    check_status(args, &command, &meta)?;
    let disks = meta.facts.get("disks").cloned().unwrap_or_default();
    let program = program_in(&trace, &command.join(" "), args, stop);
    let mut program = program
        .map_err(|e| e.with_advice(&format!("; recorded: {disks} (--record names another)")))?;
    program.recording.command = command;
    program.recording.path = None;
    Ok(RecordedProgram {
        program,
        trace,
        _folder: Some(folder),
    })
}

/// Records into the new file `trace` while the command runs. Returns the trace's description.
fn capture(args: &TuneSettings, trace: &Path, stop: &AtomicBool) -> Result<TraceMeta, Fault> {
    let roots = Roots::live();
    let name = disk_name(args);
    let target = CaptureTarget::find(&roots, &[&name]).map_err(|error| {
        let message = format!("{error}; name the disk of the program's data by --record");
        Fault::new(Exit::Target, message)
    })?;
    let capture = CaptureArgs {
        seconds: args.program.record_for,
        by: args.program.by,
        ..CaptureArgs::default()
    };
    let _orderly = Orderly::begin();
    let writer = TraceWriter::create(trace, TraceMeta::default())?;
    let begun = RunningCapture::begin(&roots, &target, &capture);
    let mut capturing = begun.map_err(|failure| {
        failure.with_advice(
            "; begin q2c with sudo, or record where that is allowed (q2c trace record) and name \
             the trace by --from",
        )
    })?;
    let child = Child::start(&args.program.command)?;
    let (alone, length_s, command_ios) = (false, None, None);
    say(&capturing.message(alone));
    capturing.child = child;
    let mut counter = CaptureCounter::new(length_s, alone, command_ios);
    let (ended, captured) = capturing.finish(&mut counter, stop)?;
    if ended == Exit::Interrupted {
        let message = "record the command: stopped by a signal; nothing was kept";
        return Err(Fault::stopped(message));
    }
    captured.tell_missing();
    record::write(captured, writer)
}

/// The disk to record, by name or by a file on it.
fn disk_name(args: &TuneSettings) -> String {
    let target = args.workload.target.clone();
    // A simulated target has no disk.
    let target = target.filter(|name| Path::new(name).exists());
    let named = args.program.record.clone().or(target);
    named.unwrap_or_else(|| args.workload.run.out.display().to_string())
}

/// Refuses the recording of a command that failed, unless q2c ended it after `--record-for`.
fn check_status(args: &TuneSettings, command: &[String], meta: &TraceMeta) -> Result<(), Fault> {
    let status = meta.facts.get("command_status").map_or("", String::as_str);
    let is_signal = status.parse::<i32>().is_err();
    if status == "0" || (is_signal && args.program.record_for.is_some()) {
        return Ok(());
    }
    let name = command.first().map_or("", String::as_str);
    Err(Fault::usage(format!(
        "record {name}: expected it to end with 0, found {status}; mend the command, or record it as \
         it is (q2c trace record DISK --out TRACE -- COMMAND) and name the trace by --from"
    )))
}

fn program_in(
    path: &Path,
    name: &str,
    args: &TuneSettings,
    stop: &AtomicBool,
) -> Result<Program, Fault> {
    let selection = RecordingSelection {
        name: name.to_owned(),
        processes: args.program.process.clone(),
    };
    let (pattern, meta) = read(path, &selection, stop).map_err(suggest_import)?;
    let cpus = match args.workload.cpus.len() {
        0 => AllowedCpus::read()?.count(),
        named_count => named_count,
    };
    Ok(Program {
        copied: nearest_workload(&pattern, cpus as u32),
        pattern,
        recording: ProgramRecording {
            command: Vec::new(),
            path: Some(name.to_owned()),
            source: meta.source,
            disks: meta.facts.get("disks").cloned(),
            processes: selection.processes,
            lost: meta.lost,
            unmatched: meta.unmatched,
        },
        ..Program::default()
    })
}

/// A temporary folder inside the folder for runs, for a trace that is made now.
fn make_folder(args: &TuneSettings) -> Result<TempDir, Fault> {
    let out = &args.workload.run.out;
    let made = fs::create_dir_all(out)
        .and_then(|()| tempfile::Builder::new().prefix(".program-").tempdir_in(out));
    made.map_err(|error| {
        let out = out.display();
        let message = format!("make a folder in {out}: {error}; name another place with --out");
        Fault::new(Exit::from_output_error(&error), message)
    })
}

/// Advises `trace import`, which has options for what a recording lacks; `tune` has none.
fn suggest_import(fault: Fault) -> Fault {
    match fault.cause() {
        Some(
            ImportError::Option { .. } | ImportError::Unknown { .. } | ImportError::Line { .. },
        ) => fault.with_advice(
            "; q2c trace import has the options that such a recording needs, and makes a trace for \
             --from",
        ),
        _ => fault,
    }
}
