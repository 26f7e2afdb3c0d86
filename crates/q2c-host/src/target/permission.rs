//! Permission to write: a record of all that q2c may write, so that nothing is lost by accident.

use super::Result;
use super::open::failed;
use crate::block::device_number;
use q2c_model::DevId;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The identity of a file or device. It is the same for all names of the file. A run's folder
/// stores its text, by which the run knows its target again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display)]
pub enum FileId {
    /// A block device, by its device number.
    #[strum(to_string = "Device({0:?})")]
    Device(DevId),
    /// A character device, by its device number.
    #[strum(to_string = "Character({0:?})")]
    Character(DevId),
    /// Any other file, by the numbers of its file system and inode.
    #[strum(to_string = "File {{ dev: {dev}, ino: {ino} }}")]
    File {
        /// Device number of the file system.
        dev: u64,
        /// Inode number.
        ino: u64,
    },
}

impl FileId {
    /// The identity of the file that `stat` described by `meta`.
    pub(crate) fn from_metadata(meta: &Metadata) -> FileId {
        let kind = meta.file_type();
        let (dev, ino) = (meta.dev(), meta.ino());
        match device_number(meta.rdev()) {
            device if kind.is_block_device() => FileId::Device(device),
            device if kind.is_char_device() => FileId::Character(device),
            _ => FileId::File { dev, ino },
        }
    }

    /// The identity of the file at `path`, links followed; `None` when it cannot be looked up.
    pub fn from_path(path: &Path) -> Option<FileId> {
        fs::metadata(path).ok().as_ref().map(FileId::from_metadata)
    }
}

/// The files and devices that may be written: those that q2c made in this run, and those that the
/// user named twice (as the target, and again with `--allow-write`). Names are resolved when the
/// permission is given; later only device and inode numbers are compared.
#[derive(Clone, Debug, Default)]
pub struct WritePermission {
    granted: Vec<FileId>,
}

impl WritePermission {
    /// Permission to write nothing.
    pub fn none() -> WritePermission {
        WritePermission::default()
    }

    /// Permission to write the paths of `--allow-write`.
    pub fn for_paths(paths: &[PathBuf]) -> Result<WritePermission> {
        let id = |path: &PathBuf| {
            let meta = fs::metadata(path);
            let id = meta.as_ref().map(FileId::from_metadata);
            id.map_err(|e| failed("find the target of --allow-write", path, e.kind()))
        };
        let granted = paths.iter().map(id).collect::<Result<_, _>>()?;
        Ok(WritePermission { granted })
    }

    /// Adds a file that q2c made itself in this run.
    pub(crate) fn grant(&mut self, id: FileId) {
        self.granted.push(id);
    }

    /// True if `id` may be written.
    pub(crate) fn covers(&self, id: FileId) -> bool {
        self.granted.contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_identity_has_its_text() {
        let dev = DevId {
            major: 259,
            minor: 3,
        };
        let texts = [
            FileId::Device(dev),
            FileId::Character(dev),
            FileId::File { dev: 64, ino: 12 },
        ]
        .map(|id| id.to_string());
        let wanted = [
            "Device(DevId { major: 259, minor: 3 })",
            "Character(DevId { major: 259, minor: 3 })",
            "File { dev: 64, ino: 12 }",
        ];
        assert_eq!(texts, wanted);
    }
}
