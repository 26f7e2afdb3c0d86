//! The 16 buckets in which Linux keeps its statistics apart: 2 directions x 8 size classes.

use crate::Io;
use q2c_model::Direction;

/// Number of buckets.
pub const BUCKETS: usize = 16;

/// Size classes per direction: 1, 2-3, 4-7, 8-15, 16-31, 32-63, 64-127 and from 128 sectors.
const SIZE_CLASSES: u32 = 8;

/// The bucket of `io`, below [`BUCKETS`]: `direction + 2 * floor(log2(sectors))`, where the
/// largest size class has no upper end; `None` below one sector (block/blk-mq.c until Linux 6.3).
#[inline]
pub fn bucket_of(io: Io) -> Option<usize> {
    let size = (io.bytes >> 9).checked_ilog2()?.min(SIZE_CLASSES - 1);
    Some(size as usize * 2 + usize::from(io.direction == Direction::Write))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTORS: [u32; 10] = [1, 2, 3, 4, 8, 15, 64, 127, 128, 8_388_607];
    const READ_BUCKETS: [usize; 10] = [0, 2, 2, 4, 6, 6, 12, 12, 14, 14];

    #[test]
    fn sizes_fall_into_the_kernels_classes() {
        let bucket = |direction, bytes| bucket_of(Io { direction, bytes });
        for (sectors, read) in SECTORS.into_iter().zip(READ_BUCKETS) {
            let bytes = sectors * 512;
            assert_eq!(bucket(Direction::Read, bytes), Some(read), "{sectors}");
            let written = bucket(Direction::Write, bytes);
            assert_eq!(written, Some(read + 1), "{sectors}");
        }
        assert_eq!(bucket(Direction::Read, 511), None);
    }
}
