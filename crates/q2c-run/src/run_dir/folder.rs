use super::error::RunDirError;
use super::files::{
    JOURNAL, STATE, check_new_name, corrupt, encode_error, publish, publish_json, read,
};
use super::journal::{RunJournal, split_lines};
use super::record::{self, RunLog, RunRecord, RunState};
use q2c_result::Provenance;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// An open run folder. No other process can open the folder while this value lives.
///
/// [`RunDir::create`] and [`RunDir::resume`] open it. Trials are [appended](RunDir::append) to the
/// journal, final files are [published](RunDir::publish), and [`RunDir::finish`] ends the run. A
/// value that is dropped without `finish` while the run is running marks the run as interrupted.
pub struct RunDir {
    pub(super) path: PathBuf,
    pub(super) journal: RunJournal,
    pub(super) log: RunLog,
    pub(super) record: RunRecord,
}

/// The field of a journal's entry that says which plan the entry belongs to.
#[derive(Deserialize)]
struct EntryKey {
    key: String,
}

impl RunDir {
    /// Path of the run folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of `state.json`, as this process wrote it last.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The provenance of a result in this folder. The work began at `started` and ends now.
    pub fn provenance(&self, started: Instant, host: Option<String>) -> Provenance {
        let took = started.elapsed();
        Provenance {
            started_unix_s: record::unix_s(SystemTime::now() - took),
            seconds: took.as_secs_f64(),
            folder: Some(self.path.display().to_string()),
            host,
        }
    }

    /// Appends `entry` to the journal. The line is on the disk when this returns. After an error
    /// the journal is as before; if that cannot be restored, it takes no more entries.
    pub fn append(&mut self, entry: &impl Serialize) -> Result<(), RunDirError> {
        let json = serde_json::to_string(entry);
        let json = json.map_err(|e| encode_error(&self.path.join(JOURNAL), &e))?;
        self.journal.append(&json)
    }

    /// Every entry of the journal, oldest first.
    pub fn entries<E: DeserializeOwned>(&self) -> Result<Vec<E>, RunDirError> {
        self.parse_entries(|line| serde_json::from_str(line).map(Some))
    }

    /// The entries of the journal whose field `key` satisfies `wanted`, oldest first. The other
    /// entries need not fit `E`: they may belong to another plan.
    pub(crate) fn entries_with_key<E: DeserializeOwned>(
        &self,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<E>, RunDirError> {
        self.parse_entries(|line| {
            let entry_key: EntryKey = serde_json::from_str(line)?;
            let entry = wanted(&entry_key.key).then(|| serde_json::from_str(line));
            entry.transpose()
        })
    }

    fn parse_entries<E>(
        &self,
        parse: impl Fn(&str) -> serde_json::Result<Option<E>>,
    ) -> Result<Vec<E>, RunDirError> {
        let path = self.path.join(JOURNAL);
        let text = read(&self.path, JOURNAL)?;
        let (lines, _) = split_lines(&path, &text)?;
        let entries = lines.iter().enumerate().filter_map(|(i, line)| {
            let entry = parse(line).map_err(|e| corrupt(&path, i + 1, &e));
            entry.transpose()
        });
        entries.collect()
    }

    /// Writes the final file `name`. It appears with everything that `write` wrote, or not at all:
    /// an older file of that name then stays.
    pub fn publish(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), RunDirError> {
        check_new_name(name)?;
        publish(&self.path, name, write)
    }

    /// Writes `value` as indented JSON, as [`RunDir::publish`] does.
    pub fn publish_json(&self, name: &str, value: &impl Serialize) -> Result<(), RunDirError> {
        check_new_name(name)?;
        publish_json(&self.path, name, value)
    }

    /// Adds a line to `log.txt`.
    pub fn log(&mut self, message: &str) -> Result<(), RunDirError> {
        self.log.line(SystemTime::now(), message)
    }

    /// Flushes the log to the disk, so that its write-back does not disturb a measurement. Every
    /// other file of the folder is flushed when it is written.
    pub(crate) fn flush_log(&self) -> Result<(), RunDirError> {
        self.log.sync()
    }

    /// Sets the state and keeps the folder open, so that final files can still be written.
    pub(crate) fn mark(&mut self, state: RunState) -> Result<(), RunDirError> {
        self.record.state = state;
        self.write_record()
    }

    /// Ends the run: sets the state and unlocks the folder. Final files must be written before.
    pub fn finish(mut self, state: RunState) -> Result<(), RunDirError> {
        self.log(&format!("run ended: {state}"))?;
        self.flush_log()?;
        self.mark(state)
    }

    pub(super) fn write_record(&mut self) -> Result<(), RunDirError> {
        self.record.changed_unix_s = record::unix_s(SystemTime::now());
        publish_json(&self.path, STATE, &self.record)
    }
}

/// Marks the run as interrupted when an error or a panic ended it.
impl Drop for RunDir {
    fn drop(&mut self) {
        if self.record.state == RunState::Running {
            // If this fails, `state.json` says `running` while no process holds the folder, and so
            // the run counts as crashed.
            let _ = self.mark(RunState::Interrupted);
        }
    }
}
