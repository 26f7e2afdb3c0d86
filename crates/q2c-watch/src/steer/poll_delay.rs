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
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// `io_poll_delay` of a disk as a method needs it, until this value is dropped.
pub struct PollDelayGuard(Setter);

/// Sets the delay, and puts it back when it is dropped.
enum Setter {
    /// Only fixed values are set.
    Guard(Box<Guard>, PathBuf),
    /// A daemon follows rules; it takes other sources of its values from the channel.
    Daemon(SideThread<(), Fault>, Sender<SteerSource>),
}

impl PollDelayGuard {
    /// Sets the kernel's own sleep, a fixed one, none (`None`), or lets a daemon follow a rule.
    /// Only then can [`PollDelayGuard::change`] take rules.
    pub fn begin(
        roots: &Roots,
        disk: &Disk,
        journal: &Path,
        sleep: Option<&KernelSleep>,
    ) -> Result<Self, Fault> {
        let source = SteerSource::from_sleep(sleep)?;
        if let SteerSource::Value(delay) = source {
            let (mut guard, file) = (Guard::new(roots, journal)?, Delay::path(disk));
            guard.keep(&file, &delay.0.to_string())?;
            return Ok(PollDelayGuard(Setter::Guard(Box::new(guard), file)));
        }
        let (roots, disk, journal) = (roots.clone(), disk.clone(), journal.to_owned());
        let (sender, sources) = channel();
        let daemon = SideThread::begin(
            move || Daemon::begin(&roots, &disk, source, &journal, Log::default()),
            move |daemon, stop| steer_until_stopped(daemon, &sources, stop),
            |source| ProbeError::Thread { source }.into(),
        )?;
        Ok(PollDelayGuard(Setter::Daemon(daemon, sender)))
    }

    /// Lets another method hold from now on; a daemon takes it up with its next look.
    pub fn change(&mut self, sleep: Option<&KernelSleep>) -> Result<(), Fault> {
        match (&mut self.0, SteerSource::from_sleep(sleep)?) {
            (Setter::Guard(guard, file), SteerSource::Value(delay)) => {
                Ok(guard.vary(file, &delay.0.to_string())?)
            }
            (Setter::Guard(..), SteerSource::Rule(..)) => Err(Fault::environment(
                "steer the kernel's sleep: there is no daemon, because none was needed before",
            )),
            (Setter::Daemon(_, sender), source) => {
                // A daemon that failed says so at its end.
                sender.send(source).ok();
                Ok(())
            }
        }
    }

    /// Puts the setting back.
    pub fn end(self) -> Result<(), Fault> {
        match self.0 {
            Setter::Guard(..) => Ok(()),
            Setter::Daemon(daemon, _) => daemon.end(),
        }
    }
}

/// Steers until the flag is raised, and puts the setting back.
fn steer_until_stopped(
    mut daemon: Daemon,
    sources: &Receiver<SteerSource>,
    stop: &AtomicBool,
) -> Result<(), Fault> {
    while !stop.load(Ordering::Acquire) {
        if let Some(source) = sources.try_iter().last() {
            daemon.source = source;
        }
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

    /// The value before the first change is put back, and without a daemon no rule is taken.
    #[test]
    fn a_value_changes_from_phase_to_phase() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, journal) = (disk(folder.path()), folder.path().join("journal"));
        let mut guard = PollDelayGuard::begin(&Roots::live(), &disk, &journal, None).unwrap();
        for (sleep, wanted) in [(KernelSleep::Fixed(57), 57), (KernelSleep::Own, 0)] {
            guard.change(Some(&sleep)).unwrap();
            assert_eq!(Delay::read(&disk), Some(Delay(wanted)));
        }
        let min = KernelSleep::Steered("min:70%,10ms".parse().unwrap());
        assert!(guard.change(Some(&min)).is_err());
        guard.end().unwrap();
        assert_eq!(Delay::read(&disk), Some(Delay(25)));
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
