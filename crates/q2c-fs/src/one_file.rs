//! One file on a file system that was made for it, for jobs that all read it.

use crate::files;
use crate::made::{MountedFs, Place};
use crate::maker::FsMaker;
use q2c_model::{Bytes, Exit, Fault, OrFault};
use q2c_result::fs::{Access, Caching, FileSystem, FsPoint, Sharing};
use q2c_sys::mounts;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// A file on a file system of its own. The file system is gone with this value.
#[derive(Debug)]
pub struct OneFile {
    // Dropped in this order: the file, then its file system.
    file: Arc<File>,
    _made: MountedFs,
}

impl OneFile {
    /// Makes the file system on a loop device over a file in `folder`, with a file of `size` full
    /// of random data. From here on the calling thread has mounts of its own.
    pub fn make(
        place: Place<'_>,
        fs: FileSystem,
        folder: &Path,
        size: Bytes,
        seed: u64,
    ) -> Result<Self, Fault> {
        let maker = FsMaker::for_file_system(fs);
        maker.find()?;
        mounts::own_mounts().or_fault(
            Exit::Environment,
            "give the run mounts of its own (which takes root)",
        )?;
        // One file for the job and one to share are made, and a file system takes room itself.
        let room = size.0 * 2 + size.0 / 4 + (maker.least_mib << 20);
        let made = MountedFs::on_loop(place, fs, folder, Bytes(room))?;
        files::prepare(made.path(), 1, size, seed)?;
        let point = FsPoint {
            fs,
            sharing: Sharing::Blocks,
            access: Access::Read,
            caching: Caching::Direct,
            jobs: 1,
            bs: Bytes(4096),
            readahead: None,
        };
        let mut opened = files::open(made.path(), &point, size)?;
        Ok(OneFile {
            file: Arc::new(opened.remove(0).file),
            _made: made,
        })
    }

    /// The file, open past the page cache.
    pub fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }
}
