//! The command `q2c diff`.

use crate::args::{DiffArgs, DiffForm};
use crate::exit::analyze_exit;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, screen};
use crate::progress::Line;
use q2c_analyze::Options;
use q2c_diff::Measured;
use q2c_result::Exit;
use q2c_result::diff::DiffResult;
use q2c_run::kept_text;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Compares two results, and says whether a limit is broken.
pub fn run(args: &DiffArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let (a, b) = (side(&args.a, stop)?, side(&args.b, stop)?);
    if a.kind != b.kind {
        let why = format!(
            "compare {} with {}: expected two results of one kind, found {} and {}; name two of one kind, q2c runs lists the \
             runs that are here",
            args.b.display(),
            args.a.display(),
            a.kind,
            b.kind
        );
        return Err(Failure::new(Exit::Input, why));
    }
    let result = q2c_diff::diff(&a, &b, &args.fail_if, env!("CARGO_PKG_VERSION"));
    known(&result)?;
    match args.format {
        _ if args.json => print_json(&result)?,
        DiffForm::Json => print_json(&result)?,
        DiffForm::Md => print(&q2c_report::diff::markdown(&result, args.all))?,
        DiffForm::Table => print(&q2c_report::terminal::diff(&result, args.all, screen()))?,
    }
    match result.limits.iter().all(|limit| limit.broken.is_empty()) {
        true => Ok(Exit::Done),
        false => Ok(Exit::Requirements),
    }
}

/// Refuses a limit on a figure that is not there: it would be kept by nothing.
fn known(result: &DiffResult) -> Result<(), Failure> {
    let Some(limit) = result.limits.iter().find(|limit| limit.figures == 0) else {
        return Ok(());
    };
    let names: BTreeSet<&str> = result.figures.iter().map(|of| of.figure.as_str()).collect();
    let found = match names.is_empty() {
        true => "none: the two have measured different things".to_owned(),
        false => names.into_iter().collect::<Vec<_>>().join(", "),
    };
    let why = format!(
        "keep the limit {}: expected a figure of both results, found {found}",
        limit.asked
    );
    Err(Failure::new(Exit::Usage, why))
}

/// A side: a result that was kept, or a trace, which is analysed.
fn side(path: &Path, stop: &AtomicBool) -> Result<Measured, Failure> {
    let text = match is_trace(path) {
        true => {
            let _line = Line::reading([path]);
            let analysed = q2c_analyze::recording(path, &Options::default(), stop);
            serde_json::to_string(&analysed.or_exit_of(analyze_exit)?).or_exit(Exit::Internal)?
        }
        false => kept_text(path).or_exit(Exit::Input)?.1,
    };
    let bad = |why| Failure::new(Exit::Input, format!("read {}: {why}", path.display()));
    q2c_diff::read(&path.display().to_string(), &text).map_err(bad)
}

/// Whether a file is a trace: a result is JSON.
fn is_trace(path: &Path) -> bool {
    path.is_file() && path.extension().is_none_or(|ending| ending != "json")
}
