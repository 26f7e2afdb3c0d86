//! The command `q2c experiment`.

use crate::output::{print, say};
use clap::{Args, Subcommand};
use q2c_model::Fault;
use q2c_reproduce::{Experiment, ExperimentError};
use q2c_result::Exit;
use q2c_run::runner::spoken;
use q2c_run::whole_file;
use std::path::{Path, PathBuf};

/// Experiment files.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExperimentArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ExperimentCommand,
}

/// The commands of `q2c experiment`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ExperimentCommand {
    /// Check a file, and name what is wrong in it by line
    Check {
        /// The file
        file: PathBuf,
    },
}

pub(crate) fn run(args: &ExperimentArgs) -> Result<Exit, Fault> {
    let ExperimentCommand::Check { file } = &args.command;
    let experiment = read(file)?;
    let points = experiment.points().len();
    let length = experiment.length_s(1.0, experiment.trials);
    let length = length.filter(|s| *s >= 1.0);
    let length = length.map_or_else(String::new, |s| format!(", about {}", spoken(s)));
    print(&format!(
        "{}: sound. {} claims, {points} points, {} trials of each{length}",
        experiment.name,
        experiment.claims.len(),
        experiment.trials
    ))?;
    Ok(Exit::Done)
}

/// Reads an experiment from a file. What is wrong in it is told line by line.
pub(crate) fn read(file: &Path) -> Result<Experiment, Fault> {
    let name = file.display();
    let text = whole_file::read_named_text(file, whole_file::BY_HAND).map_err(|e| {
        let message = format!(
            "read the experiment {name}: {e}; q2c reproduce --list names those that q2c has"
        );
        Fault::new(Exit::Input, message)
    })?;
    Experiment::parse(&text).map_err(|error| {
        let ExperimentError::Wrong(problems) = &error else {
            return Fault::new(Exit::Input, error);
        };
        for problem in problems {
            say(&format!("{name}: {problem}"));
        }
        let lines = if problems.len() == 1 { "line" } else { "lines" };
        let message = format!("understand the experiment {name}: see the {lines} above");
        Fault::new(Exit::Input, message)
    })
}
