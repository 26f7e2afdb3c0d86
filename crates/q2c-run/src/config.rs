//! The configuration file `q2c.toml`. It is searched for in a folder and those above it. It gives
//! names to targets and defaults to the options of commands. The caller says which tables and keys
//! may appear, and checks that each value fits its option.

mod names;
mod parse;

pub use names::{replace, target_name};
use parse::TARGETS;
pub use parse::{ConfigTable, DEFAULTS, SettingError, parse};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use toml::Value;

/// A configuration file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Path of the file as it was found. Relative paths in its settings start at its folder.
    pub path: PathBuf,
    /// The targets by their names, without `@`; may be empty.
    pub targets: BTreeMap<String, String>,
    /// The settings of all tables, in the order of the file; may be empty.
    pub settings: Vec<Setting>,
}

/// A key with its values, in one table of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The table of the setting: `defaults`, or the name of a command.
    pub table: String,
    /// The key: the long name of an option.
    pub key: String,
    /// The values as they would be typed; a list has several. Paths include the file's folder.
    pub values: Vec<ConfigValue>,
}

/// A value of a setting, with its place for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValue {
    /// The value as it would be typed.
    pub text: String,
    /// Where the value begins in the file.
    pub place: TextPlace,
}

impl Setting {
    /// The full name, such as `tune.seconds`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.table, self.key)
    }

    /// The texts of the values.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|value| value.text.as_str())
    }
}

impl Config {
    /// Finds the setting of a key in the command's table, else, if `shared`, in `defaults`.
    pub fn setting(&self, table: &str, key: &str, shared: bool) -> Option<&Setting> {
        let find = |table: &str| {
            let mut settings = self.settings.iter();
            settings.find(|setting| setting.table == table && setting.key == key)
        };
        find(table).or_else(|| find(DEFAULTS).filter(|_| shared))
    }
}

/// The name of the file.
pub const FILE: &str = "q2c.toml";

/// Finds `q2c.toml` in this folder, or in the nearest folder above it.
pub fn find(folder: &Path) -> Option<PathBuf> {
    let mut files = folder.ancestors().map(|folder| folder.join(FILE));
    files.find(|file| file.is_file())
}

/// A place in a file, counted as editors count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPlace {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl TextPlace {
    /// Converts a byte offset of the text to a line and column.
    pub(crate) fn at_byte(text: &str, byte: usize) -> Self {
        let before = text.get(..byte.min(text.len())).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        TextPlace {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
        }
    }
}

impl fmt::Display for TextPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Writes what a command took from the file, as a configuration file with the same settings.
pub fn to_toml(file: &Path, targets: &BTreeMap<String, String>, settings: &[&Setting]) -> String {
    let mut tables: BTreeMap<&str, toml::Table> = BTreeMap::new();
    for (name, target) in targets {
        let table = tables.entry(TARGETS).or_default();
        table.insert(name.clone(), target.as_str().into());
    }
    for setting in settings {
        let mut values: Vec<Value> = setting.texts().map(Value::from).collect();
        let value = match values.len() {
            1 => values.remove(0),
            _ => Value::Array(values),
        };
        let table = tables.entry(&setting.table).or_default();
        table.insert(setting.key.clone(), value);
    }
    let mut text = format!("# What the run took from {}\n", one_line(file));
    for (name, table) in tables {
        text += &format!("\n[{name}]\n{table}");
    }
    text
}

/// The path with control characters replaced, since a newline would end the comment.
fn one_line(path: &Path) -> String {
    path.display().to_string().replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_nearest_file_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        let above = root.path().join(FILE);
        fs::write(&above, "").unwrap();
        assert_eq!(find(&deep), Some(above));
        let near = root.path().join("a/b").join(FILE);
        fs::write(&near, "").unwrap();
        assert_eq!(find(&deep), Some(near));
        // A folder with the name of the file does not count.
        fs::create_dir(deep.join(FILE)).unwrap();
        assert_eq!(find(&deep), Some(root.path().join("a/b").join(FILE)));
    }

    #[test]
    fn lines_and_characters_begin_with_1() {
        let text = "ä = 1\nbc = 2\n";
        let places = [0, 2, 6, 7, 99].map(|byte| TextPlace::at_byte(text, byte));
        let places = places.map(|place| (place.line, place.column));
        assert_eq!(places, [(1, 1), (1, 2), (1, 6), (2, 1), (3, 1)]);
    }
}
