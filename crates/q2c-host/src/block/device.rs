use super::{Disk, Interrupts, TargetDisk};
use crate::{Roots, attr, cpu_list};
use itertools::Itertools;
use q2c_model::{Bytes, CpuId, Sectors};
use q2c_result::Device;
use q2c_result::bench::{DeviceKind, PointDevice, QueueTypes};
use std::fs;
use std::path::{Path, PathBuf};

/// Smallest page size in bytes of any architecture, so that [`unsplit`] is never too large.
const MIN_PAGE_BYTES: u64 = 4096;

/// Reads the facts of a disk. A fact that cannot be read is `None`; without countable interrupts
/// `irq_cpus` is empty.
pub fn read(roots: &Roots, target_disk: &TargetDisk) -> Device {
    let dir = &target_disk.disk.dir;
    let queue = |name: &str| dir.join("queue").join(name);
    let text = |name: &str| attr::text(&dir.join(name));
    Device {
        name: target_disk.disk.name.clone(),
        dev: target_disk.disk.dev,
        model: text("device/model"),
        firmware: text("device/firmware_rev").or_else(|| text("device/rev")),
        size: attr::value(&dir.join("size")).map(|n| Sectors(n).bytes()),
        logical_block: attr::value(&queue("logical_block_size")).map(Bytes),
        scheduler: attr::text(&queue("scheduler")).map(|t| attr::selected_choice(&t).to_owned()),
        nr_requests: attr::value(&queue("nr_requests")),
        hw_queues: count_hardware_queues(dir),
        unsplit: unsplit(dir),
        io_poll: match attr::text(&queue("io_poll")).as_deref() {
            Some("0") => Some(false),
            Some("1") => Some(true),
            _ => None,
        },
        nomerges: attr::value(&queue("nomerges")),
        write_cache: attr::text(&queue("write_cache")),
        irq_cpus: Interrupts::read(roots, target_disk).map_or_else(|_| Vec::new(), |i| i.busiest()),
    }
}

/// The largest request that the disk with this sysfs folder takes without splitting, a power of
/// two; `None` where its limits cannot be read.
pub fn unsplit(dir: &Path) -> Option<Bytes> {
    let limit = |name: &str| attr::value(&dir.join("queue").join(name));
    let (sectors_kb, segments) = (limit("max_sectors_kb")?, limit("max_segments")?);
    (segments > 0).then(|| max_unsplit(sectors_kb, segments))
}

/// The largest power of two, in bytes, within both limits. Each page of a buffer may be a segment,
/// because pages may lie apart.
fn max_unsplit(max_sectors_kb: u64, max_segments: u64) -> Bytes {
    let pages = max_segments.saturating_mul(MIN_PAGE_BYTES);
    let max_bytes = max_sectors_kb.saturating_mul(1024).min(pages);
    Bytes(1 << max_bytes.max(1).ilog2())
}

/// The number of hardware queues, one per folder in `mq`. `None` for a disk without `mq`: it takes
/// bios and has no hardware queues.
pub(super) fn count_hardware_queues(disk_dir: &Path) -> Option<u32> {
    let mq = disk_dir.join("mq");
    mq.is_dir().then(|| attr::entries(&mq).len() as u32)
}

/// Number of each hardware queue of a disk, and the CPUs that submit to it (`mq/N/cpu_list` in
/// sysfs). `None` when the disk has no such folder or a list cannot be read. A CPU is in several
/// lists if reads or polling have queues of their own; sysfs does not show which.
pub fn hardware_queues(disk: &Disk) -> Option<Vec<(u32, Vec<CpuId>)>> {
    let queue = |folder: &PathBuf| {
        let text = fs::read_to_string(folder.join("cpu_list")).ok()?;
        // The kernel separates the CPUs by a comma and a blank.
        let mut cpus = cpu_list::parse(&text.replace(' ', ""))?;
        cpus.sort_unstable();
        Some((attr::name(folder).parse().ok()?, cpus))
    };
    let folders = attr::entries(&disk.dir.join("mq"));
    let queues: Option<Vec<_>> = folders.iter().map(queue).collect();
    queues.filter(|queues| !queues.is_empty())
}

/// The text of a disk's hardware queues: `0:0-3 1:4-7`.
pub fn show_hardware_queues(queues: &[(u32, Vec<CpuId>)]) -> String {
    let queue = |(number, cpus): &(u32, Vec<CpuId>)| format!("{number}:{}", cpu_list::show(cpus));
    queues.iter().map(queue).join(" ")
}

/// Reads a disk's kind, queues and queue settings as they are now.
pub fn point_device(roots: &Roots, disk: &Disk) -> PointDevice {
    let text = |name: &str| attr::text(&disk.dir.join("queue").join(name));
    PointDevice {
        kind: device_kind(roots, disk),
        hw_queues: count_hardware_queues(&disk.dir),
        queue_types: queue_types(roots, disk),
        nr_requests: text("nr_requests").and_then(|text| text.parse().ok()),
        scheduler: text("scheduler").map(|text| attr::selected_choice(&text).to_owned()),
        io_poll: text("io_poll").map(|text| text == "1"),
    }
}

/// The kind of a disk: by the driver's name for the disk's major number, or by the disk's own name
/// where the driver has no major number of its own (`blkext`).
pub(crate) fn device_kind(roots: &Roots, disk: &Disk) -> DeviceKind {
    let base_name = disk.name.trim_end_matches(|c: char| c.is_ascii_digit());
    let major = major_name(roots, disk).filter(|name| name != "blkext");
    match major.as_deref().unwrap_or(base_name) {
        "nullb" => DeviceKind::NullBlk,
        "rdmq" => DeviceKind::RamdiskMq,
        "virtblk" => DeviceKind::VirtioBlk,
        "loop" => DeviceKind::Loop,
        _ if disk.name.starts_with("nvme") => DeviceKind::Nvme,
        _ if disk.name.starts_with("ublkb") => DeviceKind::Ublk,
        other => DeviceKind::Other(other.to_owned()),
    }
}

/// The driver's name for the disk's major number, from `/proc/devices`.
fn major_name(roots: &Roots, disk: &Disk) -> Option<String> {
    let dev = attr::text(&disk.dir.join("dev"))?;
    let major = dev.split(':').next()?;
    let text = fs::read_to_string(roots.proc("devices")).ok()?;
    let (_, block_devices) = text.split_once("Block devices:")?;
    let name_if_same = |line: &str| {
        let (number, name) = line.trim().split_once(' ')?;
        (number == major).then(|| name.to_owned())
    };
    block_devices.lines().find_map(name_if_same)
}

/// The hardware queues counted by type; `None` where debugfs shows no known types.
fn queue_types(roots: &Roots, disk: &Disk) -> Option<QueueTypes> {
    let mut queues = attr::entries(&roots.sys("kernel/debug/block").join(&disk.name));
    queues.retain(|folder| attr::name(folder).starts_with("hctx"));
    let mut types = QueueTypes::default();
    for queue in queues {
        match attr::text(&queue.join("type"))?.as_str() {
            "default" => types.default += 1,
            "read" => types.read += 1,
            "poll" => types.poll += 1,
            _ => return None,
        }
    }
    (types != QueueTypes::default()).then_some(types)
}

/// The file that sets the number of a disk's hardware queues, if its driver can change it while the
/// disk exists. The error says in words what the user can do.
pub fn queue_setting(roots: &Roots, disk: &Disk) -> Result<PathBuf, String> {
    let refused = |todo: &str| Err(format!("set the hardware queues of {}: {todo}", disk.name));
    let (file, todo) = match device_kind(roots, disk) {
        DeviceKind::NullBlk => (
            null_blk_folder(roots, disk).map(|folder| folder.join("submit_queues")),
            "it was made by module parameters of null_blk, which cannot be changed; make it in \
             /sys/kernel/config/nullb",
        ),
        DeviceKind::RamdiskMq => (
            Some(roots.sys("module/ramdisk_mq/parameters/queues")),
            "its module has no parameter `queues`; load the module that q2c brings",
        ),
        kind => {
            return refused(&format!(
                "its driver ({}) made them and takes no other number; leave \
                 --hw-queues out, or name a device of null_blk or ramdisk_mq",
                kind.as_ref()
            ));
        }
    };
    file.filter(|file| file.exists())
        .map_or_else(|| refused(todo), Ok)
}

/// The folder in configfs from which a disk of null_blk was made. Some kernels give the disk the
/// name of the folder, others `nullb` and the number in the folder's `index`.
fn null_blk_folder(roots: &Roots, disk: &Disk) -> Option<PathBuf> {
    let folders = attr::entries(&roots.sys("kernel/config/nullb"));
    let number = disk.name.strip_prefix("nullb");
    let has_index = |folder: &&PathBuf| {
        let powered = attr::text(&folder.join("power")).as_deref() == Some("1");
        powered && number.is_some() && attr::text(&folder.join("index")).as_deref() == number
    };
    let is_named = |folder: &&PathBuf| attr::name(folder) == disk.name;
    let by_name = folders.iter().find(is_named);
    by_name.or_else(|| folders.iter().find(has_index)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SysProcTree;
    use q2c_model::DevId;

    #[test]
    fn a_request_is_split_above_the_smaller_of_two_limits() {
        // The emulated NVMe drive of the guests: 128 pages that lie apart are one too many.
        assert_eq!(max_unsplit(512, 127), Bytes(256 << 10));
        assert_eq!(max_unsplit(128, 127), Bytes(128 << 10));
        assert_eq!(max_unsplit(1280, 65_535), Bytes(1 << 20));
    }

    #[test]
    fn limits_that_cannot_be_read_are_not_guessed() {
        assert_eq!(unsplit(Path::new("/nowhere")), None);
    }

    #[test]
    fn queues_as_sysfs_has_them() {
        let tree = SysProcTree::new("mq/");
        let disk = Disk {
            name: "vda".to_owned(),
            dev: DevId::default(),
            dir: tree.path(""),
        };
        assert_eq!(hardware_queues(&disk), None);
        // Eleven queues, so that the order of numbers is not that of names.
        for n in 0..10 {
            tree.add(&format!("mq/{n}/cpu_list = {n}, {}, {}", n + 20, n + 21));
        }
        tree.add(r"mq/10/cpu_list = \n");
        let shown = show_hardware_queues(&hardware_queues(&disk).unwrap());
        let begin = "0:0,20-21 1:1,21-22 2:2,22-23 ";
        assert!(shown.starts_with(begin), "{shown}");
        assert!(shown.ends_with(" 9:9,29-30 10:"), "{shown}");
        tree.add("mq/3/cpu_list = three");
        assert_eq!(hardware_queues(&disk), None);
    }

    fn disk(tree: &SysProcTree, name: &str, dev: &str) -> Disk {
        tree.add(&format!("sys/block/{name}/dev = {dev}"));
        Disk {
            name: name.to_owned(),
            dev: DevId::default(),
            dir: tree.path(&format!("sys/block/{name}")),
        }
    }

    const DEVICES: &str = r"proc/devices = Character devices:\n  1 mem\n251 rtc\n\nBlock devices:\n  7 loop\n251 nullb\n252 rdmq\n259 blkext";

    #[test]
    fn a_kind_is_told_by_the_driver_and_not_by_the_name() {
        let tree = SysProcTree::new(DEVICES);
        let roots = tree.roots();
        for (name, dev, word) in [
            ("fast", "251:0", "null_blk"),
            ("rdmq1", "252:1", "ramdisk_mq"),
            ("nvme0n1", "259:3", "nvme"),
            ("ublkb7", "259:4", "ublk"),
            ("loop3", "7:3", "loop"),
            ("pmem0", "259:9", "pmem"),
        ] {
            let disk = disk(&tree, name, dev);
            assert_eq!(device_kind(&roots, &disk).as_ref(), word, "{name}");
        }
    }

    #[test]
    fn facts_are_those_of_sysfs_and_debugfs() {
        let tree = SysProcTree::new(DEVICES);
        let roots = tree.roots();
        let disk = disk(&tree, "rdmq0", "252:0");
        assert_eq!(point_device(&roots, &disk).hw_queues, None);
        for (queue, kind) in ["default", "default", "poll"].iter().enumerate() {
            tree.add(&format!("sys/block/rdmq0/mq/{queue}/cpu_list = 0"));
            let folder = "sys/kernel/debug/block/rdmq0";
            tree.add(&format!("{folder}/hctx{queue}/type = {kind}"));
        }
        tree.add(
            "sys/block/rdmq0/queue/nr_requests = 32
             sys/block/rdmq0/queue/scheduler = none [mq-deadline]
             sys/block/rdmq0/queue/io_poll = 1",
        );
        let facts = point_device(&roots, &disk);
        assert_eq!(facts.hw_queues, Some(3));
        assert_eq!(facts.default_queues(), Some(2));
        assert_eq!(facts.nr_requests, Some(32));
        assert_eq!(facts.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(facts.io_poll, Some(true));
    }

    #[test]
    fn the_setting_of_queues_is_found_or_refused_in_words() {
        let tree = SysProcTree::new(DEVICES);
        let roots = tree.roots();
        let refused = queue_setting(&roots, &disk(&tree, "nvme0n1", "259:0")).unwrap_err();
        assert!(refused.contains("its driver (nvme) made them"), "{refused}");
        let nullb = disk(&tree, "nullb0", "251:0");
        let refused = queue_setting(&roots, &nullb).unwrap_err();
        assert!(refused.contains("module parameters"), "{refused}");
        tree.add(
            "sys/kernel/config/nullb/mine/index = 0
             sys/kernel/config/nullb/mine/power = 1
             sys/kernel/config/nullb/mine/submit_queues = 2",
        );
        let file = queue_setting(&roots, &nullb).unwrap();
        assert!(file.ends_with("nullb/mine/submit_queues"), "{file:?}");
        let parameter = "sys/module/ramdisk_mq/parameters/queues";
        tree.add(&format!("{parameter} = 2"));
        let file = queue_setting(&roots, &disk(&tree, "rdmq0", "252:0")).unwrap();
        assert!(file.ends_with(parameter), "{file:?}");
    }
}
