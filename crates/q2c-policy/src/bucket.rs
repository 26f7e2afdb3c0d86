//! The 16 buckets in which Linux keeps its statistics apart: 2 directions x 8 size classes.

use crate::Io;
use q2c_model::Direction;

/// Number of buckets.
pub const BUCKETS: usize = 16;

/// Size classes per direction: 1, 2-3, 4-7, 8-15, 16-31, 32-63, 64-127 and from 128 sectors.
const SIZES: u32 = 8;

/// The bucket of `io`, below [`BUCKETS`]: `direction + 2 * floor(log2(sectors))`, with 0 for a read
/// and 1 for a write, and the largest size class open upwards. `None` for less than one sector:
/// such an I/O is neither slept on nor counted (block/blk-mq.c until Linux 6.3).
#[inline]
#[must_use]
pub fn bucket_of(io: Io) -> Option<usize> {
    let size = (io.bytes >> 9).checked_ilog2()?.min(SIZES - 1);
    let direction = match io.direction {
        Direction::Read => 0,
        Direction::Write => 1,
    };
    Some((direction + 2 * size) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hand-made table of sectors and the bucket of a read of that length.
    const CLASSES: [(u32, usize); 10] = [
        (1, 0),
        (2, 2),
        (3, 2),
        (4, 4),
        (8, 6),
        (15, 6),
        (64, 12),
        (127, 12),
        (128, 14),
        (8_388_607, 14),
    ];

    #[test]
    fn sizes_fall_into_the_kernels_classes() {
        for (sectors, class) in CLASSES {
            let read = Io {
                direction: Direction::Read,
                bytes: sectors * 512,
            };
            let write = Io {
                direction: Direction::Write,
                ..read
            };
            assert_eq!(bucket_of(read), Some(class), "{sectors} sectors read");
            assert_eq!(
                bucket_of(write),
                Some(class + 1),
                "{sectors} sectors written"
            );
        }
    }

    #[test]
    fn less_than_a_sector_has_no_class() {
        let io = Io {
            direction: Direction::Read,
            bytes: 511,
        };
        assert_eq!(bucket_of(io), None);
    }
}
