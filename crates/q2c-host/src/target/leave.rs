//! Leave to write: never given by accident.

use super::TargetError;
use crate::block::device_number;
use q2c_model::DevId;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A file or device, whatever name it was reached by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileId {
    /// A block device by its number.
    Device(DevId),
    /// A character device by its number.
    Character(DevId),
    /// A file by its file system's number and its own.
    File {
        /// Device number of the file system.
        dev: u64,
        /// Inode number.
        ino: u64,
    },
}

impl FileId {
    /// Of what `stat` found.
    #[must_use]
    pub fn of(meta: &Metadata) -> FileId {
        let kind = meta.file_type();
        match () {
            () if kind.is_block_device() => FileId::Device(device_number(meta.rdev())),
            () if kind.is_char_device() => FileId::Character(device_number(meta.rdev())),
            () => FileId::File {
                dev: meta.dev(),
                ino: meta.ino(),
            },
        }
    }

    /// Of what lies at `path`; `None` when nothing does.
    #[must_use]
    pub fn at(path: &Path) -> Option<FileId> {
        fs::metadata(path).ok().as_ref().map(FileId::of)
    }
}

/// What may be written: what q2c made in this run, and what the user named twice (as the target, and again with
/// `--allow-write`). Names are resolved when leave is given, and compared by device and inode number.
#[derive(Clone, Debug, Default)]
pub struct WriteLeave {
    granted: Vec<FileId>,
}

impl WriteLeave {
    /// Leave for nothing.
    #[must_use]
    pub fn none() -> WriteLeave {
        WriteLeave::default()
    }

    /// Leave for the paths of `--allow-write`.
    ///
    /// # Errors
    /// A path leads nowhere.
    pub fn for_paths(paths: &[PathBuf]) -> Result<WriteLeave, TargetError> {
        let id = |path: &PathBuf| {
            fs::metadata(path)
                .as_ref()
                .map(FileId::of)
                .map_err(|e| TargetError::Call {
                    what: "find the target of --allow-write",
                    path: path.clone(),
                    source: std::io::Error::from(e.kind()),
                })
        };
        let granted = paths.iter().map(id).collect::<Result<_, _>>()?;
        Ok(WriteLeave { granted })
    }

    /// Adds what q2c made itself in this run.
    pub fn grant(&mut self, id: FileId) {
        self.granted.push(id);
    }

    /// Whether `id` may be written.
    #[must_use]
    pub fn covers(&self, id: FileId) -> bool {
        self.granted.contains(&id)
    }
}
