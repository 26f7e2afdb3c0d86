//! The command `q2c analyze`.

mod live;

use crate::args::AnalyzeArgs;
use crate::output::{NewFile, print, print_json, screen};
use crate::progress::Line;
use crate::stream::print_summary;
use q2c_analyze::Options;
use q2c_model::Fault;
use q2c_report::Reported;
use q2c_result::Exit;
use q2c_result::analyze::AnalyzeResult;
use std::sync::atomic::AtomicBool;

pub fn run(args: &AnalyzeArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    args.check()?;
    let page = NewFile::if_named(args.html.as_ref())?;
    if args.live {
        return live::run(args, page, stop);
    }
    let options = Options {
        format: args.recording.format.clone(),
        import: args.recording.options(),
        window: args.window(),
        process: args.process.clone(),
    };
    let line = Line::reading([args.trace.as_path()]);
    let result = q2c_analyze::recording(&args.trace, &options, stop);
    drop(line);
    show(args, page, &result?)?;
    Ok(Exit::Done)
}

fn show(args: &AnalyzeArgs, page: Option<NewFile>, result: &AnalyzeResult) -> Result<(), Fault> {
    if let Some(file) = page {
        file.write_page(result)?;
    }
    match (args.json, args.btt) {
        (true, _) if args.live => print_summary(result),
        (true, _) => print_json(result),
        (_, true) => print(&q2c_report::terminal::btt(result)),
        _ => print(&result.document().text(screen())),
    }
}
