//! The place of the trace: a path that the user named, or a run folder.

use super::RecordArgs;
use crate::commands::capture::CaptureArgs;
use crate::commands::run_folder;
use q2c_model::Fault;
use q2c_run::{Identity, RunDir, RunState};
use serde::Serialize;
use std::path::{Path, PathBuf};

const RUNS: &str = "runs";

#[derive(Serialize)]
struct RecordPlan {
    target: String,
    filter: Option<String>,
    seconds: Option<f64>,
    command: Vec<String>,
}

/// Path of the trace, and its run folder where the user named no path.
pub(crate) struct RecordOutput {
    pub trace: PathBuf,
    folder: Option<RunDir>,
}

impl RecordOutput {
    pub(crate) fn new(args: &RecordArgs, capture: &CaptureArgs) -> Result<RecordOutput, Fault> {
        if let Some(out) = &args.output {
            return Ok(RecordOutput {
                trace: out.clone(),
                folder: None,
            });
        }
        let plan = RecordPlan {
            target: args.target.clone(),
            filter: capture.filter(),
            seconds: capture.seconds,
            command: run_folder::in_words(&args.command),
        };
        let identity = Identity::default().with("target", &args.target);
        let folder = RunDir::create(Path::new(RUNS), "record", &plan, &identity)?;
        Ok(RecordOutput {
            trace: run_folder::announce(&folder).join("trace.parquet"),
            folder: Some(folder),
        })
    }

    /// Marks the run as complete, once the trace is whole. Returns the path of the trace.
    pub(crate) fn finish(self) -> Result<PathBuf, Fault> {
        if let Some(folder) = self.folder {
            folder.finish(RunState::Complete)?;
        }
        Ok(self.trace)
    }
}
