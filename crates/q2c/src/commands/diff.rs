//! The command `q2c diff`.

use super::limits;
use crate::output::{print, print_json, screen, unread};
use crate::progress::Line;
use clap::{Args, ValueEnum};
use q2c_analyze::Options;
use q2c_model::{Fault, OrFault};
use q2c_report::Reported;
use q2c_report::difference::{ComparableResult, Limit};
use q2c_report::terminal::Screen;
use q2c_result::Exit;
use q2c_run::kept_text;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Compare two results of one kind, figure by figure.
#[derive(Clone, Debug, Args)]
pub(crate) struct DiffArgs {
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
pub(crate) enum DiffForm {
    /// A table
    Table,
    /// Markdown
    Md,
    /// JSON
    Json,
}

pub(crate) fn run(args: &DiffArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let (a, b) = (side(&args.a, stop)?, side(&args.b, stop)?);
    if a.schema != b.schema {
        let message = format!(
            "compare {} with {}: expected two results of one kind, found {} and {}; name two of one kind, q2c runs lists the \
             runs that are here",
            args.b.display(),
            args.a.display(),
            a.schema,
            b.schema
        );
        return Err(Fault::new(Exit::Input, message));
    }
    let result = q2c_report::difference::diff(&a, &b, &args.fail_if, env!("CARGO_PKG_VERSION"));
    let result = result.or_exit(Exit::Usage)?;
    let form = if args.json {
        DiffForm::Json
    } else {
        args.format
    };
    match form {
        DiffForm::Json => print_json(&result)?,
        DiffForm::Md => print(&result.document().markdown())?,
        DiffForm::Table => {
            let usual = screen();
            let verbose = usual.verbose || args.all;
            print(&result.document().text(Screen { verbose, ..usual }))?;
        }
    }
    limits::end(&result.b.path, &result.limits, args.junit.as_deref())
}

/// A side: a result that was kept, or a trace, which is analysed.
fn side(path: &Path, stop: &AtomicBool) -> Result<ComparableResult, Fault> {
    let text = if is_trace(path) {
        let _line = Line::reading([path]);
        let analysed = q2c_analyze::recording(path, &Options::default(), stop);
        serde_json::to_string(&analysed?).or_exit(Exit::Internal)?
    } else {
        kept_text(path)?.1
    };
    q2c_report::difference::read(&path.display().to_string(), &text)
        .map_err(|error| unread(path, error))
}

/// Whether a file is a trace: a result is JSON.
fn is_trace(path: &Path) -> bool {
    path.is_file() && path.extension().is_none_or(|ending| ending != "json")
}
