//! The configuration file on the command line: names of targets are replaced, and settings become
//! the defaults of options before the arguments are read.

mod defaults;
mod keys;

use crate::args::Cli;
use crate::output::{say, unread};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches};
use keys::{COMMANDS, CommandKeys, IN_JOB_FILES, WHEN_RESUMED, is_shared};
use q2c_host::own_folder;
use q2c_model::{Fault, OrFault};
use q2c_result::Exit;
use q2c_run::config::{Config, FILE, Setting, WrongSetting, target_name};
use q2c_run::whole_file;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Which configuration file holds.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration file")]
pub(crate) struct ConfigArgs {
    /// Names of targets, and defaults of options; without it $Q2C_CONFIG, or the q2c.toml of this
    /// folder or of the nearest one above that has one
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "FILE",
        conflicts_with = "no_config"
    )]
    pub config: Option<PathBuf>,
    /// Take nothing from a configuration file
    #[arg(long, global = true, hide_short_help = true)]
    pub no_config: bool,
}

#[cfg(test)]
mod tests;

/// What this process took from the file, as a file of the same form. It is a fact of the command
/// line, as the arguments are, and kept in the folder of the run.
static TAKEN: OnceLock<String> = OnceLock::new();

/// What the command took from the file; `None` where it took nothing, or where a run goes on, which
/// has its settings from its plan.
pub(crate) fn taken() -> Option<&'static str> {
    TAKEN.get().map(String::as_str)
}

#[derive(Debug)]
pub(crate) enum CliError {
    /// The words themselves are wrong, or ask for help.
    Words(clap::Error),
    /// The file is wrong, or does not have a name.
    File(Fault),
}

impl From<clap::Error> for CliError {
    fn from(error: clap::Error) -> Self {
        CliError::Words(error)
    }
}

impl From<Fault> for CliError {
    fn from(failure: Fault) -> Self {
        CliError::File(failure)
    }
}

pub(crate) enum ConfigLookup {
    None,
    Sound(Config),
    Faulty(PathBuf, Vec<WrongSetting>),
}

pub(crate) fn read(mut arguments: Vec<OsString>) -> Result<Cli, CliError> {
    let typed = Cli::command().try_get_matches_from(&arguments)?;
    let cli = Cli::from_arg_matches(&typed)?;
    let (command, options) = innermost(&typed);
    let known = COMMANDS.iter().find(|known| known.command == command);
    let mut before_own = arguments.iter().take_while(|word| *word != "--");
    let names = before_own.any(|word| {
        word.to_str()
            .is_some_and(|word| target_name(word).is_some())
    });
    if known.is_none() && !names {
        return Ok(cli);
    }
    let Some(config) = sound(&cli.config)? else {
        return if names {
            Err(no_names(&cli.config, &arguments).into())
        } else {
            Ok(cli)
        };
    };
    let file = config.path.display().to_string();
    let targets =
        q2c_run::config::replace(&mut arguments, &config.targets, &file).or_exit(Exit::Usage)?;
    let settings = known.map_or(Vec::new(), |known| held(&config, known, options));
    let typed: Vec<&str> = command.split(' ').collect();
    let program = defaults::with(Cli::command(), &typed, &settings);
    let cli = Cli::from_arg_matches(&program.try_get_matches_from(&arguments)?)?;
    tell(&config, &targets, &settings);
    let sets_something = !(targets.is_empty() && settings.is_empty());
    if sets_something && !goes_on(options) {
        TAKEN.get_or_init(|| q2c_run::config::taken(&config.path, &targets, &settings));
    }
    Ok(cli)
}

/// The words of the command that was given, and its own options.
fn innermost(matches: &ArgMatches) -> (String, &ArgMatches) {
    let mut path = Vec::new();
    let mut options = matches;
    while let Some((name, subcommand)) = options.subcommand() {
        path.push(name);
        options = subcommand;
    }
    (path.join(" "), options)
}

/// The settings that hold for a command: those of its options that were not typed.
fn held<'a>(config: &'a Config, known: &CommandKeys, options: &ArgMatches) -> Vec<&'a Setting> {
    let holds = |key: &str| {
        let typed = options.value_source(&defaults::id(key)) == Some(ValueSource::CommandLine);
        let resumed = goes_on(options) && !WHEN_RESUMED.contains(&key);
        let in_job_file = is_given(options, "fio") && IN_JOB_FILES.contains(&key);
        !(typed || resumed || in_job_file)
    };
    let keys = known.keys.iter().map(|key| key.name);
    keys.filter(|key| holds(key))
        .filter_map(|key| config.setting(known.command, key, is_shared(key)))
        .collect()
}

fn goes_on(options: &ArgMatches) -> bool {
    is_given(options, "resume")
}

fn is_given(options: &ArgMatches, id: &str) -> bool {
    options.try_contains_id(id).unwrap_or(false)
}

/// Says what holds by the file, so that nothing in a run is a surprise.
fn tell(config: &Config, targets: &BTreeMap<String, String>, settings: &[&Setting]) {
    let summary = what_it_sets(targets, settings.iter().copied());
    if !summary.is_empty() {
        say(&format!("from {}: {summary}", config.path.display()));
    }
}

/// Targets and settings in words: `@disk = sim:50us, tune.seconds = 2s`.
pub(crate) fn what_it_sets<'a>(
    targets: &BTreeMap<String, String>,
    settings: impl Iterator<Item = &'a Setting>,
) -> String {
    let targets = targets
        .iter()
        .map(|(name, target)| format!("@{name} = {target}"));
    targets
        .chain(settings.map(in_words))
        .collect::<Vec<_>>()
        .join(", ")
}

fn in_words(setting: &Setting) -> String {
    let texts: Vec<&str> = setting.texts().collect();
    format!("{} = {}", setting.name(), texts.join(" and "))
}

fn sound(args: &ConfigArgs) -> Result<Option<Config>, Fault> {
    match look(args)? {
        ConfigLookup::None => Ok(None),
        ConfigLookup::Sound(config) => Ok(Some(config)),
        ConfigLookup::Faulty(path, faults) => Err(faulty(&path, &faults)),
    }
}

pub(crate) fn look(args: &ConfigArgs) -> Result<ConfigLookup, Fault> {
    match located(args)? {
        None => Ok(ConfigLookup::None),
        Some(path) => {
            let text = whole_file::read_text(&path, whole_file::BY_HAND);
            let text = text.map_err(|error| unread(&path, error))?;
            Ok(parsed(path, &text))
        }
    }
}

fn parsed(path: PathBuf, text: &str) -> ConfigLookup {
    let config = match q2c_run::config::parse(&path, text, &keys::tables()) {
        Ok(config) => config,
        Err(faults) => return ConfigLookup::Faulty(path, faults),
    };
    let mut faults = defaults::faults(&config, &Cli::command());
    faults.sort_by_key(|fault| fault.place);
    if faults.is_empty() {
        ConfigLookup::Sound(config)
    } else {
        ConfigLookup::Faulty(path, faults)
    }
}

/// The path of the file: that of `--config`, else of `$Q2C_CONFIG`, else found upwards.
fn located(args: &ConfigArgs) -> Result<Option<PathBuf>, Fault> {
    let variable = std::env::var_os("Q2C_CONFIG").filter(|path| !path.is_empty());
    let given = args.config.clone().or(variable.map(PathBuf::from));
    let bad = |error| Fault::new(Exit::Environment, format!("find {FILE}: {error}"));
    match given {
        _ if args.no_config => Ok(None),
        Some(path) => std::path::absolute(path).map(Some).map_err(bad),
        None => q2c_run::config::find(&std::env::current_dir().map_err(bad)?)
            .map(trusted)
            .transpose(),
    }
}

/// The path of a file that was found and not named, which another user could have put in the way.
fn trusted(path: PathBuf) -> Result<PathBuf, Fault> {
    let refused = |error| {
        let path = path.display();
        format!(
            "use {path}, which was found and not named: {error}; --config {path} takes it all the same, --no-config none"
        )
    };
    own_folder::check_behind_sudo(&path)
        .map_err(refused)
        .or_exit(Exit::Input)?;
    Ok(path)
}

fn faulty(path: &Path, faults: &[WrongSetting]) -> Fault {
    let first = faults.first().map(ToString::to_string);
    let more = match faults.len() {
        0 | 1 => String::new(),
        n => format!("; {} more are told by q2c doctor", n - 1),
    };
    unread(path, first.unwrap_or_default() + &more)
}

fn no_names(args: &ConfigArgs, arguments: &[OsString]) -> Fault {
    let mut arguments = arguments.iter().filter_map(|word| word.to_str());
    let name = arguments.find_map(|word| target_name(word).map(|(_, name)| name));
    let name = name.unwrap_or_default();
    let given_instead = if args.no_config {
        "--no-config"
    } else {
        "none"
    };
    let message = format!(
        "find the target @{name}: expected {FILE} with [targets] in this folder or one above, found {given_instead}; a file of \
         that name is written ./@{name}"
    );
    Fault::new(Exit::Usage, message)
}
