use super::Disk;
use crate::{attr, cpu_list};
use q2c_model::CpuId;
use std::fs;

/// The CPUs that submit to each hardware queue of a disk (`mq/N/cpu_list` in sysfs), by the queue's
/// number; `None` when the disk has no such folder or a list cannot be read. With queues of their
/// own for reads or polling a CPU is in several lists, and the kernel does not tell here which is
/// which.
pub fn hardware_queues(disk: &Disk) -> Option<Vec<(u32, Vec<CpuId>)>> {
    let folders = attr::entries(&disk.dir.join("mq"));
    let queue = |folder: &std::path::PathBuf| {
        let number = folder.file_name()?.to_str()?.parse().ok()?;
        // The kernel separates the CPUs by a comma and a blank.
        let text = fs::read_to_string(folder.join("cpu_list")).ok()?;
        let text: String = text.split_whitespace().collect();
        let mut cpus = cpu_list::parse(&text)?;
        cpus.sort_unstable();
        Some((number, cpus))
    };
    let queues: Option<Vec<_>> = folders.iter().map(queue).collect();
    queues.filter(|queues| !queues.is_empty())
}

/// The text of a disk's hardware queues: `0:0-3 1:4-7`.
pub fn show_hardware_queues(queues: &[(u32, Vec<CpuId>)]) -> String {
    let one = |(number, cpus): &(u32, Vec<CpuId>)| format!("{number}:{}", cpu_list::show(cpus));
    queues.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::DevId;

    #[test]
    fn queues_as_sysfs_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk {
            name: "vda".to_owned(),
            dev: DevId::default(),
            dir: folder.path().to_owned(),
        };
        assert_eq!(hardware_queues(&disk), None);
        // Eleven queues, so that the order of numbers is not that of names.
        for queue in 0..11 {
            let queue_folder = folder.path().join(format!("mq/{queue}"));
            fs::create_dir_all(&queue_folder).unwrap();
            let list = match queue {
                10 => "\n".to_owned(),
                n => format!("{}, {}, {}\n", n, n + 20, n + 21),
            };
            fs::write(queue_folder.join("cpu_list"), list).unwrap();
        }
        let queues = hardware_queues(&disk).unwrap();
        let shown = show_hardware_queues(&queues);
        assert!(
            shown.starts_with("0:0,20-21 1:1,21-22 2:2,22-23 "),
            "{shown}"
        );
        assert!(shown.ends_with(" 9:9,29-30 10:"), "{shown}");
        fs::write(folder.path().join("mq/3/cpu_list"), "three").unwrap();
        assert_eq!(hardware_queues(&disk), None);
    }
}
