//! An NVMe namespace by its character device: commands go past the block layer, and past its protection.
//!
//! The kernel does not know that such a device and the block device beside it are one. So all that is asked before a block
//! device is written is asked of that one, and it is held exclusively as long as the character device is open for writing.

use super::{FileId, TargetError, Wanted, WriteLeave, open, refuse_occupied};
use crate::block::{self, Generic, Leaf};
use crate::{Roots, attr};
use q2c_model::{Bytes, DevId};
use q2c_sys::nvme::{Namespace, namespace};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// An open character device, checked against its block device.
#[derive(Debug)]
pub struct OpenNamespace {
    /// Open for commands.
    pub file: File,
    /// What it is.
    pub generic: Generic,
    /// Its format.
    pub namespace: Namespace,
    /// The block device, held exclusively: for writing only, and only where nobody else here holds it.
    pub claim: Option<File>,
}

impl OpenNamespace {
    /// Bytes of the namespace.
    #[must_use]
    pub fn size(&self) -> Bytes {
        Bytes(self.namespace.blocks * u64::from(self.namespace.block))
    }
}

/// Opens the character device that `path` names.
///
/// # Errors
/// It may not be written, cannot be opened, or is not the namespace that its block device is.
pub(super) fn of_path(
    roots: &Roots,
    wanted: &Wanted,
    generic: Generic,
    leave: &WriteLeave,
) -> Result<OpenNamespace, TargetError> {
    let path = &wanted.path;
    let claim = match wanted.write {
        true => Some(claim(roots, path, &generic, leave)?),
        false => None,
    };
    let file = open_device(path, wanted.write, generic.dev)?;
    checked(roots, path, file, generic, claim)
}

/// Opens the character device of the namespace that a target, open as the block device `id`, is. Leave to write, and the
/// exclusive hold, are the target's own.
///
/// # Errors
/// The target is no NVMe namespace as a whole, or has no such device, or it cannot be opened.
pub fn open_namespace(
    roots: &Roots,
    path: &Path,
    id: FileId,
    leaf: Option<&Leaf>,
    write: bool,
) -> Result<OpenNamespace, TargetError> {
    let leaf = match (id, leaf) {
        (FileId::Device(_), Some(leaf)) => leaf,
        _ => return Err(TargetError::NoNamespace { path: path.into() }),
    };
    let generic = Generic::of_disk(leaf)?;
    let file = open_device(&generic.path(), write, generic.dev)?;
    checked(roots, &generic.path(), file, generic, None)
}

/// The checks of [`open()`] for a block device that is to be written, on the namespace's own.
fn claim(
    roots: &Roots,
    path: &Path,
    generic: &Generic,
    leave: &WriteLeave,
) -> Result<File, TargetError> {
    let unknown = || TargetError::NoSibling {
        path: path.to_owned(),
    };
    let (name, dev) = generic.block.clone().ok_or_else(unknown)?;
    let id = FileId::Device(dev);
    if !leave.covers(FileId::Character(generic.dev)) && !leave.covers(id) {
        return Err(TargetError::NoLeave {
            path: path.to_owned(),
        });
    }
    refuse_occupied(roots, path, id)?;
    open::claim(&Path::new("/dev").join(name), path, id)
}

fn open_device(path: &Path, write: bool, dev: DevId) -> Result<File, TargetError> {
    // No O_DIRECT: character devices refuse it, and commands know no page cache.
    let file = OpenOptions::new()
        .read(true)
        .write(write)
        .custom_flags(OFlags::CLOEXEC.bits() as i32)
        .open(path)
        .map_err(|e| open::call("open for NVMe commands", path, e))?;
    let meta = file.metadata();
    let meta = meta.map_err(|e| open::call("ask about", path, e))?;
    match FileId::of(&meta) == FileId::Character(dev) {
        true => Ok(file),
        false => Err(TargetError::Replaced {
            path: path.to_owned(),
        }),
    }
}

/// The namespace as the controller tells it, which must be the block device's.
fn checked(
    roots: &Roots,
    path: &Path,
    file: File,
    generic: Generic,
    claim: Option<File>,
) -> Result<OpenNamespace, TargetError> {
    let namespace = namespace(&file).map_err(|source| TargetError::Nvme {
        path: path.to_owned(),
        source,
    })?;
    let open = OpenNamespace {
        file,
        generic,
        namespace,
        claim,
    };
    match difference(roots, &open) {
        None => Ok(open),
        Some(found) => Err(TargetError::OtherNamespace {
            path: path.to_owned(),
            found,
        }),
    }
}

/// In what the namespace and its block device differ; what sysfs does not tell is not compared.
fn difference(roots: &Roots, open: &OpenNamespace) -> Option<String> {
    let (name, dev) = open.generic.block.as_ref()?;
    let dir = roots.sys(&format!("dev/block/{dev}"));
    let id: Option<u32> = attr::value(&dir.join("nsid"));
    let sectors: Option<u64> = attr::value(&dir.join("size"));
    let Namespace { id: mine, .. } = open.namespace;
    match (id, sectors) {
        (Some(id), _) if id != mine => Some(format!(
            "it is namespace {mine}, and {name} beside it is {id}"
        )),
        (_, Some(n)) if n * 512 != open.size().0 => Some(format!(
            "it has {} bytes, and {name} beside it {}",
            open.size().0,
            n * 512
        )),
        _ => None,
    }
}

/// The disk of the namespace, for its counters and facts.
pub(super) fn leaf(roots: &Roots, generic: &Generic) -> Option<Leaf> {
    let (_, dev) = generic.block.as_ref()?;
    block::of_device(roots, *dev).ok()
}
