//! Latencies of a group's configurations in classes, for percentiles.

use super::lanes::LANES;

/// Classes per octave: a class is 1.1 to 1.6 % wide, its middle within 0.8 % of all it holds.
const STEPS: usize = 64;
/// Octaves from 1 ns.
const OCTAVES: usize = 32;
/// Counters of a group.
const LENGTH: usize = OCTAVES * STEPS * LANES;
/// Bits of a single-precision number below those that tell its class.
pub(super) const BELOW: u32 = 17;
/// Class of 1.0 as these bits give it.
pub(super) const FIRST: i32 = 127 << (23 - BELOW);

/// Counters, the lanes of a class side by side: `class * LANES + lane`.
pub(super) struct Histogram(Box<[u32; LENGTH]>);

impl Histogram {
    pub fn new() -> Self {
        let counters = vec![0; LENGTH].into_boxed_slice();
        Histogram(counters.try_into().expect("of that length"))
    }

    /// Counts one latency of each lane, given as places in the counters.
    #[inline(always)]
    pub fn count(&mut self, places: &[i32; LANES]) {
        for &place in places {
            self.0[place as usize & (LENGTH - 1)] += 1;
        }
    }

    /// Forgets what one lane counted.
    pub fn clear(&mut self, lane: usize) {
        self.0.iter_mut().skip(lane).step_by(LANES).for_each(|n| *n = 0);
    }

    /// Middles of the classes that hold p50, p99 and p99.9 of a lane by nearest rank; zeros for none.
    pub fn ranks(&self, lane: usize) -> [f64; 3] {
        let counts = || self.0.iter().skip(lane).step_by(LANES);
        let all: u64 = counts().map(|&n| u64::from(n)).sum();
        [0.5, 0.99, 0.999].map(|q| {
            let rank = ((q * all as f64).ceil() as u64).max(1);
            let mut seen = 0;
            let class = counts().position(|&n| {
                seen += u64::from(n);
                seen >= rank
            });
            class.map_or(0.0, middle)
        })
    }
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

    /// The place of a latency, by the definition of single precision.
    fn place(ns: u32, lane: usize) -> i32 {
        let class = ((ns as f32).to_bits() >> BELOW) as i32 - FIRST;
        class * LANES as i32 + lane as i32
    }

    #[test]
    fn a_middle_is_within_0_8_percent() {
        for ns in (1..3_000).chain((3_000..100_000_000).step_by(9_973)) {
            let class = place(ns, 0) as usize / LANES;
            let off = (middle(class) - f64::from(ns)).abs();
            assert!(off <= 0.008 * f64::from(ns), "{ns}: {}", middle(class));
        }
    }

    #[test]
    fn ranks_are_nearest_and_lanes_apart() {
        let mut histogram = Histogram::new();
        for n in 1..=1_000 {
            histogram.count(&std::array::from_fn(|lane| place(n, lane)));
        }
        histogram.clear(3);
        for (rank, wanted) in histogram.ranks(2).into_iter().zip([500.0, 990.0, 999.0]) {
            assert!((rank - wanted).abs() <= 0.008 * wanted, "{rank}");
        }
        assert_eq!(histogram.ranks(3), [0.0; 3]);
    }
}
