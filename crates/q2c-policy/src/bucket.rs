//! The 16 buckets in which Linux keeps its statistics apart: 2 directions x 8 size classes.

use crate::Io;
use q2c_model::Direction;

/// Number of buckets.
pub const BUCKETS: usize = 16;

/// Size classes per direction: 1, 2-3, 4-7, 8-15, 16-31, 32-63, 64-127 and from 128 sectors.
const SIZES: u32 = 8;

/// The bucket of `io`, below [`BUCKETS`]: `direction + 2 * floor(log2(sectors))`, the largest size
/// class open upwards. `None` for less than a sector (block/blk-mq.c until Linux 6.3).
#[inline]
pub fn bucket_of(io: Io) -> Option<usize> {
    let size = (io.bytes >> 9).checked_ilog2()?.min(SIZES - 1);
    Some(size as usize * 2 + usize::from(io.direction == Direction::Write))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let bucket = |direction, bytes| bucket_of(Io { direction, bytes });
        for (sectors, class) in CLASSES {
            let bytes = sectors * 512;
            assert_eq!(bucket(Direction::Read, bytes), Some(class), "{sectors}");
            assert_eq!(
                bucket(Direction::Write, bytes),
                Some(class + 1),
                "{sectors}"
            );
        }
        assert_eq!(bucket(Direction::Read, 511), None);
    }
}
