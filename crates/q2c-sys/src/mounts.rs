//! Mounts that nobody else sees, and that end with the program.

use crate::check;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, UnmountFlags,
    fsconfig_create, fsmount, fsopen, mount_change,
};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Gives the calling thread, and the threads and programs that it starts from now on, mounts of
/// their own. Nobody else sees what they mount. The kernel unmounts it when the last of them has
/// ended, however that happens.
/// The call needs root (`CAP_SYS_ADMIN`).
pub fn unshare_mounts() -> io::Result<()> {
    // SAFETY: the call takes no pointer. The thread stops sharing its working folder and its mounts
    // with the others, which no safe code relies on.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(mount_change("/", private)?)
}

/// Mounts a file system that needs no device, such as `tracefs`, without a mount point. It is
/// reached through the returned file (`/proc/self/fd/N`), and ends with it.
/// The call needs root (CAP_SYS_ADMIN) and Linux 5.2; `ENODEV` if the kernel lacks the file system.
pub fn mount_detached(kind: &str) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    Ok(fsmount(&context, flags, MountAttrFlags::empty())?)
}

/// A mounted file system, which is unmounted when this value is dropped.
#[derive(Debug)]
pub struct Mounted {
    path: PathBuf,
}

impl Mounted {
    /// Mounts the file system of this kind on `device` at `path`; `ENODEV` if the kernel lacks it.
    pub fn mount(device: &Path, path: &Path, kind: &str) -> io::Result<Self> {
        let no_options: Option<&std::ffi::CStr> = None;
        rustix::mount::mount(device, path, kind, MountFlags::NOATIME, no_options)?;
        let path = path.to_owned();
        Ok(Mounted { path })
    }

    /// The folder on which it is mounted.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A file system that is still in use goes when its last file is closed.
        let _ = rustix::mount::unmount(&self.path, UnmountFlags::DETACH);
    }
}
