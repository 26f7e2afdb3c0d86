//! Runs the user's programs by a shell on named CPUs, and stops them with all that they started.

use q2c_model::CpuId;
use q2c_sys::signal::unblock_in_child;
use q2c_sys::thread::allow;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Time between two checks of whether a program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A shell for a user's command, in a process group of its own and without input.
pub fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    shell.process_group(0).stdin(Stdio::null());
    shell
}

/// Starts a program that may run only on these CPUs.
pub fn start_on(cpus: &[CpuId], program: &mut Command) -> io::Result<Child> {
    // A program starts with the CPUs of the thread that starts it.
    thread::scope(|scope| {
        let started = scope.spawn(|| {
            allow(cpus)?;
            unblock_in_child(program)?.spawn()
        });
        let ended_early = |_| Err(io::Error::other("its thread ended early"));
        started.join().unwrap_or_else(ended_early)
    })
}

/// Waits until a [`shell`] ends, and returns its status. When `stop` becomes true, kills its whole
/// process group and returns `None`.
pub fn wait(mut child: Child, stop: &AtomicBool) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if stop.load(Ordering::Relaxed) {
            if let Some(group) = Pid::from_raw(child.id() as i32) {
                // A group that has ended meanwhile needs no signal.
                kill_process_group(group, Signal::KILL).ok();
            }
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_stopped_program_ends_with_what_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid = folder.path().join("pid");
        let command = format!("sleep 60 & echo $! > {}; wait", pid.display());
        let child = shell(&command).spawn().expect("a shell");
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let waits = scope.spawn(|| wait(child, &stop));
            let began = Instant::now();
            while std::fs::read_to_string(&pid).unwrap_or_default().is_empty() {
                assert!(began.elapsed().as_secs() < 20, "the program did not begin");
                thread::sleep(POLL_INTERVAL);
            }
            stop.store(true, Ordering::Relaxed);
            assert!(waits.join().expect("no panic").expect("a wait").is_none());
        });
        let pid = std::fs::read_to_string(&pid).expect("the child's number");
        let status = format!("/proc/{}/stat", pid.trim());
        // Until somebody has waited for it, an ended process is a zombie.
        let gone = || {
            let stat = std::fs::read_to_string(&status).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        };
        let began = Instant::now();
        while !gone() {
            assert!(began.elapsed().as_secs() < 20, "it is still there");
            thread::sleep(POLL_INTERVAL);
        }
    }

    #[test]
    fn a_program_ends_with_its_own_status() {
        let child = shell("exit 3").spawn().expect("a shell");
        let status = wait(child, &AtomicBool::new(false)).expect("a wait");
        assert_eq!(status.and_then(|status| status.code()), Some(3));
    }
}
