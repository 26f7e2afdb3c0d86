//! The delay of a hit wake-up, over the sleep less the latency, in registers. The corner points at
//! or below the abscissa are counted, and the count picks each line's two numbers from a table of
//! sixteen.

use super::costs::Joint;
use super::simd_lanes::SIMD_LANES;
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, i32x16, u8x64};

/// The largest number of corner points: a table of one register holds one line more.
pub(super) const CORNERS: usize = SIMD_LANES - 1;

/// The lines of four functions (base, spread, least, most), each by its value at 0 and its slope.
#[derive(Clone, Debug)]
pub(super) struct HitLines {
    corners: Vec<f32>,
    value: [[f32; SIMD_LANES]; 4],
    slope: [[f32; SIMD_LANES]; 4],
}

impl HitLines {
    pub(crate) fn new(joint: &Joint<4>) -> Option<Self> {
        if joint.x.len() > CORNERS {
            return None;
        }
        let mut lines = HitLines {
            corners: joint.x.iter().map(|&x| x as f32).collect(),
            value: [[0.0; SIMD_LANES]; 4],
            slope: [[0.0; SIMD_LANES]; 4],
        };
        for (row, (value, slope)) in joint.value.iter().zip(&joint.slope).enumerate() {
            let from = row.checked_sub(1).map_or(0.0, |corner| joint.x[corner]);
            for which in 0..4 {
                lines.value[which][row] = (value[which] - slope[which] * from) as f32;
                lines.slope[which][row] = slope[which] as f32;
            }
        }
        Some(lines)
    }

    /// The delay at `x` for the draw `z`, kept within the bounds, ns.
    #[inline]
    pub(crate) fn delay(&self, x: f32, z: f32) -> f32 {
        let row = self.corners.iter().filter(|&&corner| x >= corner).count();
        let [base, spread, least, most] =
            std::array::from_fn(|n| self.value[n][row] + self.slope[n][row] * x);
        (base + spread * z).min(most).max(least.max(0.0))
    }

    #[inline(always)]
    pub(crate) fn load<S: Simd>(&self, simd: S) -> Loaded<'_, S> {
        let zero = f32x16::splat(simd, 0.0);
        let mut loaded = Loaded {
            corners: &self.corners,
            value: [zero; 4],
            slope: [zero; 4],
        };
        for which in 0..4 {
            loaded.value[which] = f32x16::load_array_ref(simd, &self.value[which]);
            loaded.slope[which] = f32x16::load_array_ref(simd, &self.slope[which]);
        }
        loaded
    }
}

/// Selects the first 32-bit number of a table, as the numbers of its four bytes.
const FIRST: i32 = 0x0302_0100;
/// Added to such a selection, selects the next number.
const NEXT: i32 = 0x0404_0404;

#[derive(Clone, Copy)]
pub(super) struct Loaded<'a, S: Simd> {
    corners: &'a [f32],
    value: [f32x16<S>; 4],
    slope: [f32x16<S>; 4],
}

impl<S: Simd> Loaded<'_, S> {
    /// The delay at `x` for the draw `z`, kept within the bounds, ns.
    #[inline(always)]
    pub(crate) fn delay(&self, x: f32x16<S>, z: f32x16<S>) -> f32x16<S> {
        let simd = x.token();
        let mut bytes = i32x16::splat(simd, FIRST);
        for &corner in self.corners {
            bytes = x.simd_ge(corner).select(bytes + NEXT, bytes);
        }
        let bytes: u8x64<S> = bytes.bitcast();
        let mut values = [x; 4];
        for (which, value) in values.iter_mut().enumerate() {
            *value =
                self.value[which].swizzle_dyn(bytes) + self.slope[which].swizzle_dyn(bytes) * x;
        }
        let [base, spread, least, most] = values;
        (base + spread * z).min(most).max(least.max(0.0))
    }
}
