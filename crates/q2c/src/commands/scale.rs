//! The command `q2c scale`.

use crate::commands::run_folder;
use crate::output::{NewFile, read_fault, read_text, show, unix_s};
use crate::progress::Line;
use clap::{Args, Subcommand};
use q2c_engine::Pattern;
use q2c_model::{Bytes, Fault, parse_size};
use q2c_policy::Method;
use q2c_result::Exit;
use q2c_result::bench::{self, BenchResult};
use q2c_result::scale::{Parameters, ScaleResult};
use q2c_scale::predict::PredictionRange;
use q2c_scale::run::CurveSelection;
use q2c_scale::{ScaleRequest, parameters};
use std::path::{Path, PathBuf};

/// The commands of `q2c scale`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ScaleCommand {
    /// Predict throughput at more cores than were measured: where scaling ends, and by what
    Predict(PredictArgs),
}

/// From what, and how far.
#[derive(Clone, Debug, Args)]
pub(crate) struct PredictArgs {
    /// Run folder of q2c bench --stages over jobs, or its result.json
    #[arg(required_unless_present = "parameters")]
    pub run: Option<PathBuf>,
    /// Cores to predict up to, one job on each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub cores: u32,
    /// Predict up to so many jobs, which share the cores [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Take the parameters of the model from this TOML file; needed when the run was measured on
    /// fewer than four physical cores
    #[arg(long, value_name = "FILE")]
    pub parameters: Option<PathBuf>,
    /// The curve with this interface, where the run has several
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// The curve with this method
    #[arg(long)]
    pub method: Option<Method>,
    /// The curve with so many requests in flight in each job
    #[arg(long)]
    pub depth: Option<u16>,
    /// The curve with this block size
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub bs: Option<Bytes>,
    /// The curve with this pattern
    #[arg(long)]
    pub rw: Option<Pattern>,
    /// Seed of the resampling
    #[arg(long, hide_short_help = true, default_value_t = 1)]
    pub seed: u64,
    /// Write a page with the chart here; a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the result as JSON; q2c report draws it again
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn run(command: &ScaleCommand) -> Result<Exit, Fault> {
    let ScaleCommand::Predict(args) = command;
    let page = NewFile::if_named(args.html.as_ref())?;
    let result = predict(args)?;
    page.map(|file| file.write_page(&result)).transpose()?;
    show(&result, args.json)
}

fn predict(args: &PredictArgs) -> Result<ScaleResult, Fault> {
    let read_run = |run| run_folder::read_result(run, "q2c bench", bench::SCHEMA);
    let run: Option<BenchResult> = args.run.as_deref().map(read_run).transpose()?;
    let text = |path: &Path| path.display().to_string();
    let run_name = args.run.as_deref().map(text).unwrap_or_default();
    let file_name = args.parameters.as_deref().map(text).unwrap_or_default();
    let parameters = args.parameters.as_deref().map(read_model).transpose()?;
    let request = ScaleRequest {
        run: run.as_ref().map(|run| (run, run_name.as_str())),
        parameters: parameters.map(|parameters| (parameters, file_name.as_str())),
        selection: CurveSelection {
            engine: args.engine.clone(),
            method: args.method.clone(),
            depth: args.depth,
            bs: args.bs,
            rw: args.rw.map(|rw| rw.to_string()),
        },
        range: PredictionRange {
            cores: args.cores,
            jobs: args.jobs.unwrap_or(args.cores),
            seed: args.seed,
        },
    };
    let _line = Line::with_elapsed("fitting and predicting");
    let mut result = q2c_scale::predict(&request)?;
    result.started_unix_s = unix_s();
    Ok(result)
}

fn read_model(path: &Path) -> Result<Parameters, Fault> {
    let parameters = parameters::read(&read_text(path)?);
    parameters.map_err(|e| read_fault(path, &e).with_exit(e.exit()))
}
