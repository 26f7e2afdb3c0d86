//! Structures and numbers of `include/uapi/linux/ublk_cmd.h`.

/// `struct ublksrv_ctrl_dev_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Info {
    pub queues: u16,
    pub depth: u16,
    pub state: u16,
    pub pad0: u16,
    pub max_io_bytes: u32,
    pub dev_id: u32,
    pub server: i32,
    pub pad1: u32,
    pub flags: u64,
    pub server_flags: u64,
    pub owner: [u32; 2],
    pub reserved: [u64; 2],
}

/// The first parts of `struct ublk_params`: basic and discard.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Params {
    pub len: u32,
    pub types: u32,
    pub attrs: u32,
    pub logical_shift: u8,
    pub physical_shift: u8,
    pub io_opt_shift: u8,
    pub io_min_shift: u8,
    pub max_sectors: u32,
    pub chunk_sectors: u32,
    pub sectors: u64,
    pub virt_boundary: u64,
    pub discard_alignment: u32,
    pub discard_granularity: u32,
    pub max_discard_sectors: u32,
    pub max_zeroes_sectors: u32,
    pub max_discard_segments: u16,
    pub reserved: u16,
}

/// Length in bytes of the parts of `struct ublk_params` that [`Params`] has.
pub(super) const PARAMS_LEN: u32 = 60;
/// The types of parameters: basic and discard.
pub(super) const PARAMS_TYPES: u32 = 3;

/// `struct ublksrv_io_desc`.
#[repr(C)]
pub(super) struct Descriptor {
    pub op_flags: u32,
    pub sectors: u32,
    pub start: u64,
    pub addr: u64,
}

const _: () = assert!(size_of::<Info>() == 64);
const _: () = assert!(size_of::<Params>() == 64);
const _: () = assert!(size_of::<Descriptor>() == 24);

/// `_IOR('u', number, struct)` with a structure of `size` bytes.
const fn ior(number: u32, size: u32) -> u32 {
    (2 << 30) | (size << 16) | ((b'u' as u32) << 8) | number
}

/// `_IOWR('u', number, struct)`.
const fn iowr(number: u32, size: u32) -> u32 {
    ior(number, size) | (1 << 30)
}

pub(super) const GET_QUEUE_AFFINITY: u32 = ior(0x01, 32);
pub(super) const GET_DEV_INFO: u32 = ior(0x02, 32);
pub(super) const ADD_DEV: u32 = iowr(0x04, 32);
pub(super) const DEL_DEV: u32 = iowr(0x05, 32);
pub(super) const START_DEV: u32 = iowr(0x06, 32);
pub(super) const STOP_DEV: u32 = iowr(0x07, 32);
pub(super) const SET_PARAMS: u32 = iowr(0x08, 32);
pub(super) const START_USER_RECOVERY: u32 = iowr(0x10, 32);
pub(super) const END_USER_RECOVERY: u32 = iowr(0x11, 32);
pub(super) const GET_FEATURES: u32 = ior(0x13, 32);
pub(super) const DEL_DEV_ASYNC: u32 = ior(0x14, 32);
pub(super) const FETCH_REQ: u32 = iowr(0x20, 16);
pub(super) const COMMIT_AND_FETCH_REQ: u32 = iowr(0x21, 16);

pub(super) const USER_RECOVERY: u64 = 1 << 3;
pub(super) const USER_RECOVERY_REISSUE: u64 = 1 << 4;
pub(super) const CMD_IOCTL_ENCODE: u64 = 1 << 6;
pub(super) const USER_COPY: u64 = 1 << 7;

/// Bytes between two queues' descriptors in the device's file: room for 4096 of 24 bytes.
pub(super) const QUEUE_STRIDE_BYTES: u64 = 4096 * 24;
/// Byte offset of the data of the request `tag` of the queue `queue` in the device's file.
pub(super) const fn data_offset(queue: u16, tag: u16) -> u64 {
    0x8000_0000 + ((queue as u64) << 41) + ((tag as u64) << 25)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that a C program prints for the kernel's header.
    #[test]
    fn numbers_are_the_kernels() {
        assert_eq!(ADD_DEV, 0xc020_7504);
        assert_eq!(GET_FEATURES, 0x8020_7513);
        assert_eq!(FETCH_REQ, 0xc010_7520);
        assert_eq!(std::mem::offset_of!(Params, discard_alignment), 40);
        assert_eq!(std::mem::offset_of!(Info, server_flags), 32);
    }
}
