//! The sched_ext scheduler (`scx/q2c.bpf.c`): the same predictor and rules, in the kernel.
//!
//! The scheduler is in force as long as a [`Scheduler`] lives. All tasks go back to the kernel's
//! own scheduler when the value is dropped, the process ends in any way, or the kernel rejects the
//! scheduler.

#[cfg(feature = "scx")]
mod loader;
#[cfg(feature = "scx")]
mod log;
mod report;
#[cfg(any(feature = "scx", test))]
mod settings;

#[cfg(feature = "scx")]
pub use loader::Scheduler;
pub use report::{Report, SchedulerExit};

use q2c_host::Roots;
use q2c_host::tasks::{isolated, list};
use q2c_model::{Exit, Fault};
use std::fs;

/// The name under which the kernel shows the scheduler.
pub const NAME: &str = "q2c";

/// Why the scheduler cannot be used, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum ScxError {
    /// The kernel has no sched_ext.
    #[error(
        "load the scheduler: this kernel has no sched_ext (expected /sys/kernel/sched_ext; CONFIG_SCHED_CLASS_EXT, Linux 6.16 or later); use --mode affinity"
    )]
    NoSchedExt,
    /// These CPUs are isolated, with which the kernel refuses every scheduler.
    #[error(
        "load the scheduler: the kernel refuses sched_ext while CPUs are isolated (isolcpus={0}); use --mode affinity, or boot without isolcpus"
    )]
    Isolated(String),
    /// Another scheduler, of this name, is loaded.
    #[error("load the scheduler: `{0}` is loaded; end it first")]
    Busy(String),
    /// The kernel's type information has wrong prototypes of these functions, which the scheduler
    /// calls.
    #[error(
        "load the scheduler: the kernel's type information (BTF) has malformed prototypes of {0}; that is a fault of the kernel's build: use another kernel, or --mode affinity"
    )]
    Malformed(String),
    /// The kernel's compiler for BPF is switched off.
    #[error(
        "load the scheduler: the kernel's BPF compiler is off (net.core.bpf_jit_enable=0); set it to 1"
    )]
    NoJit,
    /// These functions of sched_ext, which the scheduler needs, are missing.
    #[error(
        "load the scheduler: this kernel lacks {0}; expected Linux 6.16 or later; use --mode affinity"
    )]
    MissingFunctions(String),
    /// The kernel refuses for another reason, in the words of kernel and library.
    #[error("load the scheduler: {0}")]
    Refused(String),
    /// The kernel ended the scheduler.
    #[error("keep the scheduler in force: the kernel ended it ({0}) and uses its own again")]
    Ended(SchedulerExit),
    /// This program was built without the scheduler.
    #[error(
        "load the scheduler: this q2c was built without it; build with --features scx (crates/q2c-place/Cargo.toml says what that needs), or use --mode affinity"
    )]
    NotBuilt,
}

impl From<ScxError> for Fault {
    fn from(error: ScxError) -> Fault {
        Fault::from_error(Exit::Environment, error)
    }
}

/// Checks what can be known before anything is loaded.
///
/// # Errors
/// No sched_ext, isolated CPUs, a BPF compiler that is off, or another scheduler that is loaded.
pub fn check(roots: &Roots) -> Result<(), ScxError> {
    let state = read_state(roots, "state").ok_or(ScxError::NoSchedExt)?;
    let isolated = isolated(roots);
    if !isolated.is_empty() {
        return Err(ScxError::Isolated(list(&isolated)));
    }
    let jit = fs::read_to_string(roots.proc("sys/net/core/bpf_jit_enable"));
    if jit.is_ok_and(|text| text.trim() == "0") {
        return Err(ScxError::NoJit);
    }
    if state == "disabled" {
        return Ok(());
    }
    let running = read_state(roots, "root/ops").unwrap_or(state);
    Err(ScxError::Busy(running))
}

/// True if q2c's scheduler is in force in the kernel.
pub fn is_in_force(roots: &Roots) -> bool {
    let ops = read_state(roots, "root/ops");
    let ours = ops.is_some_and(|name| name.starts_with(NAME));
    ours && read_state(roots, "state").as_deref() == Some("enabled")
}

fn read_state(roots: &Roots, file: &str) -> Option<String> {
    let text = fs::read_to_string(roots.sys("kernel/sched_ext").join(file)).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outcome of the check, and true if the scheduler is in force.
    fn state(files: &[(&str, &str)]) -> (Result<(), String>, bool) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let roots = Roots::under(dir.path());
        let checked = check(&roots).map_err(|error| error.to_string());
        (checked, is_in_force(&roots))
    }

    const OFF: (&str, &str) = ("sys/kernel/sched_ext/state", "disabled\n");

    #[test]
    fn each_obstacle_has_its_words() {
        assert_eq!(state(&[OFF]).0, Ok(()));
        let isolated = ("sys/devices/system/cpu/isolated", "2-3\n");
        let jit = ("proc/sys/net/core/bpf_jit_enable", "0\n");
        let on = [
            ("sys/kernel/sched_ext/state", "enabled\n"),
            ("sys/kernel/sched_ext/root/ops", "scx_lavd\n"),
        ];
        let assert_obstacle = |files: &[(&str, &str)], words: &str| {
            assert!(state(files).0.unwrap_err().contains(words), "{words}");
        };
        assert_obstacle(&[], "no sched_ext");
        assert_obstacle(&[OFF, isolated], "isolcpus=2-3");
        assert_obstacle(&[OFF, jit], "bpf_jit_enable");
        assert_obstacle(&on, "`scx_lavd` is loaded");
        assert!(!state(&on).1);
    }
}
