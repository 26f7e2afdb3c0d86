//! NVMe namespaces behind their character device (`/dev/ng0n1`): identifying them, and the commands
//! that read and write them.

use crate::{Operation, Transfer, check};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use thiserror::Error;

/// A namespace as commands address it. [`namespace`] reads it from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Namespace identifier (NSID).
    pub id: u32,
    /// Bytes of a logical block, a power of two.
    pub block: u32,
    /// Number of logical blocks.
    pub blocks: u64,
}

/// The errors of reading and writing a namespace by commands.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum NvmeError {
    #[error(
        "use the target for NVMe passthrough: it is no character device; name the namespace's own, such as /dev/ng0n1"
    )]
    NotACharacterDevice,
    #[error(
        "ask the target for its NVMe namespace: {0}; name a namespace's character device, such as /dev/ng0n1"
    )]
    NoNamespace(io::Error),
    #[error(
        "identify NVMe namespace {id}: {source}; before Linux 6.2 that needs root (CAP_SYS_ADMIN)"
    )]
    Identify {
        id: u32,
        /// The kernel's answer; EIO for a status of the device.
        source: io::Error,
    },
    #[error(
        "use NVMe namespace {id}: {problem}; format it with whole blocks of 512 bytes or more and without metadata"
    )]
    Format { id: u32, problem: String },
    #[error(
        "read or write {size} bytes by one NVMe command: at most {most} blocks of {block} bytes"
    )]
    TooLarge { size: usize, most: u32, block: u32 },
}

/// `NVME_URING_CMD_IO`, that is `_IOWR('N', 0x80, struct nvme_uring_cmd)` of 72 bytes
/// (include/uapi/linux/nvme_ioctl.h).
pub(crate) const URING_CMD_IO: u32 = 0xc048_4e80;
/// The most blocks that one command can name: its count has 16 bits, and 0 stands for one block.
pub const MAX_BLOCKS: u32 = 1 << 16;

/// Opcodes of the NVM command set.
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;

/// The bytes of `struct nvme_uring_cmd` for `transfer`, padded to the 80 bytes of a large entry.
/// `address` is that of the data. `None` when the transfer is empty, not in whole blocks, too long
/// for one command, or neither a read nor a write.
#[inline]
pub(crate) fn rw_command(
    namespace: Namespace,
    transfer: Transfer,
    address: u64,
) -> Option<[u8; 80]> {
    // A block's size is a power of two.
    let shift = namespace.block.trailing_zeros();
    let (start, blocks) = (transfer.offset >> shift, transfer.length >> shift);
    let block_mask = u64::from(namespace.block) - 1;
    let is_aligned = (transfer.offset | u64::from(transfer.length)) & block_mask == 0;
    let moves_data = !matches!(transfer.operation, Operation::Flush | Operation::Discard);
    if !moves_data || !is_aligned || blocks == 0 || blocks > MAX_BLOCKS {
        return None;
    }
    let mut command = [0; 80];
    let writes = transfer.operation.writes();
    command[0] = if writes { WRITE } else { READ };
    let mut put = |at: usize, bytes: &[u8]| command[at..at + bytes.len()].copy_from_slice(bytes);
    put(4, &namespace.id.to_ne_bytes());
    put(24, &address.to_ne_bytes());
    put(36, &transfer.length.to_ne_bytes());
    // Command dwords 10 and 11 hold the starting block, 12 the number of blocks less one.
    put(40, &(start as u32).to_ne_bytes());
    put(44, &((start >> 32) as u32).to_ne_bytes());
    let fua = u32::from(transfer.operation == Operation::Durable) << 30;
    put(48, &((blocks - 1) | fua).to_ne_bytes());
    Some(command)
}

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
            let no_id = io::Error::from_raw_os_error(libc::ENOTTY);
            return Err(NvmeError::NoNamespace(no_id));
        }
        id => id as u32,
    };
    let page = identify(file, id).map_err(|source| NvmeError::Identify { id, source })?;
    parse_namespace(id, &page.0).map_err(|problem| NvmeError::Format { id, problem })
}

fn identify(file: &File, id: u32) -> io::Result<Box<IdentifyPage>> {
    let mut page = Box::new(IdentifyPage([0; 4096]));
    let mut command = AdminCommand {
        opcode: IDENTIFY,
        nsid: id,
        addr: std::ptr::from_mut(&mut *page) as u64,
        data_len: 4096,
        // CNS 0 asks for the Identify Namespace structure.
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
fn parse_namespace(id: u32, page: &[u8; 4096]) -> Result<Namespace, String> {
    let size = u64::from_le_bytes(page[..8].try_into().expect("eight bytes"));
    let (last_format, in_use) = (page[25], page[26]);
    // With more than 16 formats, bits 5 and 6 are the upper bits of the index in use.
    let upper_bits = if last_format > 15 { in_use >> 5 & 3 } else { 0 };
    let format = usize::from(in_use & 0xf | upper_bits << 4);
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
    let (block, blocks) = (1 << shift, size);
    Ok(Namespace { id, block, blocks })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMESPACE: Namespace = Namespace {
        id: 1,
        block: 512,
        blocks: 1 << 40,
    };

    fn transfer(write: bool, offset: u64, length: u32) -> Transfer {
        Transfer {
            operation: Operation::writing(write),
            offset,
            length,
            slot: 0,
        }
    }

    /// Worked out by hand: 4 KiB are 8 blocks, so the count is 7; the byte offset
    /// 0x2_4680_acf1_e000 is block 0x123_4056_78f0.
    #[test]
    #[cfg(target_endian = "little")]
    fn a_read_is_these_bytes() {
        let transfer = transfer(false, 0x0002_4680_acf1_e000, 4096);
        let command = rw_command(NAMESPACE, transfer, 0x1122_3344_5566_7788).unwrap();
        #[rustfmt::skip]
        let expected: [u8; 80] = [
            0x02, 0, 0, 0,              // opcode, flags, reserved
            1, 0, 0, 0,                 // nsid
            0, 0, 0, 0, 0, 0, 0, 0,     // cdw2, cdw3
            0, 0, 0, 0, 0, 0, 0, 0,     // metadata
            0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, // address
            0, 0, 0, 0,                 // metadata length
            0x00, 0x10, 0, 0,           // data length
            0xf0, 0x78, 0x56, 0x40,     // cdw10: low half of the start
            0x23, 0x01, 0, 0,           // cdw11: high half
            7, 0, 0, 0,                 // cdw12: blocks - 1
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // cdw13 to 15
            0, 0, 0, 0,                 // timeout: the driver's own
            0, 0, 0, 0,                 // reserved
            0, 0, 0, 0, 0, 0, 0, 0,     // beyond the structure
        ];
        assert_eq!(command, expected);
    }

    #[test]
    fn a_write_differs_in_its_opcode_alone() {
        let command = |write| rw_command(NAMESPACE, transfer(write, 1024, 512), 7).unwrap();
        let (read, write) = (command(false), command(true));
        assert_eq!((read[0], write[0]), (2, 1));
        assert_eq!(read[1..], write[1..]);
        assert_eq!((read[40], read[48]), (2, 0));
    }

    /// Command dword 12, bit 30: force unit access.
    #[test]
    #[cfg(target_endian = "little")]
    fn a_durable_write_has_its_bit() {
        let durable = Transfer {
            operation: Operation::Durable,
            ..transfer(true, 1024, 512)
        };
        let [plain, durable] = [transfer(true, 1024, 512), durable]
            .map(|transfer| rw_command(NAMESPACE, transfer, 7).unwrap());
        assert_eq!((plain[51], durable[51], durable[0]), (0, 0x40, 1));
        let flush = Transfer {
            operation: Operation::Flush,
            ..transfer(true, 0, 512)
        };
        assert_eq!(rw_command(NAMESPACE, flush, 0), None);
    }

    #[test]
    fn blocks_are_the_namespaces() {
        let large = Namespace {
            block: 4096,
            ..NAMESPACE
        };
        let command = rw_command(large, transfer(false, 3 * 4096, 8192), 0).unwrap();
        assert_eq!((command[40], command[48]), (3, 1));
        for (offset, length) in [(512, 4096), (4096, 512), (0, 0)] {
            assert_eq!(rw_command(large, transfer(false, offset, length), 0), None);
        }
        let most = MAX_BLOCKS * 512;
        let longest = rw_command(NAMESPACE, transfer(false, 0, most), 0).unwrap();
        assert_eq!(longest[48..52], [0xff, 0xff, 0, 0]);
        let too_long = rw_command(NAMESPACE, transfer(false, 0, most + 512), 0);
        assert_eq!(too_long, None);
    }

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
            assert_eq!(parse_namespace(3, &page(n, 0, shift)), Ok(expected));
        }
    }

    #[test]
    fn formats_that_plain_commands_cannot_use_are_refused() {
        let refused = parse_namespace(1, &page(2, 8, 9)).unwrap_err();
        assert!(refused.contains("8 bytes of metadata"));
        assert!(
            parse_namespace(1, &page(0, 0, 0))
                .unwrap_err()
                .contains("2^0")
        );
        assert!(
            parse_namespace(1, &[0; 4096])
                .unwrap_err()
                .contains("not active")
        );
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
