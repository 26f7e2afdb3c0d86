//! Files that are not whole yet.

use std::collections::BTreeMap;
use std::fs::{File, remove_file};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// The hidden names of all files of this process that are not whole yet, with the names that they
/// will have.
static NAMES: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());

/// Removes every file that is not whole yet. For a program that ends without dropping its values.
pub fn remove_unfinished() {
    for name in std::mem::take(&mut *names()).into_keys() {
        // It may be gone already.
        remove_file(name).ok();
    }
}

fn names() -> MutexGuard<'static, BTreeMap<PathBuf, PathBuf>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is not whole yet: with a hidden name, which goes when the value is dropped, or
/// without any. [`remove_unfinished`] knows its name.
#[derive(Debug)]
pub struct Temporary(TemporaryFile);

#[derive(Debug)]
enum TemporaryFile {
    Named(Option<NamedTempFile>),
    Nameless(File),
}

impl Temporary {
    /// Creates a hidden file in the folder of `path`, with the permissions of a normal file. It is
    /// refused when another file of this program is to have the name.
    pub fn create_for(path: &Path) -> io::Result<Temporary> {
        let name = path
            .file_name()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "expected a file name"))?;
        let mut names = names();
        let path = folder(path).join(name);
        if names.values().any(|other| *other == path) {
            let message = "expected a name for each file, found one for two";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        // The library's own way to make the file would hide the system's error behind a text.
        let open = |path: &Path| File::create_new(path);
        let file = tempfile::Builder::new()
            .prefix(&format!(".{}.", name.to_string_lossy()))
            .suffix(".tmp")
            .make_in(folder(&path), open)?;
        names.insert(file.path().to_owned(), path);
        Ok(Temporary(TemporaryFile::Named(Some(file))))
    }

    /// Creates a file without a name in `folder`. It is gone when no descriptor of it is left.
    pub(crate) fn nameless(folder: &Path) -> io::Result<Temporary> {
        tempfile::tempfile_in(folder)
            .map(TemporaryFile::Nameless)
            .map(Temporary)
    }

    /// The open file.
    pub fn as_file(&self) -> &File {
        match &self.0 {
            TemporaryFile::Named(Some(file)) => file.as_file(),
            TemporaryFile::Nameless(file) => file,
            TemporaryFile::Named(None) => {
                unreachable!("it is taken by the methods that consume it")
            }
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

    /// As [`Temporary::name_finished`], but a file whose name is taken keeps its hidden one. The
    /// error has the hidden name where the file is kept.
    pub fn name_or_keep(self, path: &Path) -> Result<(), (io::Error, Option<PathBuf>)> {
        match self.renamed(path) {
            Ok(()) => sync_folder(path).map_err(|error| (error, None)),
            Err(refused) => {
                let kept = refused.file.keep().map(|(_, kept)| kept);
                Err((refused.error, kept.ok()))
            }
        }
    }

    pub(crate) fn renamed(mut self, path: &Path) -> Result<(), tempfile::PersistError> {
        let Some(file) = self.taken() else {
            return Ok(());
        };
        file.persist_noclobber(path).map(drop)
    }

    /// The file with its hidden name, which is not removed by [`remove_unfinished`] any more.
    fn taken(&mut self) -> Option<NamedTempFile> {
        let TemporaryFile::Named(file) = &mut self.0 else {
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

pub(crate) fn folder(path: &Path) -> &Path {
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
        let mut whole = Temporary::create_for(&path).unwrap();
        whole.write_all(b"whole").unwrap();
        whole.name_finished(&path).unwrap();
        let half = Temporary::create_for(&folder.path().join("half")).unwrap();
        let nameless = Temporary::nameless(folder.path()).unwrap();
        let twice = Temporary::create_for(&folder.path().join("half")).unwrap_err();
        assert_eq!(twice.kind(), io::ErrorKind::AlreadyExists);
        // The reason is the system's, so that a limit can be told from a missing folder.
        let nowhere = Temporary::create_for(&folder.path().join("none/x")).unwrap_err();
        assert_eq!(nowhere.raw_os_error(), Some(2), "{nowhere}");
        let count = || std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(count(), 2);
        remove_unfinished();
        assert_eq!(count(), 1);
        drop((half, nameless));
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    }
}
