//! The media that an interface's I/O can go to: block, character or user-space device.

use super::interface::Interface;
use itertools::Itertools;
use q2c_engine::engines::SimDevices;
use q2c_engine::spdk::{SpdkError, SpdkPerf, user_driver};
use q2c_engine::{EngineSpec, Medium};
use q2c_host::Roots;
use q2c_workbench::polling::{self, EngineReadError};
use std::io;
use thiserror::Error;

/// The kinds of media of one target. An error says why a medium is missing.
#[derive(Clone, Debug)]
pub struct Media {
    /// A file or block device, or the simulated devices of the target.
    pub target: Result<Medium, String>,
    /// The simulated devices for engines that simulate, whatever the target.
    pub simulated: SimDevices,
    /// A namespace's character device, for NVMe commands.
    pub commands: Result<Commands, String>,
    /// A controller that is bound to a user-space driver, with SPDK's program.
    pub spdk: Result<SpdkSite, String>,
}

/// A namespace that takes NVMe commands.
#[derive(Clone, Debug)]
pub struct Commands {
    /// The namespace's character device, open.
    pub medium: Medium,
    /// Path of the character device, such as `/dev/ng0n1`.
    pub name: String,
    /// True if completions can be polled for (IOPOLL).
    pub polled: bool,
}

/// A controller for SPDK, and the program that drives it.
#[derive(Clone, Debug)]
pub struct SpdkSite {
    /// The user's `spdk_nvme_perf` program.
    pub perf: SpdkPerf,
    /// PCI address of the controller.
    pub address: String,
    /// Name of the user-space driver that the controller is bound to.
    pub driver: String,
}

/// Why a namespace takes no commands.
#[derive(Debug, Error)]
pub enum NoCommands {
    /// The kernel refuses commands.
    #[error("send NVMe commands to {name}: {why}")]
    Refused {
        /// The character device.
        name: String,
        /// The reason in words.
        why: String,
    },
    /// The device fails a read that was sent as a command.
    #[error(
        "read the first {length} bytes of {name} by an NVMe command: {source}: the device failed this read; the kernel log (dmesg) \
         may tell why"
    )]
    Device {
        /// The character device.
        name: String,
        /// Length of the read, bytes.
        length: u32,
        /// The error of the completion.
        source: io::Error,
    },
}

impl Media {
    /// Media of a target that is not an NVMe device: a file, a block device, or nothing.
    pub fn without_nvme(medium: Medium) -> Self {
        let nothing = "there is no NVMe controller behind the target";
        Media {
            simulated: match &medium {
                Medium::Simulated(devices) => devices.clone(),
                Medium::File(_) | Medium::None => SimDevices::default(),
            },
            target: Ok(medium),
            commands: Err(nothing.to_owned()),
            spdk: Err(nothing.to_owned()),
        }
    }

    /// Why `interface` cannot be used here; `None` if it can.
    pub fn absence(&self, interface: &Interface) -> Option<String> {
        let reason = match interface {
            Interface::Spdk => self.spdk.as_ref().err(),
            _ if interface.sends_commands() => self.commands.as_ref().err(),
            Interface::Engine(engine) if engine.needs_file() => self.target.as_ref().err(),
            Interface::Engine(_) => None,
        };
        reason.map(|reason| format!("{interface} is absent here: {reason}"))
    }

    /// The medium that an engine's I/O goes to.
    pub fn medium_for(&self, engine: &EngineSpec) -> Medium {
        let medium = if engine.needs_character_device() {
            self.commands.as_ref().map(|commands| &commands.medium)
        } else {
            self.target.as_ref()
        };
        let target = medium.unwrap_or(&Medium::None);
        self.simulated.background_medium(target, engine)
    }

    /// The path of the I/O if it bypasses the target's block device.
    pub(crate) fn detour(&self, interface: &Interface) -> Option<String> {
        match (interface, &self.spdk, &self.commands) {
            (Interface::Spdk, Ok(site), _) => {
                let program = site.perf.program().display();
                Some(format!("{} on {}, by {program}", site.address, site.driver))
            }
            (_, _, Ok(commands)) if interface.sends_commands() => {
                Some(format!("{}, past the block layer", commands.name))
            }
            _ => None,
        }
    }
}

impl Commands {
    /// Reads the first `bs` bytes by a command, and again by a polled one if the device `polls`.
    pub fn probe(medium: Medium, name: String, bs: u32, polls: bool) -> Result<Self, NoCommands> {
        let [plain, polled] = [false, true].map(|iopoll| EngineSpec::IoUringCmd { iopoll });
        probe_read(&medium, &name, &plain, bs)?;
        let polled = polls && probe_read(&medium, &name, &polled, bs).is_ok();
        Ok(Commands {
            medium,
            name,
            polled,
        })
    }
}

/// Errors with which the kernel refuses a command: EPERM, EACCES, EINVAL, ENOTTY, EOPNOTSUPP.
const REFUSALS: [i32; 5] = [1, 13, 22, 25, 95];
const COMMANDS_NEED: &str =
    "commands by io_uring need Linux 5.19, polled ones 6.1, and before 6.2 root (CAP_SYS_ADMIN)";

fn probe_read(medium: &Medium, name: &str, spec: &EngineSpec, bs: u32) -> Result<(), NoCommands> {
    let (name, length) = (name.to_owned(), bs);
    polling::try_read(spec, medium, length).map_err(|error| match error {
        EngineReadError::Engine(error) => NoCommands::Refused {
            name,
            why: error.to_string(),
        },
        EngineReadError::Failed { source, .. } => match source.raw_os_error() {
            Some(errno) if REFUSALS.contains(&errno) => NoCommands::Refused {
                name,
                why: format!("{source}; {COMMANDS_NEED}"),
            },
            _ => NoCommands::Device {
                name,
                length,
                source,
            },
        },
    })
}

impl SpdkSite {
    /// `address` is `None` if the target is no PCI device. The error names all that is missing.
    pub fn find(roots: &Roots, address: Option<&str>) -> Result<Self, String> {
        let bound = match address {
            Some(address) => match user_driver(&roots.sys, address) {
                Ok(driver) => Ok((address.to_owned(), driver)),
                Err(SpdkError::Device { address, problem }) => Err(format!("{address}: {problem}")),
                Err(other) => Err(other.to_string()),
            },
            None => Err("the target is no PCI device; name a controller by its address, such as 0000:04:00.0".to_owned()),
        };
        match (bound, SpdkPerf::find()) {
            (Ok((address, driver)), Ok(perf)) => Ok(SpdkSite {
                perf,
                address,
                driver,
            }),
            (bound, perf) => Err(perf.err().into_iter().chain(bound.err()).join("; and ")),
        }
    }
}
