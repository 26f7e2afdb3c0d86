use super::error::RunDirError;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Files that the folder itself writes, each in its own way. A final file must not have such a
/// name.
const OWN: [&str; 4] = ["cells.jsonl", "log.txt", "plan.toml", "state.json"];

/// Refuses names that could leave the folder, be hidden, or clash with a temporary file.
pub(super) fn check_name(name: &str) -> Result<(), RunDirError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let good = (1..=100).contains(&name.len()) && !name.starts_with('.') && name.chars().all(plain);
    if good {
        Ok(())
    } else {
        Err(bad_name(name, false))
    }
}

fn bad_name(name: &str, reserved: bool) -> RunDirError {
    let name = name.to_owned();
    RunDirError::BadName { name, reserved }
}

/// Refuses, for a final file, what [`check_name`] refuses and the names of the folder's own files.
pub(super) fn check_final_name(name: &str) -> Result<(), RunDirError> {
    check_name(name)?;
    if OWN.contains(&name) {
        Err(bad_name(name, true))
    } else {
        Ok(())
    }
}

/// Writes `folder/name` through `write`: temporary file, fsync, rename, fsync of the folder. When
/// the write or the rename fails, the temporary file is removed and `folder/name` is as it was.
pub(super) fn publish(
    folder: &Path,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), RunDirError> {
    let temporary = temporary(folder, name);
    let target = folder.join(name);
    let done = fill(&temporary, write).and_then(|()| fs::rename(&temporary, &target));
    if let Err(error) = done {
        // The first error is the one to report. A temporary file that could not be removed is swept
        // by the next resume.
        let _ = fs::remove_file(&temporary);
        return Err(RunDirError::io("write", &target, error));
    }
    sync_folder(folder)
}

fn fill(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // What a killed run left under this name goes. Whatever else is put there meanwhile, a link to
    // another file above all, is not written to.
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
pub(super) fn sweep(folder: &Path) -> Result<(), RunDirError> {
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

fn temporary(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(".{name}.tmp"))
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

    fn full(after: &[u8]) -> impl FnOnce(&mut dyn Write) -> io::Result<()> {
        move |out| {
            out.write_all(after)?;
            out.flush()?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
    }

    #[test]
    fn a_full_disk_leaves_nothing_or_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let failed = publish(folder.path(), "result.json", full(b"{\"half"));
        assert!(matches!(failed, Err(RunDirError::DiskFull { .. })));
        assert!(names(folder.path()).is_empty());

        publish(folder.path(), "result.json", |out| out.write_all(b"old")).unwrap();
        let failed = publish(folder.path(), "result.json", full(b"new but ha"));
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
        assert!(check_final_name("cells.jsonl").is_err());
        assert!(check_final_name("report.html").is_ok());
    }
}
