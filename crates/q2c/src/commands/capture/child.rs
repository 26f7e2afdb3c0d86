//! The command that runs during a capture, as a child process.

use crate::output::say;
use q2c_host::signals::Signals;
use q2c_model::Fault;
use rustix::process::{Pid, Signal, kill_process};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time for the command to end after SIGTERM, before it is killed. A signal must end q2c within a
/// second, and after the command has ended the recording still has to be written.
const TERM_TIMEOUT: Duration = Duration::from_millis(600);
/// Time between two checks whether the command has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

static RUNNING_PID: AtomicI32 = AtomicI32::new(0);

/// Kills the running command, if there is one. A program that exits without dropping its values
/// calls this.
pub(crate) fn kill_command() {
    if let Some(pid) = Pid::from_raw(RUNNING_PID.swap(0, Ordering::AcqRel)) {
        // The command may already have ended.
        kill_process(pid, Signal::KILL).ok();
    }
}

/// The command that runs during a capture, or none. Dropping this value kills a running command.
#[derive(Default)]
pub(crate) struct Child {
    pub words: Vec<OsString>,
    child: Option<std::process::Child>,
    status: Option<ExitStatus>,
}

impl Child {
    /// Starts the command, or nothing if `words` is empty. The command's output goes to stderr.
    pub(crate) fn start(words: &[OsString]) -> Result<Child, Fault> {
        Child::start_to(words, |name, command| {
            let stderr = std::io::stderr().as_fd().try_clone_to_owned();
            command.stdout(stderr.map_err(|e| start_fault(name, &e))?);
            Ok(())
        })
    }

    /// Starts the command apart from the terminal: its output goes to `output`.
    pub(crate) fn start_apart(words: &[OsString], output: &File) -> Result<Child, Fault> {
        Child::start_to(words, |name, command| {
            let [out, error] = [output.try_clone(), output.try_clone()];
            let failed = |error| start_fault(name, &error);
            command.stdout(out.map_err(failed)?);
            command.stderr(error.map_err(failed)?);
            command.stdin(Stdio::null());
            Ok(())
        })
    }

    /// Starts the command with the standard streams of this program.
    pub(crate) fn start_in_place(words: &[OsString]) -> Result<Child, Fault> {
        Child::start_to(words, |_, _| Ok(()))
    }

    fn start_to(
        words: &[OsString],
        set_output: impl FnOnce(&str, &mut Command) -> Result<(), Fault>,
    ) -> Result<Child, Fault> {
        let Some((program, arguments)) = words.split_first() else {
            return Ok(Child::default());
        };
        let name = program.to_string_lossy().into_owned();
        let failed = |error: io::Error| start_fault(&name, &error);
        let mut command = Command::new(program);
        command.args(arguments);
        set_output(&name, &mut command)?;
        let command = q2c_sys::signal::unblock_in_child(&mut command).map_err(failed)?;
        let child = command.spawn().map_err(failed)?;
        RUNNING_PID.store(child.id() as i32, Ordering::Release);
        Ok(Child {
            words: words.to_owned(),
            child: Some(child),
            status: None,
        })
    }

    fn name(&self) -> Cow<'_, str> {
        let name = self.words.first().map(|word| word.to_string_lossy());
        name.unwrap_or_default()
    }

    fn failed(&self, what: &str, error: &io::Error) -> Fault {
        Fault::environment(format!("{what} the command {}: {error}", self.name()))
    }

    pub(crate) fn id(&self) -> Option<u32> {
        self.child.as_ref().map(std::process::Child::id)
    }

    pub(crate) fn exists(&self) -> bool {
        self.child.is_some()
    }

    /// True if the command has ended; always false without a command.
    pub(crate) fn is_over(&mut self) -> Result<bool, Fault> {
        let Some(child) = &mut self.child else {
            return Ok(false);
        };
        let status = child.try_wait();
        self.status = status.map_err(|error| self.failed("ask about", &error))?;
        if self.status.is_some() {
            RUNNING_PID.store(0, Ordering::Release);
        }
        Ok(self.status.is_some())
    }

    /// Waits without limit until the command ends, and returns its exit code as a shell reports it.
    /// A first signal to this program is passed on, unless the terminal sent it to the command too.
    /// A second signal ends both programs at once.
    pub(crate) fn wait(&mut self, signals: &Signals) -> Result<u8, Fault> {
        let mut is_forwarded = false;
        while self.exists() && !self.is_over()? {
            if let Some(signal) = signals.received().filter(|_| !is_forwarded) {
                is_forwarded = true;
                self.forward(signal);
            }
            sleep(CHECK_INTERVAL);
        }
        let status = self.status.unwrap_or_default();
        let code = status.code().or_else(|| Some(128 + status.signal()?));
        Ok(code.unwrap_or_default() as u8)
    }

    fn forward(&self, number: i32) {
        let Some(signal) = Signal::from_named_raw(number) else {
            return;
        };
        let is_by_key = matches!(signal, Signal::INT | Signal::QUIT);
        let foreground = rustix::termios::tcgetpgrp(std::io::stdin()).ok();
        if is_by_key && foreground == Some(rustix::process::getpgrp()) {
            return;
        }
        if let Some(child) = &self.child {
            // The command may have ended meanwhile.
            kill_process(Pid::from_child(child), signal).ok();
        }
    }

    /// Ends the command with SIGTERM, and kills it if it takes longer than [`TERM_TIMEOUT`].
    pub(crate) fn stop(&mut self) -> Result<(), Fault> {
        if self.child.is_none() || self.is_over()? {
            return Ok(());
        }
        let begun = Instant::now();
        if let Some(child) = &self.child {
            let ended = kill_process(Pid::from_child(child), Signal::TERM);
            ended.map_err(|error| self.failed("end", &error.into()))?;
        }
        while !self.is_over()? {
            sleep(CHECK_INTERVAL);
            if begun.elapsed() > TERM_TIMEOUT
                && let Some(child) = &mut self.child
            {
                let ended = child.kill().and_then(|()| child.wait());
                self.status = Some(ended.map_err(|error| self.failed("kill", &error))?);
                RUNNING_PID.store(0, Ordering::Release);
                return Ok(());
            }
        }
        Ok(())
    }

    /// The command's exit code or signal as text; `None` if it still runs or does not exist. A
    /// failure is also reported on stderr.
    pub(crate) fn status(&self) -> Option<String> {
        let status = self.status?;
        if !status.success() {
            say(&format!("{} ended with {status}", self.name()));
        }
        let code = status.code().map(|code| code.to_string());
        Some(code.unwrap_or_else(|| status.to_string()))
    }
}

fn start_fault(name: &str, error: &io::Error) -> Fault {
    Fault::usage(format!("start {name}: {error}"))
}

impl Drop for Child {
    /// Kills the command, since it must not outlive a capture that failed.
    fn drop(&mut self) {
        if self.status.is_none()
            && let Some(child) = &mut self.child
        {
            child.kill().ok();
            child.wait().ok();
            RUNNING_PID.store(0, Ordering::Release);
        }
    }
}
