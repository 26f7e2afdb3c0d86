//! Asks a character device which namespace it is and how the namespace is formatted.

use super::{Namespace, NvmeError};
use crate::check;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

/// `NVME_IOCTL_ID`, that is `_IO('N', 0x40)` (include/uapi/linux/nvme_ioctl.h).
const ID: u64 = 0x4e40;
/// `NVME_IOCTL_ADMIN_CMD`, that is `_IOWR('N', 0x41, struct nvme_admin_cmd)` of 72 bytes.
const ADMIN_CMD: u64 = 0xc048_4e41;
/// Admin command set: Identify.
const IDENTIFY: u8 = 0x06;

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    rsvd1: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    addr: u64,
    metadata_len: u32,
    data_len: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    result: u32,
}

/// The Identify Namespace data structure as the controller returns it.
#[repr(C, align(4096))]
struct IdentifyPage([u8; 4096]);

const _: () = assert!(size_of::<AdminCommand>() == 72 && size_of::<IdentifyPage>() == 4096);

/// Asks a character device for its namespace.
pub fn namespace(file: &File) -> Result<Namespace, NvmeError> {
    let kind = file.metadata().map_err(NvmeError::NoNamespace)?.file_type();
    if !kind.is_char_device() {
        return Err(NvmeError::NotACharacterDevice);
    }
    // SAFETY: NVME_IOCTL_ID takes no argument and touches no memory of this process.
    let id = check(unsafe { libc::ioctl(file.as_raw_fd(), ID as _) });
    let id = match id.map_err(NvmeError::NoNamespace)? {
        0 => {
            let none = io::Error::from_raw_os_error(libc::ENOTTY);
            return Err(NvmeError::NoNamespace(none));
        }
        id => id as u32,
    };
    let page = identify(file, id).map_err(|source| NvmeError::Identify { id, source })?;
    parse(id, &page.0).map_err(|problem| NvmeError::Format { id, problem })
}

fn identify(file: &File, id: u32) -> io::Result<Box<IdentifyPage>> {
    let mut page = Box::new(IdentifyPage([0; 4096]));
    let mut command = AdminCommand {
        opcode: IDENTIFY,
        nsid: id,
        addr: std::ptr::from_mut(&mut *page) as u64,
        data_len: 4096,
        // CNS 0: the namespace.
        cdw10: 0,
        ..AdminCommand::default()
    };
    // SAFETY: the command is one `nvme_admin_cmd`, and names a live page of `data_len` bytes that
    // this function owns; the kernel writes nowhere else.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), ADMIN_CMD as _, &raw mut command) };
    match status {
        0 => Ok(page),
        // A positive result is a status of the device.
        1.. => Err(io::Error::from_raw_os_error(libc::EIO)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads the Identify Namespace structure: bytes 0 to 7 hold the size in blocks, byte 26 the format
/// in use; from byte 128 on each format has four bytes. The error says what plain commands cannot
/// handle.
fn parse(id: u32, page: &[u8; 4096]) -> Result<Namespace, String> {
    let size = u64::from_le_bytes(page[..8].try_into().expect("eight bytes"));
    let (highest, in_use) = (page[25], page[26]);
    // With more than 16 formats, bits 5 and 6 are the index's upper bits.
    let high = if highest > 15 { in_use >> 5 & 3 } else { 0 };
    let format = usize::from(in_use & 0xf | high << 4);
    let entry = &page[128 + 4 * format..][..4];
    let (metadata, shift) = (u16::from_le_bytes([entry[0], entry[1]]), entry[2]);
    if size == 0 {
        return Err("it is not active".to_owned());
    }
    if !(9..=16).contains(&shift) {
        return Err(format!("its blocks are 2^{shift} bytes"));
    }
    if metadata != 0 {
        return Err(format!("its blocks carry {metadata} bytes of metadata"));
    }
    let block = 1 << shift;
    Ok(Namespace {
        id,
        block,
        blocks: size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The structure of a namespace of 1000 blocks that uses format `n`, with `metadata` bytes and
    /// blocks of 2^`shift` bytes.
    fn page(n: usize, metadata: u16, shift: u8) -> [u8; 4096] {
        let mut page = [0; 4096];
        page[..8].copy_from_slice(&1000u64.to_le_bytes());
        page[25] = 31;
        page[26] = (n & 0xf | n >> 4 << 5) as u8;
        page[128 + 4 * n..][..2].copy_from_slice(&metadata.to_le_bytes());
        page[128 + 4 * n + 2] = shift;
        page
    }

    #[test]
    fn the_format_in_use_tells_the_block() {
        for (n, shift, block) in [(0, 9, 512), (1, 12, 4096), (17, 12, 4096)] {
            let expected = Namespace {
                id: 3,
                block,
                blocks: 1000,
            };
            assert_eq!(parse(3, &page(n, 0, shift)), Ok(expected));
        }
    }

    #[test]
    fn formats_that_plain_commands_cannot_use_are_refused() {
        let refused = parse(1, &page(2, 8, 9)).unwrap_err();
        assert!(refused.contains("8 bytes of metadata"));
        assert!(parse(1, &page(0, 0, 0)).unwrap_err().contains("2^0"));
        assert!(parse(1, &[0; 4096]).unwrap_err().contains("not active"));
    }

    #[test]
    fn other_files_are_refused_with_what_to_name() {
        let file = tempfile::tempfile().unwrap();
        let null = File::open("/dev/null").unwrap();
        for (file, word) in [(file, "no character device"), (null, "NVMe namespace")] {
            let error = namespace(&file).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
            assert!(error.contains("/dev/ng0n1"), "{error}");
        }
    }
}
