//! The daemon: latencies in, values out, under the restore guard.

use super::log::{Entry, Log};
use super::steering::{Steering, Unfit, delay_of};
use q2c_capture::ProbeError;
use q2c_capture::kernel_hybrid::{Delay, check};
use q2c_capture::latency::Latency;
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_host::restore::{Guard, Outcome, RestoreError};
use q2c_model::Nanos;
use q2c_policy::{BUCKETS, PolicySpec};
use q2c_result::Exit;
use q2c_sys::clock::monotonic_ns;
use q2c_watch::kernel::own_cpu;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// How long the daemon sleeps between two looks: half a period, within these.
const SHORTEST_LOOK: Nanos = Nanos::from_millis(1);
const LONGEST_LOOK: Nanos = Nanos::from_millis(20);

/// Why a device cannot be steered, or not any longer.
#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    /// Latencies cannot be had.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The rule does not fit.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The setting cannot be changed.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// Somebody else changed the setting.
    #[error(
        "steer {disk}: somebody else set io_poll_delay to {found} where {wanted} was written; theirs is left"
    )]
    Foreign {
        /// The disk.
        disk: String,
        /// What is set.
        found: i64,
        /// What was written last.
        wanted: i64,
    },
    /// The setting is gone.
    #[error("steer {disk}: the device went away")]
    Gone {
        /// The disk.
        disk: String,
    },
    /// The log cannot be written.
    #[error("write the log: {0}")]
    Log(#[from] io::Error),
}

impl SteerError {
    /// The exit code of a command that ends with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            SteerError::Probe(error) => error.exit(),
            SteerError::Unfit(_) => Exit::Usage,
            SteerError::Restore(_) => Exit::Environment,
            SteerError::Foreign { .. } => Exit::Target,
            SteerError::Gone { .. } | SteerError::Log(_) => Exit::Device,
        }
    }
}

/// What happened since the last one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pulse {
    /// Seconds.
    pub length_s: f64,
    /// Completions that counted.
    pub completions: u64,
    /// Completions not seen.
    pub lost: u64,
    /// Values written.
    pub writes: u64,
    /// The value in force.
    pub delay: i64,
    /// Completions by the kernel's classes of size and direction.
    pub classes: [u64; BUCKETS],
    /// CPU of this process, percent of one CPU.
    pub own_cpu_pct: f64,
}

impl Pulse {
    /// Whether requests of more than one class had at least 1 % each.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        let least = (self.completions / 100).max(1);
        self.classes.iter().filter(|&&n| n >= least).count() > 1
    }
}

/// A device being steered; its setting is put back when this goes.
pub struct Daemon {
    steering: Steering,
    probe: Latency,
    guard: Guard,
    file: PathBuf,
    disk: Disk,
    roots: Roots,
    log: Log,
    look: Duration,
    /// What is in force; `None` before the first decision.
    written: Option<Delay>,
    pulse: Pulse,
    /// When the pulse began, and what this process had used by then.
    since: (u64, Nanos),
    lost: u64,
}

impl Daemon {
    /// Begins to follow a disk. Its setting is held from now on, and changed from the first look on.
    ///
    /// # Errors
    /// The rule does not fit, the kernel or the disk has no hybrid polling of its own, a permission is lacking, or somebody
    /// else steers the disk.
    pub fn begin(
        roots: &Roots,
        disk: &Disk,
        policy: &PolicySpec,
        journal: &Path,
        log: Log,
    ) -> Result<Daemon, SteerError> {
        let steering = Steering::new(policy)?;
        check(roots, disk)?;
        let probe = Latency::attach(roots, disk)?;
        let file = Delay::path(disk);
        let mut guard = Guard::new(roots, journal)?;
        guard.hold(&file)?;
        Ok(Daemon {
            steering,
            lost: probe.lost()?.no_room,
            probe,
            guard,
            file,
            disk: disk.clone(),
            roots: roots.clone(),
            log,
            look: look(policy),
            written: None,
            pulse: Pulse::default(),
            since: (monotonic_ns(), own_cpu(roots)),
        })
    }

    /// Sleeps until the next look, takes in what completed, and writes what follows from it.
    ///
    /// # Errors
    /// The setting or the log cannot be written, somebody else changed the setting, or the device is gone.
    pub fn turn(&mut self) -> Result<(), SteerError> {
        sleep(self.look);
        while let Some(done) = self.probe.completed() {
            if let Some(at) = self.steering.complete(&done) {
                self.pulse.completions += 1;
                self.log.line(&Entry::Complete(at, done))?;
            }
        }
        let (at, decision) = self.steering.decide(Nanos(monotonic_ns()));
        let delay = delay_of(decision);
        if self.written != Some(delay) {
            self.check_ours()?;
            self.log.line(&Entry::Write(at, decision, delay))?;
            self.write(delay)?;
            self.written = Some(delay);
            self.pulse.writes += 1;
        }
        Ok(self.log.flush()?)
    }

    fn write(&mut self, delay: Delay) -> Result<(), SteerError> {
        let refused = match self.guard.vary(&self.file, &delay.0.to_string()) {
            Ok(()) => return Ok(()),
            Err(refused) => refused,
        };
        // The device may have gone just now.
        self.check_ours().and(Err(refused.into()))
    }

    /// What happened since the last pulse.
    ///
    /// # Errors
    /// Somebody else changed the setting, the device is gone, or the kernel's counters cannot be read.
    pub fn pulse(&mut self) -> Result<Pulse, SteerError> {
        let (now, used) = (monotonic_ns(), own_cpu(&self.roots));
        let lost = self.probe.lost()?.no_room;
        let new = lost - self.lost;
        if new > 0 {
            self.log.line(&Entry::Lost(Nanos(now), new))?;
        }
        self.lost = lost;
        let ns = now.saturating_sub(self.since.0).max(1);
        let pulse = Pulse {
            length_s: ns as f64 / 1e9,
            lost: new,
            delay: self.written.unwrap_or(Delay::CLASSIC).0,
            classes: self.steering.take_classes(),
            own_cpu_pct: (used - self.since.1).0 as f64 / ns as f64 * 100.0,
            ..std::mem::take(&mut self.pulse)
        };
        self.since = (now, used);
        self.check_ours().map(|()| pulse)
    }

    fn check_ours(&self) -> Result<(), SteerError> {
        ours(&self.disk.name, Delay::read(&self.disk), self.written)
    }

    /// Puts the setting back; says how that ended.
    pub fn end(mut self) -> Vec<(PathBuf, Outcome)> {
        self.guard.undo()
    }
}

/// Whether a setting found is what was written last; before the first decision any is.
fn ours(disk: &str, found: Option<Delay>, written: Option<Delay>) -> Result<(), SteerError> {
    let disk = || disk.to_owned();
    match (found, written) {
        (None, _) => Err(SteerError::Gone { disk: disk() }),
        (Some(found), Some(wanted)) if found != wanted => Err(SteerError::Foreign {
            disk: disk(),
            found: found.0,
            wanted: wanted.0,
        }),
        _ => Ok(()),
    }
}

/// Half the rule's period; 10 ms for a rule without one.
fn look(policy: &PolicySpec) -> Duration {
    let period = policy
        .params()
        .into_iter()
        .find(|(name, _)| *name == "period");
    let period = period.map_or(20e6, |(_, ns)| ns);
    let half = Nanos((period / 2.0) as u64).clamp(SHORTEST_LOOK, LONGEST_LOOK);
    Duration::from_nanos(half.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_half_a_period_apart() {
        let of = |policy: &str| look(&policy.parse().expect("a rule")).as_micros();
        assert_eq!(of("min:70%,10ms"), 5_000);
        assert_eq!(of("min:70%,100us"), 1_000);
        assert_eq!(of("mean:50%,1s"), 20_000);
        assert_eq!(of("fixed:20us"), 10_000);
    }

    #[test]
    fn a_setting_of_others_and_a_lost_device_are_told_apart() {
        let of = |found: Option<i64>, written: Option<i64>| {
            ours("nvme0n1", found.map(Delay), written.map(Delay))
        };
        assert!(of(Some(25), None).is_ok(), "nothing is ours yet");
        assert!(of(Some(57), Some(57)).is_ok());
        let foreign = of(Some(0), Some(57)).expect_err("theirs").to_string();
        assert!(
            foreign.contains("to 0 where 57") && foreign.contains("nvme0n1"),
            "{foreign}"
        );
        for written in [None, Some(57)] {
            let gone = of(None, written).expect_err("nothing there");
            assert_eq!(gone.exit(), Exit::Device, "{gone}");
        }
    }

    #[test]
    fn few_requests_of_another_size_are_no_mixture() {
        let mut pulse = Pulse {
            completions: 1_000,
            ..Pulse::default()
        };
        pulse.classes[6] = 991;
        pulse.classes[14] = 9;
        assert!(!pulse.is_mixed());
        pulse.classes[14] = 10;
        assert!(pulse.is_mixed());
    }
}
