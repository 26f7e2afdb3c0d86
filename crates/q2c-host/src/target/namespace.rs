//! Opens an NVMe namespace by its character device. Commands to it go past the block layer and past
//! its protection.
//!
//! The kernel does not know that the character device and the block device beside it are one
//! namespace. Therefore, before commands may write, the block device has to pass all checks for
//! writing. It is held exclusively as long as the character device is open for writing.

use super::{
    FileId, Result, TargetError, TargetRequirements, WritePermission, open, refuse_occupied,
};
use crate::block::{self, CharacterDevice, TargetDisk};
use crate::{Roots, attr};
use q2c_model::{Bytes, DevId, Sectors};
use q2c_sys::nvme::{Namespace, namespace};
use rustix::fs::OFlags;
use std::fs::File;
use std::path::Path;

/// The open character device of a namespace, checked against the namespace's block device.
#[derive(Debug)]
pub struct OpenNamespace {
    /// The character device, open for commands.
    pub file: File,
    /// Names and numbers of the character device and its block device.
    pub character_device: CharacterDevice,
    /// The namespace's id and format, as the controller reports them.
    pub namespace: Namespace,
    /// The block device, held exclusively. `None` when the namespace is only read, or when the
    /// caller holds the block device itself ([`open_namespace`]).
    pub held_device: Option<File>,
}

impl OpenNamespace {
    /// Bytes of the namespace.
    pub(crate) fn size(&self) -> Bytes {
        Bytes(self.namespace.blocks * u64::from(self.namespace.block))
    }
}

/// Opens the character device that `wanted.path` names.
pub(super) fn open_at_path(
    roots: &Roots,
    wanted: &TargetRequirements,
    character_device: CharacterDevice,
    permission: &WritePermission,
) -> Result<OpenNamespace> {
    let path = &wanted.path;
    let hold = || hold_exclusively(roots, path, &character_device, permission);
    let held_device = wanted.write.then(hold).transpose()?;
    let file = open_device(path, wanted.write, character_device.dev)?;
    check_against_block(roots, path, file, character_device, held_device)
}

/// Opens the character device of a namespace whose block device `id` is open as the target already.
/// It asks neither for permission to write nor for an exclusive hold: the caller got both with the
/// target.
pub fn open_namespace(
    roots: &Roots,
    path: &Path,
    id: FileId,
    target_disk: Option<&TargetDisk>,
    write: bool,
) -> Result<OpenNamespace> {
    let (FileId::Device(_), Some(target_disk)) = (id, target_disk) else {
        return Err(TargetError::NoNamespace(path.into()));
    };
    let character_device = CharacterDevice::from_disk(target_disk)?;
    let path = character_device.path();
    let file = open_device(&path, write, character_device.dev)?;
    check_against_block(roots, &path, file, character_device, None)
}

/// Does the checks that [`open()`] makes of a block device to be written, on the namespace's block
/// device, and holds it exclusively.
fn hold_exclusively(
    roots: &Roots,
    path: &Path,
    character_device: &CharacterDevice,
    permission: &WritePermission,
) -> Result<File> {
    let unknown = || TargetError::NoSibling(path.to_owned());
    let (name, dev) = character_device.block.clone().ok_or_else(unknown)?;
    let id = FileId::Device(dev);
    if !permission.covers(FileId::Character(character_device.dev)) && !permission.covers(id) {
        return Err(TargetError::NoPermission(path.to_owned()));
    }
    refuse_occupied(roots, path, id)?;
    open::hold_exclusively(&Path::new("/dev").join(name), path, id)
}

fn open_device(path: &Path, write: bool, dev: DevId) -> Result<File> {
    // Without O_DIRECT: character devices refuse it, and commands do not use the page cache.
    let file = attr::open(path, write, OFlags::CLOEXEC)
        .map_err(|e| open::failed("open for NVMe commands", path, e))?;
    open::check_same(&file, path, FileId::Character(dev))?;
    Ok(file)
}

/// Asks the controller for the namespace, and checks it against the block device.
fn check_against_block(
    roots: &Roots,
    path: &Path,
    file: File,
    character_device: CharacterDevice,
    held_device: Option<File>,
) -> Result<OpenNamespace> {
    let open = OpenNamespace {
        namespace: namespace(&file).map_err(|e| TargetError::Nvme(path.to_owned(), e))?,
        file,
        character_device,
        held_device,
    };
    match difference(roots, &open) {
        None => Ok(open),
        Some(difference) => Err(TargetError::OtherNamespace(path.to_owned(), difference)),
    }
}

/// How the namespace and its block device differ; `None` when they agree. Facts that sysfs lacks
/// are not compared.
fn difference(roots: &Roots, open: &OpenNamespace) -> Option<String> {
    let (name, dev) = open.character_device.block.as_ref()?;
    let dir = roots.sys(&format!("dev/block/{dev}"));
    let id: Option<u32> = attr::value(&dir.join("nsid"));
    let bytes = attr::value(&dir.join("size")).map(|n| Sectors(n).bytes().0);
    let (own_id, own_bytes) = (open.namespace.id, open.size().0);
    let other_id = id.filter(|id| *id != own_id);
    let other_id =
        other_id.map(|id| format!("it is namespace {own_id}, and {name} beside it is {id}"));
    let other_size = |bytes| format!("it has {own_bytes} bytes, and {name} beside it {bytes}");
    other_id.or_else(|| bytes.filter(|bytes| *bytes != own_bytes).map(other_size))
}

/// The disk of the namespace's block device, for counters and facts.
pub(super) fn target_disk(roots: &Roots, character_device: &CharacterDevice) -> Option<TargetDisk> {
    let (_, dev) = character_device.block.as_ref()?;
    block::disk_of_device(roots, *dev).ok()
}
