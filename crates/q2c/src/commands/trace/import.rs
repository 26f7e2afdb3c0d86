//! The command `q2c trace import`.

use super::tell;
use crate::args::RecordingArgs;
use crate::output::show_as;
use crate::progress::Line;
use clap::{Args, ValueEnum};
use q2c_model::Fault;
use q2c_report::terminal::fleet_info;
use q2c_result::Exit;
use q2c_trace::TraceError;
use q2c_trace::import::{ImportError, to_fleet, to_trace};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// What to import, and what it does not say itself.
#[derive(Clone, Debug, Args)]
#[command(
    mut_arg("format", |format| format.help("Its format [default: recognised by its first bytes]")),
    // What is seldom needed elsewhere is what an import is about.
    mut_args(|arg| arg.hide_short_help(false))
)]
pub(crate) struct ImportArgs {
    /// The recording, - for standard input; several are merged by time, which must be of one clock
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Its format, and what it does not say itself.
    #[command(flatten)]
    pub recording: RecordingArgs,
    /// The trace to make, or with --partition-by the folder; a name that is not taken yet
    #[arg(short, long, alias = "out", value_name = "TRACE")]
    pub output: PathBuf,
    /// Make a folder with a trace of each device, for questions about many devices
    #[arg(long, value_name = "KEY")]
    pub partition_by: Option<PartitionBy>,
    /// Most requests of a trace in the folder; a device with more has several, in order of time
    #[arg(
        long,
        value_name = "COUNT",
        requires = "partition_by",
        default_value = "2000000"
    )]
    pub stretch_rows: NonZeroU64,
    /// Print the description of what was made as JSON
    #[arg(long)]
    pub json: bool,
}

/// What the traces of a folder have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PartitionBy {
    /// The device.
    Device,
}

/// Imports one recording, or merges several by time, and says what was made.
pub(crate) fn run(args: &ImportArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let options = args.recording.options();
    let format = args.recording.format.as_deref();
    let line = Line::reading(args.inputs.iter().map(|path| path.as_path()));
    let Some(PartitionBy::Device) = args.partition_by else {
        let imported = to_trace(&args.inputs, format, &options, &args.output, stop);
        drop(line);
        let (meta, summary) = imported.map_err(failure)?;
        return tell(&args.output, &meta, summary, args.json);
    };
    let out = (args.output.as_path(), args.stretch_rows);
    let fleet = to_fleet(&args.inputs, format, &options, out, stop).map_err(failure)?;
    drop(line);
    let path = args.output.display().to_string();
    show_as(&fleet, args.json, |screen| {
        fleet_info(&path, &fleet, screen)
    })
}

fn failure(error: ImportError) -> Fault {
    match error {
        ImportError::Trace(TraceError::Stopped { .. }) => {
            Fault::stopped(format!("{error}; nothing was kept"))
        }
        error => error.into(),
    }
}
