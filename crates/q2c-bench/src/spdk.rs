//! A trial by `spdk_nvme_perf`. q2c watches the CPU time of the program and of the machine.
//!
//! The program does not report when it starts to measure. So its CPU time is taken from the busiest
//! stretch of four fifths of the measured time. Threads that poll are busiest while they measure.

use super::media::SpdkSite;
use crate::{BenchTrial, PointSetup, TrialError, TrialPlace};
use q2c_engine::spdk::{SpdkArgs, SpdkError, SpdkPercentiles, SpdkResult};
use q2c_host::cpu_time::{CpuTimes, tasks_of};
use q2c_model::{Latencies, Nanos};
use q2c_policy::method::Means;
use std::time::{Duration, Instant};

const READ_INTERVAL: Duration = Duration::from_millis(100);
/// Least length of the stretch, as a share of the measured time.
const MIN_STRETCH_SHARE: f64 = 0.8;

struct CpuSample {
    at: Instant,
    program_cpu: Nanos,
    cpu: Option<CpuTimes>,
}

pub fn trial(
    place: &TrialPlace<'_>,
    site: &SpdkSite,
    setup: &PointSetup,
) -> Result<BenchTrial, TrialError> {
    let seconds = place.spec.seconds.ceil().max(1.0) as u64;
    let args = SpdkArgs {
        address: site.address.clone(),
        pattern: setup.pattern,
        bs: setup.point.bs,
        depth: setup.point.depth.into(),
        seconds,
        cpus: place.cpus[..setup.point.jobs as usize].to_vec(),
    };
    let roots = &place.site.roots;
    let mut readings: Vec<CpuSample> = Vec::new();
    let mut watch = |pid| {
        let at = Instant::now();
        let last = readings.last();
        if last.is_none_or(|last| at - last.at >= READ_INTERVAL)
            // Tasks cannot be read if the program has ended already.
            && let Ok(tasks) = tasks_of(roots, pid)
        {
            readings.push(CpuSample {
                at,
                program_cpu: Nanos(tasks.iter().map(|task| task.cpu.0).sum()),
                cpu: CpuTimes::read(roots).ok(),
            });
        }
    };
    let done = site.perf.run(&roots.sys, &args, &mut watch, place.stop);
    let result = done.map_err(|error| match error {
        SpdkError::Stopped(_) => TrialError::Stopped,
        error => TrialError::Program(error.to_string()),
    })?;
    to_trial(&result, seconds as f64, &readings).map_err(TrialError::Program)
}

fn to_trial(
    result: &SpdkResult,
    asked_s: f64,
    samples: &[CpuSample],
) -> Result<BenchTrial, String> {
    let (begin, end) = busiest_stretch(samples, asked_s * MIN_STRETCH_SHARE).ok_or_else(|| {
        format!("watch spdk_nvme_perf: it ended before it had run for the {asked_s} s asked")
    })?;
    let length = (end.at - begin.at).as_secs_f64();
    let scale = asked_s / length;
    let machine = begin.cpu.as_ref().zip(end.cpu.as_ref());
    let machine = machine.map(|(begin, end)| end.busy_since(begin));
    let busy = |time: &dyn Fn(&q2c_host::cpu_time::CpuBusy) -> Nanos| {
        let cpus = machine.as_ref().map(|busy| &busy.cpus);
        cpus.map(|cpus| cpus.iter().map(|cpu| time(cpu).as_secs_f64()).sum::<f64>() * scale)
    };
    let to_ns = |us: f64| us * 1e3;
    Ok(BenchTrial {
        wall_s: asked_s,
        steady: true,
        ios: (result.iops * asked_s).round() as u64,
        latencies: Latencies {
            mean_ns: to_ns(result.avg_us),
            p50_ns: to_ns(max_percentile(&result.latencies, 50.0)?),
            p99_ns: to_ns(max_percentile(&result.latencies, 99.0)?),
            p999_ns: to_ns(max_percentile(&result.latencies, 99.9)?),
        },
        job_cpu_s: (end.program_cpu.as_secs_f64() - begin.program_cpu.as_secs_f64()) * scale,
        busy_s: busy(&|cpu| cpu.busy),
        softirq_s: busy(&|cpu| cpu.irq + cpu.softirq),
        softirq_share: machine.as_ref().and_then(|busy| busy.softirq_share()),
        steal_share: machine.as_ref().and_then(|busy| busy.steal_share()),
        polls_by: Some(Means::UserSpaceDriver),
        ..BenchTrial::default()
    })
}

/// The pair of readings, at least `length` seconds apart, with the most CPU time per second.
fn busiest_stretch(readings: &[CpuSample], length: f64) -> Option<(&CpuSample, &CpuSample)> {
    let pairs = readings.iter().enumerate().filter_map(|(n, begin)| {
        let mut later = readings[n..].iter();
        let end = later.find(|end| (end.at - begin.at).as_secs_f64() >= length)?;
        Some((begin, end))
    });
    let rate = |(begin, end): &(&CpuSample, &CpuSample)| {
        let cpu_s = end.program_cpu.as_secs_f64() - begin.program_cpu.as_secs_f64();
        cpu_s / (end.at - begin.at).as_secs_f64()
    };
    pairs.max_by(|a, b| rate(a).total_cmp(&rate(b)))
}

/// The largest of the cores' percentiles, us. The percentile of all I/Os together cannot be above
/// it. If a core's list lacks the percentile, its next higher one is taken.
fn max_percentile(cores: &[SpdkPercentiles], percent: f64) -> Result<f64, String> {
    let at_or_above = |core: &SpdkPercentiles| {
        let mut higher = core.percentiles.iter().filter(|(p, _)| *p >= percent);
        higher.next().map(|(_, us)| *us)
    };
    let by_core: Option<Vec<f64>> = cores.iter().map(at_or_above).collect();
    let max_percentile = by_core.and_then(|us| us.into_iter().max_by(f64::total_cmp));
    max_percentile.ok_or_else(|| {
        format!("read the percentiles of spdk_nvme_perf: expected {percent} % or more of each core (option -L)")
    })
}

#[cfg(test)]
pub(super) mod tests;
