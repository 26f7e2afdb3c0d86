//! Opens an NVMe namespace by its character device. Commands to it go past the block layer and past
//! its protection.
//!
//! The kernel does not know that the character device and the block device beside it are one
//! namespace. Therefore, before commands may write, the block device has to pass all checks of a
//! block device that is to be written, and it is held exclusively as long as the character device
//! is open for writing.

use super::{FileId, TargetError, Wanted, WriteLeave, open, refuse_occupied};
use crate::block::{self, Generic, Leaf};
use crate::{Roots, attr};
use q2c_model::{Bytes, DevId};
use q2c_sys::nvme::{Namespace, namespace};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The open character device of a namespace, checked against the namespace's block device.
#[derive(Debug)]
pub struct OpenNamespace {
    /// The character device, open for commands.
    pub file: File,
    /// Names and numbers of the character device and its block device.
    pub generic: Generic,
    /// The namespace's id and format, as the controller tells them.
    pub namespace: Namespace,
    /// The block device, held exclusively. `None` when the namespace is only read, or when the
    /// caller holds the block device itself ([`open_namespace`]).
    pub claim: Option<File>,
}

impl OpenNamespace {
    /// Bytes of the namespace.
    #[must_use]
    pub fn size(&self) -> Bytes {
        Bytes(self.namespace.blocks * u64::from(self.namespace.block))
    }
}

/// Opens the character device that `wanted.path` names.
///
/// # Errors
/// The namespace may not be written, the device cannot be opened, or it is another namespace than
/// its block device.
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

/// Opens the character device of a namespace whose block device `id` is open as the target already.
/// It asks neither for leave to write nor for an exclusive hold: the caller got both with the
/// target.
///
/// # Errors
/// The target is no whole NVMe namespace, or has no character device, or that cannot be opened.
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

/// Does the checks that [`open()`] makes of a block device to be written, on the namespace's block
/// device, and holds it exclusively.
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
    // Without O_DIRECT: character devices refuse it, and commands do not use the page cache.
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

/// Asks the controller for the namespace, and checks that it is that of the block device.
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

/// How the namespace and its block device differ; `None` when they agree. Facts that sysfs does not
/// tell are not compared.
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

/// The disk of the namespace's block device, for counters and facts.
pub(super) fn leaf(roots: &Roots, generic: &Generic) -> Option<Leaf> {
    let (_, dev) = generic.block.as_ref()?;
    block::of_device(roots, *dev).ok()
}
