//! The results of one simulated configuration.

use q2c_model::stats::Histogram;
use q2c_model::{Latencies, Rates, SimulatedFigures};

/// Up to this number of latencies percentiles are exact; above, they are middles of 1.6 % classes.
const MAX_EXACT: usize = 1 << 22;

/// Rates and shares over the measured part of a simulation, all lanes together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SimOutcome {
    /// I/Os counted.
    pub ios: u64,
    /// The figures of these I/Os.
    pub gives: SimulatedFigures,
}

#[derive(Debug, Default)]
pub(crate) struct SimTally {
    latencies: Vec<f32>,
    /// All latencies in classes, once their number has reached [`MAX_EXACT`].
    classes: Option<Histogram>,
    latency_sum: f64,
    pub sums: OutcomeSums,
}

/// Sums over the I/Os that count: their number, the misses, and times in ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutcomeSums {
    pub ios: f64,
    pub misses: f64,
    pub asked: f64,
    pub cpu: f64,
    pub other_cpu: f64,
    pub device: f64,
    pub late: f64,
    pub polled: f64,
}

impl OutcomeSums {
    /// The outcome of `lanes` lanes over `wall` ns. `latencies` is called only if I/Os count.
    pub(crate) fn outcome(
        &self,
        wall: f64,
        lanes: usize,
        latencies: impl FnOnce(f64) -> Latencies<f64>,
    ) -> SimOutcome {
        let ios = self.ios;
        if ios == 0.0 || wall <= 0.0 {
            return SimOutcome::default();
        }
        let iops = ios / wall * 1e9;
        SimOutcome {
            ios: ios as u64,
            gives: SimulatedFigures {
                rates: Rates {
                    iops,
                    cpu_pct: self.cpu / wall / lanes as f64 * 100.0,
                    miss_rate: self.misses / ios,
                    effective_sleep_ns: self.asked / ios,
                },
                cpu_ns_per_io: self.cpu / ios,
                kiops_per_core: iops / 1e3 / ((self.cpu + self.other_cpu) / wall),
                t_over: self.late / self.device,
                t_under: self.polled / self.device,
                latencies: latencies(ios),
            },
        }
    }
}

impl SimTally {
    pub(crate) fn add_latency(&mut self, ns: f32) {
        self.latency_sum += f64::from(ns);
        self.sums.ios += 1.0;
        match &mut self.classes {
            Some(classes) => classes.record(ns as u64),
            None => {
                self.latencies.push(ns);
                if self.latencies.len() == MAX_EXACT {
                    let classes = self.classes.insert(Histogram::default());
                    for ns in std::mem::take(&mut self.latencies) {
                        classes.record(ns as u64);
                    }
                }
            }
        }
    }

    pub(crate) fn outcome(mut self, wall: f64, lanes: usize) -> SimOutcome {
        let sums = self.sums;
        sums.outcome(wall, lanes, |ios| {
            Latencies::from_percentiles(self.latency_sum / ios, |share| self.percentile(share))
        })
    }

    /// The nearest-rank percentile for the share `q`, ns, by selection instead of a full sort.
    fn percentile(&mut self, q: f64) -> f64 {
        if let Some(classes) = &self.classes {
            return classes.percentile(q);
        }
        let rank = (q * self.latencies.len() as f64).ceil() as usize;
        let index = rank.clamp(1, self.latencies.len()) - 1;
        let (_, ranked, _) = self.latencies.select_nth_unstable_by(index, f32::total_cmp);
        f64::from(*ranked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies of 1 to 6,000,000 ns in an order without pattern, so that percentiles follow by
    /// arithmetic.
    #[test]
    fn more_latencies_than_are_kept() {
        let n = 6_000_000_u64;
        let mut tally = SimTally::default();
        for io in 0..n {
            tally.add_latency((1 + io * 104_729 % n) as f32);
        }
        let got = tally.outcome(1.0, 1);
        let latencies = got.gives.latencies;
        assert_eq!((got.ios, latencies.mean_ns), (n, 3_000_000.5));
        for (got, wanted) in [
            (latencies.p50_ns, 3e6),
            (latencies.p99_ns, 5.94e6),
            (latencies.p999_ns, 5.994e6),
        ] {
            assert!((got - wanted).abs() <= 0.008 * wanted, "{got}, {wanted}");
        }
    }
}
