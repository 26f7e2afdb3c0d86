//! The command `q2c runs`, and the latest of the runs.

use crate::args::RunsArgs;
use crate::output::{print, print_json, screen};
use q2c_model::{Fault, OrFault};
use q2c_result::Exit;
use q2c_result::runs::{ListedRun, RunEnd, RunsResult, SCHEMA};
use q2c_run::run_dir::Status;
use q2c_run::{FoundRun, runs};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Lists the runs of a folder.
pub fn run(args: &RunsArgs) -> Result<Exit, Fault> {
    let result = RunsResult {
        schema: SCHEMA.to_owned(),
        folder: args.out.display().to_string(),
        runs: found(&args.out)?.iter().map(listed).collect(),
    };
    match args.json {
        true => print_json(&result)?,
        false => print(&q2c_report::terminal::runs(&result, screen()))?,
    }
    Ok(Exit::Done)
}

/// The latest run of a folder that has a result.
pub fn latest(folder: &Path) -> Result<PathBuf, Fault> {
    let found = found(folder)?;
    let mut with_result = found
        .into_iter()
        .filter(|run| run.path.join("result.json").is_file());
    with_result.next().map(|run| run.path).ok_or_else(|| {
        let why = format!(
            "find the latest run: no run with a result lies in {}; name one, or make one with q2c tune or q2c bench",
            folder.display()
        );
        Fault::new(Exit::Input, why)
    })
}

/// The runs of a folder; none where there is no folder yet.
fn found(folder: &Path) -> Result<Vec<FoundRun>, Fault> {
    match runs(folder) {
        Ok(found) => Ok(found),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error)
            .map_err(|e| format!("read {}: {e}", folder.display()))
            .or_exit(Exit::Input),
    }
}

/// Whether something emptied the result of a complete run: a full disk of a copy does.
fn has_empty_result(run: &Path) -> bool {
    std::fs::metadata(run.join("result.json")).is_ok_and(|result| result.len() == 0)
}

fn listed(run: &FoundRun) -> ListedRun {
    let path = run.path.display().to_string();
    match &run.told {
        Ok((record, Status::Complete)) if has_empty_result(&run.path) => ListedRun {
            path,
            name: Some(record.name.clone()),
            target: record.identity.0.get("target").cloned(),
            started_unix_s: Some(record.started_unix_s),
            end: RunEnd::Unreadable,
            unreadable: Some("its result.json is empty".to_owned()),
        },
        Ok((record, status)) => ListedRun {
            path,
            name: Some(record.name.clone()),
            target: record.identity.0.get("target").cloned(),
            started_unix_s: Some(record.started_unix_s),
            end: match status {
                Status::Running => RunEnd::Running,
                Status::Complete => RunEnd::Complete,
                Status::Interrupted => RunEnd::Interrupted,
                Status::Crashed => RunEnd::Crashed,
            },
            unreadable: None,
        },
        Err(error) => ListedRun {
            path,
            name: None,
            target: None,
            started_unix_s: None,
            end: RunEnd::Unreadable,
            unreadable: Some(error.to_string()),
        },
    }
}
