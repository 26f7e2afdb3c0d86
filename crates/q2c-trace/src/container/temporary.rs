//! Files that are not complete yet.

use std::collections::BTreeMap;
use std::fs::{File, remove_file};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{PathPersistError, TempPath};

/// The hidden names of all incomplete files of this process, each with its final name.
static HIDDEN_NAMES: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());

/// Removes all incomplete files, for a program that ends without dropping its values.
pub fn remove_unfinished() {
    for name in std::mem::take(&mut *hidden_names()).into_keys() {
        // The file may be gone already.
        remove_file(name).ok();
    }
}

fn hidden_names() -> MutexGuard<'static, BTreeMap<PathBuf, PathBuf>> {
    HIDDEN_NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An incomplete file, hidden or without a name. A hidden file is removed when the value is
/// dropped, or by [`remove_unfinished`].
#[derive(Debug)]
pub struct UnfinishedFile {
    file: File,
    hidden: Option<TempPath>,
}

impl UnfinishedFile {
    /// Creates a hidden file in the folder of `path`, with the permissions of a normal file. Fails
    /// if this process already has an incomplete file for this name.
    pub fn create_for(path: &Path) -> io::Result<UnfinishedFile> {
        let name = path
            .file_name()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "expected a file name"))?;
        let mut names = hidden_names();
        let path = folder_of(path).join(name);
        if names.values().any(|other| *other == path) {
            let message = "expected a name for each file, found one for two";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        // The library's own function would hide the system's error in a text.
        let open = |path: &Path| File::create_new(path);
        let file = tempfile::Builder::new()
            .prefix(&format!(".{}.", name.to_string_lossy()))
            .suffix(".tmp")
            .make_in(folder_of(&path), open)?;
        let (file, hidden) = file.into_parts();
        names.insert(hidden.to_path_buf(), path);
        let hidden = Some(hidden);
        Ok(UnfinishedFile { file, hidden })
    }

    /// Creates a file without a name in `folder`. It disappears with its last descriptor.
    pub(crate) fn create_nameless(folder: &Path) -> io::Result<UnfinishedFile> {
        let file = tempfile::tempfile_in(folder)?;
        Ok(UnfinishedFile { file, hidden: None })
    }

    /// The open file.
    pub fn as_file(&self) -> &File {
        &self.file
    }

    /// Renames the file without replacing another, and syncs the folder. A file without a name
    /// stays without one. If `path` exists already, the file is removed.
    pub(crate) fn name_finished(self, path: &Path) -> io::Result<()> {
        self.rename(path).map_err(|refused| refused.error)?;
        sync_folder(path)
    }

    /// As [`UnfinishedFile::name_finished`], but a file whose name is taken keeps its hidden name,
    /// which is in the error.
    pub fn name_or_keep(self, path: &Path) -> Result<(), (io::Error, Option<PathBuf>)> {
        self.rename(path)
            .map_err(|refused| (refused.error, refused.path.keep().ok()))?;
        sync_folder(path).map_err(|error| (error, None))
    }

    pub(crate) fn rename(mut self, path: &Path) -> Result<(), PathPersistError> {
        let hidden = self.take_hidden();
        hidden.map_or(Ok(()), |hidden| hidden.persist_noclobber(path))
    }

    /// Takes the hidden name out, so that [`remove_unfinished`] no longer removes it.
    fn take_hidden(&mut self) -> Option<TempPath> {
        let hidden = self.hidden.take()?;
        hidden_names().remove(&*hidden);
        Some(hidden)
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        drop(self.take_hidden());
    }
}

impl Write for UnfinishedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Syncs the folder of `path`, so that the name survives a power loss.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path)).and_then(|folder| folder.sync_all())
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_whole_can_be_removed_and_what_is_whole_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whole");
        let mut whole = UnfinishedFile::create_for(&path).unwrap();
        whole.write_all(b"whole").unwrap();
        whole.name_finished(&path).unwrap();
        let half = UnfinishedFile::create_for(&folder.path().join("half")).unwrap();
        let nameless = UnfinishedFile::create_nameless(folder.path()).unwrap();
        let twice = UnfinishedFile::create_for(&folder.path().join("half")).unwrap_err();
        assert_eq!(twice.kind(), io::ErrorKind::AlreadyExists);
        // The error is the system's, so that a limit differs from a missing folder.
        let nowhere = UnfinishedFile::create_for(&folder.path().join("none/x")).unwrap_err();
        assert_eq!(nowhere.raw_os_error(), Some(2), "{nowhere}");
        let count = || std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(count(), 2);
        remove_unfinished();
        assert_eq!(count(), 1);
        drop((half, nameless));
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    }
}
