//! The commands `q2c runs` and `q2c report`.

use crate::output::{escape_json, print, print_csv, read_fault, say, screen, show_as, write_new};
use clap::Args;
use q2c_model::Fault;
use q2c_report::stored_results::{self, StoredResult};
use q2c_report::terminal;
use q2c_result::Exit;
use q2c_result::runs::{ListedRun, RunEnd, RunsResult, SCHEMA};
use q2c_run::run_dir::Status;
use q2c_run::{FoundRun, read_result_text, runs};
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

pub(crate) fn list(args: &RunsArgs) -> Result<Exit, Fault> {
    let result = RunsResult {
        schema: SCHEMA.to_owned(),
        folder: args.out.display().to_string(),
        runs: find_runs(&args.out)?.iter().map(list_entry).collect(),
    };
    show_as(&result, args.json, |screen| terminal::runs(&result, screen))
}

fn latest_run(folder: &Path) -> Result<PathBuf, Fault> {
    let mut runs = find_runs(folder)?.into_iter().map(|run| run.path);
    let run = runs.find(|run| run.join("result.json").is_file());
    run.ok_or_else(|| {
        Fault::input(format!(
            "find the latest run: no run with a result lies in {}; name one, or make one with q2c tune or q2c bench",
            folder.display()
        ))
    })
}

/// The runs of a folder; empty if the folder does not exist yet.
fn find_runs(folder: &Path) -> Result<Vec<FoundRun>, Fault> {
    match runs(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        runs => runs.map_err(|error| read_fault(folder, error)),
    }
}

/// True if a complete run has an empty result, as after a copy to a full disk.
fn has_empty_result(run: &Path) -> bool {
    std::fs::metadata(run.join("result.json")).is_ok_and(|result| result.len() == 0)
}

fn list_entry(run: &FoundRun) -> ListedRun {
    let end = match &run.state {
        Ok((_, Status::Running)) => Ok(RunEnd::Running),
        Ok((_, Status::Complete)) if has_empty_result(&run.path) => {
            Err("its result.json is empty".to_owned())
        }
        Ok((_, Status::Complete)) => Ok(RunEnd::Complete),
        Ok((_, Status::Interrupted)) => Ok(RunEnd::Interrupted),
        Ok((_, Status::Crashed)) => Ok(RunEnd::Crashed),
        Err(error) => Err(error.to_string()),
    };
    let record = run.state.as_ref().ok().map(|(record, _)| record);
    ListedRun {
        path: run.path.display().to_string(),
        name: record.map(|record| record.name.clone()),
        target: record.and_then(|record| record.identity.0.get("target").cloned()),
        started_unix_s: record.map(|record| record.started_unix_s),
        end: *end.as_ref().unwrap_or(&RunEnd::Unreadable),
        unreadable: end.err(),
    }
}

/// Draw the reports of a run again from its result.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReportArgs {
    /// Run folder, or a result.json [default: the latest run in the folder of --out]
    pub run: Option<PathBuf>,
    /// Folder of the runs, of which the latest is drawn
    #[arg(long, default_value = "runs", value_name = "FOLDER")]
    #[arg(conflicts_with = "run")]
    pub out: PathBuf,
    /// Write the HTML report to this file, a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the measured cells as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print the report as Markdown, to paste into an issue
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub markdown: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Draws the requested outputs; without an option, the table.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Fault> {
    let run = match &args.run {
        Some(run) => run.clone(),
        None => latest_run(&args.out)?,
    };
    let result = read_result(&run)?;
    if let Some(path) = &args.html {
        let page = result.document().page()?;
        write_new(path, page.as_bytes())?;
        say(&format!("report: {}", path.display()));
    }
    match (args.csv, args.json) {
        (true, _) => print_csv(&result.csv()?)?,
        (_, true) => print(&escape_json(&result.json()?))?,
        _ if args.markdown => print(&result.document().markdown())?,
        _ if args.html.is_some() => {}
        _ => print(&result.document().text(screen()))?,
    }
    Ok(Exit::Done)
}

fn read_result(run: &Path) -> Result<Box<dyn StoredResult>, Fault> {
    let (path, text) = read_result_text(run)?;
    stored_results::read(&text).map_err(|error| read_fault(&path, error))
}
