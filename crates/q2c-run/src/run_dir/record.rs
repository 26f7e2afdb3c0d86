//! `state.json`: name and times of the run, its conditions, its owner and its state.

use super::error::RunDirError;
use super::files::{LOG, without_links};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Schema of `state.json`. A folder with another schema is refused.
pub(super) const SCHEMA: &str = "q2c.run/1";

/// State of a run as its folder states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// The run is started and not ended. When no process holds the folder, the run has crashed.
    Running,
    /// All trials ran and the final files are there.
    Complete,
    /// The run was stopped early. The trials in its journal are valid.
    Interrupted,
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RunState::Running => "running",
            RunState::Complete => "complete",
            RunState::Interrupted => "interrupted",
        })
    }
}

/// Real state of a run, which follows from [`RunState`] and the folder's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A process works on the run now.
    Running,
    /// All trials ran and the final files are there.
    Complete,
    /// The run was stopped early, and the folder says so.
    Interrupted,
    /// The process of the run is gone, and the folder still says `running`.
    Crashed,
}

/// The content of `state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Always `q2c.run/1`.
    pub schema: String,
    /// State as the folder states it.
    pub state: RunState,
    /// Name of the run, as given by its caller; the folder's name contains it.
    pub name: String,
    /// Start of the first session, Unix time in seconds.
    pub started_unix_s: u64,
    /// Last change of this file, Unix time in seconds.
    pub changed_unix_s: u64,
    /// How many times the run was started or resumed.
    pub sessions: u32,
    /// Process id of the latest session.
    pub pid: u32,
    /// Conditions that are the same in every session.
    pub identity: Identity,
    /// A checksum of `plan.toml`, so that trials of another plan cannot join the run.
    pub plan: String,
}

impl RunRecord {
    /// The real state of the run. `is_held` is true if a process holds the folder.
    pub(super) fn status(&self, is_held: bool) -> Status {
        match (self.state, is_held) {
            (_, true) => Status::Running,
            (RunState::Complete, false) => Status::Complete,
            (RunState::Interrupted, false) => Status::Interrupted,
            (RunState::Running, false) => Status::Crashed,
        }
    }
}

/// A system time as a timestamp. A time outside the years -9999 to 9999 cannot come from a working
/// clock and becomes 1970.
fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A time for folder names, such as `20261120T110747Z`. Such names sort by time.
pub(super) fn folder_time(time: SystemTime) -> String {
    timestamp(time).strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// A time for logs, such as `2026-11-20T11:07:47Z`.
pub(super) fn log_time(time: SystemTime) -> String {
    timestamp(time).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Whole seconds since 1970; 0 for earlier times.
pub(super) fn unix_s(time: SystemTime) -> u64 {
    u64::try_from(timestamp(time).as_second()).unwrap_or(0)
}

pub(super) struct RunLog {
    file: File,
    path: PathBuf,
}

impl RunLog {
    pub(super) fn open(folder: &Path) -> Result<Self, RunDirError> {
        let path = folder.join(LOG);
        let mut options = OpenOptions::new();
        let file = without_links(options.create(true).append(true)).open(&path);
        let file = file.map_err(|e| RunDirError::io("open", &path, e))?;
        Ok(RunLog { file, path })
    }

    /// Appends `message`. Its second and later lines are indented.
    pub(super) fn line(&mut self, now: SystemTime, message: &str) -> Result<(), RunDirError> {
        let (time, message) = (log_time(now), message.replace('\n', "\n    "));
        let line = format!("{time} {message}\n");
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|e| RunDirError::io("write to", &self.path, e))
    }

    pub(super) fn sync(&self) -> Result<(), RunDirError> {
        let synced = self.file.sync_data();
        synced.map_err(|e| RunDirError::io("flush", &self.path, e))
    }
}

/// Facts by name, such as target, kernel, binary and calibration. The caller chooses them; the
/// folder only stores and compares them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identity(pub BTreeMap<String, String>);

/// A fact that has changed since the run's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the fact.
    pub key: String,
    /// Value at the run's start; `None` when the fact was not stated then.
    pub stored: Option<String>,
    /// Value today; `None` when the fact is not stated now.
    pub now: Option<String>,
}

impl Identity {
    /// Adds a fact, or replaces the fact of that name.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Every fact whose value differs between `self` and `now`, sorted by name. A fact that only
    /// one of them has is included.
    pub fn differences(&self, now: &Identity) -> Vec<Difference> {
        let keys: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        let difference = |key: &String| Difference {
            key: key.clone(),
            stored: self.0.get(key).cloned(),
            now: now.0.get(key).cloned(),
        };
        let facts = keys.into_iter().map(difference);
        facts.filter(|fact| fact.stored != fact.now).collect()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        let (stored, now) = (show(&self.stored), show(&self.now));
        write!(f, "{}: was {stored}, is {now}", self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn known_moments() {
        // date -u -d @951827696 gives Tue Feb 29 12:34:56 UTC 2000.
        let leap_day = SystemTime::UNIX_EPOCH + Duration::from_millis(951_827_696_999);
        assert_eq!(folder_time(leap_day), "20000229T123456Z");
        assert_eq!(log_time(leap_day), "2000-02-29T12:34:56Z");
        assert_eq!(unix_s(leap_day), 951_827_696);
    }

    #[test]
    fn names_changed_added_and_missing_facts_only() {
        let stored = Identity::default()
            .with("kernel", "6.1")
            .with("target", "/dev/vdb")
            .with("calibration", "ab12");
        let now = Identity::default()
            .with("kernel", "6.12")
            .with("target", "/dev/vdb")
            .with("binary", "0.2");
        let differences = stored.differences(&now);
        let shown: Vec<String> = differences.iter().map(ToString::to_string).collect();
        let wanted = [
            "binary: was nothing, is 0.2",
            "calibration: was ab12, is nothing",
            "kernel: was 6.1, is 6.12",
        ];
        assert_eq!(shown, wanted);
        assert!(stored.differences(&stored).is_empty());
    }
}
