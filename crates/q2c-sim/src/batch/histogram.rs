//! Histograms of the latencies of a group's configurations, for percentiles.
//!
//! Counting every latency of every configuration would cost as much as simulating it. So only
//! latencies above a limit are all counted. A few percent of the trace's own latencies exceed it,
//! and no configuration is faster than polling, so p99 and p99.9 lie there. After the first I/Os,
//! only one in [`STRIDE`] of the lower latencies is counted, with that weight. If the trace becomes
//! so fast that p99 falls below the limit, p99 is only as exact as the median.
//!
//! If a clear sleep does not change an I/O's latency, most latencies are those of the trace. They
//! are counted once for all configurations ([`CommonHistogram`]), and each configuration counts
//! only what its misses changed.

use super::piece::Piece;
use super::simd_lanes::{SIMD_LANES, set_bits};
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, i32x16, mask32x16};
use std::borrow::Cow;

/// Classes per octave: each is 1.1 to 1.6 % wide, its middle within 0.8 % of all its values.
const CLASSES_PER_OCTAVE: usize = 64;
/// Number of octaves from 1 ns on, enough for all times of 32 bits.
const OCTAVES: usize = 32;
const CLASSES: usize = OCTAVES * CLASSES_PER_OCTAVE;
const LENGTH: usize = CLASSES * SIMD_LANES;
/// Number of low bits of a single-precision number that do not affect its class.
const DROPPED_BITS: u32 = 17;
/// The remaining bits of 1.0, which class 0 begins with: 1 ns.
const FIRST_CLASS: i32 = 127 << (23 - DROPPED_BITS);
/// Below the limit, one I/O in this many counts. A prime does not fall in step with a workload.
const STRIDE: u64 = 7;
/// Number of I/Os at the start of a trace whose latencies are all counted.
const DENSE_IOS: u64 = 65_536;
/// Share of the trace's first latencies that lie above the limit.
const SHARE_ABOVE: f64 = 0.03;

/// Number of a lane's first I/Os whose latencies set the limit.
pub(crate) const FIRST_LATENCIES: usize = 16_384;

/// The limit above which all latencies are counted; the first piece of the trace sets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountingLimit {
    /// Latencies of at least this value, ns, are all counted.
    pub limit: i32,
}

impl CountingLimit {
    pub(crate) fn new(mut latencies: Vec<i32>) -> Self {
        let rank = (latencies.len() as f64 * (1.0 - SHARE_ABOVE)) as usize;
        let limit = match latencies.len() {
            0 => 0,
            n => *latencies.select_nth_unstable(rank.min(n - 1)).1,
        };
        CountingLimit { limit }
    }

    /// True if weights change between the first and the last of the sixteen I/Os from `io` on.
    #[inline(always)]
    pub(crate) fn changes_within(io: u64) -> bool {
        io < DENSE_IOS && io + SIMD_LANES as u64 > DENSE_IOS
    }

    #[inline(always)]
    pub(super) fn weights(io: u64) -> Weights {
        let (counted, weight) = if io < DENSE_IOS {
            (u16::MAX, 1)
        } else {
            (SPARSE << (io.next_multiple_of(STRIDE) - io), STRIDE as u32)
        };
        Weights { counted, weight }
    }

    /// The weight of a latency of I/O `io` below the limit; 0 if it is not counted.
    pub(crate) fn weight(io: u64) -> i32 {
        match io {
            ..DENSE_IOS => 1,
            _ if io.is_multiple_of(STRIDE) => STRIDE as i32,
            _ => 0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    pub counted: u16,
    pub weight: u32,
}

/// The bits of the I/Os among sixteen that count; they are [`STRIDE`] apart.
const SPARSE: u16 = 1 | 1 << STRIDE | 1 << (2 * STRIDE);

pub(super) struct CommonHistogram {
    before: Box<[u32]>,
    after: Box<[u32]>,
}

impl CommonHistogram {
    pub(crate) fn new() -> Self {
        let counters = || vec![0; OCTAVES * CLASSES_PER_OCTAVE].into_boxed_slice();
        CommonHistogram {
            before: counters(),
            after: counters(),
        }
    }

    pub(crate) fn add_piece(&mut self, piece: &Piece) {
        self.before.copy_from_slice(&self.after);
        count_all(&mut self.after, piece, piece.len());
    }

    /// The counts of all I/Os before I/O `n` of `piece`, which has to be the current piece.
    pub(crate) fn counts_before(&self, piece: &Piece, n: usize) -> Cow<'_, [u32]> {
        if n == piece.len() {
            return Cow::Borrowed(&self.after);
        }
        let mut counters = self.before.to_vec();
        count_all(&mut counters, piece, n);
        Cow::Owned(counters)
    }
}

fn count_all(counters: &mut [u32], piece: &Piece, n: usize) {
    for (submit, wait) in piece.submit[..n].iter().zip(&piece.wait[..n]) {
        counters[class(submit + wait)] += 1;
    }
}

fn class(latency: i32) -> usize {
    ((latency.max(1) as f32).to_bits() >> DROPPED_BITS) as usize - FIRST_CLASS as usize
}

/// Counters at `class * SIMD_LANES + lane`. Those added to [`CommonHistogram`] may wrap below 0.
pub(super) struct GroupHistogram(Box<[u32; LENGTH]>);

impl GroupHistogram {
    pub(crate) fn new() -> Self {
        let counters = vec![0; LENGTH].into_boxed_slice();
        GroupHistogram(counters.try_into().expect("of that length"))
    }

    #[inline(always)]
    pub(crate) fn count<S: Simd>(
        &mut self,
        latency: i32x16<S>,
        weight: i32,
        counting: CountingLimit,
    ) {
        let above = latency.simd_ge(counting.limit);
        if weight > 0 {
            let simd = latency.token();
            let one = i32x16::splat(simd, 1);
            let weights = above.select(one, i32x16::splat(simd, weight)).to_array();
            let indices = counter_indices(latency);
            for lane in 0..SIMD_LANES {
                self.add(indices[lane], weights[lane]);
            }
        } else if above.any_true() {
            let indices = counter_indices(latency);
            set_bits(above.to_bitmask()).for_each(|lane| self.add(indices[lane], 1));
        }
    }

    /// Replaces `recorded`, a count of [`CommonHistogram`], by `latency` in the lanes that missed.
    #[inline(always)]
    pub(crate) fn count_missed<S: Simd>(
        &mut self,
        missed: mask32x16<S>,
        latency: i32x16<S>,
        recorded: i32,
        weight: i32,
        counting: CountingLimit,
    ) {
        let to_count = match weight {
            0 => missed & latency.simd_ge(counting.limit),
            _ => missed,
        };
        if !to_count.any_true() {
            return;
        }
        let above = latency.simd_ge(counting.limit).to_bitmask();
        let indices = counter_indices(latency);
        let recorded_row = class(recorded) * SIMD_LANES;
        let is_counted_once = recorded >= counting.limit;
        let removed = if is_counted_once { 1 } else { weight };
        for lane in set_bits(to_count.to_bitmask()) {
            let added = if above >> lane & 1 == 1 { 1 } else { weight };
            self.add(indices[lane], added);
            self.add((recorded_row + lane) as i32, -removed);
        }
    }

    #[inline(always)]
    fn add(&mut self, index: i32, weight: i32) {
        let counter = &mut self.0[index as usize & (LENGTH - 1)];
        *counter = counter.wrapping_add_signed(weight);
    }

    /// Starts counting anew: subtracts `before`, the counts of [`CommonHistogram`] so far.
    pub(crate) fn clear(&mut self, lane: usize, before: Option<&[u32]>) {
        let counters = self.0.iter_mut().skip(lane).step_by(SIMD_LANES);
        for (class, counter) in counters.enumerate() {
            *counter = before.map_or(0, |before| before[class].wrapping_neg());
        }
    }

    /// [`ranks`] of a lane's `ios` latencies, ns; `common` are the counts of [`CommonHistogram`].
    pub(crate) fn ranks(&self, lane: usize, ios: u64, common: Option<&[u32]>) -> [f64; 3] {
        // Below the limit one I/O stands for several, so more may be subtracted than counted.
        let count = |class: usize| {
            let lane_count = self.0[class * SIMD_LANES + lane];
            let common_count = common.map_or(0, |common| common[class]);
            (lane_count.wrapping_add(common_count) as i32).max(0) as u64
        };
        let classes = (0..CLASSES).rev();
        ranks(ios, &classes.map(|class| (class, count(class))))
    }
}

#[inline(always)]
fn counter_indices<S: Simd>(latency: i32x16<S>) -> [i32; SIMD_LANES] {
    let simd = latency.token();
    let exact: f32x16<S> = latency.max(1).to_float();
    let bits: i32x16<S> = exact.bitcast();
    let lanes: [i32; SIMD_LANES] = std::array::from_fn(
        #[inline(always)]
        |lane| lane as i32 - FIRST_CLASS * SIMD_LANES as i32,
    );
    let indices = ((bits >> DROPPED_BITS) << SIMD_LANES.trailing_zeros())
        + i32x16::load_array_ref(simd, &lanes);
    indices.to_array()
}

/// The mean of the smallest and the largest whole number in a class, ns.
fn class_middle(class: usize) -> f64 {
    let edge = |class: usize| {
        let bits = ((class as i32 + FIRST_CLASS) as u32) << DROPPED_BITS;
        f64::from(f32::from_bits(bits)).ceil()
    };
    (edge(class) + edge(class + 1) - 1.0) / 2.0
}

/// The latencies of one configuration that is simulated alone, in the same classes.
#[derive(Clone, Debug)]
pub(super) struct LatencyHistogram(Box<[u32; CLASSES]>);

impl Default for LatencyHistogram {
    fn default() -> Self {
        LatencyHistogram(Box::new([0; CLASSES]))
    }
}

impl LatencyHistogram {
    #[inline]
    pub(crate) fn count(&mut self, latency: i32, io: u64, counting: CountingLimit) {
        let weight = if latency >= counting.limit {
            1
        } else {
            CountingLimit::weight(io)
        };
        if weight > 0 {
            self.add(latency, weight as u32);
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, latency: i32, weight: u32) {
        self.0[class(latency) & (CLASSES - 1)] += weight;
    }

    pub(crate) fn ranks(&self, ios: u64) -> [f64; 3] {
        let classes = (0..CLASSES).rev();
        ranks(ios, &classes.map(|class| (class, self.0[class].into())))
    }

    /// The counts above 0, each after its class.
    pub(crate) fn counts(&self) -> Vec<(u16, u32)> {
        let nonzero = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        let counts = nonzero.map(|(class, count)| (class as u16, *count));
        counts.collect()
    }

    /// Restores [`LatencyHistogram::counts`]; `None` if a class or a count is out of range.
    pub(crate) fn from_counts(counts: &[(u16, u32)]) -> Option<Self> {
        let mut latencies = LatencyHistogram::default();
        for (class, count) in counts {
            let counter = latencies.0.get_mut(usize::from(*class))?;
            *counter = Some(*count).filter(|count| *count <= 1 << 31)?;
        }
        Some(latencies)
    }
}

/// p50, p99 and p99.9 of `ios` latencies by nearest rank, ns. `counts` begin with the highest
/// class, because every long latency was counted.
pub(crate) fn ranks(ios: u64, counts: &(impl Iterator<Item = (usize, u64)> + Clone)) -> [f64; 3] {
    [0.5, 0.99, 0.999].map(|q| {
        let rank = ((q * ios as f64).ceil() as u64).max(1);
        let rank_from_top = (ios + 1).saturating_sub(rank);
        let mut from_highest = 0_u64;
        let at_rank = counts.clone().find(|&(_, count)| {
            from_highest += count;
            count > 0 && from_highest >= rank_from_top
        });
        at_rank.map_or(0.0, |(class, _)| class_middle(class))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fearless_simd::{Level, dispatch};

    fn counted(latencies: impl Iterator<Item = i32>, limit: i32) -> GroupHistogram {
        let mut histogram = GroupHistogram::new();
        for (io, ns) in latencies.enumerate() {
            let counting = CountingLimit { limit };
            dispatch!(Level::new(), simd => {
                let lanes = i32x16::load_array(simd, std::array::from_fn(|lane| ns + lane as i32 / 4));
                histogram.count(lanes, CountingLimit::weight(io as u64), counting);
            });
        }
        histogram
    }

    #[test]
    fn a_class_holds_its_middle_and_little_else() {
        for ns in (1..3_000).chain((3_000..100_000_000).step_by(99_773)) {
            let got = counted([ns].into_iter(), 0).ranks(0, 1, None)[0];
            let off = (got - f64::from(ns)).abs();
            assert!(off <= 0.008 * f64::from(ns), "{ns}: {got}");
        }
    }

    /// Latencies of 1 to 300,000 ns in an order without pattern, so that ranks follow by
    /// arithmetic, whatever the limit. With a limit of 291,000 ns all of the slowest 3 % are
    /// counted.
    #[test]
    fn ranks_are_nearest_and_lanes_apart() {
        let n = 300_000;
        let latencies = || (0..n).map(|i| 1 + ((i as i64 * 104_729) % n as i64) as i32);
        for (limit, within) in [(0, 0.008), (291_000, 0.016), (i32::MAX, 0.016)] {
            let mut histogram = counted(latencies(), limit);
            histogram.clear(3, None);
            let ranks = |lane| histogram.ranks(lane, n as u64, None);
            let wanted = [150_000.0, 297_000.0, 299_700.0];
            for (rank, wanted) in ranks(2).into_iter().zip(wanted) {
                assert!((rank - wanted).abs() <= within * wanted, "{limit}: {rank}");
            }
            assert_eq!(ranks(3), [0.0; 3]);
        }
    }

    #[test]
    fn the_limit_is_exceeded_by_three_percent() {
        assert_eq!(CountingLimit::new((0..1_000).rev().collect()).limit, 970);
        assert_eq!(CountingLimit::new(Vec::new()).limit, 0);
    }
}
