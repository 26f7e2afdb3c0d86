//! Engines by name, such as `io_uring`, `pvsync2:hipri`, `null`, `sim:50us`,
//! `fault:eio@1000:io_uring`.

mod method;
mod parse;
mod registry;
mod sim;

pub use registry::{ENGINES, EngineKind, ParseEngineError, behind_interface};

use super::fault::{FaultEngine, FaultKind};
use super::libaio::Libaio;
use super::memory::Memory;
use super::null::Null;
use super::pvsync2::Pvsync2;
use super::sim::{Sim, SimDevices, SimSpec};
use super::uring::{NvmeEngine, UringEngine};
use crate::{Engine, EngineError, Real, Time};
use q2c_service::{SimInterface, SimMachine};
use q2c_sys::aio::ReapFrom;
use q2c_sys::{Clock, RingOptions, SqPoll, VectoredFlags};
use std::fs::File;
use std::sync::Arc;

/// An engine and its settings, ready to be opened in each lane's thread.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineSpec {
    /// A ring that polls the device if the device can be polled, and else looks at the ring.
    /// [`EngineSpec::with_path`] turns it into one of the next two variants. If it is opened
    /// without that, it looks at the ring.
    ByDevice(RingKind),
    /// io_uring on a file or block device.
    IoUring(RingOptions),
    /// NVMe commands by io_uring to a namespace's character device.
    IoUringCmd {
        /// True if the kernel asks the device for completions.
        iopoll: bool,
    },
    /// Kernel AIO, and how its completions are reaped.
    Libaio(ReapFrom),
    /// `preadv2` and `pwritev2` with these flags.
    Pvsync2(VectoredFlags),
    /// Completes every request at once.
    Null,
    /// A simulated device.
    Sim(SimSpec),
    /// Another engine, one of whose completions is spoilt.
    Fault {
        /// The way in which the request is spoilt.
        kind: FaultKind,
        /// Number of the spoilt completion, from 1.
        nth: u64,
        /// The engine that does the requests.
        inner: Box<EngineSpec>,
    },
}

/// The kinds of rings whose path the device decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingKind {
    /// `io_uring`.
    File,
    /// `io_uring_cmd`.
    Commands,
}

/// The target of the I/O.
#[derive(Clone, Debug)]
pub enum Medium {
    /// A file or block device, opened for direct I/O; for `io_uring_cmd` a namespace's character
    /// device.
    File(Arc<File>),
    /// Simulated devices, which all engines on the target share.
    Simulated(SimDevices),
    /// No target, for the null engine.
    None,
}

impl EngineSpec {
    /// `io_uring` with the best flags of the kernel; the device decides its path.
    pub const IO_URING: EngineSpec = EngineSpec::ByDevice(RingKind::File);

    /// `io_uring:ring`: io_uring that never polls the device.
    pub const RING: EngineSpec = RingKind::File.engine(false);

    /// Opens the engine in the calling thread, for up to `slots` requests in flight of up to `size`
    /// bytes each. `seed` draws the service times of a simulated device.
    pub fn open(
        &self,
        medium: &Medium,
        slots: usize,
        size: usize,
        seed: u64,
    ) -> Result<Box<dyn Engine>, EngineError> {
        self.open_in(medium, Memory::new(slots, size), seed)
    }

    /// As [`EngineSpec::open`], with buffers that slots may share.
    pub fn open_in(
        &self,
        medium: &Medium,
        memory: Memory,
        seed: u64,
    ) -> Result<Box<dyn Engine>, EngineError> {
        self.open_at(Real(Clock::MONOTONIC), medium, memory, seed)
    }

    /// As [`EngineSpec::open_in`], in a run whose clock is `time`.
    pub fn open_at<'a, T: Time + 'a>(
        &self,
        time: T,
        medium: &Medium,
        memory: Memory,
        seed: u64,
    ) -> Result<Box<dyn Engine + 'a>, EngineError> {
        if T::SIMULATED && self.needs_file() {
            return Err(EngineError::NotSimulated(self.to_string()));
        }
        let slots = memory.slots;
        let file = |name| match medium {
            Medium::File(file) => Ok(file),
            Medium::Simulated(_) | Medium::None => Err(EngineError::NoTarget(name)),
        };
        Ok(match self {
            EngineSpec::ByDevice(kind) => kind.ring_engine().open_at(time, medium, memory, seed)?,
            EngineSpec::IoUring(options) => {
                Box::new(UringEngine::open(file("io_uring")?, memory, *options)?)
            }
            EngineSpec::IoUringCmd { iopoll } => {
                Box::new(NvmeEngine::open(file("io_uring_cmd")?, memory, *iopoll)?)
            }
            EngineSpec::Libaio(reap) => Box::new(Libaio::open(file("libaio")?, memory, *reap)?),
            EngineSpec::Pvsync2(flags) => {
                Box::new(Pvsync2::open(file("pvsync2")?, memory, *flags)?)
            }
            EngineSpec::Null => Box::new(Null(Vec::with_capacity(slots))),
            EngineSpec::Sim(spec) => {
                let Medium::Simulated(devices) = medium else {
                    return Err(EngineError::NoDevices(self.to_string()));
                };
                let device = devices.device_for(spec)?;
                Box::new(Sim::open(time, device, spec.interface, slots, seed)?)
            }
            EngineSpec::Fault { kind, nth, inner } => {
                if !T::SIMULATED && *kind == FaultKind::Hang {
                    return Err(EngineError::OnlySimulated(self.to_string()));
                }
                let inner = inner.open_at(time, medium, memory, seed)?;
                Box::new(FaultEngine::new(time, inner, (*kind, *nth), slots))
            }
        })
    }

    /// True if the engine does I/O on a file or device.
    pub fn needs_file(&self) -> bool {
        !matches!(self.plain(), EngineSpec::Null | EngineSpec::Sim(_))
    }

    /// The simulated device that the engine's requests go to; `None` if the engine does not
    /// simulate.
    pub fn simulates(&self) -> Option<&SimSpec> {
        match self.plain() {
            EngineSpec::Sim(spec) => Some(spec),
            _ => None,
        }
    }

    /// The interface by which the engine reaches a device, or simulates to; `None` for any other,
    /// and for one whose options change its costs.
    pub fn interface(&self) -> Option<SimInterface> {
        match self.plain() {
            EngineSpec::Sim(spec) => spec.interface,
            EngineSpec::IoUring(options) if options.sqpoll.is_none() && !options.hybrid => {
                Some(SimInterface::IoUring)
            }
            EngineSpec::Libaio(ReapFrom::Ring) => Some(SimInterface::Libaio),
            _ => None,
        }
    }

    /// Checks that `machine` has the costs of the interface that the engine simulates.
    pub fn check_costs(&self, machine: Option<&SimMachine>) -> Result<(), EngineError> {
        let interface = self.simulates().and_then(|spec| spec.interface);
        let knows = |&interface: &SimInterface| {
            machine.is_some_and(|machine| machine.interfaces.contains_key(&interface))
        };
        match interface.filter(|interface| !knows(interface)) {
            Some(interface) => Err(EngineError::NoCosts(interface)),
            None => Ok(()),
        }
    }

    /// True if the engine's target is a namespace's character device, not a file or block device.
    pub fn needs_character_device(&self) -> bool {
        matches!(self.plain(), EngineSpec::IoUringCmd { .. })
    }

    /// True if each job of the engine has a kernel thread of its own (SQPOLL); a job then needs two
    /// CPUs.
    pub fn has_helper(&self) -> bool {
        matches!(self.plain(), EngineSpec::IoUring(options) if options.sqpoll.is_some())
    }

    /// The engine with its helper on `cpu`. It stays as it is without a helper, or if the helper
    /// has a CPU already.
    #[must_use]
    pub fn with_helper_on(mut self, cpu: u32) -> Self {
        let mut engine = &mut self;
        while let EngineSpec::Fault { inner, .. } = engine {
            engine = inner;
        }
        if let EngineSpec::IoUring(RingOptions {
            sqpoll: Some(sqpoll @ SqPoll { cpu: None }),
            ..
        }) = engine
        {
            sqpoll.cpu = Some(cpu);
        }
        self
    }

    /// The engine that does the work, as it is opened, without the faults around it.
    pub fn plain(&self) -> &EngineSpec {
        match self {
            EngineSpec::Fault { inner, .. } => inner.plain(),
            EngineSpec::ByDevice(kind) => kind.ring_engine(),
            plain => plain,
        }
    }
}

#[cfg(test)]
mod tests;
