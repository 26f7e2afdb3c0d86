//! `log.txt`: the events of the run, one per line, with UTC times.

use super::error::RunDirError;
use super::files::{LOG, without_links};
use super::utc;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

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
        let (time, message) = (utc::extended(now), message.replace('\n', "\n    "));
        let line = format!("{time} {message}\n");
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|e| RunDirError::io("write to", &self.path, e))
    }

    pub(super) fn sync(&self) -> Result<(), RunDirError> {
        let synced = self.file.sync_data();
        synced.map_err(|e| RunDirError::io("flush", &self.path, e))
    }
}
