//! The costs of sixteen sleeps at once, computed in registers as lines between corner points.

use super::costs::Joint;
use super::simd_lanes::SIMD_LANES;
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, i32x16, u8x64};

const LINES: usize = 2 * SIMD_LANES;
// As in `hit`: the first 32-bit number of a table by its four bytes, and the step to the next.
const FIRST: i32 = 0x0302_0100;
const NEXT: i32 = 0x0404_0404;

#[derive(Clone, Debug)]
pub(super) struct Sleeps<const N: usize> {
    corners: Vec<f32>,
    from: [[f32; SIMD_LANES]; 2],
    value: [[[f32; SIMD_LANES]; 2]; N],
    slope: [[[f32; SIMD_LANES]; 2]; N],
}

impl<const N: usize> Sleeps<N> {
    /// Returns `None` when the tables are too small for the corner points.
    pub(crate) fn new(joint: &Joint<N>) -> Option<Self> {
        if joint.x.len() >= LINES {
            return None;
        }
        let table = |value_of: &dyn Fn(usize) -> Option<f64>| {
            let number = |line| value_of(line).unwrap_or(0.0) as f32;
            [0, SIMD_LANES].map(|first| std::array::from_fn(|i| number(first + i)))
        };
        let from = |line: usize| line.checked_sub(1).and_then(|c| joint.x.get(c)).copied();
        Some(Sleeps {
            corners: joint.x.iter().map(|&x| x as f32).collect(),
            from: table(&from),
            value: std::array::from_fn(|n| table(&|line| Some(joint.value.get(line)?[n]))),
            slope: std::array::from_fn(|n| table(&|line| Some(joint.slope.get(line)?[n]))),
        })
    }

    /// All functions at each sleep of `asked`, ns. No sleep may be negative.
    #[inline(always)]
    pub(crate) fn values_at<S: Simd>(&self, asked: f32x16<S>) -> [f32x16<S>; N] {
        let simd = asked.token();
        let mut bytes = i32x16::splat(simd, FIRST);
        for &corner in &self.corners {
            bytes = asked.simd_ge(corner).select(bytes + NEXT, bytes);
        }
        let bytes: u8x64<S> = bytes.bitcast();
        if self.corners.len() < SIMD_LANES {
            self.lines(asked, bytes, pick_low)
        } else {
            self.lines(asked, bytes, pick)
        }
    }

    #[inline(always)]
    fn lines<S: Simd>(
        &self,
        asked: f32x16<S>,
        bytes: u8x64<S>,
        pick: impl Fn(&[[f32; SIMD_LANES]; 2], u8x64<S>) -> f32x16<S>,
    ) -> [f32x16<S>; N] {
        let beyond = asked - pick(&self.from, bytes);
        // A loop: `map` is not always inlined, and the values would leave the registers.
        let mut values = [asked; N];
        for (n, function) in values.iter_mut().enumerate() {
            *function = pick(&self.value[n], bytes) + pick(&self.slope[n], bytes) * beyond;
        }
        values
    }
}

#[inline(always)]
fn pick_low<S: Simd>([low, _]: &[[f32; SIMD_LANES]; 2], bytes: u8x64<S>) -> f32x16<S> {
    f32x16::load_array_ref(bytes.token(), low).swizzle_dyn(bytes)
}

#[inline(always)]
fn pick<S: Simd>([low, high]: &[[f32; SIMD_LANES]; 2], bytes: u8x64<S>) -> f32x16<S> {
    let simd = bytes.token();
    let high: f32x16<S> = f32x16::load_array_ref(simd, high);
    f32x16::load_array_ref(simd, low).concat_swizzle_dyn(high, bytes)
}
