//! The command `q2c analyze`.

mod live;

use super::trace::import_exit;
use crate::args::AnalyzeArgs;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, say, screen, write_new};
use q2c_analyze::{AnalyzeError, Options};
use q2c_result::Exit;
use q2c_result::analyze::AnalyzeResult;
use std::sync::atomic::AtomicBool;

/// Analyses a recording, or with `--live` a capture, and prints the result.
pub fn run(args: &AnalyzeArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    args.check()?;
    if args.live {
        return live::run(args, stop);
    }
    let options = Options {
        format: args.recording.format.clone(),
        import: args.recording.options(),
        window: args.window(),
    };
    let result = q2c_analyze::recording(&args.trace, &options, stop);
    show(args, &result.or_exit_of(exit)?)?;
    Ok(Exit::Done)
}

/// The exit code for a recording that cannot be analysed.
fn exit(error: &AnalyzeError) -> Exit {
    match error {
        AnalyzeError::Import(error) => import_exit(error),
        AnalyzeError::Empty { .. } => Exit::Input,
    }
}

/// Writes the page, if asked for, and prints the result in the form that was asked for.
fn show(args: &AnalyzeArgs, result: &AnalyzeResult) -> Result<(), Failure> {
    if let Some(path) = &args.html {
        let page = q2c_report::html::analyze(result).or_exit(Exit::Internal)?;
        write_new(path, page.as_bytes())?;
        say(&format!("report: {}", path.display()));
    }
    match (args.json, args.btt) {
        (true, _) => print_json(result),
        (_, true) => print(&q2c_report::terminal::btt(result)),
        _ => print(&q2c_report::terminal::analyze(result, screen())),
    }
}
