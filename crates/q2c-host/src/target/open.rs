use super::{
    Alignment, FileId, Result, TargetError, WritePermission, direct, namespace, refuse_occupied,
    written,
};
use crate::block::{self, CharacterDevice, TargetDisk, device_number};
use crate::{Roots, attr};
use q2c_model::Bytes;
use q2c_result::{Target, TargetKind};
use rustix::fs::OFlags;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The requirements of a run on its target.
#[derive(Clone, Debug)]
pub struct TargetRequirements {
    /// The path as the user named it.
    pub path: PathBuf,
    /// True if the run will write to the target.
    pub write: bool,
    /// The largest block size in use.
    pub block: Bytes,
    /// The smallest block size in use. It and the largest must be multiples of the target's
    /// alignment.
    pub smallest_block: Bytes,
    /// How many blocks of the largest size the target must hold at least.
    pub blocks: u64,
}

/// An open target that passed all checks. [`open()`] makes it.
#[derive(Debug)]
pub struct OpenTarget {
    /// The target, open for direct I/O, and for writing only when that was wanted. A block device
    /// to be written is open exclusively. The character device of an NVMe namespace is open for
    /// commands.
    pub file: File,
    /// The facts that go into results.
    pub facts: Target,
    /// The alignment that direct I/O needs.
    pub alignment: Alignment,
    /// The target's disk; `None` where none was found.
    pub target_disk: Option<TargetDisk>,
    /// The identity of the file or device.
    pub id: FileId,
    /// The block device of a namespace that commands will write, held exclusively; else `None`.
    pub held_device: Option<File>,
}

/// Checks a target and opens it. The error is the first check that failed; nothing was written.
pub fn open(
    roots: &Roots,
    wanted: &TargetRequirements,
    permission: &WritePermission,
) -> Result<OpenTarget> {
    let path = &wanted.path;
    // The file is looked at without being opened: opening a fifo would wait, and opening some
    // devices has effects.
    let metadata = fs::metadata(path).map_err(|e| failed("find the target", path, e))?;
    let id = FileId::from_metadata(&metadata);
    if let FileId::Character(dev) = id
        && let Some(character_device) = CharacterDevice::from_number(roots, dev)
    {
        return open_namespace(roots, wanted, character_device, permission);
    }
    let kind = kind(path, &metadata)?;
    if wanted.write {
        if !permission.covers(id) {
            return Err(TargetError::NoPermission(path.clone()));
        }
        refuse_occupied(roots, path, id)?;
    }
    let file = unless_occupied(|| open_direct(wanted, kind))?;
    let meta = check_same(&file, path, id)?;
    if wanted.write && kind == TargetKind::File {
        unless_occupied(|| lock(roots, &file, path, &meta))?;
    }
    let size = size(&file, path)?;
    check_size(wanted, size)?;
    let disk = block::disk_of_metadata(roots, &meta);
    let mut facts = Target {
        path: path.display().to_string(),
        kind,
        size,
        device: disk.as_ref().ok().map(|disk| block::device(roots, disk)),
        unproved: match &disk {
            Ok(target_disk) => target_disk.unproved.clone(),
            Err(reason) => vec![format!("that I/O reaches a device; failed to {reason}")],
        },
        ..Target::default()
    };
    let alignment = direct::alignment(&file, path, facts.device.as_ref())?;
    check_block(wanted, alignment)?;
    direct::probe(&file, path, alignment)?;
    if kind == TargetKind::File {
        facts.file_system = file_system(roots, &meta);
        facts.unproved.extend(written::check(&file, path, size.0)?);
    } else if !wanted.write {
        let zeros = written::find_zeros(&file, size.0, alignment);
        facts.unproved.extend(zeros);
    }
    Ok(OpenTarget {
        file,
        facts,
        alignment,
        target_disk: disk.ok(),
        id,
        held_device: None,
    })
}

fn open_namespace(
    roots: &Roots,
    wanted: &TargetRequirements,
    character_device: CharacterDevice,
    permission: &WritePermission,
) -> Result<OpenTarget> {
    let open = namespace::open_at_path(roots, wanted, character_device, permission)?;
    check_size(wanted, open.size())?;
    let block = Bytes(open.namespace.block.into());
    let alignment = Alignment::from_block(block, true);
    check_block(wanted, alignment)?;
    let target_disk = namespace::target_disk(roots, &open.character_device);
    let facts = Target {
        path: wanted.path.display().to_string(),
        kind: TargetKind::NvmeGeneric,
        size: open.size(),
        device: target_disk.as_ref().map(|disk| block::device(roots, disk)),
        unproved: match &target_disk {
            Some(target_disk) => target_disk.unproved.clone(),
            None => vec![
                "that its counters are known: sysfs shows no block device beside it".to_owned(),
            ],
        },
        ..Target::default()
    };
    Ok(OpenTarget {
        id: FileId::Character(open.character_device.dev),
        file: open.file,
        facts,
        alignment,
        target_disk,
        held_device: open.held_device,
    })
}

pub(super) fn failed(what: &'static str, path: &Path, source: impl Into<io::Error>) -> TargetError {
    let (path, source) = (path.to_owned(), source.into());
    TargetError::Call { what, path, source }
}

/// Checks that the open file is still the file `id`, and returns its present metadata.
pub(super) fn check_same(file: &File, path: &Path, id: FileId) -> Result<Metadata> {
    let meta = file.metadata().map_err(|e| failed("ask about", path, e))?;
    if FileId::from_metadata(&meta) == id {
        Ok(meta)
    } else {
        Err(TargetError::Replaced(path.to_owned()))
    }
}

fn kind(path: &Path, meta: &Metadata) -> Result<TargetKind> {
    let t = meta.file_type();
    let kind = match () {
        () if t.is_file() => return Ok(TargetKind::File),
        () if t.is_block_device() => return Ok(TargetKind::Block),
        () if t.is_dir() => "folder",
        () if t.is_fifo() => "fifo",
        () if t.is_socket() => "socket",
        () if t.is_char_device() => "character device",
        () => "thing of unknown kind",
    };
    Err(TargetError::Kind(path.to_owned(), kind))
}

/// How long an occupied target is tried again. The kernel ends an `io_uring` only after its
/// process has gone: it kept a file that was flushed 30 to 42 ms longer (Linux 6.18), and refused
/// the second of two runs in a row.
const TEARDOWN: Duration = Duration::from_secs(1);

fn unless_occupied<T>(attempt: impl Fn() -> Result<T>) -> Result<T> {
    let until = Instant::now() + TEARDOWN;
    loop {
        match attempt() {
            Err(TargetError::Occupied(..)) if Instant::now() < until => {
                thread::sleep(Duration::from_millis(20));
            }
            outcome => return outcome,
        }
    }
}

/// Locks a file that is to be written, so that no other run writes it at the same time. The lock
/// lasts as long as the file is open. A file system without locks has none.
fn lock(roots: &Roots, file: &File, path: &Path, meta: &Metadata) -> Result<()> {
    match file.try_lock() {
        // A comparison may open one file several times.
        Err(TryLockError::WouldBlock) if !locked_here(roots, meta) => {
            let user = "another run of q2c, or another program, has locked it".to_owned();
            Err(TargetError::Occupied(path.to_owned(), user))
        }
        _ => Ok(()),
    }
}

/// True if this process holds a lock on the file. A line of the kernel's list of locks is
/// `1: FLOCK ADVISORY WRITE 812 08:01:4711 0 EOF`.
fn locked_here(roots: &Roots, meta: &Metadata) -> bool {
    let (pid, inode) = (std::process::id().to_string(), meta.ino().to_string());
    let locks = fs::read_to_string(roots.proc("locks")).unwrap_or_default();
    locks.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let locked_inode = fields.get(5).and_then(|file| file.rsplit(':').next());
        fields.get(1) == Some(&"FLOCK")
            && fields.get(4) == Some(&pid.as_str())
            && locked_inode == Some(inode.as_str())
    })
}

fn open_direct(wanted: &TargetRequirements, kind: TargetKind) -> Result<File> {
    let mut flags = OFlags::DIRECT | OFlags::CLOEXEC;
    if wanted.write && kind == TargetKind::Block {
        // O_EXCL without O_CREAT on a block device: the call fails while a file system or another
        // exclusive user has it.
        flags |= OFlags::EXCL;
    }
    let path = &wanted.path;
    attr::open(path, wanted.write, flags).map_err(|e| match e.kind() {
        io::ErrorKind::InvalidInput => TargetError::NoDirect(path.clone(), e.to_string()),
        io::ErrorKind::ResourceBusy => {
            let user = format!("the kernel has it in exclusive use ({e})");
            TargetError::Occupied(path.clone(), user)
        }
        _ if wanted.write => failed("open for reading and writing", path, e),
        _ => failed("open for reading", path, e),
    })
}

/// Opens a block device exclusively, to keep others away; `target` is the path that messages name.
pub(super) fn hold_exclusively(device: &Path, target: &Path, id: FileId) -> Result<File> {
    let flags = OFlags::CLOEXEC | OFlags::EXCL;
    let file = attr::open(device, true, flags).map_err(|e| match e.kind() {
        io::ErrorKind::ResourceBusy => {
            let user = format!("the kernel has {} in exclusive use ({e})", device.display());
            TargetError::Occupied(target.to_owned(), user)
        }
        _ => failed("open for an exclusive hold", device, e),
    })?;
    check_same(&file, device, id)?;
    Ok(file)
}

/// The size of a target, from the position of its end, which works for block devices as well as for
/// files.
fn size(mut file: &File, path: &Path) -> Result<Bytes> {
    let end = file.seek(SeekFrom::End(0));
    end.map(Bytes)
        .map_err(|e| failed("find the size of", path, e))
}

/// Checks that a target of the size `found` holds the blocks that are wanted.
pub fn check_size(wanted: &TargetRequirements, found: Bytes) -> Result<()> {
    let needed = Bytes(wanted.blocks.max(1).saturating_mul(wanted.block.0));
    if found >= needed {
        return Ok(());
    }
    Err(TargetError::TooSmall {
        path: wanted.path.clone(),
        found,
        blocks: wanted.blocks,
        block: wanted.block,
        needed,
    })
}

fn check_block(wanted: &TargetRequirements, alignment: Alignment) -> Result<()> {
    let fits = |b: Bytes| b.0 > 0 && b.0.is_multiple_of(alignment.offset.0);
    let mut blocks = [wanted.smallest_block, wanted.block].into_iter();
    let Some(block) = blocks.find(|b| !fits(*b)) else {
        return Ok(());
    };
    Err(TargetError::Misaligned {
        path: wanted.path.clone(),
        block,
        needed: alignment.offset,
    })
}

/// The type of the file system that holds a file, from the line of the mount table with the file's
/// device number.
fn file_system(roots: &Roots, meta: &Metadata) -> Option<String> {
    let dev = device_number(meta.dev()).to_string();
    let table = attr::text(&roots.proc("self/mountinfo"))?;
    let line = table.lines().find(|l| l.split(' ').nth(2) == Some(&dev))?;
    let (_, after_dash) = line.split_once(" - ")?;
    after_dash.split(' ').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_target_that_is_free_in_a_moment_is_waited_for() {
        let tries = Cell::new(0);
        let free_at = |free_at: u32| {
            tries.set(tries.get() + 1);
            let occupied = || TargetError::Occupied(PathBuf::from("x"), "it is in use".to_owned());
            (tries.get() >= free_at).then_some(()).ok_or_else(occupied)
        };
        assert!(unless_occupied(|| free_at(3)).is_ok());
        assert_eq!(tries.get(), 3);
        let missing = || Err::<(), _>(TargetError::Replaced(PathBuf::from("x")));
        assert!(matches!(
            unless_occupied(missing),
            Err(TargetError::Replaced(_))
        ));
    }
}
