//! Arguments of every command that leaves a run.

use crate::run_dir::PlanFault;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use q2c_report::difference::Limit;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Options of every command that may write and leaves a run.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct RunArgs {
    /// Allow writing to this existing file or block device: name the target again
    #[arg(long, value_name = "PATH")]
    #[serde(skip)]
    pub allow_write: Vec<PathBuf>,
    /// Folder for runs and scratch files
    #[arg(long, default_value = "runs", value_name = "FOLDER")]
    #[serde(skip)]
    pub out: PathBuf,
    /// Seed of offsets and of the order of trials
    #[arg(long, hide_short_help = true, default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..1 << 62))]
    pub seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
}

impl RunArgs {
    /// Returns these arguments with the seed of a stored run, which a resumed run must keep.
    #[must_use]
    pub fn with_seed_of(&self, stored: &RunArgs) -> RunArgs {
        RunArgs {
            seed: stored.seed,
            ..self.clone()
        }
    }

    /// Checks the seed of a plan that was read back from a file.
    pub fn check(&self) -> Result<(), PlanFault> {
        PlanFault::check_range("seed", &self.seed, 0..=(1 << 62) - 1)
    }
}

/// What the run must keep, and what it is compared with.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct LimitArgs {
    /// End with 7 where a figure of the run breaks this limit, such as p99>200us or iops<50000, or
    /// beside --baseline p99>+5% or p99>+5% sure (may be given again); what the trials leave open
    /// breaks no limit
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<Limit>,
    /// Write the limits to this new file as JUnit XML, a test case each
    #[arg(long, value_name = "FILE", requires = "fail_if")]
    #[arg(hide_short_help = true)]
    pub junit: Option<PathBuf>,
    /// Limits on changes compare with this run of the same command: its folder or result.json
    #[arg(long, value_name = "RUN")]
    pub baseline: Option<PathBuf>,
}

/// Parses arguments from `words`, the text after a command's name, split at whitespace.
pub fn from_words<T: Args>(words: &str) -> Result<T, clap::Error> {
    let command = T::augment_args(Command::new("q2c").no_binary_name(true));
    T::from_arg_matches(&command.try_get_matches_from(words.split_whitespace())?)
}

/// The names of the arguments that were typed. They win over values from any other source.
///
/// This is a field of an arguments struct, but takes no argument itself. It must be the first
/// field: the parser removes from the matches what it gives to an earlier field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypedNames(Vec<String>);

impl TypedNames {
    /// True if the argument of this name was typed.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|typed| typed == name)
    }
}

impl FromArgMatches for TypedNames {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let names = matches.ids().map(|id| id.as_str());
        let typed = names.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine));
        Ok(TypedNames(typed.map(str::to_owned).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = TypedNames::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for TypedNames {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
