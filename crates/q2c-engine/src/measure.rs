//! Calculates figures from samples: for a whole phase, and interval by interval.
//!
//! Definitions. *Miss*: the first poll after the wake-up already finds the completion. *Miss rate*:
//! misses / all I/Os that hybrid polling handled. *Effective sleep*: sum of sleeps asked (0 for
//! I/Os that did not sleep) / all I/Os handled. *Slept*: from the call of the sleep to its return,
//! mean over the I/Os that slept. Latencies are U2C. An interval's figures count its own I/Os only.

use crate::{LaneData, Mark, PhaseData, Sample, SleepCounts};
use q2c_model::stats::{mean, percentile};
use q2c_model::{Latencies, Nanos, Rates};

/// Sums and latencies of a phase, of one lane or of several together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseStats {
    /// Number of lanes.
    pub lanes: u32,
    /// Wall time, ns, as a mean over the lanes.
    pub wall_ns: f64,
    /// Number of I/Os, recorded or not.
    pub ios: u64,
    /// Thread CPU of all lanes, ns.
    pub cpu_ns: u64,
    /// CPU of kernel threads that work for these lanes alone (SQPOLL), ns; not in `cpu_ns`.
    pub helper_cpu_ns: u64,
    /// Voluntary context switches of all lanes.
    pub voluntary: u64,
    /// Involuntary context switches of all lanes.
    pub involuntary: u64,
    /// The sleeps of hybrid polling in the recorded I/Os.
    pub sleeps: SleepCounts,
    /// Latencies (U2C) of the recorded I/Os, ns, ascending.
    pub latencies: Vec<f64>,
}

impl PhaseStats {
    /// Speed, cost and sleeps. Miss rate and effective sleep are 0 when hybrid polling handled no
    /// I/O.
    pub fn rates(&self) -> Rates<f64> {
        Rates {
            iops: self.iops(),
            cpu_pct: self.cpu_pct(),
            miss_rate: self.miss_rate(),
            effective_sleep_ns: self.effective_sleep_ns(),
        }
    }

    /// Mean and percentiles of the latencies.
    pub fn latency(&self) -> Latencies<f64> {
        let percentile_ns = |share| percentile(&self.latencies, share);
        Latencies::from_percentiles(mean(&self.latencies), percentile_ns)
    }

    /// I/Os per second, of all lanes together.
    pub fn iops(&self) -> f64 {
        self.ios as f64 / self.wall_ns * 1e9
    }

    /// Thread CPU, percent of one CPU for each lane.
    pub fn cpu_pct(&self) -> f64 {
        self.cpu_ns as f64 / self.wall_ns / f64::from(self.lanes.max(1)) * 100.0
    }

    /// Misses / I/Os that hybrid polling handled; 0 when it handled none.
    pub fn miss_rate(&self) -> f64 {
        ratio(self.sleeps.misses as f64, self.sleeps.handled)
    }

    /// Sum of sleeps asked / I/Os that hybrid polling handled, ns; 0 when it handled none.
    pub fn effective_sleep_ns(&self) -> f64 {
        ratio(self.sleeps.asked_ns as f64, self.sleeps.handled)
    }

    /// Mean sleep from call to return, ns; 0 when no I/O slept.
    pub fn mean_slept_ns(&self) -> f64 {
        ratio(self.sleeps.slept_ns as f64, self.sleeps.slept)
    }

    /// Voluntary switches per I/O that slept, or per I/O if none did; waiting for an interrupt is a
    /// switch too. If only some I/Os were recorded, they stand for all I/Os.
    pub fn switches_per_io(&self) -> f64 {
        let slept = self.sleeps.slept;
        let slept_share = ratio(slept as f64, self.latencies.len() as u64);
        let share = if slept > 0 { slept_share } else { 1.0 };
        ratio(self.voluntary as f64 / share, self.ios)
    }
}

fn ratio(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// Statistics of phase number `phase` of one lane.
pub fn phase_stats(lane: &LaneData, phase: usize) -> PhaseStats {
    stats_from(&lane.phases[phase], lane.phase_samples(phase))
}

/// Statistics of one lane in a phase or an interval, from its data and its samples.
pub(crate) fn stats_from(data: &PhaseData, samples: &[Sample]) -> PhaseStats {
    let (begin, end) = (data.begin, data.end);
    let mut stats = PhaseStats {
        lanes: 1,
        wall_ns: (end.t_ns - begin.t_ns) as f64,
        ios: data.ios,
        cpu_ns: end.cpu_ns - begin.cpu_ns,
        // The helper ends with an engine that broke, and its CPU then reads as 0.
        helper_cpu_ns: end.helper_cpu_ns.saturating_sub(begin.helper_cpu_ns),
        voluntary: end.switches.voluntary - begin.switches.voluntary,
        involuntary: end.switches.involuntary - begin.switches.involuntary,
        ..PhaseStats::default()
    };
    for sample in samples {
        stats.latencies.push(sample.u2c().0 as f64);
        stats.sleeps.count(sample);
    }
    stats.latencies.sort_unstable_by(f64::total_cmp);
    stats
}

/// The statistics of several lanes in one phase, joined: wall time is the mean over the lanes.
pub fn combine_lanes(lanes: &[PhaseStats]) -> PhaseStats {
    let mut total = sum_lanes(lanes);
    total.lanes = lanes.iter().map(|lane| lane.lanes).sum();
    let wall = lanes.iter().map(|l| l.wall_ns * f64::from(l.lanes));
    total.wall_ns = wall.sum::<f64>() / f64::from(total.lanes.max(1));
    total
}

/// The statistics of the same lanes in successive phases, joined: wall times add up.
pub fn combine_phases(phases: &[PhaseStats]) -> PhaseStats {
    let mut total = sum_lanes(phases);
    total.lanes = phases.first().map_or(0, |phase| phase.lanes);
    total.wall_ns = phases.iter().map(|phase| phase.wall_ns).sum();
    total
}

/// Sums everything but lanes and wall time.
fn sum_lanes(lanes: &[PhaseStats]) -> PhaseStats {
    let mut total = PhaseStats::default();
    for lane in lanes {
        total.ios += lane.ios;
        total.cpu_ns += lane.cpu_ns;
        total.helper_cpu_ns += lane.helper_cpu_ns;
        total.voluntary += lane.voluntary;
        total.involuntary += lane.involuntary;
        total.sleeps.merge(&lane.sleeps);
        total.latencies.extend_from_slice(&lane.latencies);
    }
    total.latencies.sort_unstable_by(f64::total_cmp);
    total
}

/// The statistics of one lane in one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalStats {
    /// End of the interval, seconds from the phase's begin.
    pub end_s: f64,
    /// Counts and latencies of the I/Os reaped in the interval. The threads' CPU time and context
    /// switches are read at the ends of a phase only, so they are 0 here.
    pub stats: PhaseStats,
    /// Thread CPU, percent of one CPU; `None` if the sampler has no readings there.
    pub cpu_pct: Option<f64>,
}

/// A last interval that lacks at most this share of its length still counts. A phase begins with a
/// wake-up and ends with an I/O, so a phase of `n` intervals is a little longer or shorter than
/// planned. Rates are over the interval's real length.
const MAX_MISSING_SHARE: f64 = 0.05;

/// The complete intervals of a phase. I/Os belong to the interval in which they were reaped. An
/// incomplete interval at the phase's end is left out.
pub fn intervals(lane: &LaneData, phase: usize, length: Nanos) -> Vec<IntervalStats> {
    let data = &lane.phases[phase];
    let (begin, end) = (data.begin.t_ns, data.end.t_ns);
    let samples = lane.phase_samples(phase);
    let length = length.0.max(1);
    let may_lack_ns = (length as f64 * MAX_MISSING_SHARE) as u64;
    let complete_intervals = (end - begin + may_lack_ns) / length;
    let edge = |n: u64| (begin + n * length).min(end);
    let mut first_sample = 0;
    (0..complete_intervals)
        .map(|n| {
            // The last edge may be the phase's end, which is later than its last reaping.
            let later = &samples[first_sample..];
            let inside = &later[..later.partition_point(|s| s.reaped_ns() < edge(n + 1))];
            first_sample += inside.len();
            let data = PhaseData {
                begin: mark_at(edge(n)),
                end: mark_at(edge(n + 1)),
                ios: inside.len() as u64,
                ..PhaseData::default()
            };
            IntervalStats {
                end_s: (edge(n + 1) - begin) as f64 / 1e9,
                stats: stats_from(&data, inside),
                cpu_pct: cpu_between(&lane.cpu_readings, edge(n), edge(n + 1)),
            }
        })
        .collect()
}

fn mark_at(t_ns: u64) -> Mark {
    Mark {
        t_ns,
        ..Mark::default()
    }
}

/// Thread CPU between two times, percent of one CPU, from the nearest readings.
fn cpu_between(readings: &[(u64, u64)], from: u64, until: u64) -> Option<f64> {
    let near = |t: u64| readings.iter().min_by_key(|(at, _)| at.abs_diff(t));
    match (near(from), near(until)) {
        (Some(&(t0, c0)), Some(&(t1, c1))) if t1 > t0 => {
            Some((c1.saturating_sub(c0)) as f64 / (t1 - t0) as f64 * 100.0)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

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

    /// Miss rate, effective sleep and mean sleep, the last two in ns.
    fn sleeps(interval: &IntervalStats) -> (f64, f64, f64) {
        let stats = &interval.stats;
        (
            stats.miss_rate(),
            stats.effective_sleep_ns(),
            stats.mean_slept_ns(),
        )
    }

    /// Two intervals of 100 ns, with numbers calculated by hand.
    #[test]
    fn each_interval_starts_from_nothing() {
        let slept = Sample::HYBRID | Sample::SLEPT;
        let missed = slept | Sample::MISSED;
        let samples = vec![
            sample(1020, missed, 30),
            sample(1060, Sample::HYBRID, 0),
            sample(1110, slept, 50),
            sample(1199, slept, 70),
        ];
        let phase = PhaseData {
            begin: mark_at(1000),
            end: mark_at(1230),
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
        assert_eq!(sleeps(&got[0]), (0.5, 15.0, 35.0));
        assert_eq!(sleeps(&got[1]), (0.0, 60.0, 65.0));
        assert_eq!((got[0].cpu_pct, got[1].cpu_pct), (Some(40.0), Some(100.0)));
        assert_eq!(got[0].stats.iops(), 2.0 / 100e-9);
    }

    /// A phase of 196 ns has two intervals, of 100 and 96 ns; a phase of 190 ns has one.
    #[test]
    fn a_last_interval_may_lack_a_little() {
        let lane = |end| LaneData {
            phases: vec![PhaseData {
                begin: mark_at(1000),
                end: mark_at(end),
                ios: 3,
                samples: 0..3,
                tally: None,
            }],
            samples: vec![sample(1050, 0, 0), sample(1100, 0, 0), sample(1150, 0, 0)],
            ..LaneData::default()
        };
        let got = intervals(&lane(1196), 0, Nanos(100));
        let rates: Vec<(f64, f64)> = got.iter().map(|i| (i.end_s, i.stats.iops())).collect();
        assert_eq!(rates, [(100e-9, 1.0 / 100e-9), (196e-9, 2.0 / 96e-9)]);
        assert_eq!(intervals(&lane(1190), 0, Nanos(100)).len(), 1);
    }
}
