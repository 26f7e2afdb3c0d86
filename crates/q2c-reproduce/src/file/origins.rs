//! Checks `[from]`: whether the source of the published claims has a setting, or it was chosen.
//! Its tables have the names of the file's own sections, and an entry covers all settings below it.

use super::Problems;
use super::raw::RawFile;
use crate::claim::scope::unknown_name;
use q2c_result::reproduce::SettingOrigin;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The sections whose settings need an origin.
const SECTIONS: [&str; 8] = [
    "axis", "compare", "device", "job", "mix", "phase", "place", "study",
];
/// Keys of these sections that are no settings.
const NAMES: [&str; 3] = ["name", "label", "rest"];
/// Settings of a job that have defaults. A default decides as much as a setting that is written.
const JOB_DEFAULTS: [&str; 6] = ["engine", "method", "pattern", "bs", "depth", "threads"];

/// A setting at its place in the file, or a group of settings by name.
struct SettingNode {
    span: Range<usize>,
    parts: BTreeMap<String, SettingNode>,
}

/// The origins of all settings. A file of published claims must name them; a variant need not, as
/// its settings are those of the file that it adapts, but for what its reason says.
pub(super) fn origins(raw: &RawFile, problems: &mut Problems<'_>) -> Vec<SettingOrigin> {
    let mut origins = Vec::new();
    // The text was parsed before, so an error is a problem already.
    let Ok(document) = DeTable::parse(problems.text) else {
        return origins;
    };
    let mut settings = settings(document.get_ref());
    settings.retain(|kind, section| SECTIONS.contains(&kind.as_str()) && !section.parts.is_empty());
    add_job_defaults(&mut settings);
    let from = document.get_ref().get("from");
    let is_published = raw.claims.iter().any(|claim| claim.published.is_some());
    if let Some(entries) = from.and_then(|from| from.get_ref().as_table()) {
        add_origins("", &settings, entries, problems, &mut origins);
    } else if from.is_some() || (is_published && raw.variant_of.is_none()) {
        let kinds: Vec<&str> = settings.keys().map(String::as_str).collect();
        let message = format!(
            "a file of published claims says where its settings come from; write [from] with {}, \
             each \"source\" or \"chosen: REASON\"",
            kinds.join(", ")
        );
        problems.add(&raw.name, message);
    }
    origins
}

/// The settings of a table by name.
fn settings(table: &DeTable<'_>) -> BTreeMap<String, SettingNode> {
    let entries = table.iter().map(|(key, value)| (key.get_ref(), value));
    let entries = entries.filter(|(key, _)| !NAMES.contains(&key.as_ref()));
    entries
        .map(|(key, value)| (key.to_string(), setting(value)))
        .collect()
}

/// A list of tables with names is a group of settings, as a table is. Any other list is one.
fn setting(value: &Spanned<DeValue<'_>>) -> SettingNode {
    let by_name = |item: &Spanned<DeValue<'_>>| {
        let name = item.get_ref().as_table()?.get("name")?;
        Some((name.get_ref().as_str()?.to_owned(), setting(item)))
    };
    let parts = match value.get_ref() {
        DeValue::Array(items) => items.iter().filter_map(by_name).collect(),
        DeValue::Table(table) => settings(table),
        _ => BTreeMap::new(),
    };
    SettingNode {
        span: value.span(),
        parts,
    }
}

fn add_job_defaults(kinds: &mut BTreeMap<String, SettingNode>) {
    let Some(mut jobs) = kinds.remove("job") else {
        return;
    };
    for (name, job) in &mut jobs.parts {
        // A setting that a phase sets has its origin in that phase.
        let unset = |key: &&str| !is_set_by_phase(kinds.get("phase"), name, key);
        for key in JOB_DEFAULTS.into_iter().filter(unset) {
            let default = SettingNode {
                span: job.span.clone(),
                parts: BTreeMap::new(),
            };
            job.parts.entry(key.to_owned()).or_insert(default);
        }
    }
    kinds.insert("job".to_owned(), jobs);
}

fn is_set_by_phase(phases: Option<&SettingNode>, job: &str, key: &str) -> bool {
    let mut phases = phases
        .into_iter()
        .flat_map(|section| section.parts.values());
    phases.any(|phase| {
        let mut path = ["set", job, key].into_iter();
        path.try_fold(phase, |setting, name| setting.parts.get(name))
            .is_some()
    })
}

/// Adds the origins of `settings`, whose table in `[from]` is `entries`. Each path in it begins
/// with `prefix`.
fn add_origins(
    prefix: &str,
    settings: &BTreeMap<String, SettingNode>,
    entries: &DeTable<'_>,
    problems: &mut Problems<'_>,
    origins: &mut Vec<SettingOrigin>,
) {
    let unknown = |key: &&Spanned<DeString<'_>>| !settings.contains_key(&**key.get_ref());
    for key in entries.keys().filter(unknown) {
        let known: Vec<String> = settings.keys().cloned().collect();
        problems.add(key, unknown_name("setting", key.get_ref(), &known));
    }
    for (key, setting) in settings {
        let path = format!("{prefix}{key}");
        let form = format!("write {path} = \"source\" or \"chosen: REASON\"");
        let Some(entry) = entries.get(&**key) else {
            let message = format!("[from] does not say where `{path}` comes from; {form}");
            problems.add_at(setting.span.clone(), message);
            continue;
        };
        match entry.get_ref() {
            DeValue::Table(entries) if !setting.parts.is_empty() => {
                let prefix = format!("{path}.");
                add_origins(&prefix, &setting.parts, entries, problems, origins);
            }
            value => {
                let message = format!("`{path}` has no origin here; {form}");
                let chosen = problems.ok(entry, reason(value).ok_or(message)).flatten();
                let setting = path;
                origins.push(SettingOrigin { setting, chosen });
            }
        }
    }
}

/// The reason of a chosen setting, `Some(None)` for the source's; `None` for anything else.
fn reason(value: &DeValue<'_>) -> Option<Option<String>> {
    let text = value.as_str()?;
    let reason = text.strip_prefix("chosen:").map(str::trim);
    let is_origin = reason.map_or(text == "source", |reason| !reason.is_empty());
    is_origin.then(|| reason.map(str::to_owned))
}

#[cfg(test)]
#[path = "tests/origins.rs"]
mod tests;
