//! The command `q2c report`.

use crate::commands::runs::latest;
use crate::output::{escaped, print, print_csv, say, screen, unread, write_new};
use clap::Args;
use q2c_model::Fault;
use q2c_report::kept::{self, StoredResult};
use q2c_result::Exit;
use q2c_run::kept_text;
use std::path::{Path, PathBuf};

/// Draw the reports of a run again from its result.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReportArgs {
    /// Run folder, or a result.json [default: the latest run in the folder of --out]
    pub run: Option<PathBuf>,
    /// Folder of the runs, of which the latest is drawn
    #[arg(
        long,
        default_value = "runs",
        value_name = "FOLDER",
        conflicts_with = "run"
    )]
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

/// Draws what is asked for: the table when no option is given.
pub(crate) fn run(args: &ReportArgs) -> Result<Exit, Fault> {
    let run = match &args.run {
        Some(run) => run.clone(),
        None => latest(&args.out)?,
    };
    let result = result(&run)?;
    if let Some(path) = &args.html {
        let page = result.document().page()?;
        write_new(path, page.as_bytes())?;
        say(&format!("report: {}", path.display()));
    }
    match (args.csv, args.json) {
        (true, _) => print_csv(&result.csv()?)?,
        (_, true) => print(&escaped(&result.json()?))?,
        _ if args.markdown => print(&result.document().markdown())?,
        _ if args.html.is_some() => {}
        _ => print(&result.document().text(screen()))?,
    }
    Ok(Exit::Done)
}

fn result(run: &Path) -> Result<Box<dyn StoredResult>, Fault> {
    let (path, text) = kept_text(run)?;
    kept::read(&text).map_err(|error| unread(&path, error))
}
