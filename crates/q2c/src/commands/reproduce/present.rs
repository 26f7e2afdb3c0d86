//! What this machine has of what claims need.

use q2c_bench::media::Media;
use q2c_engine::World;
use q2c_host::Roots;
use q2c_host::topology::AllowedCpus;
use q2c_reproduce::needs::Present;
use q2c_workbench::workbench::Workbench;
use std::fs;
use std::process::Command;

const MODULES: [&str; 2] = ["ramdisk_mq", "null_blk"];

/// Reads what there is. `cpus` CPUs are in use.
pub(super) fn present(cpus: usize, place: Option<(&Workbench, &Media)>) -> Present {
    let roots = Roots::live();
    let device = place.and_then(|(place, _)| place.target.device.as_ref());
    Present {
        cpus: AllowedCpus::read().map_or(cpus, |all| all.count().min(cpus)) as u32,
        machine: place.map_or_else(
            || q2c_host::machine::read(&roots),
            |(place, _)| place.machine.clone(),
        ),
        poll_queues: place.map(|(place, _)| place.polling.is_ok()),
        hw_queues: device.and_then(|device| hw_queues(&roots, &device.name)),
        no_spdk: match place.map(|(_, media)| &media.spdk) {
            Some(Ok(_)) => None,
            Some(Err(why)) => Some(why.clone()),
            None => Some("no target".to_owned()),
        },
        modules: MODULES
            .iter()
            .filter(|name| has_module(&roots, name))
            .map(|&name| name.to_owned())
            .collect(),
        file_systems: file_systems(&roots),
    }
}

/// What a simulated machine has: `cpus` CPUs and no kernel.
pub(super) fn simulated(world: &World, cpus: usize) -> Present {
    Present {
        cpus: cpus as u32,
        machine: q2c_host::machine::simulated(world.machine(), world.cpus()),
        poll_queues: Some(false),
        no_spdk: Some("the machine is simulated".to_owned()),
        ..Present::default()
    }
}

fn hw_queues(roots: &Roots, disk: &str) -> Option<u32> {
    let queues = fs::read_dir(roots.sys(&format!("block/{disk}/mq"))).ok()?;
    Some(queues.count() as u32)
}

fn has_module(roots: &Roots, name: &str) -> bool {
    let loaded = roots.sys(&format!("module/{name}")).exists();
    let known = || Command::new("modprobe").args(["-n", "-q", name]).output();
    loaded || known().is_ok_and(|tried| tried.status.success())
}

/// The file systems that the kernel has and that something can make here.
fn file_systems(roots: &Roots) -> Vec<String> {
    let text = fs::read_to_string(roots.proc("filesystems")).unwrap_or_default();
    let names = text.lines().filter_map(|line| line.split('\t').next_back());
    let made = |name: &str| {
        let program = format!("mkfs.{name}");
        ["/sbin", "/usr/sbin", "/bin", "/usr/bin"]
            .iter()
            .any(|folder| fs::metadata(format!("{folder}/{program}")).is_ok())
    };
    names.filter(|name| made(name)).map(str::to_owned).collect()
}
