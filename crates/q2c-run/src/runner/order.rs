use q2c_model::stats::Rng;

/// An endless sequence of shuffled rounds. The number of cells and the seed alone decide it.
pub(super) struct CellOrder {
    rng: Rng,
    cells: usize,
}

impl CellOrder {
    pub(super) fn new(seed: u64, cells: usize) -> Self {
        let rng = Rng::new(seed);
        CellOrder { rng, cells }
    }

    /// The index of every cell, once, in the order of the next round.
    pub(super) fn next_round(&mut self) -> Vec<usize> {
        let mut round: Vec<usize> = (0..self.cells).collect();
        self.rng.shuffle(&mut round);
        round
    }
}

/// The seed of one trial: FNV-1a over the cell's key, mixed with the run's seed and the trial's
/// number by the seeding of the generator.
pub(super) fn trial_seed(seed: u64, key: &str, trial: u32) -> u64 {
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let run = Rng::new(seed ^ hash).next_u64();
    Rng::new(run ^ u64::from(trial)).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn seeds_differ_by_run_key_and_trial() {
        let mut seen = BTreeSet::new();
        for seed in 0..10 {
            for key in ["a", "b", "ab", "ba", ""] {
                seen.extend((0..10).map(|trial| trial_seed(seed, key, trial)));
            }
        }
        assert_eq!(seen.len(), 10 * 5 * 10);
    }

    #[test]
    fn first_places_are_even() {
        let mut order = CellOrder::new(3, 4);
        let mut first = [0u32; 4];
        (0..40_000).for_each(|_| first[order.next_round()[0]] += 1);
        // 10,000 each are expected, with a standard deviation of 87.
        let expected = 9_600..10_400;
        assert!(first.iter().all(|n| expected.contains(n)), "{first:?}");
    }

    proptest::proptest! {
        #[test]
        fn rounds_are_permutations_and_reproducible(seed: u64, cells in 0usize..40) {
            let (mut one, mut two) = (CellOrder::new(seed, cells), CellOrder::new(seed, cells));
            for _ in 0..5 {
                let round = one.next_round();
                proptest::prop_assert_eq!(&round, &two.next_round());
                let distinct: BTreeSet<usize> = round.iter().copied().collect();
                proptest::prop_assert_eq!(round.len(), cells);
                proptest::prop_assert_eq!(distinct, (0..cells).collect::<BTreeSet<_>>());
            }
        }
    }
}
