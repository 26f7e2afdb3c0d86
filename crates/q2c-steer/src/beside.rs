//! The daemon in a thread of its own, beside a trial that its caller runs.

use super::{Daemon, Log, Pulse};
use q2c_capture::ProbeError;
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_host::restore::Outcome;
use q2c_model::Fault;
use q2c_policy::PolicySpec;
use q2c_watch::Beside;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a daemon did beside a trial.
#[derive(Clone, Debug)]
pub struct Steered {
    /// Its activity over the whole time.
    pub pulse: Pulse,
    /// Each setting's file with the outcome of putting it back.
    pub restored: Vec<(PathBuf, Outcome)>,
}

/// Steers a disk by a rule in a thread of its own until [`Beside::end`], which puts the setting
/// back. Returns once the daemon has its probe and its lock.
///
/// # Errors
/// Those of [`Daemon::begin`]. The end has those of [`Daemon::turn`]; the setting was put back
/// then, unless another program has changed it.
pub fn steer_beside(
    roots: &Roots,
    disk: &Disk,
    policy: &PolicySpec,
    journal: &Path,
) -> Result<Beside<Steered, Fault>, Fault> {
    let (roots, disk) = (roots.clone(), disk.clone());
    let (policy, journal) = (policy.fresh(), journal.to_owned());
    Beside::begin(
        move || Daemon::begin(&roots, &disk, &policy, &journal, Log::none()),
        turn,
        |source| ProbeError::Thread { source }.into(),
    )
}

fn turn(mut daemon: Daemon, stop: &AtomicBool) -> Result<Steered, Fault> {
    while !stop.load(Ordering::Acquire) {
        daemon.turn()?;
    }
    Ok(Steered {
        pulse: daemon.pulse()?,
        restored: daemon.end(),
    })
}
