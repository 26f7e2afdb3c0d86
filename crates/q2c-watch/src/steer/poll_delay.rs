//! The kernel's polling of a disk, set for as long as a trial lasts.

use super::{Daemon, Log, SteerSource};
use crate::SideThread;
use q2c_capture::ProbeError;
use q2c_capture::kernel_hybrid::Delay;
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_host::restore::Guard;
use q2c_model::Fault;
use q2c_policy::KernelSleep;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// `io_poll_delay` of a disk as a method needs it, until this value is dropped.
pub struct PollDelayGuard {
    /// Puts a fixed setting back when it is dropped.
    _guard: Option<Box<Guard>>,
    /// Follows a rule, and puts the setting back itself.
    daemon: Option<SideThread<(), Fault>>,
}

impl PollDelayGuard {
    /// Sets the kernel's own sleep, a fixed one, none (`None`), or lets a daemon follow a rule.
    pub fn begin(
        roots: &Roots,
        disk: &Disk,
        journal: &Path,
        sleep: Option<&KernelSleep>,
    ) -> Result<Self, Fault> {
        if let Some(KernelSleep::Steered(policy)) = sleep {
            let (roots, disk) = (roots.clone(), disk.clone());
            let (policy, journal) = (policy.with_new_counts(), journal.to_owned());
            let source = SteerSource::from_policy(&policy)?;
            let daemon = SideThread::begin(
                move || Daemon::begin(&roots, &disk, source, &journal, Log::default()),
                steer_until_stopped,
                |source| ProbeError::Thread { source }.into(),
            )?;
            return Ok(PollDelayGuard {
                _guard: None,
                daemon: Some(daemon),
            });
        }
        let delay = sleep.and_then(Delay::from_sleep).unwrap_or(Delay::CLASSIC);
        let mut guard = Guard::new(roots, journal)?;
        guard.keep(&Delay::path(disk), &delay.0.to_string())?;
        Ok(PollDelayGuard {
            _guard: Some(Box::new(guard)),
            daemon: None,
        })
    }

    /// Puts the setting back.
    pub fn end(self) -> Result<(), Fault> {
        self.daemon.map_or(Ok(()), SideThread::end)
    }
}

/// Steers until the flag is raised, and puts the setting back.
fn steer_until_stopped(mut daemon: Daemon, stop: &AtomicBool) -> Result<(), Fault> {
    while !stop.load(Ordering::Acquire) {
        daemon.turn(&mut |_completion| ())?;
    }
    daemon.pulse()?;
    daemon.end();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::DevId;
    use std::fs;

    fn disk(folder: &Path) -> Disk {
        let dir = folder.join("nvme0n1");
        fs::create_dir_all(dir.join("queue")).unwrap();
        fs::write(dir.join("queue/io_poll_delay"), "25\n").unwrap();
        Disk {
            name: "nvme0n1".to_owned(),
            dev: DevId::default(),
            dir,
        }
    }

    /// The value of another program is put back after each method, and only one run may hold it.
    #[test]
    fn a_value_is_set_and_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, journal) = (disk(folder.path()), folder.path().join("journal"));
        let begin = |sleep: Option<&KernelSleep>| {
            PollDelayGuard::begin(&Roots::live(), &disk, &journal, sleep)
        };
        for (sleep, wanted) in [
            (None, -1),
            (Some(&KernelSleep::Own), 0),
            (Some(&KernelSleep::Fixed(57)), 57),
        ] {
            let guard = begin(sleep).unwrap();
            assert_eq!(Delay::read(&disk), Some(Delay(wanted)));
            let second = begin(sleep).err().expect("it is held").to_string();
            assert!(second.contains("holds it"), "{second}");
            guard.end().unwrap();
            assert_eq!(Delay::read(&disk), Some(Delay(25)));
        }
    }

    /// The rule `pas` needs more than the times of a window. It is refused before anything changes.
    #[test]
    fn a_rule_that_cannot_be_followed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, journal) = (disk(folder.path()), folder.path().join("journal"));
        let pas = KernelSleep::Steered("pas".parse().unwrap());
        let refused = PollDelayGuard::begin(&Roots::live(), &disk, &journal, Some(&pas));
        let reason = refused.err().expect("unfit").to_string();
        assert!(reason.contains("more than the times"), "{reason}");
        assert_eq!(Delay::read(&disk), Some(Delay(25)));
    }
}
