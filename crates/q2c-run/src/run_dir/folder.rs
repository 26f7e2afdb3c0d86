//! [`RunDir`]: an open run folder, held by this process alone.

use super::error::RunDirError;
use super::files::{JOURNAL, STATE, corrupt, encode, read, read_plan};
use super::journal::{Journal, scan};
use super::log::Log;
use super::publish::{check_final_name, publish};
use super::record::{RunRecord, RunState};
use super::utc;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// An open run folder. No other process can open it while this value lives.
pub struct RunDir {
    pub(super) path: PathBuf,
    pub(super) journal: Journal,
    pub(super) log: Log,
    pub(super) record: RunRecord,
}

impl RunDir {
    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What `state.json` says.
    #[must_use]
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The plan as run.
    ///
    /// # Errors
    /// `plan.toml` is missing or does not fit `P`.
    pub fn plan<P: DeserializeOwned>(&self) -> Result<P, RunDirError> {
        read_plan(&self.path)
    }

    /// Appends `entry` to the journal; when this returns it is on the disk.
    ///
    /// # Errors
    /// A full disk or a failed write; the journal is then what it was before.
    pub fn append(&mut self, entry: &impl Serialize) -> Result<(), RunDirError> {
        let json = serde_json::to_string(entry);
        let json = json.map_err(|e| encode(&self.path.join(JOURNAL), &e))?;
        self.journal.append(&json)
    }

    /// Every entry of the journal, oldest first.
    ///
    /// # Errors
    /// A line that does not fit `E`, by number.
    pub fn entries<E: DeserializeOwned>(&self) -> Result<Vec<E>, RunDirError> {
        let path = self.path.join(JOURNAL);
        let text = read(&self.path, JOURNAL)?;
        let (lines, _) = scan(&path, &text)?;
        let typed = |(i, line): (usize, &&str)| {
            serde_json::from_str(line).map_err(|e| corrupt(&path, i + 1, &e))
        };
        lines.iter().enumerate().map(typed).collect()
    }

    /// Writes the final file `name` whole: it appears with all of what `write` wrote, or not at all.
    ///
    /// # Errors
    /// A name that is not plain, an error of `write`, a full disk; an older file of that name is then untouched.
    pub fn publish(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), RunDirError> {
        check_final_name(name)?;
        publish(&self.path, name, write)
    }

    /// As [`RunDir::publish`], with `value` as indented JSON.
    ///
    /// # Errors
    /// As [`RunDir::publish`].
    pub fn publish_json(&self, name: &str, value: &impl Serialize) -> Result<(), RunDirError> {
        let json = serde_json::to_string_pretty(value);
        let json = json.map_err(|e| encode(&self.path.join(name), &e))?;
        self.publish(name, |out| writeln!(out, "{json}"))
    }

    /// Adds a line to `log.txt`.
    ///
    /// # Errors
    /// A full disk or a failed write.
    pub fn log(&mut self, message: &str) -> Result<(), RunDirError> {
        self.log.line(SystemTime::now(), message)
    }

    /// Puts everything written so far on the disk, so that no write-back of ours falls into a measurement.
    ///
    /// # Errors
    /// A failed flush.
    pub fn settle(&self) -> Result<(), RunDirError> {
        self.log.sync()
    }

    /// Sets the state and keeps the folder open: final files can still be written.
    ///
    /// # Errors
    /// A full disk or a failed write.
    pub fn mark(&mut self, state: RunState) -> Result<(), RunDirError> {
        self.record.state = state;
        self.write_record()
    }

    /// Ends the run: sets the state and gives the folder free. Write the final files before.
    ///
    /// # Errors
    /// A full disk or a failed write.
    pub fn finish(mut self, state: RunState) -> Result<(), RunDirError> {
        self.log(&format!("run ended: {state:?}").to_lowercase())?;
        self.settle()?;
        self.mark(state)
    }

    pub(super) fn write_record(&mut self) -> Result<(), RunDirError> {
        self.record.changed_unix_s = utc::unix_s(SystemTime::now());
        let json = serde_json::to_string_pretty(&self.record);
        let json = json.map_err(|e| encode(&self.path.join(STATE), &e))?;
        publish(&self.path, STATE, |out| writeln!(out, "{json}"))
    }
}

/// An error or a panic on the way: say so in the folder.
impl Drop for RunDir {
    fn drop(&mut self) {
        if self.record.state == RunState::Running {
            // When this fails the folder says running without an owner, which reads as crashed.
            let _ = self.mark(RunState::Interrupted);
        }
    }
}
