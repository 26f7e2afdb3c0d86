//! Finds the media of `q2c bench`: for each kind of interface what it can send I/O to on the
//! target, or the reason why there is nothing.

use crate::output::{say, say_service_times};
use q2c_bench::interface::Interface;
use q2c_bench::media::{Commands, Media, NoCommands, SpdkSite};
use q2c_engine::Medium;
use q2c_host::block::pci_address;
use q2c_host::target::TargetError;
use q2c_model::{Fault, OrFault};
use q2c_result::{Exit, TargetKind};
use q2c_workbench::workbench::Workbench;
use q2c_workbench::workload::Site;
use std::sync::Arc;

/// Finds the media for the interfaces that `engines` names. A medium that none of them needs is not
/// looked for.
pub(crate) fn media(place: &Workbench, engines: &[String]) -> Result<Media, Fault> {
    let asked: Result<Vec<Interface>, String> = engines.iter().map(|name| name.parse()).collect();
    let asked = asked.or_exit(Exit::Usage)?;
    let mut media = Media::plain(place.workload.medium.clone());
    media.simulated = place.workload.simulated.clone();
    for engine in asked.iter().filter_map(Interface::engine) {
        let times = media.simulated.recorded_facts(engine);
        let times = times.or_exit(Exit::Input)?;
        if place.target.service_times != times {
            say_service_times(&engine.to_string(), times.as_ref());
        }
    }
    let path = &place.target.path;
    match place.target.kind {
        TargetKind::NvmeGeneric => {
            media.plain = Err(format!(
                "{path} takes NVMe commands alone; name the namespace's block device to have both"
            ));
        }
        TargetKind::Pci => {
            let other =
                format!("{path} is a controller's PCI address: name a device of the kernel's");
            (media.plain, media.commands) = (Err(other.clone()), Err(other));
        }
        _ => {}
    }
    if asked.iter().any(Interface::sends_commands) && place.target.kind != TargetKind::Pci {
        media.commands = commands(place)?;
    }
    if asked.contains(&Interface::Spdk) {
        media.spdk = spdk(place);
    }
    Ok(media)
}

/// The character device that takes NVMe commands, or the reason why there is none. A device that
/// fails the first command is a failure of the program instead: the interface is not left out for
/// that.
fn commands(place: &Workbench) -> Result<Result<Commands, String>, Fault> {
    let device = place.target.device.as_ref();
    let poll_queues = device.and_then(|device| device.io_poll) == Some(true);
    let block = device.and_then(|device| device.logical_block);
    let block = block.map_or(4096, |block| block.0.max(4096)) as u32;
    let (medium, name) = match character_device(place) {
        Ok(device) => device,
        Err(error) => return Ok(Err(format!("failed to {error}"))),
    };
    match Commands::probe(medium, name, block, poll_queues) {
        Ok(commands) => Ok(Ok(commands)),
        Err(error @ NoCommands::Device { .. }) => Err(Fault::new(Exit::Device, error)),
        Err(error) => Ok(Err(format!("failed to {error}"))),
    }
}

fn character_device(place: &Workbench) -> Result<(Medium, String), TargetError> {
    let target = &place.target;
    if target.kind == TargetKind::NvmeGeneric {
        return Ok((place.workload.medium.clone(), target.path.clone()));
    }
    let open = place.namespace()?;
    let name = open.character_device.path().display().to_string();
    say(&format!(
        "io_uring_cmd: NVMe commands go to {name}, the character device of {}, past the block layer",
        target.path
    ));
    Ok((Medium::File(Arc::new(open.file)), name))
}

fn spdk(place: &Workbench) -> Result<SpdkSite, String> {
    let Site {
        roots, target_disk, ..
    } = &place.workload.site;
    let address = match place.target.kind {
        TargetKind::Pci => Some(place.target.path.clone()),
        _ => target_disk.as_ref().and_then(pci_address),
    };
    SpdkSite::find(roots, address.as_deref())
}
