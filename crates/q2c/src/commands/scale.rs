//! The command `q2c scale`.

use crate::args::{PredictArgs, ScaleArgs, ScaleCommand};
use crate::commands::run_folder;
use crate::output::{NewFile, show, text_of, unix_s, unread};
use crate::progress::Line;
use q2c_model::Fault;
use q2c_result::Exit;
use q2c_result::bench::{self, BenchResult};
use q2c_result::scale::{Parameters, ScaleResult};
use q2c_scale::predict::Range;
use q2c_scale::run::Pick;
use q2c_scale::{Request, parameters};
use std::path::Path;

pub fn run(args: &ScaleArgs) -> Result<Exit, Fault> {
    let ScaleCommand::Predict(args) = &args.command;
    let page = NewFile::if_named(args.html.as_ref())?;
    let result = predicted(args)?;
    if let Some(file) = page {
        file.write_page(&result)?;
    }
    show(&result, args.json)?;
    Ok(Exit::Done)
}

fn predicted(args: &PredictArgs) -> Result<ScaleResult, Fault> {
    let measured = |run| run_folder::result(run, "q2c bench", bench::SCHEMA);
    let run: Option<BenchResult> = args.run.as_deref().map(measured).transpose()?;
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
    result.started_unix_s = unix_s();
    Ok(result)
}

fn given(path: &Path) -> Result<Parameters, Fault> {
    let read = parameters::read(&text_of(path)?);
    read.map_err(|e| unread(path, &e).with_exit(e.exit()))
}
