//! The daemon that sets the device's sleep, and the watch of what the kernel does.

use crate::kernel::KernelWatch;
use crate::steer::{Daemon, Log, SteerSource, kernel_class};
use q2c_capture::kernel_hybrid::Delay;
use q2c_capture::latency::Completion;
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_host::restore::UndoOutcome;
use q2c_model::{Exit, Fault, Nanos};
use q2c_policy::Method;
use q2c_result::kernel_watch::KernelInterval;
use q2c_sys::clock::monotonic_ns;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Fewest polled requests in a stretch that is measured.
const MIN_POLLED: u64 = 10;
const CLASSIC_POLLING: SteerSource = SteerSource::Value(Delay::CLASSIC);

/// One stretch of time in which the kernel polled by one method.
pub(crate) struct Stretch {
    pub total: KernelInterval,
    pub series: Vec<KernelInterval>,
    pub completions: Vec<Completion>,
}

impl Stretch {
    /// D2C of each polled request in the order of completion, ns.
    pub(crate) fn d2c_ns(&self) -> Vec<f64> {
        let completions = self.completions.iter();
        completions.map(|done| done.latency.0 as f64).collect()
    }
}

/// A device whose polling is set, and watched from before the load begins until this value is
/// dropped, which puts the setting back.
pub struct Rig<'a> {
    daemon: Daemon,
    watch: KernelWatch,
    disk: String,
    stop: &'a AtomicBool,
}

impl<'a> Rig<'a> {
    /// Attaches the probes and locks the setting. Raising `stop` ends every phase early.
    pub fn begin(
        roots: &Roots,
        disk: &Disk,
        journal: &Path,
        stop: &'a AtomicBool,
    ) -> Result<Rig<'a>, Fault> {
        let watch = KernelWatch::begin(roots, disk)?;
        Ok(Rig {
            daemon: Daemon::begin(roots, disk, CLASSIC_POLLING, journal, Log::default())?,
            watch,
            disk: disk.name.clone(),
            stop,
        })
    }

    /// Waits until the load polls the device, under classic polling.
    pub(crate) fn wait_for_load(&mut self, patience: Nanos) -> Result<(), Fault> {
        self.set(&Method::POLL)?;
        let end = monotonic_ns() + patience.0;
        let mut polled = 0;
        while polled < MIN_POLLED {
            if monotonic_ns() > end {
                return Err(self.no_load_fault("waiting for the load", polled, patience));
            }
            self.turn(&mut |done| polled += u64::from(kernel_class(&done).is_some()))?;
        }
        Ok(())
    }

    /// Polls by `method`: for `settle` uncounted, then for `length` in `intervals` equal parts. The
    /// message about a lacking load names the `activity`.
    pub(crate) fn stretch(
        &mut self,
        method: &Method,
        settle: Nanos,
        length: Nanos,
        (intervals, activity): (u64, &'static str),
    ) -> Result<Stretch, Fault> {
        self.set(method)?;
        self.turn_until(monotonic_ns() + settle.0, &mut |_completion| ())?;
        self.watch.restart()?;
        let (mut completions, mut series) = (Vec::new(), Vec::new());
        let begun = monotonic_ns();
        for n in 1..=intervals {
            let edge = begun + length.0 * n / intervals;
            self.turn_until(edge, &mut |done| {
                if kernel_class(&done).is_some() {
                    completions.push(done);
                }
            })?;
            series.push(self.watch.interval()?);
        }
        let total = self.watch.total();
        if total.polled < MIN_POLLED {
            return Err(self.no_load_fault(activity, total.polled, length));
        }
        Ok(Stretch {
            total,
            series,
            completions,
        })
    }

    /// Puts the setting back. Returns each setting's file with the outcome.
    pub fn end(self) -> Vec<(PathBuf, UndoOutcome)> {
        self.daemon.end()
    }

    /// Number of completions that the probe could not record since the last call.
    pub(crate) fn take_lost(&mut self) -> Result<u64, Fault> {
        Ok(self.daemon.pulse()?.lost)
    }

    /// Sets the method; any but the kernel's own hybrid polling becomes classic polling.
    fn set(&mut self, method: &Method) -> Result<(), Fault> {
        let sleep = match method {
            Method::HybridKernel(sleep) => Some(sleep),
            _ => None,
        };
        self.daemon.source = SteerSource::from_sleep(sleep)?;
        Ok(())
    }

    fn turn_until(&mut self, end: u64, observe: &mut dyn FnMut(Completion)) -> Result<(), Fault> {
        while monotonic_ns() < end {
            self.turn(observe)?;
        }
        Ok(())
    }

    fn turn(&mut self, observe: &mut dyn FnMut(Completion)) -> Result<(), Fault> {
        if self.stop.load(Ordering::Relaxed) {
            let text = "tune the kernel's polling: stopped by a signal";
            return Err(Fault::stopped(text));
        }
        self.daemon.turn(observe)
    }

    fn no_load_fault(&self, activity: &'static str, found: u64, waited: Nanos) -> Fault {
        let disk = &self.disk;
        let text = format!(
            "tune the kernel's polling of {disk}: expected polled requests while {activity}, found {found} in {waited}; run a load \
             that polls this device (preadv2 with RWF_HIPRI, fio --ioengine=pvsync2 --hipri), or name one behind --"
        );
        Fault::new(Exit::Target, text)
    }
}
