use super::event::{BlktraceEvent, action, category};
use std::fmt;

/// The magic number with its lowest byte, the version, set to 0.
const MAGIC: u32 = 0x6561_7400;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlktraceLayout {
    /// True for 64-byte records of version 8, false for 48-byte records of version 7.
    pub version_8: bool,
    pub big_endian: bool,
}

impl fmt::Display for BlktraceLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.big_endian { "big" } else { "little" };
        write!(f, "version {}, {order}-endian", self.magic() & 0xff)
    }
}

macro_rules! numbers {
    ($($int:ident)*) => {$(
        #[inline]
        fn $int(&self, at: usize) -> $int {
            let bytes = self.bytes(at);
            if BIG {
                $int::from_be_bytes(bytes)
            } else {
                $int::from_le_bytes(bytes)
            }
        }
    )*};
}

struct Fields<'a, const BIG: bool>(&'a [u8]);

impl<const BIG: bool> Fields<'_, BIG> {
    #[inline]
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        // `event_of` cuts the record to the length of its layout, and all offsets are within it.
        let mut part = [0; N];
        part.copy_from_slice(&self.0[at..at + N]);
        part
    }

    numbers!(u16 u32 u64);
}

impl BlktraceLayout {
    /// The layout of a record at the start of these bytes; `None` if they do not begin with the
    /// magic number of a known version.
    pub(crate) fn at_start(bytes: &[u8]) -> Option<BlktraceLayout> {
        let head = *bytes.first_chunk()?;
        let (little, big) = (u32::from_le_bytes(head), u32::from_be_bytes(head));
        let (magic, big_endian) = match (little & !0xff == MAGIC, big & !0xff == MAGIC) {
            (true, _) => (little, false),
            (_, true) => (big, true),
            _ => return None,
        };
        let version_8 = match magic & 0xff {
            7 => false,
            8 => true,
            _ => return None,
        };
        Some(BlktraceLayout {
            version_8,
            big_endian,
        })
    }

    /// Bytes of a record without its payload.
    pub(super) const fn record_len(self) -> usize {
        if self.version_8 { 64 } else { 48 }
    }

    const fn magic(self) -> u32 {
        MAGIC | if self.version_8 { 8 } else { 7 }
    }

    pub(super) fn magic_bytes(self) -> [u8; 4] {
        if self.big_endian {
            self.magic().to_be_bytes()
        } else {
            self.magic().to_le_bytes()
        }
    }

    /// Decodes a record of at least [`BlktraceLayout::record_len`] bytes. Returns its event, and
    /// the length of its payload in bytes.
    #[inline]
    pub(super) fn event(self, record: &[u8]) -> (BlktraceEvent, usize) {
        match (self.version_8, self.big_endian) {
            (false, false) => Self::event_of::<false, false>(record),
            (true, false) => Self::event_of::<true, false>(record),
            (false, true) => Self::event_of::<false, true>(record),
            (true, true) => Self::event_of::<true, true>(record),
        }
    }

    /// As [`BlktraceLayout::event`], for a layout that is known at compile time.
    #[inline(always)]
    pub(super) fn event_of<const VERSION_8: bool, const BIG: bool>(
        record: &[u8],
    ) -> (BlktraceEvent, usize) {
        let record = Fields::<BIG>(&record[..if VERSION_8 { 64 } else { 48 }]);
        // The action has 64 bits in version 8 and 32 bits in version 7.
        let [action_at, pid_at, device_at, cpu_at, error_at, payload_at] = if VERSION_8 {
            [32, 28, 40, 44, 48, 50]
        } else {
            [28, 32, 36, 40, 44, 46]
        };
        let (low, category) = if VERSION_8 {
            let action = record.u64(action_at);
            (action as u16, (action >> 16) as u32)
        } else {
            let action = record.u32(action_at);
            (action as u16, action >> 16)
        };
        let event = BlktraceEvent {
            time: record.u64(8),
            sector: record.u64(16),
            bytes: record.u32(24),
            action: low & !action::CGROUP,
            error: record.u16(error_at),
            category: category & !category::UNTIMED,
            pid: record.u32(pid_at),
            device: record.u32(device_at),
            cpu: record.u32(cpu_at),
            sequence: record.u32(4),
            split_at: 0,
            cgroup: u64::from(low & action::CGROUP != 0),
        };
        (event, usize::from(record.u16(payload_at)))
    }

    /// An unsigned number of `N` bytes in the file's byte order; 0 if there are fewer bytes.
    pub(super) fn number<const N: usize>(self, bytes: &[u8]) -> u64 {
        let Some(part) = bytes.first_chunk::<N>() else {
            return 0;
        };
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if self.big_endian {
            part.iter().fold(0, add)
        } else {
            part.iter().rev().fold(0, add)
        }
    }
}
