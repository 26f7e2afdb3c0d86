//! The command that is recorded.

use crate::failure::{Fails, Failure};
use crate::output::say;
use q2c_result::Exit;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long it may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);

/// The command at work, or none.
pub struct Child {
    words: Vec<OsString>,
    child: Option<std::process::Child>,
    status: Option<ExitStatus>,
}

impl Child {
    /// There is none.
    pub fn none() -> Child {
        Child {
            words: Vec::new(),
            child: None,
            status: None,
        }
    }

    /// Starts it; what it prints goes to stderr.
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
        Ok(Child {
            words: words.to_owned(),
            child: Some(child),
            status: None,
        })
    }

    /// What was started.
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        self.child.is_some()
    }

    /// Whether it has ended; a recording without a command does not end by itself.
    pub fn is_over(&mut self) -> Result<bool, Failure> {
        let Some(child) = &mut self.child else {
            return Ok(false);
        };
        self.status = child.try_wait().or_exit(Exit::Environment)?;
        Ok(self.status.is_some())
    }

    /// Asks it to end, and sees to it.
    pub fn stop(&mut self) -> Result<(), Failure> {
        if self.child.is_none() || self.is_over()? {
            return Ok(());
        }
        let begun = Instant::now();
        if let Some(child) = &self.child {
            kill_process(Pid::from_child(child), Signal::TERM).or_exit(Exit::Environment)?;
        }
        while !self.is_over()? {
            sleep(LOOK);
            if begun.elapsed() > PATIENCE
                && let Some(child) = &mut self.child
            {
                child.kill().or_exit(Exit::Environment)?;
                self.status = Some(child.wait().or_exit(Exit::Environment)?);
                return Ok(());
            }
        }
        Ok(())
    }

    /// How it ended, in words, said when it went wrong.
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
    /// Nothing goes on behind an error.
    fn drop(&mut self) {
        if self.status.is_none()
            && let Some(child) = &mut self.child
        {
            child.kill().ok();
            child.wait().ok();
        }
    }
}
