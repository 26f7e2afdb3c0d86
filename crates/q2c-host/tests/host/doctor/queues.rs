use super::cases::{NVME, tree_with};
use super::{GOOD, find, good_target, report};
use crate::tree::SysProcTree;
use CheckVerdict::{Invalidates, Warn};
use q2c_result::CheckVerdict;

pub(crate) const CASES: &str = "
    proc/interrupts =  CPU0 CPU1\\n 37: 0 6 MSI 1-edge nvme0q1 ; irq-cpus ; Warn ; 37 of nvme0n1 went so far to CPU 1 ; -
    proc/irq/37/effective_affinity_list = 0 ; irq-cpus ; Warn ; 37 of nvme0n1 goes to CPU 0 ; -
    proc/interrupts =  CPU0 CPU1\\n 99: 0 6 MSI 1-edge other ; irq-cpus ; Unknown ; no interrupt line of nvme0n1 ; -
    proc/88/comm = irqbalance ; irqbalance ; Warn ; irqbalance runs ; systemctl stop irqbalance
    QUEUE/rq_affinity = 2 ; completion-cpu ; Pass ; rq_affinity=2 ; -
    QUEUE/rq_affinity = 9 ; completion-cpu ; Unknown ; rq_affinity=9 ; -
    QUEUE/io_poll = 0 ; poll-queues ; Invalidates ; io_poll=0 ; nvme.poll_queues=2
    QUEUE/nomerges = 0 ; nomerges ; Warn ; nomerges=0 ; echo 2 > /sys/block/nvme0n1/queue/nomerges
    QUEUE/iostats = 0 ; iostats ; Warn ; iostats=0 ; echo 1 > /sys/block/nvme0n1/queue/iostats
    QUEUE/wbt_lat_usec = 2000 ; wbt ; Warn ; 2000 ; echo 0 > /sys/block/nvme0n1/queue/wbt_lat_usec
    QUEUE/nr_requests = 32 ; nr-requests ; Warn ; nr_requests=32 ; echo 256 > /sys/block/nvme0n1/queue/nr_requests
    QUEUE/nr_requests = many ; nr-requests ; Unknown ; many ; -
    sys/kernel/debug/irq/irqs/37 = IRQD_ACTIVATED ; irq-managed ; Pass ; not every line ; -
    - sys/kernel/debug/irq ; irq-managed ; Unknown ; debugfs only ; -
    proc/interrupts =  CPU0 CPU1\\n 37: 5 6 IO-APIC 9-fasteoi nvme0q1, snd_hda ; irq-shared ; Invalidates ; 37 (nvme0q1, snd_hda) ; -
    - NVME/nvme0n1/mq ; hardware-queues ; Warn ; takes bios ; -
    - NVME/nvme0n1/mq/0 ; hardware-queues ; Pass ; 2 queues, 1023 tags each (1 default, 1 poll) ; -
    QUEUE/read_ahead_kb = 4096 ; read-ahead ; Pass ; read_ahead_kb=4096 ; -
    sys/module/nvme/parameters/poll_queues = 0 ; nvme-queues ; Warn ; poll_queues=0 ; -
    QUEUE/io_poll = 0 ; nvme-queues ; Invalidates ; poll_queues=2 ; > /sys/class/nvme/nvme0/reset_controller
    - sys/module/nvme ; nvme-queues ; Unknown ; no poll_queues ; -
    NVME/power/pm_qos_latency_tolerance_us = 100000 ; nvme-power ; Warn ; 100000 us ; echo 0 > /sys/class/nvme/nvme0/power/pm_qos_latency_tolerance_us
    - NVME/power ; nvme-power ; Unknown ; no latency tolerance ; -
    NVME/state = resetting ; nvme-state ; Invalidates ; resetting ; -
";

#[test]
fn polled_columns_need_queues_of_their_own() {
    let both = tree_with(&format!(
        "sys/module/nvme/parameters/poll_queues = 0\n{NVME}/nvme0n1/queue/io_poll = 0"
    ));
    let checks = report(&both, &good_target(), None);
    let queues = find(&checks, "nvme-queues");
    assert_eq!(queues.verdict, Invalidates);
    assert!(queues.columns.contains(&"iopoll".to_owned()));
    let fix = queues.fix.as_deref().unwrap();
    assert!(fix.starts_with("nvme.poll_queues=2"));
    // A disk of another driver has no NVMe checks.
    let tree = SysProcTree::new(&GOOD.replace("nvme0n1", "vdb"));
    let mut target = good_target();
    target.device.as_mut().unwrap().name = "vdb".into();
    let others = report(&tree, &target, None);
    assert!(others.iter().all(|c| c.group != "nvme") && others.iter().any(|c| c.group == "queue"));
}

#[test]
fn one_queue_for_all_cpus() {
    let tree = SysProcTree::new(GOOD);
    for queue in ["0", "1"] {
        std::fs::remove_dir_all(tree.path(&format!("{NVME}/nvme0n1/mq/{queue}"))).unwrap();
    }
    let checks = report(&tree, &good_target(), None);
    let check = find(&checks, "hardware-queues");
    assert_eq!(check.verdict, Warn);
    assert_eq!(check.found, "nvme0n1: 1 queue, 1023 tags each (1 poll)");
}
