//! The command `q2c runs`, and the latest of the runs.

use crate::output::{show_as, unread};
use clap::Args;
use q2c_model::Fault;
use q2c_report::terminal;
use q2c_result::Exit;
use q2c_result::runs::{ListedRun, RunEnd, RunsResult, SCHEMA};
use q2c_run::run_dir::Status;
use q2c_run::{FoundRun, runs};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// List runs, the latest first.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunsArgs {
    /// Folder of the runs
    #[arg(long, default_value = "runs", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn run(args: &RunsArgs) -> Result<Exit, Fault> {
    let result = RunsResult {
        schema: SCHEMA.to_owned(),
        folder: args.out.display().to_string(),
        runs: found(&args.out)?.iter().map(listed).collect(),
    };
    show_as(&result, args.json, |screen| terminal::runs(&result, screen))
}

pub(crate) fn latest(folder: &Path) -> Result<PathBuf, Fault> {
    let mut runs = found(folder)?.into_iter().map(|run| run.path);
    let run = runs.find(|run| run.join("result.json").is_file());
    run.ok_or_else(|| {
        let message = format!(
            "find the latest run: no run with a result lies in {}; name one, or make one with q2c tune or q2c bench",
            folder.display()
        );
        Fault::new(Exit::Input, message)
    })
}

/// The runs of a folder; none where there is no folder yet.
fn found(folder: &Path) -> Result<Vec<FoundRun>, Fault> {
    match runs(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        runs => runs.map_err(|error| unread(folder, error)),
    }
}

/// Whether something emptied the result of a complete run: a full disk of a copy does.
fn has_empty_result(run: &Path) -> bool {
    std::fs::metadata(run.join("result.json")).is_ok_and(|result| result.len() == 0)
}

fn listed(run: &FoundRun) -> ListedRun {
    let end = match &run.told {
        Ok((_, Status::Running)) => Ok(RunEnd::Running),
        Ok((_, Status::Complete)) if has_empty_result(&run.path) => {
            Err("its result.json is empty".to_owned())
        }
        Ok((_, Status::Complete)) => Ok(RunEnd::Complete),
        Ok((_, Status::Interrupted)) => Ok(RunEnd::Interrupted),
        Ok((_, Status::Crashed)) => Ok(RunEnd::Crashed),
        Err(error) => Err(error.to_string()),
    };
    let record = run.told.as_ref().ok().map(|(record, _)| record);
    ListedRun {
        path: run.path.display().to_string(),
        name: record.map(|record| record.name.clone()),
        target: record.and_then(|record| record.identity.0.get("target").cloned()),
        started_unix_s: record.map(|record| record.started_unix_s),
        end: *end.as_ref().unwrap_or(&RunEnd::Unreadable),
        unreadable: end.err(),
    }
}
