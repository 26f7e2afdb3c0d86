//! Loop devices: finds the file behind a loop device, and makes a loop device over a file.

use crate::check;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// `LOOP_SET_FD` (include/uapi/linux/loop.h).
const SET_FD: u64 = 0x4c00;
/// `LOOP_CLR_FD`.
const CLEAR_FD: u64 = 0x4c01;
/// `LOOP_SET_STATUS64`.
const SET_STATUS64: u64 = 0x4c04;
/// `LOOP_GET_STATUS64`.
const GET_STATUS64: u64 = 0x4c05;
/// `LOOP_SET_DIRECT_IO`.
const SET_DIRECT_IO: u64 = 0x4c08;
/// `LOOP_CONFIGURE`, since Linux 5.8.
const CONFIGURE: u64 = 0x4c0a;
/// `LOOP_CTL_GET_FREE`.
const GET_FREE: u64 = 0x4c82;
/// `LO_FLAGS_AUTOCLEAR`: the device loses its file when nobody has it open or mounted any more.
const AUTOCLEAR: u32 = 4;
/// `LO_FLAGS_DIRECT_IO`: the device bypasses the page cache if the file's file system can do so.
const DIRECT_IO: u32 = 16;
/// The most attempts to get a device: another program may take one that was free.
const MAX_TRIES: u32 = 16;

/// The backing file of a loop device, by its numbers: names may be removed, or belong to another
/// mount namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backing {
    /// Device number of the file system, as `stat` has it in `st_dev`.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Device number of the block device that is the backing file, as `stat` has it in `st_rdev`; 0
    /// for a regular file.
    pub rdev: u64,
}

/// `struct loop_info64`, whose last fields are bytes that nobody here reads.
#[repr(C)]
#[derive(Default)]
struct LoopStatus {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u64; 8],
    crypt_name: [u64; 8],
    encrypt_key: [u64; 4],
    init: [u64; 2],
}

const _: () = assert!(size_of::<LoopStatus>() == 232);

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    status: LoopStatus,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopConfig>() == 304);

/// A loop device over a file. It keeps the file as long as this value lives, or the device is
/// mounted or open elsewhere; after that the kernel detaches the file.
#[derive(Debug)]
pub struct LoopDevice {
    /// The device, open for reading and writing.
    pub file: File,
    /// The device's path.
    pub path: PathBuf,
}

/// Makes a loop device over `backing`, past the page cache if the file system of `backing` can do
/// that. The file needs no name. The call needs root.
pub fn attach(backing: &File) -> io::Result<LoopDevice> {
    attach_by(|device| match configure(device, backing) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => configure_in_steps(device, backing),
        configured => configured,
    })
}

fn attach_by(configure: impl Fn(&File) -> io::Result<()>) -> io::Result<LoopDevice> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let control = options.open("/dev/loop-control")?;
    let mut last_error = io::Error::from_raw_os_error(libc::EBUSY);
    for _ in 0..MAX_TRIES {
        // SAFETY: the call takes no pointer, and the descriptor is open during it.
        let number = check(unsafe { libc::ioctl(control.as_raw_fd(), GET_FREE as _) })?;
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let file = options.open(&path)?;
        match configure(&file) {
            Ok(()) => return Ok(LoopDevice { file, path }),
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => last_error = e,
            Err(e) => return Err(e),
        }
    }
    Err(last_error)
}

fn configure(device: &File, backing: &File) -> io::Result<()> {
    let config = LoopConfig {
        fd: backing.as_raw_fd() as u32,
        block_size: 0,
        status: LoopStatus {
            flags: AUTOCLEAR | DIRECT_IO,
            ..LoopStatus::default()
        },
        reserved: [0; 8],
    };
    // SAFETY: both descriptors are open during the call, and the kernel only reads the whole
    // `loop_config`, which this frame owns.
    check(unsafe { libc::ioctl(device.as_raw_fd(), CONFIGURE as _, &raw const config) }).map(drop)
}

/// As [`configure`], for kernels before Linux 5.8, which refuse its call with `EINVAL`.
fn configure_in_steps(device: &File, backing: &File) -> io::Result<()> {
    let device = device.as_raw_fd();
    let status = LoopStatus {
        flags: AUTOCLEAR,
        ..LoopStatus::default()
    };
    // SAFETY: both descriptors are open during the call, which takes no pointer.
    check(unsafe { libc::ioctl(device, SET_FD as _, backing.as_raw_fd()) })?;
    // SAFETY: the descriptor is open during the call, and the kernel only reads the whole
    // `loop_info64`, which this frame owns.
    let set = check(unsafe { libc::ioctl(device, SET_STATUS64 as _, &raw const status) });
    if set.is_err() {
        // SAFETY: the descriptor is open during the call, which takes no pointer.
        unsafe { libc::ioctl(device, CLEAR_FD as _, 0) };
    }
    set?;
    // A file system that cannot do direct I/O refuses, and the page cache stays between.
    // SAFETY: the descriptor is open during the call, which takes no pointer.
    unsafe { libc::ioctl(device, SET_DIRECT_IO as _, 1) };
    Ok(())
}

/// The backing file of an open loop device. `ENXIO`: it has no file; `ENOTTY`: no loop device.
pub fn backing(device: &File) -> io::Result<Backing> {
    let status = status(device)?;
    Ok(Backing {
        dev: status.device,
        ino: status.inode,
        rdev: status.rdevice,
    })
}

fn status(device: &File) -> io::Result<LoopStatus> {
    let mut status = LoopStatus::default();
    // SAFETY: the descriptor is open during the call, and the status is a whole `loop_info64` that
    // this frame owns: the kernel writes nowhere else.
    check(unsafe { libc::ioctl(device.as_raw_fd(), GET_STATUS64 as _, &raw mut status) })?;
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_loop_device_is_told() {
        let file = tempfile::tempfile().unwrap();
        let error = backing(&file).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY), "{error}");
    }

    /// Later kernels still take the calls that kernels before 5.8 need.
    #[test]
    fn a_device_that_is_configured_in_steps_lets_its_file_go_by_itself() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let made = attach_by(|device| configure_in_steps(device, &file));
        let device = match made {
            Ok(device) => device,
            Err(error) => {
                let test = "a_device_that_is_configured_in_steps_lets_its_file_go_by_itself";
                return q2c_testkit::skip(test, &error.to_string());
            }
        };
        let ino = std::os::unix::fs::MetadataExt::ino(&file.metadata().unwrap());
        assert_eq!(backing(&device.file).unwrap().ino, ino);
        assert_eq!(status(&device.file).unwrap().flags & AUTOCLEAR, AUTOCLEAR);
    }
}
