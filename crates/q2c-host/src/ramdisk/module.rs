//! The kernel module `ramdisk_mq`.

use crate::ramdisk::RamdiskShape;
use crate::ramdisk::record::{block_size, disk_size};
use crate::{Roots, attr};
use itertools::Itertools;
use q2c_model::{Exit, Fault, Nanos, OrFault};
use q2c_result::ramdisk::{RamDevice, RamDeviceServer, State};
use q2c_service::ServiceTimes;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) const MODULE: &str = "ramdisk_mq";
const BUILD_ADVICE: &str = "build it for this kernel: make in kmod/ramdisk_mq, or its DKMS file (kmod/ramdisk_mq/README.md)";
/// Message for a kernel that loads no modules.
const NO_MODULES: &str = "this kernel loads no modules; boot one that does, or use a loop device, or a simulated device (sim:) where no block device is needed";
/// The longest constant service time that the module accepts.
const MAX_SERVICE_TIME: Nanos = Nanos(1_000_000_000);

/// Why the module cannot make the device; `None` if no reason is known before it is loaded. `file`
/// is the module's file if it is not installed.
#[must_use]
pub fn obstacle(roots: &Roots, file: Option<&Path>) -> Option<String> {
    if !roots.proc("modules").exists() {
        return Some(NO_MODULES.to_owned());
    }
    if roots.sys(&format!("module/{MODULE}")).exists() {
        return Some(format!(
            "the module {MODULE} is loaded already, and makes its devices when it is loaded; delete them first (q2c ramdisk list)"
        ));
    }
    match file {
        Some(file) if file.is_file() => None,
        Some(file) => Some(format!("there is no file {}", file.display())),
        None => {
            let tried = Command::new("modprobe").args(["-n", "-q", MODULE]).output();
            let is_there = tried.is_ok_and(|tried| tried.status.success());
            let release = attr::text(&roots.proc("sys/kernel/osrelease"));
            let release = release.unwrap_or_else(|| "of this machine".into());
            (!is_there).then(|| format!("Linux {release} has no module {MODULE}; {BUILD_ADVICE}"))
        }
    }
}

/// Why the module cannot simulate these service times and servers; `None` if it can.
#[must_use]
pub fn misfit(wanted: &RamdiskShape, times: Option<(&ServiceTimes, usize)>) -> Option<String> {
    let (times, servers) = times?;
    let in_flight = (wanted.queues + wanted.poll_queues) as usize * wanted.depth as usize;
    match times {
        ServiceTimes::Constant(time) if *time == Nanos::ZERO || *time > MAX_SERVICE_TIME => {
            Some("the module takes service times from 1 ns to 1 s".into())
        }
        ServiceTimes::Constant(_) if servers < in_flight => Some(format!(
            "the module serves all requests at the same time and has no queue of servers; servers={in_flight} is the same"
        )),
        ServiceTimes::Constant(_) => None,
        _ => Some("of the service times, the module takes constant ones only".into()),
    }
}

/// Loads the module, which makes its device. `time` is the constant service time.
pub fn load(
    roots: &Roots,
    wanted: &RamdiskShape,
    time: Option<Nanos>,
    file: Option<&Path>,
) -> Result<RamDevice, Fault> {
    if !wanted.size.0.is_multiple_of(1 << 20) {
        let size = wanted.size;
        let text = format!("make a RAM device: the module takes sizes in whole MiB, found {size}");
        return Err(Fault::new(Exit::Usage, text));
    }
    let program = if file.is_some() { "insmod" } else { "modprobe" };
    let mut command = Command::new(program);
    command.arg(file.unwrap_or(Path::new(MODULE)));
    let parameters = [
        ("size_mb", Some(wanted.size.0 >> 20)),
        ("block_size", Some(wanted.block.0)),
        ("queues", Some(wanted.queues.into())),
        ("poll_queues", Some(wanted.poll_queues.into())),
        ("depth", Some(wanted.depth.into())),
        ("service_ns", time.map(|time| time.0)),
    ];
    let parameters = parameters.into_iter();
    command.args(parameters.filter_map(|(name, value)| Some(format!("{name}={}", value?))));
    run(&mut command, "load")?;
    let reason = "make a RAM device: the module is loaded and has made no device; dmesg says why";
    let device = devices(roots).pop();
    device.ok_or_else(|| Fault::new(Exit::Environment, reason))
}

/// Unloads the module, which deletes its device. Refuses if it has more than one.
pub(crate) fn unload(roots: &Roots, name: &str) -> Result<(), Fault> {
    let devices = devices(roots);
    if devices.len() > 1 {
        let names = devices.iter().map(|d| &d.name).join(", ");
        let text = format!(
            "delete {name}: the module deletes all its devices at a time ({names}); unload it by rmmod {MODULE}"
        );
        return Err(Fault::new(Exit::Target, text));
    }
    run(Command::new("rmmod").arg(MODULE), "unload")
}

fn run(command: &mut Command, verb: &str) -> Result<(), Fault> {
    let tried = format!("{verb} the module {MODULE}");
    let output = command.output().or_fault(Exit::Environment, &tried)?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let text = format!("{tried}: {}; dmesg says why", messages.trim());
    Err(Fault::new(Exit::Environment, text))
}

pub(crate) fn devices(roots: &Roots) -> Vec<RamDevice> {
    let parameter =
        |name: &str| attr::text(&roots.sys(&format!("module/{MODULE}/parameters/{name}")));
    let number = |name: &str| parameter(name).and_then(|t| t.parse::<u32>().ok());
    let name = |n: u32| format!("rdmq{n}");
    let exists = |name: &String| roots.sys(&format!("block/{name}")).exists();
    let names = (0..number("devices").unwrap_or(0)).map(name).filter(exists);
    let times = parameter("service_ns");
    names
        .map(|name| {
            let dir = roots.sys(&format!("block/{name}/mq"));
            let queues = fs::read_dir(dir).map_or(0, |entries| entries.count() as u32);
            let poll_queues = number("poll_queues").unwrap_or(0).min(queues);
            RamDevice {
                via: RamDeviceServer::Module,
                size: disk_size(roots, &name).unwrap_or_default(),
                block: block_size(roots, &name).unwrap_or_default(),
                queues: queues - poll_queues,
                poll_queues,
                depth: number("depth").unwrap_or(0),
                service: times.as_ref().map(|t| format!("{t} ns")),
                server: None,
                state: State::Served,
                name,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SysProcTree;
    use q2c_model::Bytes;

    #[test]
    fn a_module_that_is_not_there_is_told_with_the_way_to_build_it() {
        let tree = SysProcTree::new("");
        let roots = tree.roots();
        assert!(obstacle(&roots, None).unwrap().contains("loads no modules"));
        tree.add("proc/modules = nvme");
        let lacks = obstacle(&roots, Some(Path::new("/nonexistent.ko"))).unwrap();
        assert!(lacks.contains("no file /nonexistent.ko"), "{lacks}");
        tree.add("sys/module/ramdisk_mq/");
        assert!(obstacle(&roots, None).unwrap().contains("loaded already"));
    }

    #[test]
    fn the_module_has_constant_times_and_no_queue_of_servers() {
        let wanted = RamdiskShape {
            size: Bytes(1 << 20),
            block: Bytes(512),
            queues: 2,
            poll_queues: 0,
            depth: 8,
        };
        let time = ServiceTimes::Constant(Nanos(1000));
        assert_eq!(misfit(&wanted, None), None);
        assert_eq!(misfit(&wanted, Some((&time, 16))), None);
        let queued = misfit(&wanted, Some((&time, 15))).unwrap();
        assert!(queued.contains("servers=16"), "{queued}");
        let drawn = ServiceTimes::Lognormal {
            median: Nanos(1000),
            sigma: 0.1,
        };
        assert!(misfit(&wanted, Some((&drawn, 16))).is_some());
        let slow = ServiceTimes::Constant(Nanos(2_000_000_000));
        assert!(misfit(&wanted, Some((&slow, 16))).unwrap().contains("1 s"));
    }

    #[test]
    fn devices_are_read_back() {
        let tree = SysProcTree::new("");
        let roots = tree.roots();
        assert!(devices(&roots).is_empty());
        tree.add(
            "sys/module/ramdisk_mq/parameters/devices = 1
             sys/module/ramdisk_mq/parameters/poll_queues = 1
             sys/module/ramdisk_mq/parameters/depth = 32
             sys/block/rdmq0/size = 2048
             sys/block/rdmq0/queue/logical_block_size = 4096
             sys/block/rdmq0/mq/0/
             sys/block/rdmq0/mq/1/
             sys/block/rdmq0/mq/2/",
        );
        let device = devices(&roots).pop().unwrap();
        let expected = (2, 1, 32);
        assert_eq!((device.queues, device.poll_queues, device.depth), expected);
        assert_eq!((device.size, device.block), (Bytes(1 << 20), Bytes(4096)));
    }
}
