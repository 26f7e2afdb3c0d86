use super::checked::CheckedPlan;
use super::error::RunDirError;
use super::journal::JournalStorage;
use super::open::open_journal;
use super::record::{RunRecord, SCHEMA};
use crate::whole_file;
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

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

/// Reads and checks the plan of the run in `path`, in order to resume the run. A run that another
/// process works on is refused here, before the caller looks at the machine and its devices.
pub fn read_checked_plan<P: CheckedPlan>(path: &Path) -> Result<P, RunDirError> {
    if let Ok(journal) = open_journal(path, &mut OpenOptions::new()) {
        drop(LockedFile::lock(journal, path)?);
    }
    let plan: P = read_plan(path)?;
    let checked = plan.check();
    checked.map_err(|fault| RunDirError::BadPlan(path.join(PLAN), fault))?;
    Ok(plan)
}

/// Makes an open for writing fail if the name is a link. In a folder that others can write to, a
/// link may lead to any file of this user. The open does not wait if the name is a pipe, either.
pub(super) fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
}

pub(super) fn missing_or_io(path: &Path, name: &'static str, error: io::Error) -> RunDirError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            RunDirError::NotARun(path.to_path_buf(), name)
        }
        _ => RunDirError::io("read", &path.join(name), error),
    }
}

pub(super) fn read(path: &Path, name: &'static str) -> Result<Vec<u8>, RunDirError> {
    let max_bytes = match name {
        JOURNAL => whole_file::MAX_RESULT,
        _ => whole_file::MAX_SMALL,
    };
    whole_file::read(&path.join(name), max_bytes).map_err(|e| missing_or_io(path, name, e))
}

pub(super) fn read_record(path: &Path) -> Result<RunRecord, RunDirError> {
    let file = path.join(STATE);
    let record: RunRecord =
        serde_json::from_slice(&read(path, STATE)?).map_err(|e| corrupt(&file, e.line(), &e))?;
    if record.schema == SCHEMA {
        return Ok(record);
    }
    let reason = format!("expected schema {SCHEMA}, found {}", record.schema);
    Err(corrupt(&file, 1, &reason))
}

pub(super) fn corrupt(path: &Path, line: usize, reason: &impl ToString) -> RunDirError {
    RunDirError::Corrupt {
        path: path.to_path_buf(),
        line,
        reason: reason.to_string(),
    }
}

pub(super) fn encode_error(path: &Path, reason: &impl ToString) -> RunDirError {
    RunDirError::Encode(path.to_path_buf(), reason.to_string())
}

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

/// Unlocks before the file is closed. A child process shares the open file from its fork to its
/// exec. Without the unlock, the child would hold the lock for that moment.
impl Drop for LockedFile {
    fn drop(&mut self) {
        // An error is ignored: the file is closed next, which releases the lock too, only later.
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

/// True if a process holds the folder. The test takes a shared lock for a moment.
pub(super) fn is_locked(file: File, path: &Path) -> Result<bool, RunDirError> {
    match file.try_lock_shared() {
        Ok(()) => {
            drop(LockedFile(file));
            Ok(false)
        }
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(e)) => Err(RunDirError::io("lock", path, e)),
    }
}

/// Files that the folder itself writes, each in its own way. No final file may have such a name.
const OWN_FILES: [&str; 4] = [JOURNAL, LOG, PLAN, STATE];

/// Refuses names that could leave the folder, be hidden, or clash with a temporary file.
pub(super) fn check_name(name: &str) -> Result<(), RunDirError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let good = (1..=100).contains(&name.len()) && !name.starts_with('.') && name.chars().all(plain);
    good.then_some(()).ok_or_else(|| bad_name(name, false))
}

fn bad_name(name: &str, reserved: bool) -> RunDirError {
    let name = name.to_owned();
    RunDirError::BadName { name, reserved }
}

/// Refuses a final file whose name [`check_name`] refuses, or is one of the folder's own files.
pub(super) fn check_new_name(name: &str) -> Result<(), RunDirError> {
    check_name(name)?;
    let free = !OWN_FILES.contains(&name);
    free.then_some(()).ok_or_else(|| bad_name(name, true))
}

/// Writes `folder/name` through `write`: temporary file, fsync, rename, fsync of the folder. If the
/// write or the rename fails, the temporary file is removed and `folder/name` stays as it was.
pub(super) fn publish(
    folder: &Path,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), RunDirError> {
    let temporary = temporary_path(folder, name);
    let target = folder.join(name);
    let renamed = create(&temporary, write).and_then(|()| fs::rename(&temporary, &target));
    if let Err(error) = renamed {
        // The first error is the one to report. A temporary file that could not be removed is swept
        // by the next resume.
        let _ = fs::remove_file(&temporary);
        return Err(RunDirError::io("write", &target, error));
    }
    sync_folder(folder)
}

fn create(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // A killed run may have left a file of this name. It is removed, and `create_new` below then
    // refuses whatever appears in between, above all a link to another file.
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut out = BufWriter::new(File::create_new(path)?);
    write(&mut out)?;
    out.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()
}

/// Makes new and renamed entries of `folder` survive a power cut.
pub(super) fn sync_folder(folder: &Path) -> Result<(), RunDirError> {
    let synced = File::open(folder).and_then(|f| f.sync_all());
    synced.map_err(|e| RunDirError::io("flush", folder, e))
}

/// Removes temporary files that a crash left behind.
pub(super) fn remove_temporary_files(folder: &Path) -> Result<(), RunDirError> {
    let failed = |e| RunDirError::io("sweep", folder, e);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        if name.starts_with('.') && name.ends_with(".tmp") {
            fs::remove_file(&path).map_err(|e| RunDirError::io("remove", &path, e))?;
        }
    }
    Ok(())
}

fn temporary_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(".{name}.tmp"))
}

/// Writes `value` as indented JSON, as [`publish`] does.
pub(super) fn publish_json(
    folder: &Path,
    name: &str,
    value: &impl Serialize,
) -> Result<(), RunDirError> {
    let json = serde_json::to_string_pretty(value);
    let json = json.map_err(|e| encode_error(&folder.join(name), &e))?;
    publish(folder, name, |out| writeln!(out, "{json}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn full_after(written: &[u8]) -> impl FnOnce(&mut dyn Write) -> io::Result<()> {
        move |out| {
            out.write_all(written)?;
            out.flush()?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
    }

    #[test]
    fn a_full_disk_leaves_nothing_or_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let failed = publish(folder.path(), "result.json", full_after(b"{\"half"));
        assert!(matches!(failed, Err(RunDirError::DiskFull { .. })));
        assert!(names(folder.path()).is_empty());

        publish(folder.path(), "result.json", |out| out.write_all(b"old")).unwrap();
        let failed = publish(folder.path(), "result.json", full_after(b"new but ha"));
        assert!(matches!(failed, Err(RunDirError::DiskFull { .. })));
        assert_eq!(names(folder.path()), ["result.json"]);
        assert_eq!(fs::read(folder.path().join("result.json")).unwrap(), b"old");
    }

    #[test]
    fn a_failed_rename_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("result.json")).unwrap();
        let failed = publish(folder.path(), "result.json", |out| out.write_all(b"x"));
        assert!(matches!(failed, Err(RunDirError::Io { .. })));
        assert_eq!(names(folder.path()), ["result.json"]);
    }

    #[test]
    fn the_kernel_s_own_full_device_is_told_apart() {
        let mut full = File::create("/dev/full").unwrap();
        let error = full.write_all(b"x").unwrap_err();
        let error = RunDirError::io("write", Path::new("/dev/full"), error);
        assert!(error.to_string().contains("no space left"), "{error}");
    }

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        let long = "x".repeat(101);
        for bad in ["", ".", "..", "a/b", ".hidden", "a b", "a\n", &long] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        assert!(check_new_name("cells.jsonl").is_err());
        assert!(check_new_name("report.html").is_ok());
    }
}
