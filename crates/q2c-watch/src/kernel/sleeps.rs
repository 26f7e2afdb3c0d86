//! Counts the kernel's sleeps by a probe: a thread sees neither sleep nor miss inside the call. The
//! probe takes CPU time at each turn of the driver's poll, so it needs a run of its own.

use super::KernelWatch;
use crate::SideThread;
use q2c_capture::ProbeError;
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_result::kernel_watch::KernelInterval;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The kernel's sleeps as a probe saw them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelSleeps {
    /// The probe counted polled requests.
    Seen {
        /// Polled requests that completed.
        polled: u64,
        /// Polled requests for which a thread slept first.
        slept: u64,
        /// Misses and sleeps.
        #[serde(flatten)]
        figures: SleepFigures,
        /// The figures by interval, from the first in which a polled request completed.
        series: Vec<KernelInterval>,
    },
    /// There are no counts; the text says why.
    Unseen(String),
}

/// Misses and sleeps of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SleepFigures {
    /// Misses / polled requests.
    pub miss_rate: f64,
    /// Sum of sleeps asked / polled requests, ns.
    pub effective_sleep_ns: f64,
    /// Mean sleep from the timer's start to the next poll call, ns; `None` when no end was seen.
    pub slept_ns: Option<f64>,
}

impl KernelSleeps {
    fn from_intervals(total: &KernelInterval, mut series: Vec<KernelInterval>) -> KernelSleeps {
        let first_polled = series.iter().position(|interval| interval.polled > 0);
        series.drain(..first_polled.unwrap_or(series.len()));
        match (total.rates.miss_rate, total.rates.effective_sleep_ns) {
            (Some(miss_rate), Some(effective_sleep_ns)) => KernelSleeps::Seen {
                polled: total.polled,
                slept: total.slept,
                figures: SleepFigures {
                    miss_rate,
                    effective_sleep_ns,
                    slept_ns: total.slept_ns,
                },
                series,
            },
            _ => KernelSleeps::Unseen("no polled request completed".to_owned()),
        }
    }

    /// Misses and sleeps; `None` without counts.
    pub fn figures(&self) -> Option<SleepFigures> {
        match self {
            KernelSleeps::Seen { figures, .. } => Some(*figures),
            KernelSleeps::Unseen(_) => None,
        }
    }

    /// The figures by interval; empty without counts.
    pub fn series(&self) -> &[KernelInterval] {
        match self {
            KernelSleeps::Seen { series, .. } => series,
            KernelSleeps::Unseen(_) => &[],
        }
    }
}

/// Makes a run while a probe counts the kernel's sleeps; without a probe, does not make it.
pub fn run_with_probe<T, E>(
    roots: &Roots,
    disk: &Disk,
    interval: Duration,
    run: impl FnOnce() -> Result<T, E>,
) -> Result<(KernelSleeps, Option<T>), E> {
    let (roots, disk) = (roots.clone(), disk.clone());
    let probe = SideThread::begin(
        move || KernelWatch::begin(&roots, &disk),
        move |watch, stop| count_sleeps(watch, interval, stop),
        |source| ProbeError::Thread { source },
    );
    let unseen = |error: ProbeError| KernelSleeps::Unseen(error.to_string());
    Ok(match probe {
        Err(error) => (unseen(error), None),
        Ok(probe) => {
            let outcome = run()?;
            (probe.end().unwrap_or_else(unseen), Some(outcome))
        }
    })
}

fn count_sleeps(
    mut watch: KernelWatch,
    interval: Duration,
    stop: &AtomicBool,
) -> Result<KernelSleeps, ProbeError> {
    let mut series = Vec::new();
    let begun = Instant::now();
    while !stop.load(Ordering::Acquire) {
        let edge = begun + interval * (series.len() as u32 + 1);
        sleep(edge.saturating_duration_since(Instant::now()));
        series.push(watch.interval()?);
    }
    Ok(KernelSleeps::from_intervals(&watch.total(), series))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Rates;

    fn interval(polled: u64, missed: u64, asked_ns: f64) -> KernelInterval {
        let share = |sum: f64| (polled > 0).then(|| sum / polled as f64);
        KernelInterval {
            polled,
            slept: polled / 4,
            missed,
            rates: Rates {
                miss_rate: share(missed as f64),
                effective_sleep_ns: share(asked_ns),
                ..Rates::default()
            },
            slept_ns: Some(60.0),
            ..KernelInterval::default()
        }
    }

    /// 50 of 200 requests were slept for, 40 ns each, so the effective sleep is 10 ns.
    #[test]
    fn figures_of_the_probe() {
        let (idle, busy) = (interval(0, 0, 0.0), interval(200, 20, 2_000.0));
        let series = vec![idle.clone(), busy.clone(), idle];
        let seen = KernelSleeps::from_intervals(&busy, series);
        let figures = seen.figures().expect("counted");
        let sleep = (figures.effective_sleep_ns, figures.slept_ns);
        assert_eq!((figures.miss_rate, sleep), (0.1, (10.0, Some(60.0))));
        // The interval before the first request is left out.
        assert_eq!(seen.series().len(), 2);
        let text = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<KernelSleeps>(&text).unwrap(), seen);
        let nothing = KernelSleeps::from_intervals(&interval(0, 0, 0.0), Vec::new());
        assert_eq!(nothing.figures(), None);
    }
}
