//! SPDK, used through the user's own `spdk_nvme_perf`: a program that drives an NVMe device from
//! user space, past the kernel.
//!
//! It is no [`Engine`](crate::engine::Engine): it has its own loop, clock and CPUs, and only its
//! summary comes back. The device must have been bound to a user-space driver (`vfio-pci`,
//! `uio_pci_generic`, `igb_uio`) before; nothing here binds or unbinds anything.
//!
//! It has not been run live so far: the reading of its output is tested on text in the format of
//! the tool's sources and of published runs.

mod args;
mod device;
mod output;

pub use args::SpdkArgs;
pub use device::user_driver;
pub use output::{SpdkPercentiles, SpdkResult};

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Environment variable that names the program where it is not on PATH under its usual name.
pub(crate) const PROGRAM_VARIABLE: &str = "Q2C_SPDK_PERF";
const PROGRAM: &str = "spdk_nvme_perf";
/// Time that the program may take beyond the time asked for: it attaches controllers and sets up
/// hugepages.
const GRACE: Duration = Duration::from_secs(60);
/// Time between two looks whether the program has ended.
const NAP: Duration = Duration::from_millis(20);

/// The reason why SPDK cannot be used here.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{reason}")]
pub struct Absent {
    /// The reason in words, with a way out of it.
    pub reason: String,
}

/// The reason why a run gave no result.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum SpdkError {
    #[error("use {address} with SPDK: {problem}")]
    Device {
        /// PCI address of the device.
        address: String,
        problem: String,
    },
    #[error("run {program}: {source}")]
    Program {
        program: String,
        source: std::io::Error,
    },
    #[error("run {program}: it ended with {status}; its last words: {words}")]
    Failed {
        program: String,
        /// Exit status or signal.
        status: String,
        /// The last line of its messages.
        words: String,
    },
    #[error("run {program}: it was still at work {seconds} s after it was started, and was ended")]
    Late { program: String, seconds: u64 },
    /// The run was stopped from outside. Holds the program's path.
    #[error("run {0}: it was stopped")]
    Stopped(String),
    #[error("read the output of {program}: {problem}")]
    Output { program: String, problem: String },
}

/// The user's `spdk_nvme_perf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpdkPerf {
    program: PathBuf,
}

impl SpdkPerf {
    /// Finds the program that `Q2C_SPDK_PERF` names, or else the one on PATH.
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
            return Self::from_path(program);
        }
        let mut programs = folders.map(|folder| folder.join(PROGRAM));
        let program = programs.find(|program| program.is_file());
        program.map(|program| SpdkPerf { program }).ok_or_else(|| Absent {
            reason: format!(
                "{PROGRAM} is not on PATH: build SPDK and name its build/bin/{PROGRAM} by {PROGRAM_VARIABLE}"
            ),
        })
    }

    /// Takes the program at this path.
    pub fn from_path(program: PathBuf) -> Result<Self, Absent> {
        if program.is_file() {
            Ok(SpdkPerf { program })
        } else {
            Err(Absent {
                reason: format!(
                    "{PROGRAM_VARIABLE} names {}, which is no file",
                    program.display()
                ),
            })
        }
    }

    /// Path of the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs the program to its end, or until `stop` is raised. The device's driver is looked up in
    /// sysfs at `sys`. While the program runs, `watch` is called with its process id about every 20
    /// ms. With a pattern that writes it overwrites the device.
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

    fn output(
        &self,
        words: &[String],
        seconds: u64,
        watch: &mut dyn FnMut(u32),
        stop: &AtomicBool,
    ) -> Result<String, SpdkError> {
        let mut command = Command::new(&self.program);
        command.args(words).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(self.broken())?;
        // Both pipes are read while the program runs, because a full one would block it.
        let (out, err) = (listen(child.stdout.take()), listen(child.stderr.take()));
        let (out, err) = match (out, err) {
            (Ok(out), Ok(err)) => (out, err),
            (Err(refused), _) | (_, Err(refused)) => {
                child.kill().ok();
                child.wait().ok();
                return Err(self.broken()(refused));
            }
        };
        let patience = Duration::from_secs(seconds) + GRACE;
        let ended = self.until_the_end(&mut child, patience, watch, stop);
        if ended.is_err() {
            child.kill().ok();
            child.wait().ok();
        }
        let (out, err) = (out.join(), err.join());
        let status = ended?;
        let (out, err) = (out.unwrap_or_default(), err.unwrap_or_default());
        if status.success() {
            Ok(out)
        } else {
            Err(SpdkError::Failed {
                program: self.name(),
                status: status.to_string(),
                words: last_words(&err, &out),
            })
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

/// Reads a pipe to its end, in a thread of its own.
fn listen(pipe: Option<impl Read + Send + 'static>) -> std::io::Result<thread::JoinHandle<String>> {
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        // If reading breaks, the text before is still worth reading.
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes).ok());
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn last_words(err: &str, out: &str) -> String {
    let said = |text: &str| {
        let mut lines = text.lines().rev();
        lines.find(|l| !l.trim().is_empty()).map(str::to_owned)
    };
    said(err)
        .or_else(|| said(out))
        .unwrap_or_else(|| "none".to_owned())
}

#[cfg(test)]
mod tests;
