//! Parses the text of `q2c.toml`.

use crate::config::names::is_name;
use crate::config::{Config, ConfigValue, Setting, TextPlace};
use std::ops::Range;
use std::path::{Path, PathBuf};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The table that names the targets.
pub(crate) const TARGETS: &str = "targets";
/// The table of the settings that apply to every command that has an option of the key's name.
pub const DEFAULTS: &str = "defaults";

/// Keys whose values are paths, which are relative to the file's folder.
const PATHS: [&str; 2] = ["out", "baseline"];

/// A table of settings that the file may have.
#[derive(Clone, Debug)]
pub struct ConfigTable {
    /// Its name in the file: `defaults`, or the words of a command.
    pub name: &'static str,
    /// The allowed keys, which are long names of options; any other key is an error.
    pub keys: Vec<&'static str>,
}

/// A mistake in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {words}")]
pub struct SettingError {
    /// Where in the file it was found.
    pub place: TextPlace,
    /// The expected and the found text, as a message for the user.
    pub words: String,
}

/// Parses `text`, the content of the file at `path`. Only the tables in `tables` are allowed.
///
/// # Errors
/// Every mistake, sorted by place: text that is not TOML, an unknown table or key, or a value of a
/// wrong type.
pub fn parse(path: &Path, text: &str, tables: &[ConfigTable]) -> Result<Config, Vec<SettingError>> {
    let mut reader = ConfigReader {
        text,
        folder: path.parent().unwrap_or(Path::new("")).to_owned(),
        faults: Vec::new(),
        config: Config {
            path: path.to_owned(),
            ..Config::default()
        },
    };
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let message = error.message().trim().replace('\n', " ");
        reader.fault(&error.span().unwrap_or(0..0), message);
    }
    // After a syntax error the tables are not read: the remainder would seem a second mistake.
    if reader.faults.is_empty() {
        reader.read_document(document.get_ref(), tables);
    }
    reader.faults.sort_by_key(|fault| fault.place);
    if reader.faults.is_empty() {
        Ok(reader.config)
    } else {
        Err(reader.faults)
    }
}

struct ConfigReader<'a> {
    text: &'a str,
    folder: PathBuf,
    faults: Vec<SettingError>,
    config: Config,
}

impl ConfigReader<'_> {
    fn place(&self, span: &Range<usize>) -> TextPlace {
        TextPlace::at_byte(self.text, span.start)
    }

    fn fault(&mut self, span: &Range<usize>, words: String) {
        let place = self.place(span);
        self.faults.push(SettingError { place, words });
    }

    fn read_document(&mut self, document: &DeTable<'_>, tables: &[ConfigTable]) {
        for (name, value) in document {
            let known = tables.iter().find(|table| table.name == name.get_ref());
            let content = value.get_ref().as_table();
            match (known, content) {
                (Some(table), Some(content)) => self.read_table(table, content),
                (None, Some(content)) if name.get_ref() == TARGETS => self.read_targets(content),
                (known, None) if known.is_some() || name.get_ref() == TARGETS => {
                    let message = format!("expected a table [{}], found a value", name.get_ref());
                    self.fault(&name.span(), message);
                }
                _ => {
                    let names = tables.iter().map(|table| table.name);
                    let names: Vec<&str> = std::iter::once(TARGETS).chain(names).collect();
                    let message = unknown_message("a table", &names, name.get_ref());
                    self.fault(&name.span(), message);
                }
            }
        }
    }

    /// A target begins neither with `@`, as a target's name on the command line does, nor with `-`.
    fn read_targets(&mut self, content: &DeTable<'_>) {
        for (name, value) in content {
            let target = value.get_ref().as_str().unwrap_or_default();
            if !is_name(name.get_ref()) {
                let message = format!(
                    "expected a name of letters, digits, `-`, `_` and `.`, found `{}`",
                    name.get_ref().escape_debug()
                );
                self.fault(&name.span(), message);
            } else if target.is_empty() || target.starts_with(['@', '-']) {
                let message = "expected a file, a block device or a simulated device in quotes, such as \"/dev/nvme0n1\"";
                self.fault(&value.span(), message.to_owned());
            } else {
                let is_relative = target.starts_with("./") || target.starts_with("../");
                let target = self.in_folder(target.to_owned(), is_relative);
                let name = name.get_ref().clone().into_owned();
                self.config.targets.insert(name, target);
            }
        }
    }

    fn read_table(&mut self, table: &ConfigTable, content: &DeTable<'_>) {
        let mut settings: Vec<(Range<usize>, Setting)> = Vec::new();
        for (name, value) in content {
            let Some(key) = table.keys.iter().find(|key| *key == name.get_ref()) else {
                let what = format!("a key of [{}]", table.name);
                let message = unknown_message(&what, &table.keys, name.get_ref());
                self.fault(&name.span(), message);
                continue;
            };
            if let Some(values) = self.values(key, value) {
                let setting = Setting {
                    table: table.name.to_owned(),
                    key: (*key).to_owned(),
                    values,
                };
                settings.push((name.span(), setting));
            }
        }
        settings.sort_by_key(|(span, _)| span.start);
        let settings = settings.into_iter().map(|(_, setting)| setting);
        self.config.settings.extend(settings);
    }

    /// The values of a key; `None` if the list is empty or a value has a wrong type.
    fn values(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Vec<ConfigValue>> {
        let items: Vec<&Spanned<DeValue<'_>>> = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![value],
        };
        if items.is_empty() {
            let message = format!("expected values of {key}, found an empty list");
            self.fault(&value.span(), message);
        }
        let values = items.iter().filter_map(|item| self.value(key, item));
        let values: Vec<ConfigValue> = values.collect();
        (!values.is_empty() && values.len() == items.len()).then_some(values)
    }

    fn value(&mut self, key: &str, item: &Spanned<DeValue<'_>>) -> Option<ConfigValue> {
        let text = match item.get_ref() {
            DeValue::String(text) => text.clone().into_owned(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            _ => {
                let message = format!(
                    "expected a text in quotes, a decimal number or a list of them for {key}"
                );
                self.fault(&item.span(), message);
                return None;
            }
        };
        let text = self.in_folder(text, PATHS.contains(&key));
        let place = self.place(&item.span());
        Some(ConfigValue { text, place })
    }

    /// Joins a path to the file's folder; any other text stays as it is.
    fn in_folder(&self, text: String, is_path: bool) -> String {
        let path = is_path.then(|| self.folder.join(&text).display().to_string());
        path.unwrap_or(text)
    }
}

/// Says what was expected, and suggests the nearest name.
fn unknown_message(what: &str, names: &[&str], found: &str) -> String {
    let distance = |name: &&&str| strsim::levenshtein(name, found);
    let nearest = names.iter().min_by_key(distance);
    let nearest = nearest.filter(|name| distance(name) <= 1 + found.chars().count() / 3);
    let meant = nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    format!(
        "expected {what}, one of {}, found `{}`{meant}",
        names.join(", "),
        found.escape_debug()
    )
}

#[cfg(test)]
mod tests;
