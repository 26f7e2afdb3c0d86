//! SPDK, used through the user's own `spdk_nvme_perf`: a program that drives an NVMe device from
//! user space, past the kernel.
//!
//! It is not an [`Engine`](crate::engine::Engine): it has its own loop, clock and CPUs, and only
//! its summary comes back. The device must already be bound to a user-space driver (`vfio-pci`,
//! `uio_pci_generic`, `igb_uio`); nothing here binds or unbinds.
//!
//! It has not been run on a device so far: the reading of its output is tested on text in the
//! format of the tool's sources and of published runs.

mod device;
mod output;

pub use device::user_driver;
pub use output::{SpdkPercentiles, SpdkResult};

use crate::Pattern;
use q2c_model::{Bytes, CpuId};
use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Environment variable with the program's path, if it is not on PATH under its usual name.
pub(crate) const PROGRAM_VARIABLE: &str = "Q2C_SPDK_PERF";
const PROGRAM: &str = "spdk_nvme_perf";
/// Time that the program may take beyond the requested time, for attaching controllers and setting
/// up hugepages.
const GRACE: Duration = Duration::from_secs(60);
/// Time between two checks whether the program has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

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
    /// The run was stopped from outside. Holds the program's path.
    #[error("run {0}: it was stopped")]
    Stopped(String),
    /// The program or its output failed. Holds the whole text.
    #[error("{0}")]
    Failed(String),
}

/// The arguments of one run on one controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpdkArgs {
    /// PCI address of the controller, such as `0000:04:00.0`.
    pub address: String,
    /// Access pattern. A writing pattern overwrites the device.
    pub pattern: Pattern,
    /// Bytes per request.
    pub bs: Bytes,
    /// Requests in flight for each CPU and namespace.
    pub depth: u32,
    /// Length of the run, seconds.
    pub seconds: u64,
    /// CPUs of the program; it has one polling thread on each.
    pub cpus: Vec<CpuId>,
}

impl SpdkArgs {
    /// The list of CPUs needs brackets; without them it would be a mask. `-L` prints percentiles of
    /// the latency.
    fn to_args(&self) -> Vec<String> {
        let (depth, bs, pattern) = (self.depth, self.bs.0, self.pattern.access());
        let cpus: Vec<String> = self.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
        let (seconds, cpus) = (self.seconds, cpus.join(","));
        let args = format!("-q {depth} -o {bs} -w {pattern} -t {seconds} -c [{cpus}] -r");
        let transport = format!("trtype:PCIe traddr:{}", self.address);
        let args = args.split(' ').map(str::to_owned);
        let Pattern {
            write_pct, zipf, ..
        } = self.pattern;
        let mixed = self.pattern.direction().is_none();
        let reads = mixed.then(|| ["-M".to_owned(), (100 - write_pct).to_string()]);
        let zipf = zipf.map(|zipf| ["-F".to_owned(), zipf.theta().to_string()]);
        let more = reads.into_iter().chain(zipf).flatten();
        args.chain([transport, "-L".to_owned()])
            .chain(more)
            .collect()
    }
}

/// The user's `spdk_nvme_perf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpdkPerf {
    program: PathBuf,
}

impl SpdkPerf {
    /// Finds the program that `Q2C_SPDK_PERF` names, or else the one on PATH.
    pub fn find() -> Result<Self, String> {
        let named = std::env::var_os(PROGRAM_VARIABLE).map(PathBuf::from);
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self::find_in(named, std::env::split_paths(&path))
    }

    fn find_in(
        named: Option<PathBuf>,
        folders: impl Iterator<Item = PathBuf>,
    ) -> Result<Self, String> {
        if let Some(program) = named {
            return Self::from_path(program);
        }
        let mut programs = folders.map(|folder| folder.join(PROGRAM));
        let program = programs.find(|program| program.is_file());
        program.map(|program| SpdkPerf { program }).ok_or_else(|| {
            format!(
                "{PROGRAM} is not on PATH: build SPDK and name its build/bin/{PROGRAM} by {PROGRAM_VARIABLE}"
            )
        })
    }

    /// Takes the program at this path.
    pub fn from_path(program: PathBuf) -> Result<Self, String> {
        let path = program.display();
        if !program.is_file() {
            return Err(format!("{PROGRAM_VARIABLE} names {path}, which is no file"));
        }
        Ok(SpdkPerf { program })
    }

    /// Path of the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs the program to its end, or until `stop` is raised. The device's driver is looked up in
    /// the sysfs at `sys`. While the program runs, `watch` is called with its process id about
    /// every 20 ms. A writing pattern overwrites the device.
    pub fn run(
        &self,
        sys: &Path,
        args: &SpdkArgs,
        watch: &mut dyn FnMut(u32),
        stop: &AtomicBool,
    ) -> Result<SpdkResult, SpdkError> {
        user_driver(sys, &args.address)?;
        let output = self.run_program(&args.to_args(), args.seconds, watch, stop)?;
        output::parse(&output).map_err(|problem| {
            SpdkError::Failed(format!("read the output of {}: {problem}", self.name()))
        })
    }

    fn name(&self) -> String {
        self.program.display().to_string()
    }

    fn run_error(&self, problem: impl Display) -> SpdkError {
        SpdkError::Failed(format!("run {}: {problem}", self.name()))
    }

    fn run_program(
        &self,
        args: &[String],
        seconds: u64,
        watch: &mut dyn FnMut(u32),
        stop: &AtomicBool,
    ) -> Result<String, SpdkError> {
        let mut command = Command::new(&self.program);
        command.args(args).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| self.run_error(e))?;
        // Both pipes are read while the program runs, because a full one would block it.
        let pipes = (reader(child.stdout.take()), reader(child.stderr.take()));
        let (out, err) = match pipes {
            (Ok(out), Ok(err)) => (out, err),
            (Err(error), _) | (_, Err(error)) => {
                child.kill().ok();
                child.wait().ok();
                return Err(self.run_error(error));
            }
        };
        let patience = Duration::from_secs(seconds) + GRACE;
        let exit = self.wait_for_exit(&mut child, patience, watch, stop);
        if exit.is_err() {
            child.kill().ok();
            child.wait().ok();
        }
        let (out, err) = (out.join(), err.join());
        let status = exit?;
        let (out, err) = (out.unwrap_or_default(), err.unwrap_or_default());
        if status.success() {
            return Ok(out);
        }
        let last = last_message(&err, &out);
        Err(self.run_error(format!("it ended with {status}; its last words: {last}")))
    }

    fn wait_for_exit(
        &self,
        child: &mut Child,
        patience: Duration,
        watch: &mut dyn FnMut(u32),
        stop: &AtomicBool,
    ) -> Result<std::process::ExitStatus, SpdkError> {
        let until = Instant::now() + patience;
        loop {
            if let Some(status) = child.try_wait().map_err(|e| self.run_error(e))? {
                return Ok(status);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(SpdkError::Stopped(self.name()));
            }
            if Instant::now() >= until {
                let patience_s = patience.as_secs();
                return Err(self.run_error(format!(
                    "it was still at work {patience_s} s after it was started, and was ended"
                )));
            }
            watch(child.id());
            thread::sleep(CHECK_INTERVAL);
        }
    }
}

/// Reads a pipe to its end, in a thread of its own.
fn reader(pipe: Option<impl Read + Send + 'static>) -> std::io::Result<thread::JoinHandle<String>> {
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        // If reading breaks off, the text so far is still useful.
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes).ok());
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn last_message(err: &str, out: &str) -> String {
    let mut lines = out.lines().chain(err.lines()).rev();
    let line = lines.find(|line| !line.trim().is_empty());
    line.unwrap_or("none").to_owned()
}

#[cfg(test)]
mod tests;
