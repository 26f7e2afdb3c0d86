//! The configuration file `q2c.toml`: found upwards from a folder, with names for targets and
//! defaults for the options of commands. Which tables and keys there are, the caller says; whether
//! a value fits its option, the caller finds out.

mod find;
mod names;
mod parse;
mod place;
mod taken;

pub use find::{FILE, find};
pub use names::{NameError, replace, target_name};
pub(crate) use parse::TARGETS;
pub use parse::{ConfigTable, DEFAULTS, Key, WrongSetting, parse};
pub use place::TextPlace;
pub use taken::taken;

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A configuration file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Path of the file as it was found. Paths in its settings count from its folder.
    pub path: PathBuf,
    /// The targets by their names, without `@`; empty where the file has none.
    pub targets: BTreeMap<String, String>,
    /// The settings of all tables, in the order of the file; empty where it has none.
    pub settings: Vec<Setting>,
}

/// A key with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The table that it stands in: `defaults`, or the name of a command.
    pub table: String,
    /// The key: the long name of an option.
    pub key: String,
    /// The values, as they would be typed: several of a list. Paths lie in the file's folder.
    pub values: Vec<ConfigValue>,
}

/// A value of a setting, with its place for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValue {
    /// The value as it would be typed.
    pub text: String,
    /// Where it begins in the file.
    pub place: TextPlace,
}

impl Setting {
    /// The whole name: `tune.seconds`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.table, self.key)
    }

    /// The values' texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|value| value.text.as_str())
    }
}

impl Config {
    /// A key's setting in the command's own table, else, if `shared`, in that for all commands.
    pub fn setting(&self, table: &str, key: &str, shared: bool) -> Option<&Setting> {
        let within = |table: &str| {
            let mut settings = self.settings.iter();
            settings.find(|of| of.table == table && of.key == key)
        };
        within(table).or_else(|| within(DEFAULTS).filter(|_| shared))
    }
}
