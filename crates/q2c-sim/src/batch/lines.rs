//! Lines between corner points, in registers: the delay of a hit wake-up by the sleep minus the
//! latency, and the costs of a sleep by its length. The number of corner points at or below the
//! abscissa selects each line's value and slope from a table of sixteen.

use super::costs::JointCurves;
use super::simd_lanes::SIMD_LANES;
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, i32x16, u8x64};

/// The largest number of corner points. One register holds one line more than that.
pub(super) const MAX_CORNERS: usize = SIMD_LANES - 1;

/// The lines of four functions (base, spread, least, most), each by its value at 0 and its slope.
#[derive(Clone, Debug)]
pub(super) struct HitLines {
    corners: Vec<f32>,
    value: [[f32; SIMD_LANES]; 4],
    slope: [[f32; SIMD_LANES]; 4],
}

impl HitLines {
    pub(crate) fn new(joint: &JointCurves<4>) -> Option<Self> {
        if joint.x.len() > MAX_CORNERS {
            return None;
        }
        let mut lines = HitLines {
            corners: joint.x.iter().map(|&x| x as f32).collect(),
            value: [[0.0; SIMD_LANES]; 4],
            slope: [[0.0; SIMD_LANES]; 4],
        };
        for (row, (value, slope)) in joint.value.iter().zip(&joint.slope).enumerate() {
            let start = row.checked_sub(1).map_or(0.0, |corner| joint.x[corner]);
            for function in 0..4 {
                lines.value[function][row] = (value[function] - slope[function] * start) as f32;
                lines.slope[function][row] = slope[function] as f32;
            }
        }
        Some(lines)
    }

    /// The delay at `x`, the sleep minus the latency, for the draw `z`; within its bounds, ns.
    #[inline]
    pub(crate) fn delay(&self, x: f32, z: f32) -> f32 {
        let row = self.corners.iter().filter(|&&corner| x >= corner).count();
        let [base, spread, least, most] =
            std::array::from_fn(|n| self.value[n][row] + self.slope[n][row] * x);
        (base + spread * z).min(most).max(least.max(0.0))
    }

    #[inline(always)]
    pub(crate) fn load<S: Simd>(&self, simd: S) -> LoadedLines<'_, S> {
        let zero = f32x16::splat(simd, 0.0);
        let mut loaded = LoadedLines {
            corners: &self.corners,
            value: [zero; 4],
            slope: [zero; 4],
        };
        for function in 0..4 {
            loaded.value[function] = f32x16::load_array_ref(simd, &self.value[function]);
            loaded.slope[function] = f32x16::load_array_ref(simd, &self.slope[function]);
        }
        loaded
    }
}

/// The byte indices that select the first 32-bit number of a table.
const FIRST: i32 = 0x0302_0100;
/// Added to byte indices, this moves each selection to the next 32-bit number.
const NEXT: i32 = 0x0404_0404;
/// The largest number of lines in [`SleepLines`], whose tables have two registers.
const MAX_LINES: usize = 2 * SIMD_LANES;

/// Byte indices that select each line's number, by the count of corners at or below `x`.
#[inline(always)]
fn line_selection<S: Simd>(corners: &[f32], x: f32x16<S>) -> u8x64<S> {
    let mut bytes = i32x16::splat(x.token(), FIRST);
    for &corner in corners {
        bytes = x.simd_ge(corner).select(bytes + NEXT, bytes);
    }
    bytes.bitcast()
}

#[derive(Clone, Copy)]
pub(super) struct LoadedLines<'a, S: Simd> {
    corners: &'a [f32],
    value: [f32x16<S>; 4],
    slope: [f32x16<S>; 4],
}

impl<S: Simd> LoadedLines<'_, S> {
    /// The delay at `x` for the draw `z`, kept within its bounds, ns; see [`HitLines::delay`].
    #[inline(always)]
    pub(crate) fn delay(&self, x: f32x16<S>, z: f32x16<S>) -> f32x16<S> {
        let bytes = line_selection(self.corners, x);
        let mut values = [x; 4];
        for (function, value) in values.iter_mut().enumerate() {
            *value = self.value[function].swizzle_dyn(bytes)
                + self.slope[function].swizzle_dyn(bytes) * x;
        }
        let [base, spread, least, most] = values;
        (base + spread * z).min(most).max(least.max(0.0))
    }
}

/// The costs of sixteen sleeps at once, as lines between corner points.
#[derive(Clone, Debug)]
pub(super) struct SleepLines<const N: usize> {
    corners: Vec<f32>,
    start: [[f32; SIMD_LANES]; 2],
    value: [[[f32; SIMD_LANES]; 2]; N],
    slope: [[[f32; SIMD_LANES]; 2]; N],
}

impl<const N: usize> SleepLines<N> {
    /// Returns `None` if the corner points do not fit the tables.
    pub(crate) fn new(joint: &JointCurves<N>) -> Option<Self> {
        if joint.x.len() >= MAX_LINES {
            return None;
        }
        let table = |value_of: &dyn Fn(usize) -> Option<f64>| {
            let number = |line| value_of(line).unwrap_or(0.0) as f32;
            [0, SIMD_LANES].map(|first| std::array::from_fn(|i| number(first + i)))
        };
        let start = |line: usize| line.checked_sub(1).and_then(|c| joint.x.get(c)).copied();
        Some(SleepLines {
            corners: joint.x.iter().map(|&x| x as f32).collect(),
            start: table(&start),
            value: std::array::from_fn(|n| table(&|line| Some(joint.value.get(line)?[n]))),
            slope: std::array::from_fn(|n| table(&|line| Some(joint.slope.get(line)?[n]))),
        })
    }

    /// The values of all functions at each sleep in `asked`, ns. No sleep may be negative.
    #[inline(always)]
    pub(crate) fn values_at<S: Simd>(&self, asked: f32x16<S>) -> [f32x16<S>; N] {
        let bytes = line_selection(&self.corners, asked);
        if self.corners.len() < SIMD_LANES {
            self.lines(asked, bytes, select_low)
        } else {
            self.lines(asked, bytes, select)
        }
    }

    #[inline(always)]
    fn lines<S: Simd>(
        &self,
        asked: f32x16<S>,
        bytes: u8x64<S>,
        select: impl Fn(&[[f32; SIMD_LANES]; 2], u8x64<S>) -> f32x16<S>,
    ) -> [f32x16<S>; N] {
        let beyond = asked - select(&self.start, bytes);
        // This is a loop because `map` is not always inlined; the values would leave the registers.
        let mut values = [asked; N];
        for (n, value) in values.iter_mut().enumerate() {
            *value = select(&self.value[n], bytes) + select(&self.slope[n], bytes) * beyond;
        }
        values
    }
}

#[inline(always)]
fn select_low<S: Simd>([low, _]: &[[f32; SIMD_LANES]; 2], bytes: u8x64<S>) -> f32x16<S> {
    f32x16::load_array_ref(bytes.token(), low).swizzle_dyn(bytes)
}

#[inline(always)]
fn select<S: Simd>([low, high]: &[[f32; SIMD_LANES]; 2], bytes: u8x64<S>) -> f32x16<S> {
    let simd = bytes.token();
    let high: f32x16<S> = f32x16::load_array_ref(simd, high);
    f32x16::load_array_ref(simd, low).concat_swizzle_dyn(high, bytes)
}
