//! What a command took from the file, as a file of the same form.

use crate::config::{Setting, TARGETS};
use std::collections::BTreeMap;
use std::path::Path;
use toml::Value;

/// What a command took from the file, as a configuration file that gives it again.
pub fn taken(file: &Path, targets: &BTreeMap<String, String>, settings: &[&Setting]) -> String {
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

/// A path without what would end a comment.
fn one_line(path: &Path) -> String {
    path.display().to_string().replace(char::is_control, "?")
}
