//! Reads the facts of a disk that settings change between the points of a benchmark, and finds the
//! setting of its hardware queues.

use super::Disk;
use crate::{Roots, attr};
use q2c_result::bench::{DeviceKind, PointDevice, QueueTypes};
use std::fs;
use std::path::PathBuf;

/// The facts of a disk now.
pub fn point_device(roots: &Roots, disk: &Disk) -> PointDevice {
    let text = |name: &str| attr::text(&disk.dir.join("queue").join(name));
    let mq = disk.dir.join("mq");
    PointDevice {
        kind: device_kind(roots, disk),
        hw_queues: mq.is_dir().then(|| attr::entries(&mq).len() as u32),
        queue_types: queue_types(roots, disk),
        nr_requests: text("nr_requests").and_then(|text| text.parse().ok()),
        scheduler: text("scheduler").map(|text| attr::selected(&text).to_owned()),
        io_poll: text("io_poll").map(|text| text == "1"),
    }
}

/// The kind of a disk: by its driver's name for its major number, or by the disk's own name where
/// the driver has no number of its own.
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

fn major_name(roots: &Roots, disk: &Disk) -> Option<String> {
    let dev = attr::text(&disk.dir.join("dev"))?;
    let major = dev.split(':').next()?;
    let text = fs::read_to_string(roots.proc("devices")).ok()?;
    let (_, blocks) = text.split_once("Block devices:")?;
    let line = |line: &str| {
        let (number, name) = line.trim().split_once(' ')?;
        (number == major).then(|| name.to_owned())
    };
    blocks.lines().find_map(line)
}

/// The hardware queues by type; `None` where debugfs does not tell.
fn queue_types(roots: &Roots, disk: &Disk) -> Option<QueueTypes> {
    let disk_folder = roots.sys("kernel/debug/block").join(&disk.name);
    let queues = attr::entries(&disk_folder).into_iter().filter(|folder| {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("hctx"))
    });
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

/// The setting's file that holds the number of a disk's hardware queues, where its driver takes
/// another number while the disk is there. The error says in words what can be done.
pub fn queue_setting(roots: &Roots, disk: &Disk) -> Result<PathBuf, String> {
    let kind = device_kind(roots, disk);
    let file = match kind {
        DeviceKind::NullBlk => {
            null_blk_folder(roots, disk).map(|folder| folder.join("submit_queues"))
        }
        DeviceKind::RamdiskMq => Some(roots.sys("module/ramdisk_mq/parameters/queues")),
        _ => {
            return Err(format!(
                "set the hardware queues of {}: its driver ({}) made them and takes no other number; leave \
                 --hw-queues out, or name a device of null_blk or ramdisk_mq",
                disk.name,
                kind.text()
            ));
        }
    };
    file.filter(|file| file.exists()).ok_or_else(|| {
        let todo = match kind {
            DeviceKind::RamdiskMq => {
                "its module has no parameter `queues`; load the module that q2c brings"
            }
            _ => {
                "it was made by module parameters of null_blk, which cannot be changed; make it in \
                 /sys/kernel/config/nullb"
            }
        };
        format!("set the hardware queues of {}: {todo}", disk.name)
    })
}

/// The folder in configfs from which a disk of null_blk was made. Some kernels name the disk after
/// it, others by the folder's `index`.
fn null_blk_folder(roots: &Roots, disk: &Disk) -> Option<PathBuf> {
    let folders = attr::entries(&roots.sys("kernel/config/nullb"));
    let number = disk.name.strip_prefix("nullb");
    let of_index = |folder: &&PathBuf| {
        let powered = attr::text(&folder.join("power")).as_deref() == Some("1");
        powered && number.is_some() && attr::text(&folder.join("index")).as_deref() == number
    };
    let named = |folder: &&PathBuf| folder.file_name().is_some_and(|name| *name == *disk.name);
    let by_name = folders.iter().find(named);
    by_name.or_else(|| folders.iter().find(of_index)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::DevId;
    use std::path::Path;

    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn disk(root: &Path, name: &str, dev: &str) -> Disk {
        put(root, &format!("sys/block/{name}/dev"), dev);
        Disk {
            name: name.to_owned(),
            dev: DevId::default(),
            dir: root.join("sys/block").join(name),
        }
    }

    const DEVICES: &str = "Character devices:\n  1 mem\n251 rtc\n\nBlock devices:\n  7 loop\n251 nullb\n252 rdmq\n259 blkext\n";

    #[test]
    fn a_kind_is_told_by_the_driver_and_not_by_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let (root, roots) = (folder.path(), Roots::under(folder.path()));
        put(root, "proc/devices", DEVICES);
        for (name, dev, word) in [
            ("fast", "251:0", "null_blk"),
            ("rdmq1", "252:1", "ramdisk_mq"),
            ("nvme0n1", "259:3", "nvme"),
            ("ublkb7", "259:4", "ublk"),
            ("loop3", "7:3", "loop"),
            ("pmem0", "259:9", "pmem"),
        ] {
            let disk = disk(root, name, dev);
            assert_eq!(device_kind(&roots, &disk).text(), word, "{name}");
        }
    }

    #[test]
    fn facts_are_those_of_sysfs_and_debugfs() {
        let folder = tempfile::tempdir().unwrap();
        let (root, roots) = (folder.path(), Roots::under(folder.path()));
        put(root, "proc/devices", DEVICES);
        let disk = disk(root, "rdmq0", "252:0");
        assert_eq!(point_device(&roots, &disk).hw_queues, None);
        for (queue, kind) in ["default", "default", "poll"].iter().enumerate() {
            put(root, &format!("sys/block/rdmq0/mq/{queue}/cpu_list"), "0\n");
            let file = format!("sys/kernel/debug/block/rdmq0/hctx{queue}/type");
            put(root, &file, kind);
        }
        let set = |name: &str, text: &str| {
            put(root, &format!("sys/block/rdmq0/queue/{name}"), text);
        };
        set("nr_requests", "32\n");
        set("scheduler", "none [mq-deadline]\n");
        set("io_poll", "1\n");
        let facts = point_device(&roots, &disk);
        assert_eq!(facts.hw_queues, Some(3));
        assert_eq!(facts.default_queues(), Some(2));
        assert_eq!(facts.nr_requests, Some(32));
        assert_eq!(facts.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(facts.io_poll, Some(true));
    }

    #[test]
    fn the_setting_of_queues_is_found_or_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let (root, roots) = (folder.path(), Roots::under(folder.path()));
        put(root, "proc/devices", DEVICES);
        let refused = queue_setting(&roots, &disk(root, "nvme0n1", "259:0")).unwrap_err();
        assert!(refused.contains("its driver (nvme) made them"), "{refused}");
        let nullb = disk(root, "nullb0", "251:0");
        let refused = queue_setting(&roots, &nullb).unwrap_err();
        assert!(refused.contains("module parameters"), "{refused}");
        put(root, "sys/kernel/config/nullb/mine/index", "0\n");
        put(root, "sys/kernel/config/nullb/mine/power", "1\n");
        put(root, "sys/kernel/config/nullb/mine/submit_queues", "2\n");
        let file = queue_setting(&roots, &nullb).unwrap();
        assert!(file.ends_with("nullb/mine/submit_queues"), "{file:?}");
        let parameter = "sys/module/ramdisk_mq/parameters/queues";
        put(root, parameter, "2\n");
        let file = queue_setting(&roots, &disk(root, "rdmq0", "252:0")).unwrap();
        assert!(file.ends_with(parameter), "{file:?}");
    }
}
