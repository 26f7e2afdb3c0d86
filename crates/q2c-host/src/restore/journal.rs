//! The journal of one guard: lines of JSON, each on the disk before the change that it announces.

use super::entry::{RestoreChange, RestoreLine};
use super::{Owner, RestoreError, Result};
use crate::{attr, own_folder};
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A journal that is being written. Its file stays locked as long as this value lives.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Makes a journal in `dir`. An owner may have several guards, so the first free name is taken.
    pub(crate) fn create(dir: &Path, owner: &Owner) -> Result<Journal> {
        make_folder(dir)?;
        let mut n = 0;
        loop {
            let path = dir.join(format!("{}-{}-{n}.jsonl", owner.pid, owner.start_time));
            match create_locked(&path) {
                Ok(Some(file)) => return Ok(Journal { file, path }),
                Ok(None) => n += 1,
                Err(source) => return Err(RestoreError::Journal(path, source)),
            }
        }
    }

    /// Appends a line and waits until it is on the disk.
    pub(crate) fn append(&mut self, line: &RestoreLine) -> Result<()> {
        let mut put = || -> io::Result<()> {
            let mut text = serde_json::to_string(line)?;
            text.push('\n');
            self.file.write_all(text.as_bytes())?;
            self.file.sync_all()
        };
        put().map_err(|e| RestoreError::Journal(self.path.clone(), e))
    }

    /// Removes the file. Call it when every change in it is undone.
    pub(crate) fn remove(self) -> Result<()> {
        remove(&self.path)
    }
}

/// Makes a new file and locks it; `None` when the name is taken, or a sweep got the lock first.
fn create_locked(path: &Path) -> io::Result<Option<File>> {
    let file = match OpenOptions::new().append(true).create_new(true).open(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        other => other?,
    };
    // A sweep that opened the file before it was locked may hold the lock, and remove the file as
    // an empty journal without an owner.
    let locked = match file.try_lock() {
        Err(TryLockError::Error(e)) => return Err(e),
        other => other.is_ok(),
    };
    let is_ours = locked && is_file_at(&file, path)?;
    sync_folder(path.parent().unwrap_or(path))?;
    Ok(is_ours.then_some(file))
}

pub(super) fn is_file_at(file: &File, path: &Path) -> io::Result<bool> {
    let id = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let opened = id(file.metadata()?);
    Ok(fs::metadata(path).is_ok_and(|present| id(present) == opened))
}

/// A line of a journal that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedLine {
    /// The journal's file.
    pub journal: PathBuf,
    /// Line number, from 1.
    pub line: usize,
    /// True if the line has no end, because a crash or a full disk cut it short: the change that it
    /// announces was not made.
    pub truncated: bool,
    /// The line's text.
    pub text: String,
}

impl fmt::Display for DamagedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.truncated {
            "cut short by a crash"
        } else {
            "not understood"
        };
        let (journal, line) = (self.journal.display(), self.line);
        write!(f, "{journal} line {line} is {how}: {:?}", self.text)
    }
}

/// The contents of a journal: the changes in force, and the lines that could not be used.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Changes that are not undone, in the order in which they were made, each with the further
    /// values of its owner.
    pub in_force: Vec<(RestoreChange, Vec<String>)>,
    pub faults: Vec<DamagedLine>,
}

impl Contents {
    pub(crate) fn read(path: &Path) -> Result<Contents> {
        let file = open(path).map_err(|e| RestoreError::Journal(path.to_owned(), e))?;
        Contents::read_open(&file, path)
    }

    /// Reads a file that is already open; `path` is for messages.
    pub(crate) fn read_open(mut file: &File, path: &Path) -> Result<Contents> {
        let mut bytes = Vec::new();
        let read = file.read_to_end(&mut bytes);
        read.map_err(|e| RestoreError::Journal(path.to_owned(), e))?;
        Ok(Contents::parse(path, &String::from_utf8_lossy(&bytes)))
    }

    fn parse(path: &Path, text: &str) -> Contents {
        let mut changes: BTreeMap<u64, (RestoreChange, Vec<String>)> = BTreeMap::new();
        let mut faults = Vec::new();
        for (n, row) in text.split_inclusive('\n').enumerate() {
            let complete = row.ends_with('\n');
            match serde_json::from_str::<RestoreLine>(row) {
                Ok(RestoreLine::Change(c)) if complete => {
                    changes.insert(c.seq, (c, Vec::new()));
                }
                Ok(RestoreLine::Settled { seq, value }) if complete => {
                    changes.entry(seq).and_modify(|(_, more)| more.push(value));
                }
                Ok(RestoreLine::Undone { seq }) if complete => drop(changes.remove(&seq)),
                _ => faults.push(DamagedLine {
                    journal: path.to_owned(),
                    line: n + 1,
                    truncated: !complete,
                    text: row.trim_end().to_owned(),
                }),
            }
        }
        let in_force = changes.into_values().collect();
        Contents { in_force, faults }
    }
}

/// Opens a journal for reading. This user must own it, because its values are written to settings.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let file = attr::open(path, false, OFlags::NOFOLLOW | OFlags::NONBLOCK)?;
    own_folder::check_file(&file)?;
    Ok(file)
}

/// Checks that nobody else can change the folder of journals `dir`.
pub(super) fn check_folder(dir: &Path) -> Result<()> {
    own_folder::check(dir).map_err(|e| RestoreError::Folder(dir.to_owned(), e))
}

/// Makes a folder that only its owner may enter, with its parents.
pub(super) fn make_folder(dir: &Path) -> Result<()> {
    check_folder(dir)?;
    let created = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    created.map_err(|e| RestoreError::Journal(dir.to_owned(), e))
}

/// Removes a journal and waits until that is on the disk.
pub(super) fn remove(path: &Path) -> Result<()> {
    let removed = fs::remove_file(path).and_then(|()| sync_folder(path.parent().unwrap_or(path)));
    removed.map_err(|e| RestoreError::Journal(path.to_owned(), e))
}

pub(super) fn sync_folder(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// The lock of one setting. It is held until this value is dropped or the process ends in any way.
#[derive(Debug)]
pub(super) struct SettingLock {
    file: File,
}

/// Closing the file is not enough: a child that another thread has just forked has the file open
/// until it runs its program, and with it the lock.
impl Drop for SettingLock {
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl SettingLock {
    /// Takes the lock of the file `setting`, a path with links resolved, in the journal folder
    /// `dir`. It does not wait.
    pub(crate) fn take(dir: &Path, setting: &Path) -> Result<SettingLock> {
        let path = lock_path(dir, setting);
        let journal_error = |e| RestoreError::Journal(path.clone(), e);
        make_folder(&dir.join("locks"))?;
        // Lock files stay: removing one while another run opens it would give two runs a lock each.
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            // A link would lead the writing of the id to another file.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
            .open(&path);
        let mut file = open.map_err(journal_error)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = attr::text(&path).unwrap_or_else(|| "unknown".into());
                let path = setting.to_owned();
                return Err(RestoreError::Busy { path, holder });
            }
            Err(TryLockError::Error(source)) => return Err(journal_error(source)),
        }
        // A run that finds the setting locked names this process in its message.
        let emptied = file.set_len(0).and_then(|()| file.rewind());
        let signed = emptied.and_then(|()| writeln!(file, "{}", std::process::id()));
        signed.map_err(journal_error)?;
        Ok(SettingLock { file })
    }
}

/// The lock file of a setting. Its name is a hash of the path, because paths can be longer than a
/// name may be, and the path's last part, for human readers. Two paths with one hash would merely
/// exclude each other.
fn lock_path(dir: &Path, setting: &Path) -> PathBuf {
    let name = attr::name(setting);
    let hash = fnv1a(setting.as_os_str().as_bytes());
    dir.join("locks").join(format!("{hash:016x}-{name}.lock"))
}

fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second descriptor of the same open file is what a forked child has.
    #[test]
    fn a_lock_ends_with_its_holder_although_a_child_has_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let setting = Path::new("/sys/a");
        let lock = SettingLock::take(folder.path(), setting).unwrap();
        let child = lock.file.try_clone().unwrap();
        assert!(SettingLock::take(folder.path(), setting).is_err());
        drop(lock);
        SettingLock::take(folder.path(), setting).unwrap();
        drop(child);
    }

    #[test]
    fn hash_as_published() {
        // Test vectors of the FNV authors.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
