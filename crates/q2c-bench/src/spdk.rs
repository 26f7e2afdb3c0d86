//! A trial by `spdk_nvme_perf`. q2c watches the CPU time of the program and of the machine.
//!
//! The program does not report when it starts to measure. So its CPU time is taken from the busiest
//! stretch of four fifths of the measured time. Threads that poll are busiest while they measure.

use super::media::SpdkSite;
use crate::{BenchTrial, NoTrial, Spot, TrialPlace};
use q2c_engine::spdk::{SpdkArgs, SpdkError, SpdkPercentiles, SpdkResult};
use q2c_host::Roots;
use q2c_host::cpu_time::{CpuTimes, tasks_of};
use q2c_model::{Latencies, Nanos};
use q2c_policy::method::Means;
use std::time::{Duration, Instant};

/// Least time between two readings of the program's CPU time.
const LOOK: Duration = Duration::from_millis(100);
/// Least length of the stretch, as a share of the measured time.
const STRETCH: f64 = 0.8;

struct Look {
    at: Instant,
    own: Nanos,
    cpu: Option<CpuTimes>,
}

pub fn trial(place: &TrialPlace<'_>, site: &SpdkSite, spot: &Spot) -> Result<BenchTrial, NoTrial> {
    let seconds = place.spec.seconds.ceil().max(1.0) as u64;
    let args = SpdkArgs {
        address: site.address.clone(),
        pattern: spot.pattern,
        bs: spot.point.bs,
        depth: spot.point.depth.into(),
        seconds,
        cpus: place.cpus[..spot.point.jobs as usize].to_vec(),
    };
    let roots = &place.site.roots;
    let mut looks = SpdkLooks {
        roots,
        all: Vec::new(),
    };
    let mut look = |pid| looks.look(pid);
    let done = site.perf.run(&roots.sys, &args, &mut look, place.stop);
    let result = done.map_err(|error| match error {
        SpdkError::Stopped(_) => NoTrial::Stopped,
        error => NoTrial::Program(error.to_string()),
    })?;
    to_trial(&result, seconds as f64, &looks.all).map_err(NoTrial::Program)
}

struct SpdkLooks<'a> {
    roots: &'a Roots,
    all: Vec<Look>,
}

impl SpdkLooks<'_> {
    fn look(&mut self, pid: u32) {
        let at = Instant::now();
        if self.all.last().is_some_and(|last| at - last.at < LOOK) {
            return;
        }
        // The program has ended already.
        let Ok(tasks) = tasks_of(self.roots, pid) else {
            return;
        };
        self.all.push(Look {
            at,
            own: Nanos(tasks.iter().map(|task| task.cpu.0).sum()),
            cpu: CpuTimes::read(self.roots).ok(),
        });
    }
}

fn to_trial(result: &SpdkResult, seconds: f64, looks: &[Look]) -> Result<BenchTrial, String> {
    let (begin, end) = busiest(looks, seconds * STRETCH).ok_or_else(|| {
        format!("watch spdk_nvme_perf: it ended before it had run for the {seconds} s asked")
    })?;
    let length = (end.at - begin.at).as_secs_f64();
    let whole = seconds / length;
    let machine = begin.cpu.as_ref().zip(end.cpu.as_ref());
    let machine = machine.map(|(begin, end)| end.busy_since(begin));
    let busy = |time: &dyn Fn(&q2c_host::cpu_time::CpuBusy) -> Nanos| {
        let cpus = machine.as_ref().map(|busy| &busy.cpus);
        cpus.map(|cpus| cpus.iter().map(|cpu| time(cpu).as_secs_f64()).sum::<f64>() * whole)
    };
    let us = |us: f64| us * 1e3;
    Ok(BenchTrial {
        wall_s: seconds,
        steady: true,
        ios: (result.iops * seconds).round() as u64,
        latencies: Latencies {
            mean_ns: us(result.avg_us),
            p50_ns: us(worst(&result.latencies, 50.0)?),
            p99_ns: us(worst(&result.latencies, 99.0)?),
            p999_ns: us(worst(&result.latencies, 99.9)?),
        },
        job_cpu_s: (end.own.as_secs_f64() - begin.own.as_secs_f64()) * whole,
        busy_s: busy(&|cpu| cpu.busy),
        softirq_s: busy(&|cpu| cpu.irq + cpu.softirq),
        softirq_share: machine.as_ref().and_then(|busy| busy.softirq_share()),
        steal_share: machine.as_ref().and_then(|busy| busy.steal_share()),
        polls_by: Some(Means::UserSpaceDriver),
        ..BenchTrial::default()
    })
}

/// The pair of readings, at least `length` seconds apart, with the most CPU time per second.
fn busiest(looks: &[Look], length: f64) -> Option<(&Look, &Look)> {
    let pairs = looks.iter().enumerate().filter_map(|(n, begin)| {
        let mut later = looks[n..].iter();
        let end = later.find(|end| (end.at - begin.at).as_secs_f64() >= length)?;
        Some((begin, end))
    });
    let rate = |(begin, end): &(&Look, &Look)| {
        (end.own.as_secs_f64() - begin.own.as_secs_f64()) / (end.at - begin.at).as_secs_f64()
    };
    pairs.max_by(|a, b| rate(a).total_cmp(&rate(b)))
}

/// The largest of the cores' percentiles, us. The percentile of all I/Os together cannot be above
/// it. If a core's list lacks the percentile, its next higher one is taken.
fn worst(cores: &[SpdkPercentiles], percent: f64) -> Result<f64, String> {
    let at_or_above = |core: &SpdkPercentiles| {
        let mut from = core.percentiles.iter().filter(|(p, _)| *p >= percent);
        from.next().map(|(_, us)| *us)
    };
    let by_core: Option<Vec<f64>> = cores.iter().map(at_or_above).collect();
    let worst = by_core.and_then(|us| us.into_iter().max_by(f64::total_cmp));
    worst.ok_or_else(|| {
        format!("read the percentiles of spdk_nvme_perf: expected {percent} % or more of each core (option -L)")
    })
}

#[cfg(test)]
pub(super) mod tests;
