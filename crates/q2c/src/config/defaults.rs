//! Settings of the file as defaults of the options, so that an option that was typed wins. Also
//! checks whether their values fit the options.

use super::keys::{COMMANDS, CommandKeys};
use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use q2c_run::config::{Config, Setting, WrongSetting};
use std::error::Error as _;

/// The id of an option's argument: it is the field that holds it.
pub(super) fn id(key: &str) -> String {
    key.replace('-', "_")
}

/// The command line in which a command has these settings as the defaults of its options.
pub(super) fn with(command: Command, path: &[&str], settings: &[&Setting]) -> Command {
    match path.split_first() {
        Some((name, rest)) => {
            command.mut_subcommand(name, |subcommand| with(subcommand, rest, settings))
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
pub(super) fn faults(config: &Config, program: &Command) -> Vec<WrongSetting> {
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
pub(super) fn option<'a>(program: &'a Command, command: &str, key: &str) -> Option<&'a Arg> {
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
