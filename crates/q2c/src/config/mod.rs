//! Applies the configuration file to the command line. Names of targets are replaced, and settings
//! become defaults of options, before the arguments are parsed.

use crate::args::Cli;
use crate::output::{read_fault, say};
use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches};
use q2c_host::own_folder;
use q2c_model::{Fault, OrFault};
use q2c_result::Exit;
use q2c_run::config::{Config, ConfigTable, DEFAULTS, FILE, Setting, SettingError, target_name};
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
    #[arg(long, global = true, hide_short_help = true)]
    #[arg(value_name = "FILE", conflicts_with = "no_config")]
    pub config: Option<PathBuf>,
    /// Take nothing from a configuration file
    #[arg(long, global = true, hide_short_help = true)]
    pub no_config: bool,
}

/// The targets and settings that this process took from the configuration file, as text of such a
/// file. Like the arguments, the text is stored in the folder of the run.
static APPLIED: OnceLock<String> = OnceLock::new();

/// The targets and settings that the command took from the file. `None` if it took nothing, or
/// resumes a run, whose settings come from the run's plan.
pub(crate) fn applied_text() -> Option<&'static str> {
    APPLIED.get().map(String::as_str)
}

#[derive(Debug)]
pub(crate) enum CliError {
    /// The parser refused the arguments, or they ask for help or the version.
    Words(clap::Error),
    /// The configuration file is wrong, or lacks the `@NAME` of a target.
    File(Fault),
}

/// Parses the arguments twice: to learn the command, and then with the file's settings as defaults.
pub(crate) fn read(mut arguments: Vec<OsString>) -> Result<Cli, CliError> {
    let (typed, cli) = parse(Cli::command(), &arguments)?;
    let (command, options) = innermost_command(&typed);
    let keys = COMMANDS.iter().find(|keys| keys.command == command);
    let mut before_dashes = arguments.iter().take_while(|word| *word != "--");
    let names_target = before_dashes.any(|word| word.to_str().and_then(target_name).is_some());
    if keys.is_none() && !names_target {
        return Ok(cli);
    }
    let Some(config) = valid_config(&cli.config).map_err(CliError::File)? else {
        let fault = names_target.then(|| unknown_target(&cli.config, &arguments));
        return fault.map_or(Ok(cli), |fault| Err(CliError::File(fault)));
    };
    let file = config.path.display().to_string();
    let targets = q2c_run::config::replace(&mut arguments, &config.targets, &file);
    let targets = targets.or_exit(Exit::Usage).map_err(CliError::File)?;
    let settings = keys.map_or(Vec::new(), |keys| applied_settings(&config, keys, options));
    let path: Vec<&str> = command.split(' ').collect();
    let (_, cli) = parse(with_settings(Cli::command(), &path, &settings), &arguments)?;
    tell(&config, &targets, &settings);
    let sets_something = !(targets.is_empty() && settings.is_empty());
    if sets_something && !is_resumed(options) {
        APPLIED.get_or_init(|| q2c_run::config::to_toml(&config.path, &targets, &settings));
    }
    Ok(cli)
}

fn parse(program: Command, arguments: &[OsString]) -> Result<(ArgMatches, Cli), CliError> {
    let matches = program.try_get_matches_from(arguments);
    let matches = matches.map_err(CliError::Words)?;
    let cli = Cli::from_arg_matches(&matches).map_err(CliError::Words)?;
    Ok((matches, cli))
}

/// The words of the given command, and its own options.
fn innermost_command(matches: &ArgMatches) -> (String, &ArgMatches) {
    let mut path = Vec::new();
    let mut options = matches;
    while let Some((name, subcommand)) = options.subcommand() {
        path.push(name);
        options = subcommand;
    }
    (path.join(" "), options)
}

/// The settings that apply to a command: those of its options that were not typed.
fn applied_settings<'a>(
    config: &'a Config,
    command: &CommandKeys,
    options: &ArgMatches,
) -> Vec<&'a Setting> {
    let applies = |key: &str| {
        let typed = options.value_source(&id(key)) == Some(ValueSource::CommandLine);
        let resumed = is_resumed(options) && !has_key(LIMIT_KEYS, key);
        let in_job_file = is_given(options, "fio") && has_key(JOB_FILE_KEYS, key);
        !(typed || resumed || in_job_file)
    };
    let keys = command.keys().filter(|key| applies(key));
    keys.filter_map(|key| config.setting(command.command, key, has_key(SHARED_KEYS, key)))
        .collect()
}

fn is_resumed(options: &ArgMatches) -> bool {
    is_given(options, "resume")
}

fn is_given(options: &ArgMatches, id: &str) -> bool {
    options.try_contains_id(id).unwrap_or(false)
}

/// Reports what was taken from the file, so that no setting of a run is a surprise.
fn tell(config: &Config, targets: &BTreeMap<String, String>, settings: &[&Setting]) {
    let summary = settings_text(targets, settings.iter().copied());
    if !summary.is_empty() {
        say(&format!("from {}: {summary}", config.path.display()));
    }
}

/// Targets and settings as text: `@disk = sim:50us, tune.seconds = 2s`.
pub(crate) fn settings_text<'a>(
    targets: &BTreeMap<String, String>,
    settings: impl Iterator<Item = &'a Setting>,
) -> String {
    let target = |(name, target): (&String, &String)| format!("@{name} = {target}");
    let texts = targets.iter().map(target).chain(settings.map(setting_text));
    texts.collect::<Vec<_>>().join(", ")
}

fn setting_text(setting: &Setting) -> String {
    let texts: Vec<&str> = setting.texts().collect();
    format!("{} = {}", setting.name(), texts.join(" and "))
}

fn valid_config(args: &ConfigArgs) -> Result<Option<Config>, Fault> {
    let config = read_file(args)?.transpose();
    config.map_err(|(path, faults)| config_fault(&path, &faults))
}

/// The path of a file, and its mistakes sorted by place.
type WrongConfig = (PathBuf, Vec<SettingError>);

/// Reads the configuration file in force; `None` if there is none.
pub(crate) fn read_file(args: &ConfigArgs) -> Result<Option<Result<Config, WrongConfig>>, Fault> {
    let Some(path) = find_file(args)? else {
        return Ok(None);
    };
    let text = whole_file::read_text(&path, whole_file::MAX_TEXT);
    let text = text.map_err(|error| read_fault(&path, error))?;
    let config = q2c_run::config::parse(&path, &text, &tables()).and_then(|config| {
        let mut faults = find_faults(&config, &Cli::command());
        faults.sort_by_key(|fault| fault.place);
        faults.is_empty().then_some(config).ok_or(faults)
    });
    Ok(Some(config.map_err(|faults| (path, faults))))
}

/// The path of the file: that of `--config`, else of `$Q2C_CONFIG`, else found upwards.
fn find_file(args: &ConfigArgs) -> Result<Option<PathBuf>, Fault> {
    let variable = std::env::var_os("Q2C_CONFIG").filter(|path| !path.is_empty());
    let given = args.config.clone().or(variable.map(PathBuf::from));
    let bad = |error| Fault::environment(format!("find {FILE}: {error}"));
    match given {
        _ if args.no_config => Ok(None),
        Some(path) => std::path::absolute(path).map(Some).map_err(bad),
        None => q2c_run::config::find(&std::env::current_dir().map_err(bad)?)
            .map(check_trust)
            .transpose(),
    }
}

/// Checks a file that was found and not named, since another user may have put it there.
fn check_trust(path: PathBuf) -> Result<PathBuf, Fault> {
    let untrusted = |error| {
        let path = path.display();
        format!(
            "use {path}, which was found and not named: {error}; --config {path} takes it all the same, --no-config none"
        )
    };
    let checked = own_folder::check_behind_sudo(&path).map_err(untrusted);
    checked.or_exit(Exit::Input).map(|()| path)
}

fn config_fault(path: &Path, faults: &[SettingError]) -> Fault {
    let first = faults.first().map(ToString::to_string);
    let more = match faults.len() {
        0 | 1 => String::new(),
        n => format!("; {} more are told by q2c doctor", n - 1),
    };
    read_fault(path, first.unwrap_or_default() + &more)
}

fn unknown_target(args: &ConfigArgs, arguments: &[OsString]) -> Fault {
    let mut arguments = arguments.iter().filter_map(|word| word.to_str());
    let name = arguments.find_map(|word| target_name(word).map(|(_, name)| name));
    let name = name.unwrap_or_default();
    let given_instead = ["none", "--no-config"][usize::from(args.no_config)];
    Fault::usage(format!(
        "find the target @{name}: expected {FILE} with [targets] in this folder or one above, found {given_instead}; a file of \
         that name is written ./@{name}"
    ))
}

/// The id of an option's argument, which is the name of the field that holds it.
fn id(key: &str) -> String {
    key.replace('-', "_")
}

/// The parser with these settings as defaults of the options of one command.
fn with_settings(command: Command, path: &[&str], settings: &[&Setting]) -> Command {
    match path.split_first() {
        Some((name, path)) => {
            command.mut_subcommand(name, |subcommand| with_settings(subcommand, path, settings))
        }
        None => settings.iter().fold(command, |command, setting| {
            command.mut_arg(id(&setting.key), |arg| with_default(arg, setting))
        }),
    }
}

fn with_default(arg: Arg, setting: &Setting) -> Arg {
    // Defaults must live as long as the program.
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let texts: Vec<&str> = typed_texts(&arg, setting).into_iter().map(leak).collect();
    arg.default_values(texts)
}

/// The texts as they would be typed: one by one if the option may be repeated, else as one list.
fn typed_texts(arg: &Arg, setting: &Setting) -> Vec<String> {
    let texts: Vec<&str> = setting.texts().collect();
    match arg.get_action() {
        ArgAction::Append => texts.into_iter().map(str::to_owned).collect(),
        _ => vec![texts.join(",")],
    }
}

/// The settings whose values do not fit their options.
fn find_faults(config: &Config, program: &Command) -> Vec<SettingError> {
    let find = |setting| {
        COMMANDS
            .iter()
            .find_map(|keys| find_fault(setting, keys, program))
    };
    config.settings.iter().filter_map(find).collect()
}

fn find_fault(setting: &Setting, keys: &CommandKeys, program: &Command) -> Option<SettingError> {
    if !keys.takes(&setting.table, &setting.key) {
        return None;
    }
    let arg = option(program, keys.command, &setting.key)?;
    let texts = typed_texts(arg, setting);
    let mut texts = texts.iter().enumerate();
    let (nth, reason) = texts.find_map(|(nth, text)| Some((nth, refusal(arg, text)?)))?;
    Some(SettingError {
        place: setting.values.get(nth)?.place,
        words: format!("{}: {reason}", setting.name()),
    })
}

/// The option of a command with the name of a key.
fn option<'a>(program: &'a Command, command: &str, key: &str) -> Option<&'a Arg> {
    let mut names = command.split(' ');
    let subcommand = names.try_fold(program, |parent, name| parent.find_subcommand(name))?;
    let mut arguments = subcommand.get_arguments();
    arguments.find(|arg| arg.get_long() == Some(key))
}

/// The reason for which a parser with this option alone refuses a value; `None` if it accepts it.
fn refusal(arg: &Arg, text: &str) -> Option<String> {
    let parser: ValueParser = arg.get_value_parser().clone();
    let mut copy = Arg::new("value").long("value").value_parser(parser);
    if let Some(delimiter) = arg.get_value_delimiter() {
        copy = copy.action(ArgAction::Append).value_delimiter(delimiter);
    }
    let line = ["value".to_owned(), format!("--value={text}")];
    let error = Command::new("value").arg(copy).try_get_matches_from(line);
    let error = error.err()?;
    if let Some(source) = error.source() {
        return Some(source.to_string());
    }
    let names = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(names)) => names.join(", "),
        _ => "a value".to_owned(),
    };
    Some(format!("expected {names}, found `{text}`"))
}

/// The keys of `[defaults]`, the table for all commands.
const SHARED_KEYS: &str = "out cpus seed bs seconds budget";
const REPLAY_KEYS: &str = "out cpus seed trials submitters max-lateness";
/// The keys of commands whose result can be checked against limits. A resumed run takes only these,
/// since it keeps its own settings.
const LIMIT_KEYS: &str = "fail-if baseline";
/// The keys that are ignored with a fio job file, since that file sets them.
const JOB_FILE_KEYS: &str = "cpus bs seconds warm-up jobs depth method";

fn has_key(list: &str, key: &str) -> bool {
    list.split(' ').any(|listed| listed == key)
}

struct CommandKeys {
    /// The words of the command, such as `poll tune-kernel`.
    command: &'static str,
    /// Lists of keys, separated by spaces. Commands share some of the lists.
    lists: &'static [&'static str],
}

const fn command_keys(command: &'static str, lists: &'static [&'static str]) -> CommandKeys {
    CommandKeys { command, lists }
}

const TUNE_KEYS: &str = "trials jobs think policy rule period objective min-iops max-p99 max-cpu";
const BENCH_KEYS: &str = "trials jobs depth method warm-up precision rating";

/// The commands with their keys. Those with a key other than `out` and `seed` have an own table.
const COMMANDS: &[CommandKeys] = &[
    command_keys("tune", &[SHARED_KEYS, TUNE_KEYS, LIMIT_KEYS]),
    command_keys("bench", &[SHARED_KEYS, BENCH_KEYS, LIMIT_KEYS]),
    command_keys("calibrate", &["out cpus seed bs jobs"]),
    command_keys("replay", &[REPLAY_KEYS, LIMIT_KEYS]),
    command_keys("compare", &[REPLAY_KEYS]),
    command_keys("diff", &["fail-if"]),
    command_keys("fs bench", &["out seed"]),
    command_keys("place run", &["out"]),
    command_keys("poll tune-kernel", &["out"]),
    command_keys("reproduce", &["out seed"]),
    command_keys("runs", &["out"]),
    command_keys("report", &["out"]),
];

fn tables() -> Vec<ConfigTable> {
    let shared = ConfigTable {
        name: DEFAULTS,
        keys: SHARED_KEYS.split(' ').collect(),
    };
    let commands = COMMANDS.iter().filter(|command| command.has_table());
    let tables = commands.map(|command| ConfigTable {
        name: command.command,
        keys: command.keys().collect(),
    });
    std::iter::once(shared).chain(tables).collect()
}

impl CommandKeys {
    fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.lists.iter().flat_map(|list| list.split(' '))
    }

    /// True if the command has its own table: it has settings other than the common ones.
    fn has_table(&self) -> bool {
        self.keys().any(|key| !matches!(key, "out" | "seed"))
    }

    /// True if a setting with this table and key can apply to the command.
    fn takes(&self, table: &str, key: &str) -> bool {
        let in_own_table = table == self.command && self.has_table();
        (in_own_table || table == DEFAULTS) && self.keys().any(|known| known == key)
    }
}

#[cfg(test)]
mod tests;
