//! The command `q2c diff`; and the limits of `--fail-if`, which are judged after a run's result is
//! written and printed.

use crate::output::{NewFile, print, print_json, read_fault, say, screen, write_new};
use crate::progress::Line;
use clap::{Args, ValueEnum};
use q2c_analyze::Options;
use q2c_model::{Fault, OrFault};
use q2c_report::Reported;
use q2c_report::difference::{ComparableResult, Limit};
use q2c_report::terminal::Screen;
use q2c_result::Exit;
use q2c_result::diff::JudgedLimit;
use q2c_run::arguments::LimitArgs;
use q2c_run::read_result_text;
use q2c_trace::samples::is_sample;
use serde::Serialize;
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
    #[arg(long, value_name = "FILE", requires = "fail_if")]
    #[arg(hide_short_help = true)]
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
    let (a, b) = (read_side(&args.a, stop)?, read_side(&args.b, stop)?);
    if a.schema != b.schema {
        return Err(Fault::input(format!(
            "compare {} with {}: expected two results of one kind, found {} and {}; name two of one kind, q2c runs lists the \
             runs that are here",
            args.b.display(),
            args.a.display(),
            a.schema,
            b.schema
        )));
    }
    let result = q2c_report::difference::diff(&a, &b, &args.fail_if, env!("CARGO_PKG_VERSION"));
    let result = result.or_exit(Exit::Usage)?;
    match (args.format, args.json) {
        (DiffForm::Json, _) | (_, true) => print_json(&result)?,
        (DiffForm::Md, _) => print(&result.document().markdown())?,
        (DiffForm::Table, _) => {
            let screen = screen();
            let verbose = screen.verbose || args.all;
            print(&result.document().text(Screen { verbose, ..screen }))?;
        }
    }
    report_limits(&result.b.path, &result.limits, args.junit.as_deref())
}

/// One side of the comparison: a stored result, or a trace, which is analysed.
fn read_side(path: &Path, stop: &AtomicBool) -> Result<ComparableResult, Fault> {
    let text = if is_trace(path) {
        let _line = Line::reading([path]);
        let analysed = q2c_analyze::recording(path, &Options::default(), stop);
        serde_json::to_string(&analysed?).or_exit(Exit::Internal)?
    } else {
        read_result_text(path)?.1
    };
    q2c_report::difference::read(&path.display().to_string(), &text)
        .map_err(|error| read_fault(path, error))
}

/// True if a file is a trace; results are JSON files.
fn is_trace(path: &Path) -> bool {
    is_sample(path) || path.is_file() && path.extension().is_none_or(|ending| ending != "json")
}

pub(crate) struct RunLimits<'a> {
    args: &'a LimitArgs,
    baseline: Option<ComparableResult>,
}

impl<'a> RunLimits<'a> {
    /// The limits for a run whose result will have the schema `schema`. Mistakes in the limits are
    /// reported here, before anything is measured.
    pub(crate) fn new(args: &'a LimitArgs, schema: &str) -> Result<Self, Fault> {
        let baseline = args.baseline.as_deref();
        let baseline = baseline.map(|run| read_baseline(run, schema)).transpose()?;
        if let (Some(run), true) = (&args.baseline, args.fail_if.is_empty()) {
            return Err(Fault::usage(format!(
                "compare with {}: expected a limit such as --fail-if 'p99>+5%', found none; q2c diff compares without limits",
                run.display()
            )));
        }
        // The file is written after the run; an existing file is refused before the run by this.
        NewFile::if_named(args.junit.as_ref())?;
        let figures = q2c_report::difference::declared_figures(schema);
        q2c_report::difference::check(&args.fail_if, &figures, baseline.is_some())
            .or_exit(Exit::Usage)?;
        Ok(RunLimits { args, baseline })
    }

    /// Judges the result of a run that ended with `exit`, and reports each limit on stderr. Returns
    /// the exit code of the command. An incomplete run is not judged.
    pub(crate) fn judge(
        &self,
        exit: Exit,
        folder: &Path,
        result: &impl Serialize,
    ) -> Result<Exit, Fault> {
        let limits = &self.args.fail_if;
        if limits.is_empty() {
            return Ok(exit);
        }
        if exit != Exit::Done {
            say("limits are not judged: the run did not end with all of its trials, valid ones");
            return Ok(exit);
        }
        let value = serde_json::to_value(result).or_exit(Exit::Internal)?;
        let name = folder.display().to_string();
        let measured = q2c_report::difference::from_json(&name, &value).or_exit(Exit::Internal)?;
        let judged = q2c_report::difference::judge(limits, &measured, self.baseline.as_ref());
        let judged = judged.or_exit(Exit::Usage)?;
        for limit in &judged {
            say(&format!("limit {}", q2c_report::diff::limit_line(limit)));
        }
        report_limits(&name, &judged, self.args.junit.as_deref())
    }
}

/// Reports judged limits to the build system (JUnit, GitHub Actions), if requested. Returns their
/// exit code. `name` is the name of the run.
pub(crate) fn report_limits(
    name: &str,
    judged: &[JudgedLimit],
    junit: Option<&Path>,
) -> Result<Exit, Fault> {
    if let Some(file) = junit {
        let xml = q2c_report::diff::junit(name, judged).or_exit(Exit::Internal)?;
        write_new(file, xml.as_bytes())?;
    }
    if std::env::var("GITHUB_ACTIONS").is_ok_and(|set| set == "true") {
        let lines = q2c_report::diff::annotations(judged);
        lines.iter().for_each(|line| say(line));
    }
    let none_broken = judged.iter().all(|limit| limit.broken.is_empty());
    Ok(Exit::requirements(none_broken))
}

/// Reads the run to compare with. Refuses a run whose result has another schema than `schema`.
fn read_baseline(run: &Path, schema: &str) -> Result<ComparableResult, Fault> {
    let (path, text) = read_result_text(run)?;
    let reason = match q2c_report::difference::read(&path.display().to_string(), &text) {
        Ok(read) if read.schema == schema => return Ok(read),
        Ok(read) => format!(
            "expected a result of {schema}, found {}; a run is compared with one of the same command",
            read.schema
        ),
        Err(error) => error.to_string(),
    };
    let run = run.display();
    Err(Fault::input(format!("compare with {run}: {reason}")))
}
