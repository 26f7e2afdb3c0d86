//! Sixteen configurations side by side.

/// Number of configurations that advance together: their whole nanoseconds fill one register of
/// AVX-512, two of AVX2, four of SSE or NEON.
pub(super) const LANES: usize = 16;

/// One number of each configuration of a group. The alignment keeps every load within a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Lanes<T>(pub [T; LANES]);

impl<T: Copy + Default> Default for Lanes<T> {
    fn default() -> Self {
        Lanes([T::default(); LANES])
    }
}

/// The numbers of the bits set in `bits`, ascending.
pub(super) fn each(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lane < 64).then_some(lane)
    })
}
