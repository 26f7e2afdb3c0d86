//! The daemon: it reads latencies and writes values of the setting, under the restore guard.

use super::log::Log;
use super::steering::{Steering, kernel_delay};
use crate::kernel::own_cpu;
use q2c_capture::kernel_hybrid::{Delay, check};
use q2c_capture::latency::{Completion, LatencyProbe};
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_host::restore::{Guard, UndoOutcome};
use q2c_model::{Exit, Fault, Nanos, OrFault};
use q2c_policy::{BUCKETS, KernelSleep, PolicySpec};
use q2c_sys::clock::{kernel_ns, monotonic_ns};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// Bounds of the time between two looks, which is half the rule's period.
const MIN_LOOK_INTERVAL: Nanos = Nanos::from_millis(1);
const MAX_LOOK_INTERVAL: Nanos = Nanos::from_millis(20);
/// The time between two looks while one value is held, so short that the probe's ring of 1 MiB does
/// not fill at 2 M IOPS.
const FIXED_LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// The daemon's activity since the last pulse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pulse {
    /// Length of the time that this pulse covers, seconds.
    pub length_s: f64,
    /// Number of completions that the rule counted.
    pub completions: u64,
    /// Number of completions that the probe could not record for want of room.
    pub lost: u64,
    /// Number of values written.
    pub writes: u64,
    /// The value of `io_poll_delay` that was written last; -1 before the first.
    pub delay: i64,
    /// Completions that counted, by the kernel's classes of size and direction.
    pub classes: [u64; BUCKETS],
    /// Number of reads and writes that nobody polled for. The rule does not count them.
    pub unpolled: u64,
    /// CPU of this process, percent of one CPU.
    pub own_cpu_pct: f64,
}

impl Pulse {
    /// True if at least two classes had 1 % of the completions or more each.
    pub fn is_mixed(&self) -> bool {
        let threshold = (self.completions / 100).max(1);
        self.classes.iter().filter(|&&n| n >= threshold).count() > 1
    }
}

/// A device that is being steered by [`Daemon::turn`] again and again. Its setting is put back when
/// this value is dropped.
pub struct Daemon {
    /// May be changed between two turns.
    pub(crate) source: SteerSource,
    probe: LatencyProbe,
    guard: Guard,
    disk: Disk,
    roots: Roots,
    log: Log,
    /// The value written last; `None` before the first decision.
    written: Option<Delay>,
    pulse: Pulse,
    /// Begin of the pulse by CLOCK_MONOTONIC, ns, and the CPU that this process had used by then.
    pulse_start: (u64, Nanos),
    /// Number of completions lost before the pulse.
    lost_before: u64,
}

/// The source of the values that are written to the setting.
pub enum SteerSource {
    /// A rule, and the time between two looks.
    Rule(Box<Steering>, Nanos),
    /// One value.
    Value(Delay),
}

impl SteerSource {
    /// A rule that has seen no completion yet.
    pub fn from_policy(policy: &PolicySpec) -> Result<SteerSource, Fault> {
        let steering = Steering::new(policy).or_exit(Exit::Usage)?;
        Ok(SteerSource::Rule(Box::new(steering), look_interval(policy)))
    }
}

impl SteerSource {
    /// The kernel's own sleep, a fixed one, none (`None`), or a rule that has seen no completion.
    pub(crate) fn from_sleep(sleep: Option<&KernelSleep>) -> Result<SteerSource, Fault> {
        match sleep {
            Some(KernelSleep::Steered(policy)) => Self::from_policy(&policy.with_new_counts()),
            sleep => {
                let delay = sleep.and_then(Delay::from_sleep);
                Ok(SteerSource::Value(delay.unwrap_or(Delay::CLASSIC)))
            }
        }
    }
}

impl Daemon {
    /// Locks the setting, which the first turn changes.
    pub fn begin(
        roots: &Roots,
        disk: &Disk,
        source: SteerSource,
        journal: &Path,
        log: Log,
    ) -> Result<Daemon, Fault> {
        check(roots, disk)?;
        let probe = LatencyProbe::attach(roots, disk)?;
        let mut guard = Guard::new(roots, journal)?;
        guard.hold(&Delay::path(disk))?;
        Ok(Daemon {
            source,
            lost_before: probe.losses()?.no_room,
            probe,
            guard,
            disk: disk.clone(),
            roots: roots.clone(),
            log,
            written: None,
            pulse: Pulse::default(),
            pulse_start: (monotonic_ns(), own_cpu(roots)),
        })
    }

    /// Sleeps until the next look, and writes the rule's value when it has changed. `observe`
    /// gets each new completion, counted by a rule or not.
    pub fn turn(&mut self, observe: &mut dyn FnMut(Completion)) -> Result<(), Fault> {
        sleep(match &self.source {
            SteerSource::Rule(_, interval) => Duration::from_nanos(interval.0),
            SteerSource::Value(_) => FIXED_LOOK_INTERVAL,
        });
        while let Some(done) = self.probe.next_completion() {
            observe(done);
            let counted = match &mut self.source {
                SteerSource::Rule(steering, _) => steering.complete(&done),
                SteerSource::Value(_) => Some(done.at),
            };
            if let Some(at) = counted {
                self.pulse.completions += 1;
                self.log.complete(at, &done)?;
            }
        }
        let now = Nanos(kernel_ns());
        let (delay, decided) = match &mut self.source {
            SteerSource::Value(delay) => (*delay, None),
            SteerSource::Rule(steering, _) => {
                let (at, decision) = steering.decide(now);
                (kernel_delay(decision), Some((at, decision)))
            }
        };
        if self.written != Some(delay) {
            self.check_setting()?;
            if let Some((at, decision)) = decided {
                self.log.write(at, decision, delay)?;
            }
            let path = Delay::path(&self.disk);
            let written = self.guard.vary(&path, &delay.0.to_string());
            // The device may have gone since the check.
            written.or_else(|refused| self.check_setting().and(Err(refused.into())))?;
            self.written = Some(delay);
            self.pulse.writes += 1;
        }
        self.log.flush()
    }

    /// The daemon's activity since the last pulse.
    pub fn pulse(&mut self) -> Result<Pulse, Fault> {
        let (now, used) = (monotonic_ns(), own_cpu(&self.roots));
        let total_lost = self.probe.losses()?.no_room;
        let lost = total_lost - self.lost_before;
        if lost > 0 {
            self.log.lost(Nanos(now), lost)?;
        }
        self.lost_before = total_lost;
        let (start, used_before) = std::mem::replace(&mut self.pulse_start, (now, used));
        let ns = now.saturating_sub(start).max(1);
        let (classes, unpolled) = match &mut self.source {
            SteerSource::Rule(steering, _) => steering.take_counts(),
            SteerSource::Value(_) => Default::default(),
        };
        let pulse = Pulse {
            length_s: ns as f64 / 1e9,
            lost,
            delay: self.written.unwrap_or(Delay::CLASSIC).0,
            classes,
            unpolled,
            own_cpu_pct: (used - used_before).0 as f64 / ns as f64 * 100.0,
            ..std::mem::take(&mut self.pulse)
        };
        self.check_setting().map(|()| pulse)
    }

    fn check_setting(&self) -> Result<(), Fault> {
        check_value(&self.disk.name, Delay::read(&self.disk), self.written)
    }

    /// Puts the setting back. Returns each setting's file with the outcome.
    pub fn end(mut self) -> Vec<(PathBuf, UndoOutcome)> {
        self.guard.undo()
    }
}

/// Checks that the value found was written last; before the first decision any value is fine.
fn check_value(disk: &str, found: Option<Delay>, written: Option<Delay>) -> Result<(), Fault> {
    let (exit, problem) = match (found, written) {
        (None, _) => (Exit::Device, "the device went away".to_owned()),
        (Some(Delay(found)), Some(Delay(wanted))) if found != wanted => {
            let problem = format!(
                "somebody else set io_poll_delay to {found} where {wanted} was written; theirs is left"
            );
            (Exit::Target, problem)
        }
        _ => return Ok(()),
    };
    Err(Fault::new(exit, format_args!("steer {disk}: {problem}")))
}

/// Time between looks: half the rule's period, or 10 ms without one, clamped to 1 to 20 ms.
pub(crate) fn look_interval(policy: &PolicySpec) -> Nanos {
    let mut params = policy.params().into_iter();
    let period = params.find(|(name, _)| *name == "period");
    let period = period.map_or(20e6, |(_, ns)| ns);
    Nanos((period / 2.0) as u64).clamp(MIN_LOOK_INTERVAL, MAX_LOOK_INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_half_a_period_apart() {
        let look_us = |policy: &str| look_interval(&policy.parse().expect("a rule")).0 / 1_000;
        assert_eq!(look_us("min:70%,10ms"), 5_000);
        assert_eq!(look_us("min:70%,100us"), 1_000);
        assert_eq!(look_us("mean:50%,1s"), 20_000);
        assert_eq!(look_us("fixed:20us"), 10_000);
    }

    #[test]
    fn a_setting_of_others_and_a_lost_device_are_told_apart() {
        let check_setting = |found: Option<i64>, written: Option<i64>| {
            check_value("nvme0n1", found.map(Delay), written.map(Delay))
        };
        assert!(check_setting(Some(25), None).is_ok(), "nothing is ours yet");
        assert!(check_setting(Some(57), Some(57)).is_ok());
        let foreign = check_setting(Some(0), Some(57)).unwrap_err().to_string();
        let named = foreign.contains("to 0 where 57") && foreign.contains("nvme0n1");
        assert!(named, "{foreign}");
        for written in [None, Some(57)] {
            let gone = check_setting(None, written).expect_err("nothing there");
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
