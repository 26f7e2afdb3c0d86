//! Counts of observed times in bins of a fixed relative width, from which a window's quantiles are
//! calculated.
//!
//! Bins are linear below 64 ns, then 64 to every doubling, so none is wider than 1/64 of its times.
//! A quantile is the middle of its bin, so it is off by 0.8 % at most; it never lies outside the
//! window's shortest and longest time. Times of 17 s and more share the last bin; no sleep is that
//! long.

use crate::state::StateReader;
use q2c_model::Nanos;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Base-2 logarithm of the number of bins in a doubling: 64 bins.
const GROUP_BITS: u32 = 6;
const GROUP_BINS: usize = 1 << GROUP_BITS;
/// Number of groups of bins. The last doubling begins at 2^33 ns.
const GROUPS: usize = 34 - GROUP_BITS as usize + 1;
const BINS: usize = GROUPS * GROUP_BINS;

#[inline]
fn bin_of(ns: u64) -> usize {
    let doubling = ns.checked_ilog2().unwrap_or(0);
    if doubling < GROUP_BITS {
        return ns as usize;
    }
    let group = (doubling - GROUP_BITS + 1) as usize;
    let offset = (ns >> (doubling - GROUP_BITS)) as usize - GROUP_BINS;
    (group * GROUP_BINS + offset).min(BINS - 1)
}

fn middle_of(bin: usize) -> u64 {
    let (group, offset) = (bin / GROUP_BINS, (bin % GROUP_BINS) as u64);
    match group {
        0 => offset,
        _ => {
            let width = 1u64 << (group - 1);
            (GROUP_BINS as u64 + offset) * width + (width - 1) / 2
        }
    }
}

/// Counts of one bucket's times in one lane since its start. Only that lane writes; counts wrap.
pub(super) struct TimeBins {
    /// A bit for each group of bins that ever had a time.
    groups: AtomicU64,
    bins: [AtomicU32; BINS],
}

impl TimeBins {
    pub(super) const fn new() -> Self {
        TimeBins {
            groups: AtomicU64::new(0),
            bins: [const { AtomicU32::new(0) }; BINS],
        }
    }

    #[inline]
    pub(super) fn add(&self, ns: u64) {
        let bin = bin_of(ns);
        let groups = self.groups.load(Relaxed);
        self.groups.store(groups | 1 << (bin / GROUP_BINS), Relaxed);
        let count = self.bins[bin].load(Relaxed);
        self.bins[bin].store(count.wrapping_add(1), Relaxed);
    }
}

#[derive(Clone, Debug)]
pub(super) struct BinCounts {
    groups: u64,
    bins: [u32; BINS],
}

impl Default for BinCounts {
    fn default() -> Self {
        let bins = [0; BINS];
        BinCounts { groups: 0, bins }
    }
}

impl BinCounts {
    #[inline]
    pub(super) fn add(&mut self, ns: u64) {
        let bin = bin_of(ns);
        self.groups |= 1 << (bin / GROUP_BINS);
        self.bins[bin] += 1;
    }

    pub(super) fn clear(&mut self) {
        for bin in bins_of(self.groups) {
            self.bins[bin] = 0;
        }
        self.groups = 0;
    }

    pub(super) fn to_numbers(&self) -> Vec<u64> {
        let full = bins_of(self.groups).filter(|&bin| self.bins[bin] > 0);
        full.flat_map(|bin| [bin as u64, self.bins[bin].into()])
            .collect()
    }

    pub(super) fn read(numbers: &mut StateReader<'_>) -> Option<BinCounts> {
        let mut times = BinCounts::default();
        while !numbers.0.is_empty() {
            let bin = numbers.next_up_to(BINS as u64 - 1)? as usize;
            times.groups |= 1 << (bin / GROUP_BINS);
            // The bins' sum may differ from the window's count, which an engine may keep elsewhere.
            times.bins[bin] = numbers.next_up_to(1 << 31)? as u32;
        }
        Some(times)
    }

    /// The times added to `lanes` since the last call with this `merged`. It takes no lock: a
    /// sample that is just being added counts as a whole, in this window or the next.
    pub(super) fn take<'a>(lanes: impl Iterator<Item = &'a TimeBins>, merged: &TimeBins) -> Self {
        let mut times = BinCounts::default();
        for lane in lanes {
            times.groups |= lane.groups.load(Relaxed);
            for bin in bins_of(lane.groups.load(Relaxed)) {
                times.bins[bin] = times.bins[bin].wrapping_add(lane.bins[bin].load(Relaxed));
            }
        }
        for bin in bins_of(times.groups) {
            let before = merged.bins[bin].load(Relaxed);
            merged.bins[bin].store(times.bins[bin], Relaxed);
            times.bins[bin] = times.bins[bin].wrapping_sub(before);
        }
        times
    }

    /// The nearest-rank quantile; `share` is in parts per billion. `None` if there are no times.
    pub(super) fn quantile(&self, share: u64) -> Option<Nanos> {
        let counts = || bins_of(self.groups).map(|bin| (bin, u64::from(self.bins[bin])));
        let total: u64 = counts().map(|(_, count)| count).sum();
        let rank = (u128::from(total) * u128::from(share)).div_ceil(1_000_000_000);
        let mut rank_left = u64::try_from(rank)
            .unwrap_or(u64::MAX)
            .clamp(1, total.max(1));
        let at_rank = counts().find(|&(_, count)| {
            let reached = count >= rank_left;
            rank_left -= if reached { 0 } else { count };
            reached
        });
        at_rank.map(|(bin, _)| Nanos(middle_of(bin)))
    }
}

fn bins_of(groups: u64) -> impl Iterator<Item = usize> {
    (0..GROUPS)
        .filter(move |group| groups & (1 << group) != 0)
        .flat_map(|group| group * GROUP_BINS..(group + 1) * GROUP_BINS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::Ordering::{Acquire, Release};

    fn counts_of(times: &[u64]) -> BinCounts {
        let lane = TimeBins::new();
        times.iter().for_each(|&ns| lane.add(ns));
        BinCounts::take([&lane].into_iter(), &TimeBins::new())
    }

    #[test]
    fn bins_begin_where_the_last_one_ended() {
        // By hand: bins from 64 to 127 are 1 ns wide, those from 128 on 2 ns. The last full bin
        // ends at 2^34.
        let bins = [0, 63, 64, 65, 127, 128, 129, 130].map(bin_of);
        assert_eq!(bins, [0, 63, 64, 65, 127, 128, 128, 129]);
        let last = [(1 << 34) - 1, 1 << 34, u64::MAX].map(bin_of);
        assert_eq!(last, [BINS - 1; 3]);
    }

    #[test]
    fn a_quantile_is_the_nearest_rank() {
        let ten: Vec<u64> = (1..=10).collect();
        let quantile = |share: u64| counts_of(&ten).quantile(share * 10_000_000).map(|t| t.0);
        // 5 % of ten is half a sample, so the rank is the first; 31 % is 3.1, so it is the fourth.
        let expected = [1, 1, 1, 3, 4, 10].map(Some);
        assert_eq!([0, 5, 10, 30, 31, 100].map(quantile), expected);
        assert_eq!(counts_of(&[]).quantile(500_000_000), None);
    }

    #[test]
    fn what_was_taken_is_gone_and_counts_may_wrap() {
        let (lane, merged) = (TimeBins::new(), TimeBins::new());
        lane.bins[7].store(u32::MAX, Relaxed);
        merged.bins[7].store(u32::MAX, Relaxed);
        lane.add(7);
        let first = BinCounts::take([&lane].into_iter(), &merged);
        assert_eq!(first.to_numbers(), [7, 1]);
        lane.add(50);
        let second = BinCounts::take([&lane].into_iter(), &merged);
        assert_eq!(second.to_numbers(), [50, 1]);
    }

    /// Three threads write while times are taken. In each bin, as much comes out as went in.
    #[test]
    fn no_time_is_lost_or_counted_twice_between_threads() {
        const PER_LANE: u64 = 200_000;
        let (lanes, merged) = ([const { TimeBins::new() }; 3], TimeBins::new());
        let running = AtomicU32::new(3);
        let mut taken = [0u32; BINS];
        let mut takes = 0;
        std::thread::scope(|scope| {
            for lane in &lanes {
                let running = &running;
                scope.spawn(move || {
                    (0..PER_LANE).for_each(|i| lane.add(i * i % 99_991));
                    running.fetch_sub(1, Release);
                });
            }
            loop {
                let writers_done = running.load(Acquire) == 0;
                let times = BinCounts::take(lanes.iter(), &merged);
                (0..BINS).for_each(|bin| taken[bin] += times.bins[bin]);
                takes += 1;
                if writers_done {
                    break;
                }
            }
        });
        let mut put_in = [0u32; BINS];
        (0..PER_LANE).for_each(|i| put_in[bin_of(i * i % 99_991)] += 3);
        assert!(taken == put_in && takes > 1, "{takes} takes");
    }

    proptest! {
        #[test]
        fn a_bins_middle_is_near_all_of_its_times(ns in 1u64..1 << 34) {
            let middle = middle_of(bin_of(ns));
            prop_assert!(middle.abs_diff(ns) * 128 <= ns, "{} {}", ns, middle);
        }

        #[test]
        fn quantiles_are_within_their_error(
            mut all in prop::collection::vec(0u64..300_000, 1..200),
            percent in 1u64..100,
        ) {
            let got = counts_of(&all).quantile(percent * 10_000_000).expect("there are times");
            all.sort_unstable();
            let rank = (all.len() as u64 * percent).div_ceil(100) as usize;
            let truth = all[rank - 1];
            prop_assert!(got.0.abs_diff(truth) * 128 <= truth, "{} for {}", got.0, truth);
        }
    }
}
