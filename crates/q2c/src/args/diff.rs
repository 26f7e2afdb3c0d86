//! Arguments of `q2c diff`.

use clap::{Args, ValueEnum};
use q2c_diff::Limit;
use std::path::PathBuf;

/// Compare two results of one kind, figure by figure.
#[derive(Clone, Debug, Args)]
pub struct DiffArgs {
    /// The result to compare with: a run folder or result.json of q2c tune, bench, replay or
    /// analyze, or a trace, which is analysed
    pub a: PathBuf,
    /// The result to compare, of the same kind
    pub b: PathBuf,
    /// End with 7 where a figure changed by more, such as p99>+5%, iops<-3% or p99>+5% sure, or
    /// where B's own value is beyond one, such as p99>200us (may be given again); what the trials
    /// leave open breaks no limit
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<Limit>,
    /// Write the limits to this new file as JUnit XML, a test case each
    #[arg(
        long,
        value_name = "FILE",
        requires = "fail_if",
        hide_short_help = true
    )]
    pub junit: Option<PathBuf>,
    /// Show every figure, also those that tell no change
    #[arg(long)]
    pub all: bool,
    /// How to print it: a table, Markdown for a ticket, or JSON
    #[arg(long, value_enum, default_value = "table", value_name = "FORM")]
    pub format: DiffForm,
    /// Print the result as JSON
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

/// The form of what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiffForm {
    /// A table
    Table,
    /// Markdown
    Md,
    /// JSON
    Json,
}
