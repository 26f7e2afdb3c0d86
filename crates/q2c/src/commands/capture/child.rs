//! The command that runs during a capture.

use crate::failure::Failure;
use crate::output::say;
use q2c_result::Exit;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the command may take to end after SIGTERM. Then it is killed. A signal is to end q2c
/// within a second, and the recording has to be written after this.
const PATIENCE: Duration = Duration::from_millis(600);
const LOOK: Duration = Duration::from_millis(10);

/// Process id of the command that runs; 0 for none.
static RUNNING: AtomicI32 = AtomicI32::new(0);

/// Kills the command that runs, if there is one: for a program that ends without dropping its
/// values.
pub fn kill_the_command() {
    if let Some(pid) = Pid::from_raw(RUNNING.swap(0, Ordering::AcqRel)) {
        // It may have ended by itself.
        kill_process(pid, Signal::KILL).ok();
    }
}

/// The command that runs during a capture, or none. A command that still runs is killed when this
/// value is dropped.
pub struct Child {
    words: Vec<OsString>,
    child: Option<std::process::Child>,
    status: Option<ExitStatus>,
}

impl Child {
    /// No command.
    pub fn none() -> Child {
        Child {
            words: Vec::new(),
            child: None,
            status: None,
        }
    }

    /// Starts the command, or none where `words` is empty. What the command prints goes to stderr.
    pub fn start(words: &[OsString]) -> Result<Child, Failure> {
        let Some((program, arguments)) = words.split_first() else {
            return Ok(Child::none());
        };
        let name = program.to_string_lossy().into_owned();
        let failed = |error| Failure::new(Exit::Usage, format!("start {name}: {error}"));
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdout(Stdio::from(stderr.map_err(failed)?));
        let command = q2c_sys::signal::unblock_in_child(&mut command).map_err(failed)?;
        let child = command.spawn().map_err(failed)?;
        RUNNING.store(child.id() as i32, Ordering::Release);
        Ok(Child {
            words: words.to_owned(),
            child: Some(child),
            status: None,
        })
    }

    /// The command and its arguments; empty when there is none.
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    fn failed(&self, what: &str, error: &io::Error) -> Failure {
        let name = self.words.first().map(|word| word.to_string_lossy());
        let name = name.unwrap_or_default();
        Failure::new(
            Exit::Environment,
            format!("{what} the command {name}: {error}"),
        )
    }

    /// Whether there is a command.
    pub fn is_there(&self) -> bool {
        self.child.is_some()
    }

    /// Whether the command has ended; never true when there is none.
    pub fn is_over(&mut self) -> Result<bool, Failure> {
        let Some(child) = &mut self.child else {
            return Ok(false);
        };
        let status = child.try_wait();
        self.status = status.map_err(|error| self.failed("ask about", &error))?;
        if self.status.is_some() {
            RUNNING.store(0, Ordering::Release);
        }
        Ok(self.status.is_some())
    }

    /// Ends the command by SIGTERM, and kills it if that takes too long.
    pub fn stop(&mut self) -> Result<(), Failure> {
        if self.child.is_none() || self.is_over()? {
            return Ok(());
        }
        let begun = Instant::now();
        if let Some(child) = &self.child {
            let ended = kill_process(Pid::from_child(child), Signal::TERM);
            ended.map_err(|error| self.failed("end", &error.into()))?;
        }
        while !self.is_over()? {
            sleep(LOOK);
            if begun.elapsed() > PATIENCE
                && let Some(child) = &mut self.child
            {
                let ended = child.kill().and_then(|()| child.wait());
                self.status = Some(ended.map_err(|error| self.failed("kill", &error))?);
                RUNNING.store(0, Ordering::Release);
                return Ok(());
            }
        }
        Ok(())
    }

    /// The command's exit code or signal in words; `None` when it has not ended or there is none. A
    /// failure is also told on stderr.
    pub fn status(&self) -> Option<String> {
        let status = self.status?;
        let words = match status.code() {
            Some(code) => code.to_string(),
            None => status.to_string(),
        };
        if !status.success() {
            let name = self.words.first().map(|word| word.to_string_lossy());
            say(&format!("{} ended with {status}", name.unwrap_or_default()));
        }
        Some(words)
    }
}

impl Drop for Child {
    /// The command must not go on after an error.
    fn drop(&mut self) {
        if self.status.is_none()
            && let Some(child) = &mut self.child
        {
            child.kill().ok();
            child.wait().ok();
            RUNNING.store(0, Ordering::Release);
        }
    }
}
