use crate::{LaneData, PhaseData, Sample, SleepCounts};
use q2c_model::stats::{mean, percentile};
use q2c_model::{Latencies, Rates};

/// Sums and latencies of a phase, of one lane or of several together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseStats {
    /// Number of lanes.
    pub lanes: u32,
    /// Wall time, ns, as a mean over the lanes.
    pub wall_ns: f64,
    /// I/Os, recorded or not.
    pub ios: u64,
    /// Thread CPU of all lanes, ns.
    pub cpu_ns: u64,
    /// CPU of the kernel threads that work for these lanes alone (SQPOLL), ns; not in `cpu_ns`.
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

    /// Voluntary switches per I/O that slept, or per I/O when none did; waiting for an interrupt is
    /// one too. Where not every I/O was recorded, the recorded ones stand for all.
    pub fn switches_per_io(&self) -> f64 {
        let slept = self.sleeps.slept;
        let slept_share = ratio(slept as f64, self.latencies.len() as u64);
        let share = if slept > 0 { slept_share } else { 1.0 };
        ratio(self.voluntary as f64 / share, self.ios)
    }
}

fn ratio(sum: f64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { sum / of as f64 }
}

/// Statistics of phase number `phase` of one lane.
pub fn phase_stats(lane: &LaneData, phase: usize) -> PhaseStats {
    stats_of(&lane.phases[phase], lane.phase_samples(phase))
}

/// Statistics of a part of one lane's time, from its data and its samples.
pub(crate) fn stats_of(data: &PhaseData, samples: &[Sample]) -> PhaseStats {
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

/// The statistics of several lanes in the same phase, as those of one phase.
pub fn combine(lanes: &[PhaseStats]) -> PhaseStats {
    let mut total = summed(lanes);
    total.lanes = lanes.iter().map(|lane| lane.lanes).sum();
    let wall = lanes.iter().map(|l| l.wall_ns * f64::from(l.lanes));
    total.wall_ns = wall.sum::<f64>() / f64::from(total.lanes.max(1));
    total
}

/// The statistics of the same lanes in phases one after the other, as those of one phase.
pub fn in_turn(phases: &[PhaseStats]) -> PhaseStats {
    let mut total = summed(phases);
    total.lanes = phases.first().map_or(0, |phase| phase.lanes);
    total.wall_ns = phases.iter().map(|phase| phase.wall_ns).sum();
    total
}

/// Sums everything but lanes and wall time.
fn summed(lanes: &[PhaseStats]) -> PhaseStats {
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
