use crate::Roots;
use crate::ramdisk::{Record, module};
use q2c_model::{Bytes, Fault};
use q2c_result::ramdisk::{RamDevice, RamDevices, SCHEMA, State, Via};
use q2c_sys::ublk::{Control, DeviceInfo};
use std::fs;
use std::path::Path;

/// All RAM devices: those of the module, and those of ublk servers of q2c.
pub fn list(roots: &Roots, folder: &Path) -> Result<RamDevices, Fault> {
    let mut devices = module::devices(roots);
    let mut control = Control::open().ok();
    for record in Record::read_all(folder)? {
        let info = control.as_mut().and_then(|c| c.info(record.id).ok());
        let info = info.filter(|info| info.token == record.token);
        match info {
            Some(info) => devices.push(served(roots, &record, info)),
            // The device was deleted, by `q2c restore` or others, after its server had ended.
            None => record.remove(folder),
        }
    }
    Ok(RamDevices {
        schema: SCHEMA.to_owned(),
        devices,
    })
}

fn served(roots: &Roots, record: &Record, info: DeviceInfo) -> RamDevice {
    let name = record.name();
    let alive = record.is_served(roots);
    let state = match (alive, record.holder.is_alive(roots)) {
        (true, _) => State::Served,
        (false, true) => State::Recoverable,
        (false, false) => State::Lost,
    };
    RamDevice {
        via: Via::Ublk,
        size: sectors(roots, &name).unwrap_or(record.wanted.size),
        block: block(roots, &name).unwrap_or(record.wanted.block),
        queues: u32::from(info.queues),
        poll_queues: 0,
        depth: u32::from(info.depth),
        service: record.service.clone(),
        server: alive.then_some(record.server.pid),
        state,
        name,
    }
}

pub(crate) fn sectors(roots: &Roots, name: &str) -> Option<Bytes> {
    let text = fs::read_to_string(roots.sys(&format!("block/{name}/size"))).ok()?;
    let sectors: u64 = text.trim().parse().ok()?;
    Some(Bytes(sectors * 512))
}

pub(crate) fn block(roots: &Roots, name: &str) -> Option<Bytes> {
    let file = roots.sys(&format!("block/{name}/queue/logical_block_size"));
    let text = fs::read_to_string(file).ok()?;
    text.trim().parse().ok().map(Bytes)
}
