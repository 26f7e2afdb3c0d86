//! Files that are not whole yet.

use std::collections::BTreeSet;
use std::fs::{File, Permissions, remove_file};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// The names of all files of this process that are not whole yet.
static NAMES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes every file that is not whole yet. For a program that ends without dropping its values.
pub fn remove_unfinished() {
    for name in std::mem::take(&mut *names()) {
        // It may be gone already.
        remove_file(name).ok();
    }
}

fn names() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is not whole yet: with a hidden name, which goes when the value is dropped, or
/// without any.
pub(crate) enum Temporary {
    Named(Option<NamedTempFile>),
    Nameless(File),
}

impl Temporary {
    /// Creates a hidden file in the target's folder, with the permissions of a normal file.
    pub(crate) fn beside(path: &Path) -> io::Result<Temporary> {
        let name = path
            .file_name()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "expected a file name"))?;
        let file = tempfile::Builder::new()
            .prefix(&format!(".{}.", name.to_string_lossy()))
            .suffix(".tmp")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder(path))?;
        names().insert(file.path().to_owned());
        Ok(Temporary::Named(Some(file)))
    }

    /// Creates a file without a name in `folder`. It is gone when no descriptor of it is left.
    pub(crate) fn nameless(folder: &Path) -> io::Result<Temporary> {
        tempfile::tempfile_in(folder).map(Temporary::Nameless)
    }

    pub(crate) fn as_file(&self) -> &File {
        match self {
            Temporary::Named(Some(file)) => file.as_file(),
            Temporary::Nameless(file) => file,
            Temporary::Named(None) => unreachable!("it is taken by the methods that consume it"),
        }
    }

    /// Renames without replacing and syncs the folder; a file without a name stays without one.
    /// When the name is taken, the file is removed.
    pub(crate) fn name_finished(self, path: &Path) -> io::Result<()> {
        match self.renamed(path) {
            Ok(()) => sync_folder(path),
            Err(refused) => Err(refused.error),
        }
    }

    /// Renames without replacing. The error has the file.
    pub(crate) fn renamed(mut self, path: &Path) -> Result<(), tempfile::PersistError> {
        let Some(file) = self.taken() else {
            return Ok(());
        };
        file.persist_noclobber(path).map(drop)
    }

    /// The file with its hidden name, which is not removed by [`remove_unfinished`] any more.
    fn taken(&mut self) -> Option<NamedTempFile> {
        let Temporary::Named(file) = self else {
            return None;
        };
        let file = file.take()?;
        names().remove(file.path());
        Some(file)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        drop(self.taken());
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.as_file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.as_file().flush()
    }
}

/// Syncs the folder of `path`, so that the name survives a power loss.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path)).and_then(|folder| folder.sync_all())
}

fn folder(path: &Path) -> &Path {
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
        let mut whole = Temporary::beside(&path).unwrap();
        whole.write_all(b"whole").unwrap();
        whole.name_finished(&path).unwrap();
        let half = Temporary::beside(&folder.path().join("half")).unwrap();
        let nameless = Temporary::nameless(folder.path()).unwrap();
        let count = || std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(count(), 2);
        remove_unfinished();
        assert_eq!(count(), 1);
        drop((half, nameless));
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    }
}
