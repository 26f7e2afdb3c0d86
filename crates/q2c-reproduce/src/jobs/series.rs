//! The series of the jobs, computed from the slices of their threads.

use super::lanes::{JobWorker, TrialJob};
use q2c_engine::{LiveSlice, SleepCounts};
use q2c_model::stats::{mean, percentile, sorted};
use q2c_model::{Nanos, Rates};
use q2c_policy::Method;
use q2c_policy::method::Means;
use q2c_result::mode::WaitMode;
use q2c_result::reproduce::{JobSeries, PhaseTrial, Tick};
use q2c_result::waits::{Switches, WaitCounts};
use q2c_workbench::busy::{CounterSpan, OtherWork, job_cpus};
use q2c_workbench::workload::{Boundary, Site, StageActivity};

pub(crate) struct SliceLog {
    /// The common start on the run's clock, ns.
    pub start_ns: u64,
    pub tids: Vec<u32>,
    slice: Nanos,
    slices: Vec<SeriesSlice>,
    /// For each thread, the number of its next slice.
    next: Vec<u64>,
    /// Number of slices of the run. Threads continue after it until the slowest has reached it.
    end: u64,
}

struct SeriesSlice {
    lane: usize,
    /// Numbers of the time slices that it covers.
    numbers: std::ops::RangeInclusive<u64>,
    order: u64,
    span: (u64, u64),
    wall_ns: f64,
    ios: f64,
    cpu_ns: f64,
    voluntary: u64,
    sleeps: SleepCounts,
    polls_by: Means,
    /// U2C, ns.
    latencies: Vec<u32>,
}

impl SliceLog {
    pub(crate) fn new(lanes: usize, slice: Nanos, end: u64) -> Self {
        SliceLog {
            start_ns: 0,
            tids: Vec::new(),
            slice,
            slices: Vec::new(),
            next: vec![0; lanes],
            end,
        }
    }

    /// Adds a slice of a thread. A slice that ends late covers several time slices.
    pub(crate) fn take(&mut self, slice: &LiveSlice) {
        let first = self.next[slice.lane].min(slice.number);
        self.next[slice.lane] = slice.number + 1;
        if first >= self.end {
            return;
        }
        let stats = &slice.stats;
        let whole_ns = |&ns: &f64| ns.min(f64::from(u32::MAX)) as u32;
        let latencies = stats.latencies.iter().map(whole_ns);
        self.slices.push(SeriesSlice {
            lane: slice.lane,
            numbers: first..=slice.number,
            order: slice.order,
            span: slice.span,
            wall_ns: stats.wall_ns,
            ios: stats.ios as f64,
            cpu_ns: (stats.cpu_ns + stats.helper_cpu_ns) as f64,
            voluntary: stats.voluntary,
            sleeps: stats.sleeps,
            polls_by: slice.facts.polls_by,
            latencies: latencies.collect(),
        });
    }

    /// Number of threads that have not yet reported the slices before number `end`.
    pub(crate) fn late_threads(&self, end: u64) -> usize {
        self.next.iter().filter(|&&next| next < end).count()
    }
}

pub(crate) struct JobTrial<'a> {
    pub log: &'a SliceLog,
    pub jobs: &'a [TrialJob],
    pub workers: &'a [JobWorker],
    /// The number of the order of each phase.
    pub orders: &'a [u64],
    pub boundaries: &'a [Boundary],
    pub site: &'a Site,
}

impl JobTrial<'_> {
    pub(crate) fn phases(&self) -> Vec<PhaseTrial> {
        let phases = 0..self.orders.len();
        phases.map(|phase| self.phase(phase)).collect()
    }

    /// The slices of threads that carry the order of this phase.
    fn slices_of(&self, phase: usize) -> impl Iterator<Item = &SeriesSlice> {
        let (slices, order) = (self.log.slices.iter(), self.orders.get(phase));
        slices.filter(move |slice| Some(&slice.order) == order)
    }

    fn works_on(&self, lane: usize, job: usize, phase: usize) -> bool {
        self.workers[lane].job == job && self.workers[lane].works[phase]
    }

    /// For each thread of a job in a phase: lane, start and end on the run's clock (ns), I/Os.
    pub(crate) fn spans(&self, job: usize, phase: usize) -> Vec<(usize, (u64, u64), u64)> {
        let lanes = (0..self.workers.len()).filter(|&lane| self.works_on(lane, job, phase));
        let span = |lane: usize| {
            let slices = || self.slices_of(phase).filter(move |s| s.lane == lane);
            let begin = slices().map(|slice| slice.span.0).min()?;
            let end = slices().map(|slice| slice.span.1).max()?;
            let ios = slices().map(|slice| slice.ios as u64).sum();
            Some((lane, (begin, end), ios))
        };
        lanes.filter_map(span).collect()
    }

    /// Numbers of a phase's first and last slice. The phase starts with the first thread that took
    /// its order, and ends before the first that took the next order. Late slices do not extend it.
    fn slice_range(&self, phase: usize) -> (u64, u64) {
        let begin = |phase| self.slices_of(phase).map(|s| *s.numbers.start()).min();
        let first = begin(phase).unwrap_or(0);
        let last = self.slices_of(phase).map(|slice| *slice.numbers.end());
        let last = last.max().unwrap_or(0);
        let end = begin(phase + 1).unwrap_or(self.log.end).min(self.log.end);
        (first, last.min(end.saturating_sub(1)).max(first))
    }

    fn phase(&self, phase: usize) -> PhaseTrial {
        let (first, last) = self.slice_range(phase);
        let slice_s = self.log.slice.as_secs_f64();
        let seconds = (last + 1 - first) as f64 * slice_s;
        let counters = match self.boundaries.get(phase..phase + 2) {
            Some([begin, end]) => end.since(begin),
            _ => StageActivity::default(),
        };
        let job_slices = |job: usize| -> Vec<&SeriesSlice> {
            let of_job = |slice: &&SeriesSlice| self.works_on(slice.lane, job, phase);
            self.slices_of(phase).filter(of_job).collect()
        };
        let slices: Vec<_> = (0..self.jobs.len()).map(job_slices).collect();
        let busy = |slices: &Vec<&SeriesSlice>| {
            slices.iter().map(|slice| slice.cpu_ns).sum::<f64>() / 1e9 / seconds
        };
        let cpus: Vec<f64> = slices.iter().map(busy).collect();
        let series = |(job, slices): (usize, &Vec<&SeriesSlice>)| {
            let trial_job = &self.jobs[job];
            let prepared = trial_job.phases[phase].as_ref()?;
            let span = CounterSpan {
                wall_s: seconds,
                stretches: 1,
            };
            let others = OtherWork {
                busy_cpus: self.site.idle_busy_cpus + cpus.iter().sum::<f64>() - cpus[job],
                ..OtherWork::default()
            };
            let method = prepared.method();
            let busy = |total| job_cpus(total, others, cpus[job], span).cpus;
            Some(JobSeries {
                job: trial_job.name.clone(),
                lanes: prepared.cpus.len() as u32,
                was: Some(self.mode(slices, &method, phase, &counters)),
                rule_period_s: method.period().map(Nanos::as_secs_f64),
                busy_cpus: counters.busy_cpus.map(busy),
                ticks: self.ticks(slices, first, last),
                ..JobSeries::default()
            })
        };
        PhaseTrial {
            begin_s: first as f64 * slice_s,
            seconds,
            busy_cpus: counters.busy_cpus,
            interrupts: counters.interrupts,
            jobs: slices.iter().enumerate().filter_map(series).collect(),
        }
    }

    /// The intervals of a phase, without those for which no thread reported anything.
    fn ticks(&self, slices: &[&SeriesSlice], first: u64, last: u64) -> Vec<Tick> {
        let slice_s = self.log.slice.as_secs_f64();
        let numbered = |number: u64| {
            let inside = |slice: &&&SeriesSlice| slice.numbers.contains(&number);
            let slices: Vec<&SeriesSlice> = slices.iter().filter(inside).copied().collect();
            let end_s = (number + 1 - first) as f64 * slice_s;
            (!slices.is_empty()).then(|| tick(&slices, end_s, slice_s))
        };
        (first..=last).filter_map(numbered).collect()
    }

    fn mode(
        &self,
        slices: &[&SeriesSlice],
        requested: &Method,
        phase: usize,
        counters: &StageActivity,
    ) -> WaitMode {
        let mut sleeps = SleepCounts::default();
        slices.iter().for_each(|slice| sleeps.merge(&slice.sleeps));
        let ios: f64 = slices.iter().map(|slice| slice.ios).sum();
        let voluntary: u64 = slices.iter().map(|slice| slice.voluntary).sum();
        let waits = if sleeps.slept == 0 {
            ios
        } else {
            sleeps.slept as f64
        };
        let jobs = self.jobs.iter();
        let at_work = jobs.filter(|trial_job| trial_job.phases[phase].is_some());
        let counts = WaitCounts {
            ios: ios as u64,
            handled: sleeps.handled,
            slept: sleeps.slept,
            left_to_interrupt: sleeps.interrupted,
            interrupts: counters.interrupts,
            requests: counters.requests,
            others: at_work.count() > 1,
            switches: Switches::PerWait(voluntary as f64 / waits.max(1.0)),
            polls_by: slices.first().map(|slice| slice.polls_by),
            checks_kernel: counters.interrupts.is_some(),
            ..WaitCounts::default()
        };
        counts.mode(requested)
    }
}

/// A slice that covers several intervals gives each of them its mean rate.
fn tick(slices: &[&SeriesSlice], end_s: f64, seconds: f64) -> Tick {
    let mut sleeps = SleepCounts::default();
    let mut latencies = Vec::new();
    let (mut iops, mut cpu_pct) = (0.0, Vec::new());
    let mut handled = 0.0;
    for slice in slices {
        iops += slice.ios / slice.wall_ns * 1e9;
        cpu_pct.push(slice.cpu_ns / slice.wall_ns * 100.0);
        sleeps.merge(&slice.sleeps);
        // If only some I/Os have samples, these represent all.
        let count = slice.latencies.len().max(1) as f64;
        handled += slice.sleeps.handled as f64 / count * slice.ios / slice.wall_ns * 1e9 * seconds;
        latencies.extend(slice.latencies.iter().map(|&ns| f64::from(ns)));
    }
    let latencies = sorted(&latencies);
    let per_handled = |sum: u64| sum as f64 / (sleeps.handled as f64).max(1.0);
    let or_zero = |value: f64| if latencies.is_empty() { 0.0 } else { value };
    Tick {
        end_s,
        seconds,
        ios: iops * seconds,
        handled,
        rates: Rates {
            iops,
            cpu_pct: mean(&cpu_pct),
            miss_rate: per_handled(sleeps.misses),
            effective_sleep_ns: per_handled(sleeps.asked_ns),
        },
        mean_ns: or_zero(mean(&latencies)),
        p50_ns: or_zero(percentile(&latencies, 0.5)),
        p99_ns: or_zero(percentile(&latencies, 0.99)),
    }
}

#[cfg(test)]
mod tests;
