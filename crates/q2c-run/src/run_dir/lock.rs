//! One process per folder: `flock` on the journal, gone with the process however it ends.

use super::error::RunDirError;
use super::files::read_record;
use super::journal::Tape;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;

/// The journal's file, opened for appending and locked for this process alone.
pub(super) struct Held(File);

impl Held {
    pub(super) fn lock(file: File, path: &Path) -> Result<Self, RunDirError> {
        match file.try_lock() {
            Ok(()) => Ok(Held(file)),
            Err(TryLockError::WouldBlock) => Err(RunDirError::Busy {
                path: path.to_path_buf(),
                owner: read_record(path).ok().map(|record| record.pid),
            }),
            Err(TryLockError::Error(e)) => Err(RunDirError::io("lock", path, e)),
        }
    }
}

/// A child process that is just being started shares the open file until it runs its program. Closing ours would
/// leave the lock with it for that moment; unlocking does not.
impl Drop for Held {
    fn drop(&mut self) {
        // Closing the file, which follows, unlocks too, only later.
        let _ = self.0.unlock();
    }
}

impl Tape for Held {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

/// Whether some process holds the folder.
pub(super) fn is_held(file: File, path: &Path) -> Result<bool, RunDirError> {
    match file.try_lock_shared() {
        Ok(()) => {
            drop(Held(file));
            Ok(false)
        }
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(e)) => Err(RunDirError::io("lock", path, e)),
    }
}
