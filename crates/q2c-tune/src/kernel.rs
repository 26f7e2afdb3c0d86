//! Trials of `hybrid-kernel`, the kernel's own hybrid polling: preadv2 and pwritev2 with RWF_HIPRI,
//! on Linux 4.10 to 5.18. `queue/io_poll` and `queue/io_poll_delay` are set for each trial and put
//! back after it.
//!
//! The kernel sleeps inside the call, so the thread sees neither sleep nor miss. A probe (from
//! Linux 5.8) counts them in a second run after the trial. It does not run in the trial itself,
//! because it takes CPU time at each turn of the driver's poll.

use super::cells::CellSpec;
use super::outcome::{TrialOutcome, measured};
use super::{Tune, TuneError, read_json};
use q2c_capture::ProbeError;
use q2c_capture::kernel_hybrid::{Counts, Delay, KernelHybrid};
use q2c_engine::{EngineSpec, RunError};
use q2c_host::kernel_version::{HybridSupport, kernel_version};
use q2c_host::restore::Guard;
use q2c_model::{Nanos, Rates};
use q2c_policy::{KernelSleep, Method};
use q2c_result::tune::{Series, Unavailable};
use q2c_run::run_dir::RunDir;
use q2c_run::runner::{CellError, Context};
use q2c_workbench::workload::{Site, Stages, Step, Watched, Workload};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const ENGINE: &str = "pvsync2:hipri";
/// File in the run folder with the reason why the method is not available, or null, so that a
/// resumed run has the same cells.
const KEPT: &str = "hybrid-kernel.json";

/// A fixed sleep of about this length: whole microseconds, at least one.
pub(super) fn fixed(sleep_ns: f64) -> KernelSleep {
    KernelSleep::fixed(Nanos(sleep_ns.round() as u64))
}

/// Time before a trial counts: three of the kernel's windows. In the first one nothing sleeps.
const SETTLE: Nanos = Nanos::from_millis(300);
/// Bounds on the length of the run with the probe, which is half as long as a trial.
const WATCHED_SHORTEST: Nanos = Nanos::from_millis(200);
const WATCHED_LONGEST: Nanos = Nanos::from_millis(1_000);

/// The kernel's sleeps as a probe saw them, in a run of its own after the trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelSleeps {
    /// The probe counted polled requests.
    Seen {
        /// Polled requests that completed.
        polled: u64,
        /// Polled requests for which a thread slept first.
        slept: u64,
        /// Misses / polled requests.
        miss_rate: f64,
        /// Sum of sleeps asked / polled requests, ns.
        effective_sleep_ns: f64,
        /// Mean sleep from the timer's start to the next poll call, ns; `None` when the end of no
        /// sleep was seen.
        slept_ns: Option<f64>,
    },
    /// There are no counts; the text says why.
    Unseen(String),
}

impl KernelSleeps {
    fn of(counts: Counts) -> KernelSleeps {
        match (counts.miss_rate(), counts.effective_sleep_ns()) {
            (Some(miss_rate), Some(effective_sleep_ns)) => KernelSleeps::Seen {
                polled: counts.polled,
                slept: counts.slept,
                miss_rate,
                effective_sleep_ns,
                slept_ns: counts.mean_slept_ns(),
            },
            _ => KernelSleeps::Unseen("no polled request completed".to_owned()),
        }
    }

    /// Miss rate, effective sleep (ns) and mean sleep (ns); `None` without counts.
    pub(super) fn numbers(&self) -> Option<(f64, f64, Option<f64>)> {
        match *self {
            KernelSleeps::Seen {
                miss_rate,
                effective_sleep_ns,
                slept_ns,
                ..
            } => Some((miss_rate, effective_sleep_ns, slept_ns)),
            KernelSleeps::Unseen(_) => None,
        }
    }
}

/// Why the method is not available here; `None` when it is. The answer is kept in the run folder.
pub(super) fn unavailable(
    tune: &Tune<'_>,
    folder: &RunDir,
) -> Result<Option<Unavailable>, TuneError> {
    let kept: Option<Option<String>> = read_json(folder, KEPT)?;
    let reason = match kept {
        Some(reason) => reason,
        None => {
            let reason = why_not(tune);
            folder.publish_json(KEPT, &reason)?;
            reason
        }
    };
    Ok(reason.map(|reason| Unavailable {
        method: Method::HybridKernel(KernelSleep::Own),
        reason,
    }))
}

fn why_not(tune: &Tune<'_>) -> Option<String> {
    let site = &tune.workload.site;
    let Some(target_disk) = &site.target_disk else {
        return Some("no block device stands under the target".to_owned());
    };
    if !target_disk.below.is_empty() {
        let disk = &target_disk.disk.name;
        return Some(format!(
            "{disk} stands on other disks, and is not polled itself"
        ));
    }
    of_kernel(&tune.machine.kernel).or_else(|| {
        // The settings are tried and put back. Until 5.15 polling can be switched on where there
        // are poll queues, and only a trial shows it.
        hold(site, tune.restore_dir, Delay::OWN).err()
    })
}

/// Why a kernel of this release has no hybrid polling that can be set; `None` when it has.
fn of_kernel(release: &str) -> Option<String> {
    let why = match HybridSupport::of(kernel_version(release)?) {
        HybridSupport::NotYet => "it came with 4.10",
        HybridSupport::Works => return None,
        HybridSupport::Unreached => "since 5.19 preadv2 does not poll, whatever RWF_HIPRI says",
        HybridSupport::Removed => {
            "since 5.19 preadv2 does not poll, and since 6.4 io_poll_delay takes any value and does nothing"
        }
    };
    Some(format!(
        "Linux {release} has none; {why}; kernels from 4.10 to 5.18 do"
    ))
}

/// Switches the kernel's polling on with this delay, until the guard is dropped. The error is the
/// reason in words.
fn hold(site: &Site, journal: Option<&Path>, delay: Delay) -> Result<Guard, String> {
    let Some(target_disk) = &site.target_disk else {
        return Err("no block device stands under the target".to_owned());
    };
    let nowhere =
        "there is no folder for the journal of settings: neither XDG_STATE_HOME nor HOME is set";
    let journal = journal.ok_or_else(|| nowhere.to_owned())?;
    let queue = target_disk.disk.dir.join("queue");
    let mut guard = Guard::new(&site.roots, journal).map_err(|e| e.to_string())?;
    set(&mut guard, &queue.join("io_poll"), "1").map_err(|why| {
        format!("{why}; the device has no poll queues (for NVMe: nvme.poll_queues=N on the kernel's command line, or as an option of the module)")
    })?;
    set(
        &mut guard,
        &queue.join("io_poll_delay"),
        &delay.0.to_string(),
    )?;
    Ok(guard)
}

/// Puts a setting under the guard and sets it. A value that the kernel accepts but does not keep is
/// an error, too.
fn set(guard: &mut Guard, file: &Path, value: &str) -> Result<(), String> {
    guard.hold(file).map_err(|e| e.to_string())?;
    let set = guard.set(file, value).map_err(|e| e.to_string())?;
    match set.now == value {
        true => Ok(()),
        false => Err(format!(
            "{} was set to {value} and is {} all the same",
            file.display(),
            set.now
        )),
    }
}

/// Expected length of a trial, seconds.
pub(super) fn seconds(tune: &Tune<'_>) -> f64 {
    SETTLE.as_secs_f64() + tune.spec.seconds + watched_for(tune).as_secs_f64()
}

fn watched_for(tune: &Tune<'_>) -> Nanos {
    Nanos::from_secs_f64(tune.spec.seconds / 2.0).clamp(WATCHED_SHORTEST, WATCHED_LONGEST)
}

/// Runs one trial: settling and measured part, then the run with the probe.
pub(super) fn trial(
    tune: &Tune<'_>,
    cell: &CellSpec,
    sleep: &KernelSleep,
    iops_hint: f64,
    context: &Context<'_>,
) -> Result<TrialOutcome, CellError> {
    let site = &tune.workload.site;
    let steered = || CellError::Cell("tune steers no kernel: `q2c poll steer` does".to_owned());
    let delay = Delay::of(sleep).ok_or_else(steered)?;
    let _guard = hold(site, tune.restore_dir, delay).map_err(CellError::Cell)?;
    let workload = Workload {
        engine: ENGINE.parse::<EngineSpec>().expect("an engine of ours"),
        ..tune.workload.clone()
    };
    let mut stages = Stages::default();
    stages.then(Step::POLL, SETTLE);
    let part = stages.then(Step::Same, Nanos::from_secs_f64(tune.spec.seconds));
    let mut probed = Stages::default();
    probed.then(Step::POLL, watched_for(tune));
    let seed = context.seed >> 1;
    let run = |stages: &Stages| {
        let ran = workload.run(cell.bs, stages, seed, Some(iops_hint), context.cancel);
        whole(ran, context.cancel)
    };
    let outcome = measured(&run(&stages)?, &[part], cell.bs.0, site.idle_busy_cpus);
    let kernel_sleeps = sleeps(site, || run(&probed).map(drop))?;
    Ok(TrialOutcome {
        series: Series {
            // The thread sees no sleeps, so these figures are not known by interval.
            rates: Rates {
                miss_rate: Vec::new(),
                effective_sleep_ns: Vec::new(),
                ..outcome.series.rates
            },
            slept_ns: Vec::new(),
            ..outcome.series
        },
        kernel_sleeps: Some(kernel_sleeps),
        ..outcome
    })
}

/// Returns a run that went to its end without a fault. A fault of an I/O ends the whole tune run.
pub(super) fn whole(
    ran: Result<Watched, RunError>,
    cancel: &AtomicBool,
) -> Result<Watched, CellError> {
    let watched = ran.map_err(|e| CellError::Abort(Box::new(e)))?;
    match &watched.fault {
        Some(fault) => Err(CellError::Abort(fault.clone().into())),
        None if watched.data.stopped || cancel.load(Ordering::Relaxed) => Err(CellError::Cancelled),
        None => Ok(watched),
    }
}

/// Makes a run with the probe attached, and returns the probe's counts. Without a probe there is no
/// run.
fn sleeps(
    site: &Site,
    run: impl FnOnce() -> Result<(), CellError>,
) -> Result<KernelSleeps, CellError> {
    let Some(target_disk) = &site.target_disk else {
        return Ok(KernelSleeps::Unseen("no device".to_owned()));
    };
    let unseen = |error: ProbeError| Ok(KernelSleeps::Unseen(error.to_string()));
    let probe = match KernelHybrid::attach(&site.roots, &target_disk.disk) {
        Ok(probe) => probe,
        Err(error) => return unseen(error),
    };
    run()?;
    probe
        .read()
        .map_or_else(unseen, |counts| Ok(KernelSleeps::of(counts)))
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let why = of_kernel(release).expect(release);
            assert!(why.contains(word) && why.contains(release), "{why}");
        }
        for release in ["4.10.0", "5.4.0-1-amd64", "5.10.0-46-amd64", "5.18.19"] {
            assert_eq!(of_kernel(release), None, "{release}");
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
        }
    }

    /// Polling was off and the delay had a value of another program. After the trial both are back
    /// as they were.
    #[test]
    fn both_settings_are_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let site = site(
            folder.path(),
            &[("io_poll", "0\n"), ("io_poll_delay", "25\n")],
        );
        let read = |name: &str| {
            let queue = folder.path().join("nvme0n1/queue");
            fs::read_to_string(queue.join(name))
                .unwrap()
                .trim()
                .to_owned()
        };
        let guard = hold(&site, Some(&journal), Delay(57)).unwrap();
        assert_eq!(
            (read("io_poll"), read("io_poll_delay")),
            ("1".into(), "57".into())
        );
        let second = hold(&site, Some(&journal), Delay(0)).unwrap_err();
        assert!(second.contains("holds it"), "{second}");
        drop(guard);
        assert_eq!(
            (read("io_poll"), read("io_poll_delay")),
            ("0".into(), "25".into())
        );
        let none = hold(&site, None, Delay(0)).unwrap_err();
        assert!(none.contains("journal"), "{none}");
    }

    #[test]
    fn a_device_that_lacks_the_setting_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let site = site(folder.path(), &[("io_poll", "1\n")]);
        let why = hold(&site, Some(&journal), Delay(0)).unwrap_err();
        assert!(why.contains("io_poll_delay"), "{why}");
    }

    /// 50 of 200 requests were slept for, 40 ns each, so the effective sleep is 10 ns.
    #[test]
    fn numbers_of_the_probe() {
        let counts = Counts {
            polled: 200,
            slept: 50,
            missed: 20,
            asked_ns: 2_000,
            timed: 4,
            slept_ns: 240,
            ..Counts::default()
        };
        let seen = KernelSleeps::of(counts);
        assert_eq!(seen.numbers(), Some((0.1, 10.0, Some(60.0))));
        let text = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<KernelSleeps>(&text).unwrap(), seen);
        assert_eq!(KernelSleeps::of(Counts::default()).numbers(), None);
    }
}
