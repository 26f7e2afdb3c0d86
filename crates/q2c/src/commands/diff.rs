//! The command `q2c diff`.

use super::limits;
use crate::args::{DiffArgs, DiffForm};
use crate::output::{print, print_json, screen, unread};
use crate::progress::Line;
use q2c_analyze::Options;
use q2c_diff::Measured;
use q2c_model::{Fault, OrFault};
use q2c_report::Reported;
use q2c_report::terminal::Screen;
use q2c_result::Exit;
use q2c_run::kept_text;
use std::path::Path;
use std::sync::atomic::AtomicBool;

pub fn run(args: &DiffArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let (a, b) = (side(&args.a, stop)?, side(&args.b, stop)?);
    if a.schema != b.schema {
        let why = format!(
            "compare {} with {}: expected two results of one kind, found {} and {}; name two of one kind, q2c runs lists the \
             runs that are here",
            args.b.display(),
            args.a.display(),
            a.schema,
            b.schema
        );
        return Err(Fault::new(Exit::Input, why));
    }
    let result = q2c_diff::diff(&a, &b, &args.fail_if, env!("CARGO_PKG_VERSION"));
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
fn side(path: &Path, stop: &AtomicBool) -> Result<Measured, Fault> {
    let text = match is_trace(path) {
        true => {
            let _line = Line::reading([path]);
            let analysed = q2c_analyze::recording(path, &Options::default(), stop);
            serde_json::to_string(&analysed?).or_exit(Exit::Internal)?
        }
        false => kept_text(path)?.1,
    };
    q2c_diff::read(&path.display().to_string(), &text).map_err(|why| unread(path, why))
}

/// Whether a file is a trace: a result is JSON.
fn is_trace(path: &Path) -> bool {
    path.is_file() && path.extension().is_none_or(|ending| ending != "json")
}
