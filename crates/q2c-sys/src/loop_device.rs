//! Asks a loop device for the file that it reads and writes.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `LOOP_GET_STATUS64` (include/uapi/linux/loop.h).
const GET_STATUS64: u64 = 0x4c05;

/// The file behind a loop device, by its numbers: names may be removed, or be those of another
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

/// `struct loop_info64`.
#[repr(C)]
struct Status {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

const _: () = assert!(size_of::<Status>() == 232);

/// The file behind the open loop device.
///
/// # Errors
/// The system call's error; `ENXIO` for a loop device without a file, `ENOTTY` for a file that is
/// no loop device.
pub fn backing(device: &File) -> io::Result<Backing> {
    let mut status = Status {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        size_limit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: 0,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    };
    // SAFETY: the descriptor is open during the call, and the status is a whole `loop_info64` that
    // this frame owns: the kernel writes nowhere else.
    let rc = unsafe { libc::ioctl(device.as_raw_fd(), GET_STATUS64 as _, &raw mut status) };
    match rc {
        0 => Ok(Backing {
            dev: status.device,
            ino: status.inode,
            rdev: status.rdevice,
        }),
        _ => Err(io::Error::last_os_error()),
    }
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
}
