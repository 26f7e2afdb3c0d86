//! The configuration file on the command line: names of targets are replaced, and settings become
//! the defaults of options before the arguments are read.

use crate::args::Cli;
use crate::output::{say, unread};
use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches};
use q2c_host::own_folder;
use q2c_model::{Fault, OrFault};
use q2c_result::Exit;
use q2c_run::config::{
    Config, ConfigTable, DEFAULTS, FILE, Key, Setting, WrongSetting, target_name,
};
use q2c_run::whole_file;
use std::collections::BTreeMap;
use std::error::Error as _;
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
    let program = with_settings(Cli::command(), &typed, &settings);
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
        let typed = options.value_source(&id(key)) == Some(ValueSource::CommandLine);
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
    let config = match q2c_run::config::parse(&path, text, &tables()) {
        Ok(config) => config,
        Err(faults) => return ConfigLookup::Faulty(path, faults),
    };
    let mut faults = faults(&config, &Cli::command());
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
    let bad = |error| Fault::environment(format!("find {FILE}: {error}"));
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
    Fault::usage(format!(
        "find the target @{name}: expected {FILE} with [targets] in this folder or one above, found {given_instead}; a file of \
         that name is written ./@{name}"
    ))
}

/// The id of an option's argument: it is the field that holds it.
fn id(key: &str) -> String {
    key.replace('-', "_")
}

/// The command line in which a command has these settings as the defaults of its options.
fn with_settings(command: Command, path: &[&str], settings: &[&Setting]) -> Command {
    match path.split_first() {
        Some((name, rest)) => {
            command.mut_subcommand(name, |subcommand| with_settings(subcommand, rest, settings))
        }
        None => settings.iter().fold(command, |command, setting| {
            command.mut_arg(id(&setting.key), |arg| with_default(arg, setting))
        }),
    }
}

fn with_default(arg: Arg, setting: &Setting) -> Arg {
    // Defaults live as long as the program.
    let kept = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let texts: Vec<&str> = typed(&arg, setting).into_iter().map(kept).collect();
    arg.default_values(texts)
}

/// The texts as they would be typed: each for itself where the option may be given again, else one
/// list.
fn typed(arg: &Arg, setting: &Setting) -> Vec<String> {
    let texts: Vec<&str> = setting.texts().collect();
    match arg.get_action() {
        ArgAction::Append => texts.into_iter().map(str::to_owned).collect(),
        _ => vec![texts.join(",")],
    }
}

/// The settings whose values do not fit the options that they set.
fn faults(config: &Config, program: &Command) -> Vec<WrongSetting> {
    let fault = |setting| {
        COMMANDS
            .iter()
            .find_map(|known| fault(setting, known, program))
    };
    config.settings.iter().filter_map(fault).collect()
}

fn fault(setting: &Setting, known: &CommandKeys, program: &Command) -> Option<WrongSetting> {
    if !known.takes(&setting.table, &setting.key) {
        return None;
    }
    let arg = option(program, known.command, &setting.key)?;
    let texts = typed(arg, setting);
    let mut texts = texts.iter().enumerate();
    let (nth, reason) = texts.find_map(|(nth, text)| Some((nth, refused(arg, text)?)))?;
    Some(WrongSetting {
        place: setting.values.get(nth)?.place,
        words: format!("{}: {reason}", setting.name()),
    })
}

/// The option of a command, which has the name of a key.
fn option<'a>(program: &'a Command, command: &str, key: &str) -> Option<&'a Arg> {
    let subcommand = command
        .split(' ')
        .try_fold(program, |parent, name| parent.find_subcommand(name))?;
    let mut arguments = subcommand.get_arguments();
    arguments.find(|arg| arg.get_long() == Some(key))
}

/// Why an option does not take a value.
fn refused(arg: &Arg, text: &str) -> Option<String> {
    let parser: ValueParser = arg.get_value_parser().clone();
    let mut alone = Arg::new("value").long("value").value_parser(parser);
    if let Some(delimiter) = arg.get_value_delimiter() {
        alone = alone.action(ArgAction::Append).value_delimiter(delimiter);
    }
    let error = Command::new("value")
        .arg(alone)
        .try_get_matches_from(["value".to_owned(), format!("--value={text}")])
        .err()?;
    if let Some(source) = error.source() {
        return Some(source.to_string());
    }
    let names = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(names)) => names.join(", "),
        _ => "a value".to_owned(),
    };
    Some(format!("expected {names}, found `{text}`"))
}

const fn key(name: &'static str) -> Key {
    let is_path = false;
    Key { name, is_path }
}

const fn path(name: &'static str) -> Key {
    let is_path = true;
    Key { name, is_path }
}

const OUT: Key = path("out");
const BASELINE: Key = path("baseline");
const FAIL_IF: Key = key("fail-if");
const CPUS: Key = key("cpus");
const SEED: Key = key("seed");
const BS: Key = key("bs");
const SECONDS: Key = key("seconds");
const BUDGET: Key = key("budget");
const TRIALS: Key = key("trials");
const JOBS: Key = key("jobs");
const SUBMITTERS: Key = key("submitters");
const MAX_LATENESS: Key = key("max-lateness");

const SHARED: &[Key] = &[OUT, CPUS, SEED, BS, SECONDS, BUDGET];

/// What commands that measure cells of a workload in trials have in common.
const MEASURED: &[Key] = &[OUT, CPUS, SEED, BS, SECONDS, BUDGET, TRIALS, JOBS];
const REPLAYED: &[Key] = &[OUT, CPUS, SEED, TRIALS, SUBMITTERS, MAX_LATENESS];
/// What commands have whose result can be held against limits.
const LIMITS: &[Key] = &[FAIL_IF, BASELINE];

const TUNE: [Key; 18] = joined(&[
    MEASURED,
    &[
        key("think"),
        key("policy"),
        key("rule"),
        key("period"),
        key("objective"),
        key("min-iops"),
        key("max-p99"),
        key("max-cpu"),
    ],
    LIMITS,
]);
const BENCH: [Key; 15] = joined(&[
    MEASURED,
    &[
        key("depth"),
        key("method"),
        key("warm-up"),
        key("precision"),
        key("rating"),
    ],
    LIMITS,
]);
const REPLAY: [Key; 8] = joined(&[REPLAYED, LIMITS]);

/// The keys of several lists in one. A number `N` that is not theirs does not compile.
const fn joined<const N: usize>(lists: &[&[Key]]) -> [Key; N] {
    let mut keys = [OUT; N];
    let (mut list, mut taken) = (0, 0);
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            keys[taken] = lists[list][at];
            (at, taken) = (at + 1, taken + 1);
        }
        list += 1;
    }
    assert!(taken == N, "N is the number of all keys");
    keys
}

/// The keys that count when a run goes on: it keeps its own settings.
const WHEN_RESUMED: [&str; 2] = [FAIL_IF.name, BASELINE.name];
/// The keys that do not count beside a fio job file, which says as much itself.
const IN_JOB_FILES: [&str; 7] = [
    "cpus", "bs", "seconds", "warm-up", "jobs", "depth", "method",
];

struct CommandKeys {
    /// Its words: `poll tune-kernel`.
    pub command: &'static str,
    pub keys: &'static [Key],
}

const fn known(command: &'static str, keys: &'static [Key]) -> CommandKeys {
    CommandKeys { command, keys }
}

/// The commands. Those of one word have a table of that name.
const COMMANDS: &[CommandKeys] = &[
    known("tune", &TUNE),
    known("bench", &BENCH),
    known("calibrate", &[OUT, CPUS, SEED, BS, JOBS]),
    known("replay", &REPLAY),
    known("compare", REPLAYED),
    known("diff", &[FAIL_IF]),
    known("fs bench", &[OUT, SEED]),
    known("place run", &[OUT]),
    known("poll tune-kernel", &[OUT]),
    known("reproduce", &[OUT, SEED]),
    known("runs", &[OUT]),
    known("report", &[OUT]),
];

fn tables() -> Vec<ConfigTable<'static>> {
    let shared = ConfigTable {
        name: DEFAULTS,
        keys: SHARED,
    };
    let command_tables = COMMANDS.iter().filter(|known| known.has_table()).map(
        |&CommandKeys {
             command: name,
             keys,
         }| ConfigTable { name, keys },
    );
    std::iter::once(shared).chain(command_tables).collect()
}

impl CommandKeys {
    /// Whether it has a table of its own: what has settings that other commands do not share.
    fn has_table(&self) -> bool {
        self.keys
            .iter()
            .any(|key| !matches!(key.name, "out" | "seed"))
    }

    /// Whether a setting of this table and key can hold for it.
    fn takes(&self, table: &str, key: &str) -> bool {
        let in_own_table = table == self.command && self.has_table();
        (in_own_table || table == DEFAULTS)
            && self.keys.iter().any(|known_key| known_key.name == key)
    }
}

fn is_shared(key: &str) -> bool {
    SHARED.iter().any(|shared_key| shared_key.name == key)
}

#[cfg(test)]
mod tests;
