//! The sleeps that the calibration tries.

use q2c_policy::PolicySpec;

/// Sleeps asked, ns, ascending, each at least 1 us.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ladder {
    pub sleeps: Vec<u64>,
}

/// Sleeps tried while the completion is still far away, us. [`Ladder::clear`] takes those that fit.
const CLEAR_US: [u64; 14] = [1, 2, 5, 8, 12, 17, 25, 35, 50, 70, 100, 150, 250, 500];
/// Sleeps tried at each block size, percent of the median latency.
const AROUND_PCT: [u64; 10] = [10, 25, 40, 55, 70, 85, 100, 120, 150, 200];

impl Ladder {
    /// Sleeps of at most half a latency of `p10` ns; the shortest sleep is always taken.
    pub(crate) fn clear(p10: f64) -> Self {
        let fits = |us: &u64| *us == CLEAR_US[0] || (*us * 1000) as f64 <= 0.5 * p10;
        let sleeps = CLEAR_US.into_iter().filter(fits).map(|us| us * 1000);
        Ladder {
            sleeps: sleeps.collect(),
        }
    }

    /// Sleeps below, around and above a latency of `p50` ns, but at least 1 us.
    pub(crate) fn around(p50: f64) -> Self {
        let at = |pct: u64| ((p50 * pct as f64 / 100.0) as u64).max(1_000);
        let mut sleeps: Vec<u64> = AROUND_PCT.map(at).to_vec();
        sleeps.dedup();
        Ladder { sleeps }
    }
}

pub(super) fn fixed(ns: u64) -> PolicySpec {
    let text = format!("fixed:{ns}ns");
    text.parse()
        .expect("a fixed sleep of at least 1 us is valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ladders_ascend_and_keep_their_bounds() {
        let clear = Ladder::clear(40_000.0).sleeps;
        assert_eq!(clear, [1_000, 2_000, 5_000, 8_000, 12_000, 17_000]);
        let around = Ladder::around(5_000.0).sleeps;
        assert!(around.is_sorted(), "{around:?}");
        assert_eq!((around[0], around.last()), (1_000, Some(&10_000)));
    }
}
