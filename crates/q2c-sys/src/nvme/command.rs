//! Read and write commands as the kernel takes them from a ring.

use super::Namespace;
use crate::{Operation, Transfer};

/// `NVME_URING_CMD_IO`, that is `_IOWR('N', 0x80, struct nvme_uring_cmd)` of 72 bytes
/// (include/uapi/linux/nvme_ioctl.h).
pub(crate) const URING_CMD_IO: u32 = 0xc048_4e80;
/// Most blocks that one command can name: its count is 16 bits wide, and 0 stands for one block.
pub const MOST_BLOCKS: u32 = 1 << 16;

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
    let odd = u64::from(namespace.block) - 1;
    let whole = (transfer.offset | u64::from(transfer.length)) & odd == 0;
    let moves = !matches!(transfer.operation, Operation::Flush | Operation::Discard);
    if !moves || !whole || blocks == 0 || blocks > MOST_BLOCKS {
        return None;
    }
    let mut command = [0; 80];
    command[0] = if transfer.operation.writes() {
        WRITE
    } else {
        READ
    };
    let mut put = |at: usize, bytes: &[u8]| command[at..at + bytes.len()].copy_from_slice(bytes);
    put(4, &namespace.id.to_ne_bytes());
    put(24, &address.to_ne_bytes());
    put(36, &transfer.length.to_ne_bytes());
    // Command dwords 10 and 11: starting block; 12: blocks, less one.
    put(40, &(start as u32).to_ne_bytes());
    put(44, &((start >> 32) as u32).to_ne_bytes());
    let fua = u32::from(transfer.operation == Operation::Durable) << 30;
    put(48, &((blocks - 1) | fua).to_ne_bytes());
    Some(command)
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
        let (plain, durable) = (
            rw_command(NAMESPACE, transfer(true, 1024, 512), 7).unwrap(),
            rw_command(NAMESPACE, durable, 7).unwrap(),
        );
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
        let most = MOST_BLOCKS * 512;
        let longest = rw_command(NAMESPACE, transfer(false, 0, most), 0).unwrap();
        assert_eq!(longest[48..52], [0xff, 0xff, 0, 0]);
        assert_eq!(
            rw_command(NAMESPACE, transfer(false, 0, most + 512), 0),
            None
        );
    }
}
