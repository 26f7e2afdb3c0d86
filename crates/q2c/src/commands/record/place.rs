//! Where the trace goes: a name of the user's, or a run folder.

use crate::args::{CaptureArgs, RecordArgs};
use crate::failure::{Fails, Failure};
use crate::output::say;
use q2c_result::Exit;
use q2c_run::{Identity, RunDir, RunState};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Folder of runs.
const RUNS: &str = "runs";

/// What was asked for, as the run folder keeps it.
#[derive(Serialize)]
struct Plan {
    target: String,
    filter: Option<String>,
    seconds: Option<f64>,
    command: Vec<String>,
}

/// The trace's name, and the folder when it is a run's.
pub struct Place {
    trace: PathBuf,
    folder: Option<RunDir>,
}

impl Place {
    pub fn new(args: &RecordArgs, capture: &CaptureArgs) -> Result<Place, Failure> {
        if let Some(out) = &args.out {
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
        let folder = folder.or_exit(Exit::Device)?;
        say(&format!("run folder {}", folder.path().display()));
        Ok(Place {
            trace: folder.path().join("trace.parquet"),
            folder: Some(folder),
        })
    }

    pub fn trace(&self) -> &Path {
        &self.trace
    }

    /// The trace is whole.
    pub fn finish(self) -> Result<PathBuf, Failure> {
        if let Some(folder) = self.folder {
            folder.finish(RunState::Complete).or_exit(Exit::Device)?;
        }
        Ok(self.trace)
    }
}
