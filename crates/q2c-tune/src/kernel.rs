//! Trials of `hybrid-kernel`, the kernel's own hybrid polling: preadv2 and pwritev2 with RWF_HIPRI
//! on Linux 4.10 to 5.18. Each trial sets `queue/io_poll` and `queue/io_poll_delay`, and restores
//! them afterwards.
//!
//! The kernel sleeps inside the call, so the thread sees neither sleeps nor misses. A probe (Linux
//! 5.8 or later) counts them in a second run after the trial. It is not part of the trial, because
//! it costs CPU time at each poll of the driver. A cell's series comes from the second run.
//!
//! The daemon of `q2c poll steer` carries out a rule; it runs beside the trial.

use super::outcome::stages_outcome;
use crate::{CellSpec, TrialOutcome, Tune, read_json};
use q2c_engine::{EngineSpec, RunError};
use q2c_host::block::Disk;
use q2c_host::kernel_version::{HybridSupport, kernel_version};
use q2c_host::restore::Guard;
use q2c_model::{Fault, Nanos, Rates};
use q2c_policy::{KernelSleep, Method};
use q2c_result::kernel_watch::KernelInterval;
use q2c_result::tune::{Series, Unavailable};
use q2c_run::run_dir::RunDir;
use q2c_run::runner::{CellError, Context};
use q2c_watch::kernel::run_with_probe;
use q2c_watch::steer::PollDelayGuard;
use q2c_workbench::workload::{INTERVAL, Site, Stages, Step, Workload, WorkloadRun};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ENGINE: &str = "pvsync2:hipri";
const NO_DISK: &str = "no block device stands under the target";
/// File with the reason why the method is unavailable, or null, so that a resume has the same
/// cells.
const REASON_FILE: &str = "hybrid-kernel.json";

/// A fixed sleep of about `sleep_ns`, rounded to whole microseconds and at least one.
pub(super) fn fixed_sleep(sleep_ns: f64) -> KernelSleep {
    KernelSleep::fixed(Nanos(sleep_ns.round() as u64))
}

/// Time before a trial counts: three of the kernel's windows. In the first one it never sleeps.
const SETTLE: Nanos = Nanos::from_millis(300);
/// Time before classic polling counts, which has nothing to learn.
const SETTLE_CLASSIC: Nanos = Nanos::from_millis(100);
/// Limits on the length of the run with the probe, which is half as long as a trial.
const MIN_PROBED: Nanos = Nanos::from_millis(200);
const MAX_PROBED: Nanos = Nanos::from_millis(1_000);

/// Why the method is unavailable here; `None` if it is available. The run folder keeps the answer.
pub(super) fn unavailable(tune: &Tune<'_>, folder: &RunDir) -> Result<Option<Unavailable>, Fault> {
    let reason: Option<String> = match read_json(folder, REASON_FILE)? {
        Some(reason) => reason,
        None => {
            let reason = unavailable_reason(tune);
            folder.publish_json(REASON_FILE, &reason)?;
            reason
        }
    };
    Ok(reason.map(|reason| Unavailable {
        method: Method::HybridKernel(KernelSleep::Own),
        reason,
    }))
}

fn unavailable_reason(tune: &Tune<'_>) -> Option<String> {
    let site = &tune.workload.site;
    let Some(target_disk) = &site.target_disk else {
        return Some(NO_DISK.to_owned());
    };
    if !target_disk.below.is_empty() {
        let disk = &target_disk.disk.name;
        let reason = format!("{disk} stands on other disks, and is not polled itself");
        return Some(reason);
    }
    version_refusal(&tune.machine.kernel).or_else(|| {
        // Until 5.15, polling can be switched on if there are poll queues; only a trial shows it.
        KernelPollGuard::begin(site, tune.restore_dir, Some(&KernelSleep::Own)).err()
    })
}

fn version_refusal(release: &str) -> Option<String> {
    let reason = match HybridSupport::in_version(kernel_version(release)?) {
        HybridSupport::NotYet => "it came with 4.10",
        HybridSupport::Works => return None,
        HybridSupport::Unreached => "since 5.19 preadv2 does not poll, whatever RWF_HIPRI says",
        HybridSupport::Removed => {
            "since 5.19 preadv2 does not poll, and since 6.4 io_poll_delay takes any value and does nothing"
        }
    };
    let text = format!("Linux {release} has none; {reason}; kernels from 4.10 to 5.18 do");
    Some(text)
}

/// The disk, and the folder of the journal of settings. The error says which of them is missing.
fn device<'a>(site: &'a Site, journal: Option<&'a Path>) -> Result<(&'a Disk, &'a Path), String> {
    let no_journal =
        "there is no folder for the journal of settings: neither XDG_STATE_HOME nor HOME is set";
    let target_disk = site.target_disk.as_ref().ok_or(NO_DISK)?;
    Ok((&target_disk.disk, journal.ok_or(no_journal)?))
}

pub(super) fn trial_seconds(tune: &Tune<'_>) -> f64 {
    let classic = SETTLE_CLASSIC.as_secs_f64() + slice_length(tune).as_secs_f64();
    let probed = SETTLE_CLASSIC.as_secs_f64() + probed_length(tune).as_secs_f64();
    SETTLE.as_secs_f64() + tune.spec.seconds + probed + 2.0 * classic
}

fn slice_length(tune: &Tune<'_>) -> Nanos {
    Nanos::from_secs_f64(tune.spec.seconds / 2.0)
}

fn probed_length(tune: &Tune<'_>) -> Nanos {
    Nanos::from_secs_f64(tune.spec.seconds / 2.0).clamp(MIN_PROBED, MAX_PROBED)
}

struct KernelPollGuard {
    polling: PollDelayGuard,
    _io_poll: Guard,
}

impl KernelPollGuard {
    /// Lets the kernel poll after `sleep`, which `io_poll_delay` sets; `None` is classic polling.
    fn begin(
        site: &Site,
        journal: Option<&Path>,
        sleep: Option<&KernelSleep>,
    ) -> Result<KernelPollGuard, String> {
        let (disk, journal) = device(site, journal)?;
        let mut io_poll = Guard::new(&site.roots, journal).map_err(|e| e.to_string())?;
        io_poll
            .keep(&disk.dir.join("queue/io_poll"), "1")
            .map_err(|error| {
                format!("{error}; the device has no poll queues (for NVMe: nvme.poll_queues=N on the kernel's command line, or as an option of the module)")
            })?;
        let polling = PollDelayGuard::begin(&site.roots, disk, journal, sleep);
        Ok(KernelPollGuard {
            polling: polling.map_err(|e| e.to_string())?,
            _io_poll: io_poll,
        })
    }

    fn end(self) -> Result<(), CellError> {
        let ended = self.polling.end();
        ended.map_err(|error| CellError::Trial(error.to_string()))
    }
}

/// Runs the kernel's classic polling, the trial with its settling time, the run with the probe, and
/// classic polling again. The figures are relative to the mean of both pollings.
pub(super) fn run_trial(
    tune: &Tune<'_>,
    cell: &CellSpec,
    sleep: &KernelSleep,
    iops_hint: f64,
    context: &Context<'_>,
) -> Result<TrialOutcome, CellError> {
    let site = &tune.workload.site;
    let (disk, _) = device(site, tune.restore_dir).map_err(CellError::Cell)?;
    let workload = Workload {
        engine: ENGINE.parse::<EngineSpec>().expect("an engine of ours"),
        ..tune.workload.clone()
    };
    let seed = context.seed >> 1;
    // One thread with one counted stage, after the kernel has settled.
    let run = |settle: Nanos, length: Nanos| -> Result<TrialOutcome, CellError> {
        let mut stages = Stages::default();
        stages.push(Step::POLL, settle);
        let part = stages.push(Step::Same, length);
        let ran = workload.run(cell.bs, &stages, seed, Some(iops_hint), context.cancel);
        let ran = require_complete(ran, context.cancel)?;
        Ok(stages_outcome(&workload, &ran, &[part], cell.bs.0))
    };
    let classic = || {
        let poll = KernelPollGuard::begin(site, tune.restore_dir, None).map_err(CellError::Cell)?;
        let classic_outcome = run(SETTLE_CLASSIC, slice_length(tune));
        poll.end()?;
        classic_outcome
    };
    let before = classic()?;
    let poll = KernelPollGuard::begin(site, tune.restore_dir, Some(sleep));
    let poll = poll.map_err(CellError::Cell)?;
    let outcome = run(SETTLE, Nanos::from_secs_f64(tune.spec.seconds))?;
    let interval = Duration::from_nanos(INTERVAL.0);
    let probed = || run(SETTLE_CLASSIC, probed_length(tune));
    let (kernel_sleeps, probed) = run_with_probe(&site.roots, disk, interval, probed)?;
    poll.end()?;
    let after = classic()?;
    let hidden_by = [before.hidden_by, outcome.hidden_by, after.hidden_by];
    let series = match probed {
        Some(probed) => {
            // The first interval of the probe is the settling time, which the run's series lacks.
            let seen = kernel_sleeps.series().get(1..);
            with_sleeps(probed.series, seen.unwrap_or_default())
        }
        // The thread sees no sleeps, so there are no sleeps per interval.
        None => with_sleeps(outcome.series, &[]),
    };
    let mean_of_both = |figure: fn(&TrialOutcome) -> Option<f64>| {
        Some(f64::midpoint(figure(&before)?, figure(&after)?))
    };
    Ok(TrialOutcome {
        hidden_by: hidden_by.into_iter().flatten().reduce(f64::max),
        series,
        kernel_sleeps: Some(kernel_sleeps),
        poll_iops: f64::midpoint(before.rates.iops, after.rates.iops),
        poll_cpu_pct: f64::midpoint(before.rates.cpu_pct, after.rates.cpu_pct),
        poll_busy_cpus: mean_of_both(|o| o.busy_cpus),
        ..outcome
    })
}

/// Adds the probe's misses and sleeps to a series. Its intervals have the same length and start
/// within one interval of the run's. So they are joined by index; missing ones stay empty.
fn with_sleeps(series: Series, seen: &[KernelInterval]) -> Series {
    let length = series.t_s.len();
    let by_probe = |figure: fn(&KernelInterval) -> Option<f64>| {
        (0..length).map(move |n| seen.get(n).and_then(figure))
    };
    let slept_ns = by_probe(|i| i.slept_ns).map(Option::unwrap_or_default);
    Series {
        rates: Rates {
            miss_rate: by_probe(|i| i.rates.miss_rate).collect(),
            effective_sleep_ns: by_probe(|i| i.rates.effective_sleep_ns).collect(),
            ..series.rates
        },
        slept_ns: slept_ns.filter(|_| !seen.is_empty()).collect(),
        ..series
    }
}

pub(super) fn require_complete(
    ran: Result<WorkloadRun, RunError>,
    cancel: &AtomicBool,
) -> Result<WorkloadRun, CellError> {
    let run = ran.map_err(|e| CellError::Abort(Box::new(e)))?;
    match &run.fault {
        Some(fault) => Err(CellError::Abort(fault.clone().into())),
        None if run.data.stopped || cancel.load(Ordering::Relaxed) => Err(CellError::Cancelled),
        None => Ok(run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_engine::TimeSource;
    use q2c_host::Roots;
    use q2c_host::block::{Disk, TargetDisk};
    use q2c_model::DevId;
    use std::fs;

    #[test]
    fn kernels_without_it_are_told_why() {
        for (release, word) in [
            ("4.9.3", "it came with 4.10"),
            ("5.19.0", "does not poll"),
            ("6.1.0-32-amd64", "does not poll"),
            ("7.2.1", "takes any value and does nothing"),
        ] {
            let reason = version_refusal(release).expect(release);
            assert!(reason.contains(word), "{reason}");
            assert!(reason.contains(release), "{reason}");
        }
        for release in ["4.10.0", "5.4.0-1-amd64", "5.10.0-46-amd64", "5.18.19"] {
            assert_eq!(version_refusal(release), None, "{release}");
        }
    }

    fn site(folder: &Path, files: &[(&str, &str)]) -> Site {
        let dir = folder.join("nvme0n1");
        fs::create_dir_all(dir.join("queue")).unwrap();
        for (name, value) in files {
            fs::write(dir.join("queue").join(name), value).unwrap();
        }
        Site {
            roots: Roots::live(),
            target_disk: Some(TargetDisk {
                disk: Disk {
                    name: "nvme0n1".to_owned(),
                    dev: DevId::default(),
                    dir,
                },
                partition: None,
                below: Vec::new(),
                unproved: Vec::new(),
            }),
            idle_busy_cpus: 0.0,
            time: TimeSource::default(),
        }
    }

    /// Polling was off, and another program had set the delay; the trial restores both.
    #[test]
    fn both_settings_are_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let queue = [("io_poll", "0\n"), ("io_poll_delay", "25\n")];
        let site = site(folder.path(), &queue);
        let read = |name: &str| {
            let file = folder.path().join("nvme0n1/queue").join(name);
            fs::read_to_string(file).unwrap().trim().to_owned()
        };
        let both = || [read("io_poll"), read("io_poll_delay")];
        let begin = |sleep| KernelPollGuard::begin(&site, Some(&journal), sleep);
        let guard = begin(Some(&KernelSleep::Fixed(57))).unwrap();
        assert_eq!(both(), ["1", "57"]);
        let second = begin(Some(&KernelSleep::Own)).err().unwrap();
        assert!(second.contains("holds it"), "{second}");
        guard.end().unwrap();
        assert_eq!(both(), ["0", "25"]);
        // The classic polling after a trial can change both settings.
        let classic = begin(None).unwrap();
        assert_eq!(read("io_poll_delay"), "-1");
        drop(classic);
        assert_eq!(read("io_poll_delay"), "25");
        let none = KernelPollGuard::begin(&site, None, None).err().unwrap();
        assert!(none.contains("journal"), "{none}");
    }

    #[test]
    fn a_device_that_lacks_the_setting_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let site = site(folder.path(), &[("io_poll", "1\n")]);
        let error = KernelPollGuard::begin(&site, Some(&journal), Some(&KernelSleep::Own));
        let error = error.err().unwrap();
        assert!(error.contains("io_poll_delay"), "{error}");
    }
}
