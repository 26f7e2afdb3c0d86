//! Arguments of `q2c report`.

use clap::Args;
use std::path::PathBuf;

/// Draw the reports of a run again from its result.
#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
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
