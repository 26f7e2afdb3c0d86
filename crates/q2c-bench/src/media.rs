//! The media that each interface's I/O can go to: block, character or user-space device.

use super::interface::Interface;
use q2c_engine::engines::SimDevices;
use q2c_engine::spdk::{SpdkError, SpdkPerf, user_driver};
use q2c_engine::{EngineSpec, Medium};
use q2c_host::Roots;
use q2c_workbench::polling;
use std::io;
use thiserror::Error;

/// The three kinds of media behind one target. Each is there, or a sentence says why it is not.
#[derive(Clone, Debug)]
pub struct Media {
    /// A file or block device, or the simulated devices of the target.
    pub plain: Result<Medium, String>,
    /// The simulated devices of engines that simulate, on any target.
    pub simulated: SimDevices,
    /// A namespace's character device, for NVMe commands.
    pub commands: Result<Commands, String>,
    /// A controller that is bound to a user-space driver.
    pub spdk: Result<SpdkSite, String>,
}

/// A namespace that takes NVMe commands.
#[derive(Clone, Debug)]
pub struct Commands {
    /// The namespace's character device, open.
    pub medium: Medium,
    /// Path of the character device, such as `/dev/ng0n1`.
    pub name: String,
    /// Whether completions can be polled for (IOPOLL).
    pub polled: bool,
}

/// A controller for SPDK, and the program that drives it.
#[derive(Clone, Debug)]
pub struct SpdkSite {
    /// The `spdk_nvme_perf` program that the user has.
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
    /// The device fails a read by a command.
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
    pub fn plain(medium: Medium) -> Self {
        let nothing = "there is no NVMe controller behind the target";
        Media {
            simulated: match &medium {
                Medium::Simulated(devices) => devices.clone(),
                Medium::File(_) | Medium::None => SimDevices::default(),
            },
            plain: Ok(medium),
            commands: Err(nothing.to_owned()),
            spdk: Err(nothing.to_owned()),
        }
    }

    /// Why `interface` cannot be used here; `None` where it can.
    pub fn absent(&self, interface: &Interface) -> Option<String> {
        let reason = match interface {
            Interface::Spdk => self.spdk.as_ref().err(),
            _ if interface.sends_commands() => self.commands.as_ref().err(),
            Interface::Engine(engine) if engine.needs_file() => self.plain.as_ref().err(),
            Interface::Engine(_) => None,
        };
        reason.map(|reason| format!("{interface} is absent here: {reason}"))
    }

    /// The medium that an engine's I/O goes to.
    pub fn medium_for(&self, engine: &EngineSpec) -> Medium {
        let medium = if engine.needs_character_device() {
            self.commands.as_ref().map(|commands| &commands.medium)
        } else {
            self.plain.as_ref()
        };
        let target = medium.unwrap_or(&Medium::None);
        self.simulated.background_medium(target, engine)
    }

    /// Where the I/O goes when it does not go through the target's block device.
    pub(crate) fn detour(&self, interface: &Interface) -> Option<String> {
        match (interface, &self.spdk, &self.commands) {
            (Interface::Spdk, Ok(site), _) => Some(format!(
                "{} on {}, by {}",
                site.address,
                site.driver,
                site.perf.program().display()
            )),
            (_, _, Ok(commands)) if interface.sends_commands() => {
                Some(format!("{}, past the block layer", commands.name))
            }
            _ => None,
        }
    }
}

impl Commands {
    /// Reads the first `block` bytes by a command, and once more with polling where that exists.
    pub fn probe(
        medium: Medium,
        name: String,
        block: u32,
        poll_queues: bool,
    ) -> Result<Self, NoCommands> {
        let tried = |iopoll| one_read(&medium, iopoll, block);
        match tried(false) {
            Ok(()) => {}
            Err(NoRead::Refused(why)) => return Err(NoCommands::Refused { name, why }),
            Err(NoRead::Failed(source)) => {
                let length = block;
                return Err(NoCommands::Device {
                    name,
                    length,
                    source,
                });
            }
        }
        let polled = poll_queues && tried(true).is_ok();
        Ok(Commands {
            medium,
            name,
            polled,
        })
    }
}

enum NoRead {
    Refused(String),
    Failed(io::Error),
}

/// Errors by which the kernel refuses a command: EPERM, EACCES, EINVAL, ENOTTY, EOPNOTSUPP.
const REFUSALS: [i32; 5] = [1, 13, 22, 25, 95];

fn one_read(medium: &Medium, iopoll: bool, length: u32) -> Result<(), NoRead> {
    let spec = EngineSpec::IoUringCmd { iopoll };
    polling::one_read(&spec, medium, length).map_err(|error| match error {
        polling::EngineReadError::Engine(error) => NoRead::Refused(error.to_string()),
        polling::EngineReadError::Failed { source, .. } => match source.raw_os_error() {
            Some(errno) if REFUSALS.contains(&errno) => NoRead::Refused(format!(
                "{source}; commands by io_uring need Linux 5.19, polled ones 6.1, and before 6.2 root (CAP_SYS_ADMIN)"
            )),
            _ => NoRead::Failed(source),
        },
    })
}

impl SpdkSite {
    /// `address` is `None` where the target is no PCI device. The error names all that is missing.
    pub fn find(roots: &Roots, address: Option<&str>) -> Result<Self, String> {
        let driver = match address {
            Some(address) => user_driver(&roots.sys, address).map_err(|e| match e {
                SpdkError::Device { address, problem } => format!("{address}: {problem}"),
                other => other.to_string(),
            }),
            None => Err("the target is no PCI device; name a controller by its address, such as 0000:04:00.0".to_owned()),
        };
        let perf = SpdkPerf::find().map_err(|absent| absent.reason);
        match (driver, perf) {
            (Ok(driver), Ok(perf)) => Ok(SpdkSite {
                perf,
                address: address.unwrap_or_default().to_owned(),
                driver,
            }),
            (driver, perf) => {
                let missing: Vec<String> =
                    [perf.err(), driver.err()].into_iter().flatten().collect();
                Err(missing.join("; and "))
            }
        }
    }
}
