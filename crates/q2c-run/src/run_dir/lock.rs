//! The lock of a run folder: `flock` on its journal. The kernel frees it when the process ends,
//! however it ends.

use super::error::RunDirError;
use super::files::read_record;
use super::journal::JournalStorage;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;

/// The journal's file, opened for appending and locked for this process.
pub(super) struct LockedFile(File);

impl LockedFile {
    pub(super) fn lock(file: File, path: &Path) -> Result<Self, RunDirError> {
        match file.try_lock() {
            Ok(()) => Ok(LockedFile(file)),
            Err(TryLockError::WouldBlock) => Err(RunDirError::Busy {
                path: path.to_path_buf(),
                owner: read_record(path).ok().map(|record| record.pid),
            }),
            Err(TryLockError::Error(e)) => Err(RunDirError::io("lock", path, e)),
        }
    }
}

/// Unlocks before the file is closed. A child process that is being started shares the open file
/// until it runs its program, so closing the file here would leave the lock with the child for that
/// moment.
impl Drop for LockedFile {
    fn drop(&mut self) {
        // An error is ignored: the file is closed next, which frees the lock too, only later.
        let _ = self.0.unlock();
    }
}

impl JournalStorage for LockedFile {
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

/// Whether a process holds the folder. The test takes a shared lock for a moment.
pub(super) fn is_held(file: File, path: &Path) -> Result<bool, RunDirError> {
    match file.try_lock_shared() {
        Ok(()) => {
            drop(LockedFile(file));
            Ok(false)
        }
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(e)) => Err(RunDirError::io("lock", path, e)),
    }
}
