//! Latencies of a group's configurations in classes, for percentiles.
//!
//! To count every latency of every configuration costs as much as to simulate it. Above a limit, which a few percent of the trace's
//! own latencies exceed, every one is counted; no configuration is faster than polling, so p99 and p99.9 lie there. The others are
//! counted one in [`STRIDE`], with that weight, once there are many. Should the trace turn so fast that p99 lies below
//! the limit, it is as exact as the median.
//!
//! Where a sleep that is over in time changes nothing, most latencies are those of the trace: they are counted once for all
//! configurations ([`Common`]), and each counts only what its misses changed.

use super::lanes::{LANES, each};
use super::piece::Piece;
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16, i32x16, mask32x16};
use std::borrow::Cow;

/// Classes per octave: a class is 1.1 to 1.6 % wide, its middle within 0.8 % of all it holds.
const STEPS: usize = 64;
/// Octaves from 1 ns.
const OCTAVES: usize = 32;
/// Counters of a group.
const LENGTH: usize = OCTAVES * STEPS * LANES;
/// Bits of a single-precision number below those that tell its class.
const BELOW: u32 = 17;
/// Class of 1.0 as these bits give it.
const FIRST: i32 = 127 << (23 - BELOW);
/// One in so many is counted below the limit. A prime, so that it does not fall in step with a pattern of the workload.
const STRIDE: u64 = 7;
/// I/Os of a trace that are all counted.
const ALL: u64 = 65_536;
/// Share of a trace's own latencies above the limit.
const ABOVE: f64 = 0.03;

/// Which latencies are counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counting {
    /// From this on every one, ns.
    limit: i32,
}

impl Counting {
    /// From the first latencies of a trace as it was recorded.
    pub fn new(mut latencies: Vec<i32>) -> Self {
        let below = (latencies.len() as f64 * (1.0 - ABOVE)) as usize;
        let limit = match latencies.len() {
            0 => 0,
            n => *latencies.select_nth_unstable(below.min(n - 1)).1,
        };
        Counting { limit }
    }

    /// How much a latency below the limit counts, that of I/O `io` of the trace.
    pub fn weight(io: u64) -> i32 {
        match io {
            ..ALL => 1,
            _ if io.is_multiple_of(STRIDE) => STRIDE as i32,
            _ => 0,
        }
    }
}

/// Latencies as they were recorded, in classes.
pub(super) struct Common {
    /// Of the I/Os before the piece.
    before: Box<[u32]>,
    /// And with it.
    after: Box<[u32]>,
}

impl Common {
    pub fn new() -> Self {
        let counters = || vec![0; OCTAVES * STEPS].into_boxed_slice();
        Common {
            before: counters(),
            after: counters(),
        }
    }

    /// Moves on to the next piece.
    pub fn take(&mut self, piece: &Piece) {
        self.before.copy_from_slice(&self.after);
        count_all(&mut self.after, piece, piece.len());
    }

    /// Of all before I/O `n` of `piece`.
    fn until(&self, piece: &Piece, n: usize) -> Cow<'_, [u32]> {
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

/// The same class as [`places`] gives.
fn class(latency: i32) -> usize {
    ((latency.max(1) as f32).to_bits() >> BELOW) as usize - FIRST as usize
}

/// Counters, the lanes of a class side by side: `class * LANES + lane`. They may have wrapped below 0 where they are added to common ones.
pub(super) struct Histogram(Box<[u32; LENGTH]>);

impl Histogram {
    pub fn new() -> Self {
        let counters = vec![0; LENGTH].into_boxed_slice();
        Histogram(counters.try_into().expect("of that length"))
    }

    /// Counts the latency of each lane, with the I/O's [`Counting::weight`].
    #[inline(always)]
    pub fn count<S: Simd>(&mut self, latency: i32x16<S>, weight: i32, counting: Counting) {
        let above = latency.simd_ge(counting.limit);
        if weight > 0 {
            let simd = latency.token();
            let one = i32x16::splat(simd, 1);
            let weights = above.select(one, i32x16::splat(simd, weight)).to_array();
            let places = places(latency);
            for lane in 0..LANES {
                self.add(places[lane], weights[lane]);
            }
        } else if above.any_true() {
            let places = places(latency);
            each(above.to_bitmask()).for_each(|lane| self.add(places[lane], 1));
        }
    }

    /// Counts what the lanes that missed the I/O add to the common counters: their `latency`, and not the `recorded` one.
    #[inline(always)]
    pub fn count_missed<S: Simd>(
        &mut self,
        missed: mask32x16<S>,
        latency: i32x16<S>,
        recorded: i32,
        weight: i32,
        counting: Counting,
    ) {
        let counts = match weight {
            0 => missed & latency.simd_ge(counting.limit),
            _ => missed,
        };
        if counts.any_true() {
            self.exchange(counts, latency, recorded, weight, counting);
        }
    }

    #[inline(always)]
    fn exchange<S: Simd>(
        &mut self,
        counts: mask32x16<S>,
        latency: i32x16<S>,
        recorded: i32,
        weight: i32,
        counting: Counting,
    ) {
        let places = places(latency);
        let above = latency.simd_ge(counting.limit).to_bitmask();
        let from = class(recorded) * LANES;
        let less = match recorded >= counting.limit {
            true => 1,
            false => weight,
        };
        for lane in each(counts.to_bitmask()) {
            let more = if above >> lane & 1 == 1 { 1 } else { weight };
            self.add(places[lane], more);
            self.add((from + lane) as i32, -less);
        }
    }

    #[inline(always)]
    fn add(&mut self, place: i32, weight: i32) {
        let counter = &mut self.0[place as usize & (LENGTH - 1)];
        *counter = counter.wrapping_add_signed(weight);
    }

    /// Forgets what one lane counted, and what `common` had before I/O `n` of `piece`.
    pub fn clear(&mut self, lane: usize, common: Option<&Common>, piece: &Piece, n: usize) {
        let counters = self.0.iter_mut().skip(lane).step_by(LANES);
        match common {
            None => counters.for_each(|counter| *counter = 0),
            Some(common) => {
                let before = common.until(piece, n);
                let each = counters.zip(before.iter());
                each.for_each(|(counter, before)| *counter = before.wrapping_neg());
            }
        }
    }

    /// Middles of the classes that hold p50, p99 and p99.9 of a lane's `ios` by nearest rank; zeros for none. With `common` as it is
    /// before I/O `n` of `piece`.
    ///
    /// Ranks are counted from the longest down: there every latency was counted.
    pub fn ranks(
        &self,
        lane: usize,
        ios: u64,
        common: Option<&Common>,
        piece: &Piece,
        n: usize,
    ) -> [f64; 3] {
        let common = common.map(|common| common.until(piece, n));
        // Below the limit, where some are counted for all, a few too many may have been taken away.
        let count = |class: usize| {
            let own = self.0[class * LANES + lane];
            let all = common.as_ref().map_or(0, |common| common[class]);
            (own.wrapping_add(all) as i32).max(0) as u64
        };
        [0.5, 0.99, 0.999].map(|q| {
            let rank = ((q * ios as f64).ceil() as u64).max(1);
            let from_top = (ios + 1).saturating_sub(rank);
            let mut seen = 0;
            let class = (0..OCTAVES * STEPS).rev().find(|&class| {
                let n = count(class);
                seen += n;
                n > 0 && seen >= from_top
            });
            class.map_or(0.0, middle)
        })
    }
}

/// Where the latency of each lane counts.
#[inline(always)]
fn places<S: Simd>(latency: i32x16<S>) -> [i32; LANES] {
    let simd = latency.token();
    let exact: f32x16<S> = latency.max(1).to_float();
    let bits: i32x16<S> = exact.bitcast();
    let lanes: [i32; LANES] = std::array::from_fn(
        #[inline(always)]
        |lane| lane as i32 - FIRST * LANES as i32,
    );
    let places = ((bits >> BELOW) << LANES.trailing_zeros()) + i32x16::load_array_ref(simd, &lanes);
    places.to_array()
}

/// The middle of a class, ns: of the whole numbers in it.
fn middle(class: usize) -> f64 {
    let edge = |class: usize| {
        let bits = ((class as i32 + FIRST) as u32) << BELOW;
        f64::from(f32::from_bits(bits)).ceil()
    };
    (edge(class) + edge(class + 1) - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use fearless_simd::{Level, dispatch};

    fn counted(latencies: impl Iterator<Item = i32>, limit: i32) -> Histogram {
        let mut histogram = Histogram::new();
        for (io, ns) in latencies.enumerate() {
            let counting = Counting { limit };
            dispatch!(Level::new(), simd => {
                let lanes = i32x16::load_array(simd, std::array::from_fn(|lane| ns + lane as i32 / 4));
                histogram.count(lanes, Counting::weight(io as u64), counting);
            });
        }
        histogram
    }

    #[test]
    fn a_class_holds_its_middle_and_little_else() {
        for ns in (1..3_000).chain((3_000..100_000_000).step_by(99_773)) {
            let got = counted([ns].into_iter(), 0).ranks(0, 1, None, &Piece::new(), 0)[0];
            let off = (got - f64::from(ns)).abs();
            assert!(off <= 0.008 * f64::from(ns), "{ns}: {got}");
        }
    }

    /// 1 to 300,000 ns in an order without pattern: ranks by arithmetic, whatever the limit. With a limit of 291,000 ns all of the
    /// slowest 3 % are counted.
    #[test]
    fn ranks_are_nearest_and_lanes_apart() {
        let n = 300_000;
        let latencies = || (0..n).map(|i| 1 + ((i as i64 * 104_729) % n as i64) as i32);
        for (limit, within) in [(0, 0.008), (291_000, 0.016), (i32::MAX, 0.016)] {
            let mut histogram = counted(latencies(), limit);
            histogram.clear(3, None, &Piece::new(), 0);
            let ranks = |lane| histogram.ranks(lane, n as u64, None, &Piece::new(), 0);
            let wanted = [150_000.0, 297_000.0, 299_700.0];
            for (rank, wanted) in ranks(2).into_iter().zip(wanted) {
                assert!((rank - wanted).abs() <= within * wanted, "{limit}: {rank}");
            }
            assert_eq!(ranks(3), [0.0; 3]);
        }
    }

    #[test]
    fn the_limit_is_exceeded_by_three_percent() {
        assert_eq!(Counting::new((0..1_000).rev().collect()).limit, 970);
        assert_eq!(Counting::new(Vec::new()).limit, 0);
    }
}
