//! The statistics of a phase, interval by interval.

use super::phase::ratio;
use crate::run::LaneData;
use crate::sample::Sample;
use q2c_model::Nanos;
use q2c_stats::{mean, percentile, sorted};

/// One interval of one lane. Each interval is counted from nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalStats {
    /// End of the interval, seconds from the phase's begin.
    pub end_s: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Misses / I/Os that hybrid polling handled; 0 when there were none.
    pub miss_rate: f64,
    /// Sum of sleeps asked / I/Os that hybrid polling handled, ns.
    pub effective_sleep_ns: f64,
    /// Mean sleep from call to return, ns, over the I/Os that slept.
    pub slept_ns: f64,
    /// Mean latency (U2C), ns.
    pub mean_ns: f64,
    /// 99th percentile of the latency, ns.
    pub p99_ns: f64,
    /// Thread CPU, percent of one CPU; not a number when the sampler has no reading there.
    pub cpu_pct: f64,
}

/// A last interval that lacks no more than this share of its length counts as whole: a phase begins
/// with a wake-up and ends with an I/O, so a phase of `n` intervals comes out a little longer or
/// shorter. Rates are over the interval's real length.
const LACKING: f64 = 0.05;

/// The whole intervals of a phase; I/Os belong to the interval in which they were reaped. A part of
/// an interval at the phase's end is left out.
///
/// # Panics
/// The lane has no such phase.
#[must_use]
pub fn intervals(lane: &LaneData, phase: usize, length: Nanos) -> Vec<IntervalStats> {
    let data = &lane.phases[phase];
    let (begin, end) = (data.begin.t_ns, data.end.t_ns);
    let samples = lane.phase_samples(phase);
    let length = length.0.max(1);
    let lacking = (length as f64 * LACKING) as u64;
    let whole = (end - begin + lacking) / length;
    let edge = |n: u64| (begin + n * length).min(end);
    let mut from = 0;
    (0..whole)
        .map(|n| {
            // The last edge may be the phase's end, which comes after its last reaping.
            let until = from + samples[from..].partition_point(|s| s.reaped_ns() < edge(n + 1));
            let inside = &samples[from..until];
            from = until;
            let cpu_pct = cpu_between(&lane.cpu_readings, edge(n), edge(n + 1));
            IntervalStats {
                end_s: (edge(n + 1) - begin) as f64 / 1e9,
                cpu_pct,
                ..of(inside, Nanos(edge(n + 1) - edge(n)))
            }
        })
        .collect()
}

fn of(samples: &[Sample], length: Nanos) -> IntervalStats {
    let handled = count(samples, Sample::HYBRID);
    let slept: Vec<&Sample> = samples.iter().filter(|s| s.is(Sample::SLEPT)).collect();
    let sum = |field: fn(&Sample) -> u32| slept.iter().map(|s| f64::from(field(s))).sum::<f64>();
    let latencies = sorted(&samples.iter().map(|s| s.u2c().0 as f64).collect::<Vec<_>>());
    IntervalStats {
        iops: samples.len() as f64 / length.as_secs_f64(),
        miss_rate: ratio(count(samples, Sample::MISSED) as f64, handled),
        effective_sleep_ns: ratio(sum(|s| s.asked_ns), handled),
        slept_ns: ratio(sum(|s| s.slept_ns), slept.len() as u64),
        mean_ns: mean(&latencies),
        p99_ns: percentile(&latencies, 0.99),
        ..IntervalStats::default()
    }
}

fn count(samples: &[Sample], flag: u64) -> u64 {
    samples.iter().filter(|s| s.is(flag)).count() as u64
}

/// Thread CPU between two moments in percent of one CPU, from the readings nearest to them.
fn cpu_between(readings: &[(u64, u64)], from: u64, until: u64) -> f64 {
    let near = |t: u64| readings.iter().min_by_key(|(at, _)| at.abs_diff(t));
    match (near(from), near(until)) {
        (Some(&(t0, c0)), Some(&(t1, c1))) if t1 > t0 => {
            (c1.saturating_sub(c0)) as f64 / (t1 - t0) as f64 * 100.0
        }
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Mark, PhaseData};

    fn sample(reaped: u64, flags: u64, asked_ns: u32) -> Sample {
        Sample {
            submit_ns: reaped - 10,
            wait_ns: 10,
            flags,
            asked_ns,
            slept_ns: asked_ns + 5,
            ..Sample::default()
        }
    }

    /// Two intervals of 100 ns, with numbers worked out by hand.
    #[test]
    fn each_interval_starts_from_nothing() {
        let (slept, missed) = (
            Sample::HYBRID | Sample::SLEPT,
            Sample::HYBRID | Sample::SLEPT | Sample::MISSED,
        );
        let samples = vec![
            sample(1020, missed, 30),
            sample(1060, Sample::HYBRID, 0),
            sample(1110, slept, 50),
            sample(1199, slept, 70),
        ];
        let mark = |t_ns| Mark {
            t_ns,
            ..Mark::default()
        };
        let phase = PhaseData {
            begin: mark(1000),
            end: mark(1230),
            ios: 4,
            samples: 0..4,
            tally: None,
        };
        let cpu_readings = vec![(1000, 0), (1100, 40), (1200, 140)];
        let lane = LaneData {
            phases: vec![phase],
            samples,
            cpu_readings,
            ..LaneData::default()
        };
        let got = intervals(&lane, 0, Nanos(100));
        assert_eq!(got.len(), 2, "the rest of 30 ns is no interval");
        assert_eq!(
            (got[0].miss_rate, got[0].effective_sleep_ns, got[0].slept_ns),
            (0.5, 15.0, 35.0)
        );
        assert_eq!(
            (got[1].miss_rate, got[1].effective_sleep_ns, got[1].slept_ns),
            (0.0, 60.0, 65.0)
        );
        assert_eq!((got[0].cpu_pct, got[1].cpu_pct), (40.0, 100.0));
        assert_eq!(got[0].iops, 2.0 / 100e-9);
    }

    /// A phase of 196 ns has two intervals of 100 ns, the second of 96 ns; a phase of 190 ns has
    /// one.
    #[test]
    fn a_last_interval_may_lack_a_little() {
        let lane = |end| LaneData {
            phases: vec![PhaseData {
                begin: Mark {
                    t_ns: 1000,
                    ..Mark::default()
                },
                end: Mark {
                    t_ns: end,
                    ..Mark::default()
                },
                ios: 3,
                samples: 0..3,
                tally: None,
            }],
            samples: vec![sample(1050, 0, 0), sample(1100, 0, 0), sample(1150, 0, 0)],
            ..LaneData::default()
        };
        let got = intervals(&lane(1196), 0, Nanos(100));
        let rates: Vec<(f64, f64)> = got.iter().map(|i| (i.end_s, i.iops)).collect();
        assert_eq!(rates, [(100e-9, 1.0 / 100e-9), (196e-9, 2.0 / 96e-9)]);
        assert_eq!(intervals(&lane(1190), 0, Nanos(100)).len(), 1);
    }
}
