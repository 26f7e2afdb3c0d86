use super::direct::AlignedBuffer;
use super::open::failed;
use super::{FileId, Result, TargetError, WritePermission};
use crate::signals::Orderly;
use q2c_model::Bytes;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes written by one call.
const CHUNK_SIZE: Bytes = Bytes(1 << 20);
/// An alignment that direct I/O accepts on every device.
const ALIGNMENT: Bytes = Bytes(4096);

/// A file that this run made and filled with random data. When the last clone of the value is
/// dropped, the file is removed, unless [`Scratch::keep`] was called on one of them.
#[derive(Clone, Debug)]
pub struct Scratch(Arc<ScratchFile>);

#[derive(Debug)]
struct ScratchFile {
    path: PathBuf,
    id: FileId,
    is_kept: AtomicBool,
    /// A signal must let the file be removed.
    _orderly: Orderly,
}

impl Scratch {
    /// Makes a file of `size` at `path`, which must not exist yet, and fills it with random data
    /// from `seed`, bypassing the page cache where the file system can. Then it makes sure that the
    /// data are on the device. `progress` gets the bytes written so far after each MiB, and stops
    /// the work by returning false. An error removes the file. A twentieth of the file system (at
    /// most 1 GiB) must stay free.
    pub fn create(
        path: &Path,
        size: Bytes,
        seed: u64,
        progress: &mut dyn FnMut(Bytes) -> bool,
    ) -> Result<Scratch> {
        check_room(path, size)?;
        let file = create_new(path).map_err(|e| failed("create the scratch file", path, e))?;
        let meta = file.metadata().map_err(|e| failed("ask about", path, e))?;
        // From here on every error drops the value, which removes the file.
        let scratch = Scratch(Arc::new(ScratchFile {
            path: path.to_owned(),
            id: FileId::from_metadata(&meta),
            is_kept: AtomicBool::new(false),
            _orderly: Orderly::begin(),
        }));
        scratch.fill(&file, size, seed, progress)?;
        Ok(scratch)
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Adds the file to those that may be written, because this run made it.
    pub fn grant(&self, permission: &mut WritePermission) {
        permission.grant(self.0.id);
    }

    /// Keeps the file, and returns its path.
    pub fn keep(self) -> PathBuf {
        self.0.is_kept.store(true, Ordering::Relaxed);
        self.0.path.clone()
    }

    fn fill(
        &self,
        file: &File,
        size: Bytes,
        seed: u64,
        progress: &mut dyn FnMut(Bytes) -> bool,
    ) -> Result<()> {
        let mut buffer = AlignedBuffer::new(CHUNK_SIZE, ALIGNMENT);
        let mut random = SplitMix(seed);
        let mut offset = 0;
        while offset < size.0 {
            random.fill(buffer.bytes());
            // The last chunk is written whole, as direct I/O takes no odd lengths; the file is cut
            // afterwards.
            let written = file.write_all_at(buffer.bytes(), offset);
            written.map_err(|e| failed("write the scratch file", self.path(), e))?;
            offset = (offset + CHUNK_SIZE.0).min(size.0);
            if !progress(Bytes(offset)) {
                return Err(TargetError::Stopped(self.path().to_owned(), Bytes(offset)));
            }
        }
        let end = file.set_len(size.0).and_then(|()| file.sync_all());
        end.map_err(|e| failed("write back the scratch file", self.path(), e))
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        // Only the file made here is removed: somebody may have put another one under the name.
        let is_kept = self.is_kept.load(Ordering::Relaxed);
        if !is_kept && FileId::from_path(&self.path) == Some(self.id) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the file, open for direct I/O where the file system can; elsewhere the final write-back
/// brings the data to the device.
fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(path)?;
    let flags = rustix::fs::fcntl_getfl(&file)?;
    match rustix::fs::fcntl_setfl(&file, flags | OFlags::DIRECT) {
        Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(file),
        Err(e) => Err(e.into()),
    }
}

fn check_room(path: &Path, size: Bytes) -> Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let stat = rustix::fs::statvfs(parent);
    let stat = stat.map_err(|e| failed("ask for the free space of", parent, e))?;
    let free = Bytes(stat.f_bavail.saturating_mul(stat.f_frsize));
    let reserve = Bytes((stat.f_blocks.saturating_mul(stat.f_frsize) / 20).min(1 << 30));
    if size.0.saturating_add(reserve.0) <= free.0 {
        return Ok(());
    }
    Err(TargetError::NoSpace {
        path: path.to_owned(),
        size,
        free,
        reserve,
    })
}

/// splitmix64 (Steele, Lea and Flood, 2014): fast, and no device compresses or deduplicates its
/// output.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Fills `bytes`, whose length must be a multiple of 8.
    fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_exact_mut(8) {
            word.copy_from_slice(&self.next().to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_data_as_published() {
        // First outputs from seed 1234567, as published with the generator.
        let mut random = SplitMix(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }
}
