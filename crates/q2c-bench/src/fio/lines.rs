//! Parses the lines of a job file into sections.

use std::collections::BTreeMap;
use thiserror::Error;

/// The error of a text that is not a job file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {reason}")]
pub struct SyntaxError {
    /// Line of the error, from 1.
    pub line: usize,
    /// Description of the error, and what to do about it.
    pub reason: String,
}

impl SyntaxError {
    pub(crate) fn new(line: usize, reason: impl Into<String>) -> Self {
        SyntaxError {
            line,
            reason: reason.into(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FioSection {
    pub name: String,
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FioOption {
    pub key: String,
    /// The text after the first `=`; `None` for an option without a value.
    pub value: Option<String>,
    pub line: usize,
    /// `kb_base` of the option's section, as written.
    pub kb_base: Option<String>,
}

impl FioOption {
    /// The value; empty if the option has none.
    pub(crate) fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

pub(crate) type Environment<'a> = dyn Fn(&str) -> Option<String> + 'a;

type Sections = Vec<(FioSection, Vec<FioOption>)>;

pub(crate) fn sections(text: &[u8], variable: &Environment<'_>) -> Result<Sections, SyntaxError> {
    let mut sections: Sections = Vec::new();
    for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let number = number + 1;
        let line = std::str::from_utf8(line)
            .map_err(|_| SyntaxError::new(number, "expected text in UTF-8, found other bytes"))?;
        // As in fio, a comment may follow an option, because no value can contain these two
        // characters.
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if let Some(head) = line.strip_prefix('[') {
            sections.push((section(head, number)?, Vec::new()));
        } else if !line.is_empty() {
            let Some((_, entries)) = sections.last_mut() else {
                let message = format!("`{line}` stands before the first section, such as [global]");
                return Err(SyntaxError::new(number, message));
            };
            entries.push(entry(line, number, variable)?);
        }
    }
    Ok(sections)
}

fn section(head: &str, line: usize) -> Result<FioSection, SyntaxError> {
    match head.split_once(']').map(|(name, _)| name.trim()) {
        None | Some("") => {
            let message = format!("expected a name in [ ], found `[{head}`");
            Err(SyntaxError::new(line, message))
        }
        Some(name) => Ok(FioSection {
            name: name.to_owned(),
            line,
        }),
    }
}

fn entry(text: &str, line: usize, variable: &Environment<'_>) -> Result<FioOption, SyntaxError> {
    if text.split_whitespace().next() == Some("include") {
        let message = "include is not followed: put the other file's lines here";
        return Err(SyntaxError::new(line, message));
    }
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim())),
        None => (text, None),
    };
    let is_key_char = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if key.is_empty() || !key.chars().all(is_key_char) {
        let message = format!("expected OPTION or OPTION=VALUE, found `{text}`");
        return Err(SyntaxError::new(line, message));
    }
    let value = value.map(|value| with_variables(value, line, variable));
    Ok(FioOption {
        key: key.to_owned(),
        value: value.transpose()?,
        line,
        kb_base: None,
    })
}

/// Replaces each `${NAME}` by its value. An unset variable is an error here; fio inserts nothing.
fn with_variables(
    text: &str,
    line: usize,
    variable: &Environment<'_>,
) -> Result<String, SyntaxError> {
    let (mut expanded, mut unread) = (String::new(), text);
    while let Some((before, after)) = unread.split_once('$') {
        let name = after.strip_prefix('{').and_then(|a| a.split_once('}'));
        let Some((name, after_name)) = name else {
            let message = format!(
                "`{text}`: of what begins with $, only ${{VARIABLE}} is read: put the value there"
            );
            return Err(SyntaxError::new(line, message));
        };
        let value = variable(name).ok_or_else(|| {
            let message =
                format!("the environment has no variable {name}: set it, or put the value there");
            SyntaxError::new(line, message)
        })?;
        expanded += before;
        expanded += &value;
        unread = after_name;
    }
    Ok(expanded + unread)
}

/// The jobs with the options of the global sections above and their own. The last statement wins.
pub(crate) fn inherit(sections: Sections) -> Vec<(FioSection, BTreeMap<String, FioOption>)> {
    let mut global: Vec<FioOption> = Vec::new();
    let mut kb_base: Option<String> = None;
    let mut jobs = Vec::new();
    for (section, mut entries) in sections {
        let last = entries.iter().rev().find(|e| e.key == "kb_base");
        let base = last.and_then(|e| e.value.clone()).or(kb_base.clone());
        entries.iter_mut().for_each(|e| e.kb_base.clone_from(&base));
        // fio compares only the first six letters, so [global2] is global, too.
        if section.name.starts_with("global") {
            global.append(&mut entries);
            kb_base = base;
            continue;
        }
        let merged = global.iter().cloned().chain(entries);
        let merged = merged.map(with_canonical_key).map(|e| (e.key.clone(), e));
        jobs.push((section, merged.collect()));
    }
    jobs
}

/// Gives an option with several names the first of them.
fn with_canonical_key(mut entry: FioOption) -> FioOption {
    let key = match entry.key.as_str() {
        "blocksize" => "bs",
        "readwrite" => "rw",
        "timeout" => "runtime",
        "wait_for_previous" => "stonewall",
        "iodepth_batch_submit" => "iodepth_batch",
        "iodepth_batch_complete" => "iodepth_batch_complete_min",
        "buffered" => {
            // `buffered` is the opposite of `direct`.
            let on = entry.value.as_deref().is_none_or(|value| value == "1");
            entry.value = Some(if on { "0" } else { "1" }.to_owned());
            "direct"
        }
        _ => return entry,
    };
    entry.key = key.to_owned();
    entry
}
