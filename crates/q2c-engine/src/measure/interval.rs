use super::phase::{PhaseStats, stats_of};
use crate::run::{LaneData, Mark, PhaseData};
use q2c_model::Nanos;

/// One interval of one lane. Each interval is counted from nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalStats {
    /// End of the interval, seconds from the phase's begin.
    pub end_s: f64,
    /// Counts and latencies of the I/Os reaped in the interval. The threads' CPU time and context
    /// switches are read at the ends of a phase only, so they are 0 here.
    pub stats: PhaseStats,
    /// Thread CPU, percent of one CPU; `None` when the sampler has no reading there.
    pub cpu_pct: Option<f64>,
}

/// A last interval that lacks no more than this share of its length counts as whole: a phase begins
/// with a wake-up and ends with an I/O, so a phase of `n` intervals comes out a little longer or
/// shorter. Rates are over the interval's real length.
const LACKING: f64 = 0.05;

/// The whole intervals of a phase; I/Os belong to the interval in which they were reaped. A part of
/// an interval at the phase's end is left out.
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
            let part = PhaseData {
                begin: mark_at(edge(n)),
                end: mark_at(edge(n + 1)),
                ios: inside.len() as u64,
                ..PhaseData::default()
            };
            IntervalStats {
                end_s: (edge(n + 1) - begin) as f64 / 1e9,
                stats: stats_of(&part, inside),
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

/// Thread CPU between two moments in percent of one CPU, from the readings nearest to them.
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

    /// Two intervals of 100 ns, with numbers worked out by hand.
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

    /// A phase of 196 ns has two intervals of 100 ns, the second of 96 ns; a phase of 190 ns has
    /// one.
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
