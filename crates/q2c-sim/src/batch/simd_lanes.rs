//! One number for each of sixteen configurations (SIMD lanes), side by side in registers.

use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, i32x16};

/// Sixteen `i32` fill one register of AVX-512, two of AVX2, four of SSE or NEON.
pub(super) const SIMD_LANES: usize = 16;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct SimdLanes<T>(pub [T; SIMD_LANES]);

impl<T: Copy + Default> Default for SimdLanes<T> {
    fn default() -> Self {
        SimdLanes([T::default(); SIMD_LANES])
    }
}

impl SimdLanes<i32> {
    #[inline(always)]
    pub(crate) fn load<S: Simd>(&self, simd: S) -> i32x16<S> {
        i32x16::load_array_ref(simd, &self.0)
    }

    #[inline(always)]
    pub(crate) fn store<S: Simd>(&mut self, numbers: i32x16<S>) {
        numbers.store_array(&mut self.0);
    }
}

impl SimdLanes<f32> {
    #[inline(always)]
    pub(crate) fn load<S: Simd>(&self, simd: S) -> f32x16<S> {
        f32x16::load_array_ref(simd, &self.0)
    }

    #[inline(always)]
    pub(crate) fn store<S: Simd>(&mut self, numbers: f32x16<S>) {
        numbers.store_array(&mut self.0);
    }
}

pub(super) fn set_bits(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lane < 64).then_some(lane)
    })
}
