//! The files on a file system: one for each job, and one that jobs share.

use q2c_model::stats::Rng;
use q2c_model::{Bytes, Exit, Fault, OrFault};
use q2c_result::fs::{Access, Caching, FsPoint, Sharing};
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Bytes of one write while files are filled.
const CHUNK_BYTES: usize = 1 << 20;

/// The file of a job at a point, and the part of the file that the job uses.
#[derive(Debug)]
pub(crate) struct JobFile {
    pub file: File,
    pub base: Bytes,
    pub span: Bytes,
}

/// Creates files full of data for up to `jobs` jobs, and writes them to the device.
pub(crate) fn prepare(folder: &Path, jobs: u32, size: Bytes, seed: u64) -> Result<(), Fault> {
    let chunk = random_data(&mut Rng::new(seed), CHUNK_BYTES);
    let private_files = (0..jobs).map(|job| (private_path(folder, job), size.0));
    let shared_file = (shared_path(folder), size.0 * u64::from(jobs));
    for (path, size) in private_files.chain([shared_file]) {
        let (name, data) = (path.display(), Bytes(size));
        let tried =
            format_args!("write {name} ({data} of data; --size makes the file system larger)");
        fill(&path, size, &chunk).or_fault(Exit::Environment, tried)?;
    }
    Ok(())
}

/// Random bytes. `length` is a multiple of 8.
pub(crate) fn random_data(rng: &mut Rng, length: usize) -> Vec<u8> {
    let numbers = 0..length / 8;
    numbers.flat_map(|_| rng.next_u64().to_le_bytes()).collect()
}

fn fill(path: &Path, size: u64, chunk: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    for begin in (0..size).step_by(chunk.len()) {
        let length = (size - begin).min(chunk.len() as u64);
        file.write_all(&chunk[..length as usize])?;
    }
    file.sync_all()
}

/// Opens a file for each job, and empties it if the job appends.
pub(crate) fn open(folder: &Path, point: &FsPoint, size: Bytes) -> Result<Vec<JobFile>, Fault> {
    let job_file = |job| {
        let path = job_path(folder, point, job);
        let (caching, access) = (point.caching, point.access);
        let tried = format_args!("open {} for {caching} {access}s", path.display());
        let file = open_file(&path, point, job).or_fault(Exit::Environment, tried)?;
        let (base, span) = job_part(point, job, size);
        Ok(JobFile { file, base, span })
    };
    (0..point.jobs).map(job_file).collect()
}

/// Removes the files that a point appended to, because the next point needs the room.
pub(crate) fn remove_logs(folder: &Path, point: &FsPoint) -> Result<(), Fault> {
    if point.access != Access::Append {
        return Ok(());
    }
    for job in 0..point.jobs {
        let path = job_path(folder, point, job);
        let tried = format_args!("remove {}", path.display());
        match fs::remove_file(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            outcome => outcome.or_fault(Exit::Environment, tried)?,
        }
    }
    Ok(())
}

fn open_file(path: &Path, point: &FsPoint, job: u32) -> io::Result<File> {
    let direct = match point.caching {
        Caching::Direct => OFlags::DIRECT,
        Caching::Buffered => OFlags::empty(),
    };
    let append = point.access == Access::Append;
    let mut options = File::options();
    options.read(true).append(append).create(append);
    if point.access == Access::Write {
        options.write(true);
    }
    let file = options.custom_flags(direct.bits() as i32).open(path)?;
    if append && (point.sharing == Sharing::Private || job == 0) {
        file.set_len(0)?;
    }
    Ok(file)
}

fn private_path(folder: &Path, job: u32) -> PathBuf {
    folder.join(format!("job-{job}"))
}

fn shared_path(folder: &Path) -> PathBuf {
    folder.join("shared")
}

fn job_path(folder: &Path, point: &FsPoint, job: u32) -> PathBuf {
    let shares = point.sharing != Sharing::Private;
    match (point.access, shares) {
        (Access::Append, false) => folder.join(format!("log-{job}")),
        (Access::Append, true) => folder.join("log"),
        (_, false) => private_path(folder, job),
        (_, true) => shared_path(folder),
    }
}

/// Start and length of the part of its file that a job uses, bytes.
fn job_part(point: &FsPoint, job: u32, size: Bytes) -> (Bytes, Bytes) {
    match point.sharing {
        Sharing::Private => (Bytes(0), size),
        Sharing::Blocks => (Bytes(size.0 * u64::from(job)), size),
        Sharing::Same => (Bytes(0), point.bs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::fs::FileSystem;
    use std::os::unix::fs::{FileExt, MetadataExt};

    fn point(sharing: Sharing, access: Access) -> FsPoint {
        FsPoint {
            fs: FileSystem::Ext4,
            sharing,
            access,
            caching: Caching::Buffered,
            jobs: 3,
            bs: Bytes(4096),
            readahead: None,
        }
    }

    const SIZE: Bytes = Bytes(8 * 4096);

    fn open_files(point: &FsPoint) -> Vec<JobFile> {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path(), 3, SIZE, 1).unwrap();
        open(folder.path(), point, SIZE).unwrap()
    }

    fn places(files: &[JobFile]) -> Vec<(u64, u64)> {
        files.iter().map(|f| (f.base.0, f.span.0)).collect()
    }

    fn inodes(files: &[JobFile]) -> usize {
        let inodes = files.iter().map(|f| f.file.metadata().unwrap().ino());
        inodes.collect::<std::collections::BTreeSet<u64>>().len()
    }

    #[test]
    fn jobs_have_files_parts_or_a_block() {
        let private = open_files(&point(Sharing::Private, Access::Read));
        assert_eq!((inodes(&private), private[2].base), (3, Bytes(0)));
        let blocks = open_files(&point(Sharing::Blocks, Access::Write));
        assert_eq!(inodes(&blocks), 1);
        let parts = [0, 1, 2].map(|n| (n * SIZE.0, SIZE.0));
        assert_eq!(places(&blocks), parts);
        let length = blocks[0].file.metadata().unwrap().len();
        assert_eq!(length, 3 * SIZE.0);
        let same = open_files(&point(Sharing::Same, Access::Read));
        assert_eq!((inodes(&same), places(&same)), (1, vec![(0, 4096); 3]));
    }

    /// Writes at any offset are appended.
    #[test]
    fn a_file_that_is_appended_to_begins_empty() {
        let files = open_files(&point(Sharing::Same, Access::Append));
        assert_eq!(inodes(&files), 1);
        for file in &files {
            assert_eq!(file.file.write_at(&[1; 10], 0).unwrap(), 10);
        }
        assert_eq!(files[0].file.metadata().unwrap().len(), 30);
        assert_eq!(
            inodes(&open_files(&point(Sharing::Private, Access::Append))),
            3
        );
    }
}
