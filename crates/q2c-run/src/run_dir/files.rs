use super::checked::CheckedPlan;
use super::error::RunDirError;
use super::lock::LockedFile;
use super::open::open_journal;
use super::record::{RunRecord, SCHEMA};
use crate::whole_file;
use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub(super) const JOURNAL: &str = "cells.jsonl";
pub(super) const LOG: &str = "log.txt";
pub(super) const PLAN: &str = "plan.toml";
pub(super) const STATE: &str = "state.json";

/// Reads the plan of the run in `path`, without opening the run.
pub fn read_plan<P: DeserializeOwned>(path: &Path) -> Result<P, RunDirError> {
    let file = path.join(PLAN);
    let text = String::from_utf8(read(path, PLAN)?).map_err(|e| corrupt(&file, 1, &e))?;
    toml::from_str(&text).map_err(|e| {
        let before = e.span().map_or("", |span| &text[..span.start]);
        corrupt(&file, before.matches('\n').count() + 1, &e.message())
    })
}

/// Reads the plan of the run in `path` as [`read_plan`] does, to go on with it, and checks its
/// values. What follows looks at the machine and its devices, so a run that another process goes on
/// with is refused before.
pub fn read_checked_plan<P: CheckedPlan>(path: &Path) -> Result<P, RunDirError> {
    if let Ok(journal) = open_journal(path, &mut OpenOptions::new()) {
        drop(LockedFile::lock(journal, path)?);
    }
    let plan: P = read_plan(path)?;
    plan.check().map_err(|fault| RunDirError::BadPlan {
        path: path.join(PLAN),
        fault,
    })?;
    Ok(plan)
}

/// Lets an open for writing fail where the name is a link: in a folder that others can write to, it
/// may lead to any file of this user. Neither does the open wait where the name is a pipe.
pub(super) fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
}

pub(super) fn missing_or_io(path: &Path, name: &'static str, error: io::Error) -> RunDirError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => RunDirError::NotARun {
            path: path.to_path_buf(),
            missing: name,
        },
        _ => RunDirError::io("read", &path.join(name), error),
    }
}

pub(super) fn read(path: &Path, name: &'static str) -> Result<Vec<u8>, RunDirError> {
    let most = match name {
        JOURNAL => whole_file::RESULT,
        _ => whole_file::SMALL,
    };
    whole_file::read(&path.join(name), most).map_err(|e| missing_or_io(path, name, e))
}

pub(super) fn read_record(path: &Path) -> Result<RunRecord, RunDirError> {
    let file = path.join(STATE);
    let record: RunRecord =
        serde_json::from_slice(&read(path, STATE)?).map_err(|e| corrupt(&file, e.line(), &e))?;
    if record.schema == SCHEMA {
        Ok(record)
    } else {
        Err(corrupt(
            &file,
            1,
            &format!("expected schema {SCHEMA}, found {}", record.schema),
        ))
    }
}

pub(super) fn corrupt(path: &Path, line: usize, reason: &impl ToString) -> RunDirError {
    RunDirError::Corrupt {
        path: path.to_path_buf(),
        line,
        reason: reason.to_string(),
    }
}

pub(super) fn encode(path: &Path, reason: &impl ToString) -> RunDirError {
    RunDirError::Encode {
        path: path.to_path_buf(),
        reason: reason.to_string(),
    }
}
