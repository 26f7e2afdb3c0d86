//! SPDK, by way of the user's own `spdk_nvme_perf`: a program that drives an NVMe device from user space, past the kernel.
//!
//! It is no [`Engine`](crate::engine::Engine): it brings its own loop, clock and CPUs, and only its summary comes back. The
//! device must be bound to a user-space driver (`vfio-pci`, `uio_pci_generic`, `igb_uio`) before; nothing here binds or unbinds
//! anything.
//!
//! Not run live so far: the reading of its output is tested on text in the format of the tool's sources and of published runs.

mod args;
mod device;
mod output;

pub use args::SpdkArgs;
pub use device::{USER_DRIVERS, user_driver};
pub use output::{Latency, SpdkResult};

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Names the program where it is not on PATH under its usual name.
pub const PROGRAM_VARIABLE: &str = "Q2C_SPDK_PERF";
const PROGRAM: &str = "spdk_nvme_perf";
/// Beyond the time asked for: attaching controllers, and hugepages.
const GRACE: Duration = Duration::from_secs(60);
/// How long the program is left alone between two looks.
const NAP: Duration = Duration::from_millis(20);

/// SPDK cannot be used here.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{reason}")]
pub struct Absent {
    /// Why, and what to do.
    pub reason: String,
}

/// Why a run gave no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpdkError {
    /// The device belongs to the kernel, or to nobody.
    #[error("use {address} with SPDK: {problem}")]
    Device {
        /// PCI address.
        address: String,
        /// What is in the way, and what to do.
        problem: String,
    },
    /// The program could not be started or watched.
    #[error("run {program}: {source}")]
    Program {
        /// Its path.
        program: String,
        /// Cause.
        source: std::io::Error,
    },
    /// It failed.
    #[error("run {program}: it ended with {status}; its last words: {words}")]
    Failed {
        /// Its path.
        program: String,
        /// How it ended.
        status: String,
        /// The end of its messages.
        words: String,
    },
    /// It did not end in time, and was killed.
    #[error("run {program}: it was still at work {seconds} s after it was started, and was ended")]
    Late {
        /// Its path.
        program: String,
        /// How long it had.
        seconds: u64,
    },
    /// It was stopped from outside.
    #[error("run {0}: it was stopped")]
    Stopped(String),
    /// Its output is not what is known of it.
    #[error("read the output of {program}: {problem}")]
    Output {
        /// Its path.
        program: String,
        /// What was expected.
        problem: String,
    },
}

/// The user's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpdkPerf {
    program: PathBuf,
}

impl SpdkPerf {
    /// The program that `Q2C_SPDK_PERF` names, or the one on PATH.
    ///
    /// # Errors
    /// When there is none, with the reason for the list of interfaces.
    pub fn find() -> Result<Self, Absent> {
        let named = std::env::var_os(PROGRAM_VARIABLE).map(PathBuf::from);
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self::find_in(named, std::env::split_paths(&path))
    }

    fn find_in(
        named: Option<PathBuf>,
        folders: impl Iterator<Item = PathBuf>,
    ) -> Result<Self, Absent> {
        if let Some(program) = named {
            return Self::at(program);
        }
        let mut programs = folders.map(|folder| folder.join(PROGRAM));
        let program = programs.find(|program| program.is_file());
        program.map(|program| SpdkPerf { program }).ok_or_else(|| Absent {
            reason: format!(
                "{PROGRAM} is not on PATH: build SPDK and name its build/bin/{PROGRAM} by {PROGRAM_VARIABLE}"
            ),
        })
    }

    /// The program at this path.
    ///
    /// # Errors
    /// When it is no file.
    pub fn at(program: PathBuf) -> Result<Self, Absent> {
        match program.is_file() {
            true => Ok(SpdkPerf { program }),
            false => Err(Absent {
                reason: format!(
                    "{PROGRAM_VARIABLE} names {}, which is no file",
                    program.display()
                ),
            }),
        }
    }

    /// Its path.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs it to its end, with the driver looked up in sysfs at `sys`, or until `stop` is raised; `watch` hears its process id about every 20 ms meanwhile. With a writing
    /// pattern it overwrites the device.
    ///
    /// # Errors
    /// When the device is not bound to a user-space driver, or the program fails, hangs, or says what is not understood.
    pub fn run(
        &self,
        sys: &Path,
        args: &SpdkArgs,
        watch: &mut dyn FnMut(u32),
        stop: &AtomicBool,
    ) -> Result<SpdkResult, SpdkError> {
        user_driver(sys, &args.address)?;
        let output = self.output(&args.words(), args.seconds, watch, stop)?;
        output::parse(&output).map_err(|problem| SpdkError::Output {
            program: self.name(),
            problem,
        })
    }

    fn name(&self) -> String {
        self.program.display().to_string()
    }

    fn broken(&self) -> impl Fn(std::io::Error) -> SpdkError {
        let program = self.name();
        move |source| SpdkError::Program {
            program: program.clone(),
            source,
        }
    }

    /// What it prints.
    fn output(
        &self,
        words: &[String],
        seconds: u64,
        watch: &mut dyn FnMut(u32),
        stop: &AtomicBool,
    ) -> Result<String, SpdkError> {
        let mut child = Command::new(&self.program)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(self.broken())?;
        // Both pipes are emptied while it runs: a full one would hold it up.
        let (out, err) = (listen(child.stdout.take()), listen(child.stderr.take()));
        let patience = Duration::from_secs(seconds) + GRACE;
        let ended = self.until_the_end(&mut child, patience, watch, stop);
        if ended.is_err() {
            child.kill().ok();
            child.wait().ok();
        }
        let (out, err) = (out.join(), err.join());
        let status = ended?;
        let (out, err) = (out.unwrap_or_default(), err.unwrap_or_default());
        match status.success() {
            true => Ok(out),
            false => Err(SpdkError::Failed {
                program: self.name(),
                status: status.to_string(),
                words: last_words(&err, &out),
            }),
        }
    }

    fn until_the_end(
        &self,
        child: &mut Child,
        patience: Duration,
        watch: &mut dyn FnMut(u32),
        stop: &AtomicBool,
    ) -> Result<std::process::ExitStatus, SpdkError> {
        let until = Instant::now() + patience;
        loop {
            if let Some(status) = child.try_wait().map_err(self.broken())? {
                return Ok(status);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(SpdkError::Stopped(self.name()));
            }
            if Instant::now() >= until {
                return Err(SpdkError::Late {
                    program: self.name(),
                    seconds: patience.as_secs(),
                });
            }
            watch(child.id());
            thread::sleep(NAP);
        }
    }
}

/// All that comes out of a pipe, in a thread of its own.
fn listen(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was said before it broke is still worth reading.
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes).ok());
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn last_words(err: &str, out: &str) -> String {
    let said = |text: &str| {
        text.lines()
            .rev()
            .find(|l| !l.trim().is_empty())
            .map(str::to_owned)
    };
    said(err)
        .or_else(|| said(out))
        .unwrap_or_else(|| "none".to_owned())
}

#[cfg(test)]
mod tests;
