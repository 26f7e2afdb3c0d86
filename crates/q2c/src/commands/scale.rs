//! The command `q2c scale`.

use crate::args::{PredictArgs, ScaleArgs, ScaleCommand};
use crate::commands::run_folder;
use crate::output::{NewFile, say, show};
use crate::progress::Line;
use q2c_model::{Fault, OrFault};
use q2c_report::Reported;
use q2c_result::Exit;
use q2c_result::bench::{self, BenchResult};
use q2c_result::scale::{Parameters, ScaleResult};
use q2c_run::whole_file;
use q2c_scale::predict::Range;
use q2c_scale::run::Pick;
use q2c_scale::{Request, parameters};
use std::path::Path;
use std::time::SystemTime;

/// Runs the command that was asked for.
pub fn run(args: &ScaleArgs) -> Result<Exit, Fault> {
    match &args.command {
        ScaleCommand::Predict(args) => predict(args),
    }
}

fn predict(args: &PredictArgs) -> Result<Exit, Fault> {
    let page = NewFile::if_named(args.html.as_ref())?;
    let result = predicted(args)?;
    if let Some(file) = page {
        let path = file.path().to_owned();
        let page = result.document().page().or_exit(Exit::Internal)?;
        file.write(page.as_bytes())?;
        say(&format!("report: {}", path.display()));
    }
    show(&result, args.json)?;
    Ok(Exit::Done)
}

fn predicted(args: &PredictArgs) -> Result<ScaleResult, Fault> {
    let run = args.run.as_deref().map(measured).transpose()?;
    let named = |path: &Path| path.display().to_string();
    let run_name = args.run.as_deref().map(named).unwrap_or_default();
    let file_name = args.parameters.as_deref().map(named).unwrap_or_default();
    let given = args.parameters.as_deref().map(given).transpose()?;
    let request = Request {
        run: run.as_ref().map(|run| (run, run_name.as_str())),
        parameters: given.map(|given| (given, file_name.as_str())),
        pick: Pick {
            engine: args.engine.clone(),
            method: args.method.clone(),
            depth: args.depth,
            bs: args.bs,
            rw: args.rw.map(|rw| rw.to_string()),
        },
        range: Range {
            cores: args.cores,
            jobs: args.jobs.unwrap_or(args.cores),
            seed: args.seed,
        },
    };
    let _line = Line::working("fitting and predicting");
    let mut result = q2c_scale::predict(&request)?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    result.started_unix_s = now.map_or(0, |since| since.as_secs());
    Ok(result)
}

/// The result of `q2c bench` in a run folder or a file.
fn measured(run: &Path) -> Result<BenchResult, Fault> {
    run_folder::result(run, "q2c bench", bench::SCHEMA)
}

fn given(path: &Path) -> Result<Parameters, Fault> {
    let text = whole_file::read_named_text(path, whole_file::BY_HAND);
    let text =
        text.map_err(|e| Fault::new(Exit::Input, format!("read {}: {e}", path.display())))?;
    let read = parameters::read(&text);
    read.map_err(|e| Fault::new(e.exit(), format!("read {}: {e}", path.display())))
}
