//! Time and sums that the kernels `drawn` and `pas` keep in registers; the plain one keeps fewer.

use super::group::SimdGroup;
use super::simd_lanes::SimdLanes;
use fearless_simd::prelude::*;
use fearless_simd::{Simd, i32x16, mask32x16};

#[derive(Clone, Copy)]
pub(super) struct IoOutcome<S: Simd> {
    pub clear: mask32x16<S>,
    pub observed: i32x16<S>,
    pub polled: i32x16<S>,
}

impl<S: Simd> IoOutcome<S> {
    #[inline(always)]
    pub(super) fn cpu(&self, cpu_clear: i32x16<S>, cpu_hit: i32x16<S>) -> i32x16<S> {
        let cpu = self.clear.select(cpu_clear + self.polled, cpu_hit);
        cpu.min(self.observed)
    }
}

#[derive(Clone, Copy)]
pub(super) struct RunningSums<S: Simd> {
    pub left: i32x16<S>,
    pub misses: i32x16<S>,
    pub asked: i32x16<S>,
    pub slept: i32x16<S>,
    pub polled: i32x16<S>,
    pub cpu: i32x16<S>,
}

impl<S: Simd> RunningSums<S> {
    #[inline(always)]
    pub(crate) fn load(simd: S, group: &SimdGroup) -> Self {
        let load = |column: &SimdLanes<i32>| column.load(simd);
        let sums = &group.sums;
        RunningSums {
            left: load(&group.left),
            misses: load(&sums.misses),
            asked: load(&sums.asked),
            slept: load(&sums.slept),
            polled: load(&sums.polled),
            cpu: load(&sums.cpu),
        }
    }

    #[inline(always)]
    pub(crate) fn store(self, group: &mut SimdGroup) {
        group.left.store(self.left);
        let sums = &mut group.sums;
        sums.misses.store(self.misses);
        sums.asked.store(self.asked);
        sums.slept.store(self.slept);
        sums.polled.store(self.polled);
        sums.cpu.store(self.cpu);
    }

    /// `asked` and `slept` are 0 for polling.
    #[inline(always)]
    pub(crate) fn add(
        self,
        io: &IoOutcome<S>,
        [asked, slept, cpu]: [i32x16<S>; 3],
        left: i32x16<S>,
    ) -> Self {
        let zero = i32x16::splat(left.token(), 0);
        RunningSums {
            left,
            misses: self.misses + io.clear.select(zero, zero + 1),
            asked: self.asked + asked,
            slept: self.slept + slept,
            polled: self.polled + io.clear.select(io.polled, zero),
            cpu: self.cpu + cpu,
        }
    }
}
