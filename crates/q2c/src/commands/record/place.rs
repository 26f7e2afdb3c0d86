//! The place of the trace: a path that the user named, or a run folder.

use crate::args::{CaptureArgs, RecordArgs};
use crate::output::say;
use q2c_model::Fault;
use q2c_run::{Identity, RunDir, RunState};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The folder in which run folders are made.
const RUNS: &str = "runs";

/// The plan in the run folder.
#[derive(Serialize)]
struct Plan {
    target: String,
    filter: Option<String>,
    seconds: Option<f64>,
    command: Vec<String>,
}

/// Path of the trace, and its run folder where the user named no path.
pub struct Place {
    trace: PathBuf,
    folder: Option<RunDir>,
}

impl Place {
    pub fn new(args: &RecordArgs, capture: &CaptureArgs) -> Result<Place, Fault> {
        if let Some(out) = &args.output {
            return Ok(Place {
                trace: out.clone(),
                folder: None,
            });
        }
        let words = args
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        let plan = Plan {
            target: args.target.clone(),
            filter: capture.filter(),
            seconds: capture.seconds,
            command: words.collect(),
        };
        let identity = Identity::default().with("target", &args.target);
        let folder = RunDir::create(Path::new(RUNS), "record", &plan, &identity);
        let folder = folder?;
        say(&format!("run folder {}", folder.path().display()));
        Ok(Place {
            trace: folder.path().join("trace.parquet"),
            folder: Some(folder),
        })
    }

    pub fn trace(&self) -> &Path {
        &self.trace
    }

    /// Marks the run as complete, once the trace is whole. Returns the path of the trace.
    pub fn finish(self) -> Result<PathBuf, Fault> {
        if let Some(folder) = self.folder {
            folder.finish(RunState::Complete)?;
        }
        Ok(self.trace)
    }
}
