//! Scaling over cores: devices whose number of servers says where it ends, and how many requests it
//! does in a second.

use crate::harness::{changed, changed_text, only, run, verdicts, without_needs};
use q2c_reproduce::Experiment;
use q2c_result::reproduce::ReproduceResult;
use q2c_result::reproduce::Verdict::{DoesNotHold, Holds};
use q2c_testkit::waiting;

/// CPUs that the jobs think they have. They wait for simulated devices of milliseconds, so that two
/// of these tests leave most of the machine's CPUs idle.
const CPUS: usize = 200;
/// Phases of 10 s last 0.4 s.
const SCALE: f64 = 0.04;

fn on_many(experiment: &Experiment) -> ReproduceResult {
    run(experiment, "sim:5ms,servers=500", CPUS, SCALE)
}

/// An experiment without its needs and with these changes.
fn small(name: &str, changes: &[(&str, &str)]) -> Experiment {
    without_needs(&changed(name, changes))
}

/// The device of a job is one for each value of an axis.
const MADE: (&str, &str) = (
    "[[phase]]",
    "[[device]]\nname = \"disk\"\nmake = \"{AXIS.make}\"\n\n[[phase]]",
);

#[test]
fn interfaces() {
    waiting("interfaces", || {
        let made = MADE.1.replace("AXIS", "interface");
        let with = |libaio: &str, pvsync2: &str, io_uring: &str, spdk: &str| {
            let makes = format!(
                "with.method = [\"interrupt\", \"interrupt\", \"interrupt\", \"interrupt\"]\n\
                 with.make = [\"sim:{libaio}\", \"sim:{pvsync2}\", \"sim:{io_uring}\", \"sim:{spdk}\"]"
            );
            let kept = ["libaio is flat", "below libaio", "maximum from 2", "SPDK"];
            let experiment = changed_text(
                "interfaces-by-jobs",
                only("interfaces-by-jobs", &kept),
                &[
                    (
                        "with.method = [\"interrupt\", \"poll\", \"poll\", \"poll\"]",
                        makes.as_str(),
                    ),
                    ("engine = \"{interface}\"", "device = \"disk\""),
                    (
                        "[1, 2, 4, 8, 15, 30, 45, 60, 75, 90, 105, 120]",
                        "[1, 2, 8, 15, 30, 75, 120]",
                    ),
                    (MADE.0, made.as_str()),
                    ("550 K +- 55 K", "800 +- 80"),
                ],
            );
            let experiment = without_needs(&experiment);
            move || on_many(&experiment)
        };
        // 2 servers of 2.5 ms do 800 requests in a second; 45 of 15 ms do 3000, and 533 with 8
        // jobs.
        let published = with(
            "2500us,servers=2",
            "15ms,servers=45",
            "2ms,servers=1",
            "4ms,servers=1",
        );
        verdicts(
            published,
            &[
                ("libaio is flat", Holds),
                ("below libaio up to 8 jobs", Holds),
                ("maximum from 2 jobs", Holds),
                ("SPDK", Holds),
            ],
        );
        let turned = with(
            "15ms,servers=45",
            "10ms,servers=8",
            "10ms,servers=45",
            "10ms,servers=30",
        );
        verdicts(
            turned,
            &[
                ("libaio is flat", DoesNotHold),
                ("below libaio up to 8 jobs", DoesNotHold),
                ("maximum from 2 jobs", DoesNotHold),
                ("SPDK", DoesNotHold),
            ],
        );
    });
}

/// On this device polling and interrupts have the same IOPS; with 30 servers they fall together
/// when each request takes longer at more cores.
#[test]
fn interrupts_and_polling() {
    waiting("interrupts_and_polling", || {
        let made = MADE.1.replace("AXIS", "cores");
        let with = |slow: &str| {
            let makes = format!(
                "with.make = [\"sim:5ms,servers=500\", \"sim:5ms,servers=500\", \"sim:5ms,servers=500\", \"sim:{slow}\"]\n\n[[axis]]\nname = \"method\""
            );
            let experiment = small(
                "irq-vs-poll-scaling",
                &[
                    (
                        "values = [1, 2, 4, 8, 15, 30, 60, 90, 120]\n\n[[axis]]\nname = \"method\"",
                        &format!("values = [1, 2, 30, 120]\n{makes}"),
                    ),
                    (
                        "method = \"{method}\"",
                        "method = \"interrupt\"\ndevice = \"disk\"",
                    ),
                    (MADE.0, made.as_str()),
                ],
            );
            move || on_many(&experiment)
        };
        // 30 jobs do 6000 in a second; 120 do 24000, or 2400 where each takes 50 ms.
        verdicts(
            with("50ms,servers=500"),
            &[
                ("interrupts then fall", Holds),
                ("polling holds", DoesNotHold),
            ],
        );
        verdicts(
            with("5ms,servers=500"),
            &[
                ("interrupts then fall", DoesNotHold),
                ("polling holds", Holds),
            ],
        );
    });
}

/// Of 10 ms the one rule sleeps 6 and polls 4, the other sleeps 8 and polls 2: 20 points of CPU.
#[test]
fn tuned_rule() {
    waiting("tuned_rule", || {
        let says = "20 points below default hybrid polling on one core";
        let rules = |default: &str, tuned: &str| {
            let with = format!(
                "with.rule = [\"interrupt\", \"poll\", \"hybrid:fixed:{default}\", \"hybrid:fixed:{tuned}\"]"
            );
            let changes = [
                ("[1, 2, 4, 8, 16, 24, 48, 96, 191]", "[1]"),
                (
                    "with.rule = [\"interrupt\", \"poll\", \"hybrid:mean:ratio=50%,period=100ms\", \"hybrid:min:ratio=70%,period=10ms\"]",
                    with.as_str(),
                ),
                ("~ 20 % +- 5 %", "~ 20 % +- 10 %"),
            ];
            let text = only("hybrid-tuned", &[says]);
            let experiment = changed_text("hybrid-tuned", text, &changes);
            move || run(&experiment, "sim:10ms,servers=500", CPUS, 0.05)
        };
        verdicts(rules("6ms", "8ms"), &[(says, Holds)]);
        verdicts(rules("8ms", "6ms"), &[(says, DoesNotHold)]);
    });
}

/// The RAM disk becomes a simulated device, whose servers are all or as many as the axis says.
fn ram(name: &str, cores: (&str, &str), make: (&str, &str)) -> Experiment {
    small(name, &[cores, make])
}

#[test]
fn kernel_versions() {
    waiting("kernel_versions", || {
        let cores = (
            "values = [1, 2, 4, 8, 15, 30, 45, 60, 75, 90, 105, 120]",
            "values = [15, 120]",
        );
        let with = |make: &str| ram("blkmq-kernel-version", cores, ("ramdisk_mq:size=1g", make));
        let (until, from) = ("until 4.20", "from 5.0");
        let flat = with("sim:5ms,servers=15");
        verdicts(|| on_many(&flat), &[(until, Holds), (from, DoesNotHold)]);
        let scales = with("sim:5ms,servers=500");
        verdicts(|| on_many(&scales), &[(until, DoesNotHold), (from, Holds)]);
    });
}

/// Throughput that falls: requests take longer the more cores there are.
#[test]
fn throughput_that_falls_beyond_15_cores() {
    waiting("throughput_that_falls_beyond_15_cores", || {
        for name in ["blkmq-core-scaling", "blkmq-macro-scaling"] {
            let with = |slow: &str| {
                let axis = format!(
                    "values = [4, 15, 120]\nwith.make = [\"sim:5ms,servers=500\", \"sim:5ms,servers=500\", \"sim:{slow}\"]"
                );
                let cores = ("values = [1, 2, 4, 8, 15, 30, 60, 90, 120]", axis.as_str());
                ram(
                    name,
                    cores,
                    ("make = \"ramdisk_mq:size=1g\"", "make = \"{cores.make}\""),
                )
            };
            // 15 cores do 3000 in a second; 120 do 2400 at 50 ms, and 24000 at 5 ms.
            let falls = with("50ms,servers=500");
            verdicts(|| on_many(&falls), &[("beyond 15 cores", Holds)]);
            let scales = with("5ms,servers=500");
            verdicts(|| on_many(&scales), &[("beyond 15 cores", DoesNotHold)]);
        }
    });
}

/// A simulated device has an engine of its own, and jobs of depth 1 are enough to fill its servers.
const ONE_IN_FLIGHT: (&str, &str) = (
    "engine = \"libaio\"\nmethod = \"interrupt\"\nbs = \"4k\"\ndepth = 128\n",
    "method = \"interrupt\"\nbs = \"4k\"\n",
);

/// The servers of a simulated device are queues. Requests take longer at 120 cores: with 20 queues
/// throughput falls there, 400 to 308 in a second; with 120 it still rises, 1500 to 1846.
#[test]
fn hardware_queues() {
    waiting("hardware_queues", || {
        let with = |make: &str| {
            let cores = "values = [4, 75, 120]\nwith.time = [\"50ms\", \"50ms\", \"65ms\"]";
            small(
                "hwqueue-scaling",
                &[
                    (
                        "values = [1, 2, 4, 8, 15, 30, 45, 60, 75, 90, 105, 120]",
                        cores,
                    ),
                    ("values = [1, 9, 20, 40, 120]", "values = [20, 120]"),
                    ONE_IN_FLIGHT,
                    ("ramdisk_mq:size=1g,queues={queues}", make),
                ],
            )
        };
        let (ends, more) = ("with about 20 hardware queues", "more hardware queues move");
        let scaled = |experiment: &Experiment| run(experiment, "sim:1ms", CPUS, 0.2);
        let by_queues = with("sim:{cores.time},servers={queues}");
        verdicts(|| scaled(&by_queues), &[(ends, Holds), (more, Holds)]);
        // All queues alike: the end does not move with their number.
        let alike = with("sim:50ms,servers=500");
        verdicts(
            || scaled(&alike),
            &[(ends, DoesNotHold), (more, DoesNotHold)],
        );
    });
}

#[test]
fn requests_of_queues() {
    waiting("requests_of_queues", || {
        let cores = ("values = [30, 60, 80, 100, 120]", "values = [80, 120]");
        let with = |make: &str| {
            small(
                "nr-requests-scaling",
                &[
                    cores,
                    ("values = [16, 64, 256]", "values = [16, 256]"),
                    ONE_IN_FLIGHT,
                    ("ramdisk_mq:size=1g,queues={queues},depth={requests}", make),
                ],
            )
        };
        let scaled = |experiment: &Experiment| run(experiment, "sim:1ms", CPUS, 0.08);
        let helps = "more nr_requests helps";
        let servers = with("sim:10ms,servers={requests}");
        verdicts(
            || scaled(&servers),
            &[(helps, Holds), ("does not help", DoesNotHold)],
        );
        // Each request takes longer the more of them there are: 1.6 and 25.6 ms.
        let slower = with("sim:{requests}00us,servers={queues}");
        verdicts(|| scaled(&slower), &[(helps, DoesNotHold)]);
    });
}

#[test]
fn ram_disks() {
    waiting("ram_disks", || {
        let with = |mq: &str, bio: &str, null: &str| {
            let makes = format!("with.make = [\"sim:{mq}\", \"sim:{bio}\", \"sim:{null}\"]");
            small(
                "ramdisk-verification",
                &[
                    ("values = [1, 2, 4, 8, 15, 30, 60, 120]", "values = [1, 30]"),
                    (
                        "with.make = [\"ramdisk_mq:size=1g\", \"ramdisk_mq:size=1g,bio\", \"null_blk:size=1g\"]",
                        &makes,
                    ),
                ],
            )
        };
        let scaled = |experiment: &Experiment| run(experiment, "sim:1ms", CPUS, 0.08);
        let published = with("5ms,servers=500", "3ms,servers=500", "5ms,servers=4");
        verdicts(
            || scaled(&published),
            &[
                ("scales where null_blk", Holds),
                ("what the layer costs", Holds),
            ],
        );
        let turned = with("3ms,servers=4", "5ms,servers=500", "5ms,servers=500");
        verdicts(
            || scaled(&turned),
            &[
                ("scales where null_blk", DoesNotHold),
                ("what the layer costs", DoesNotHold),
            ],
        );
    });
}

/// Each file system has its own number of servers, and requests take longer at 120 cores: with 20
/// servers throughput falls there, from 1000 to 333 in a second; with 500 it rises to 2000.
#[test]
fn file_systems() {
    waiting("file_systems", || {
        let with = |ext4: u32, f2fs: u32, btrfs: u32| {
            let servers = format!(
                "values = [\"ext4\", \"f2fs\", \"btrfs\"]\nwith.servers = [{ext4}, {f2fs}, {btrfs}]"
            );
            let cores = "values = [4, 20, 120]\nwith.time = [\"20ms\", \"20ms\", \"60ms\"]";
            small(
                "fs-shared-file-scaling",
                &[
                    ("values = [\"ext4\", \"f2fs\", \"btrfs\"]", servers.as_str()),
                    ("values = [1, 2, 4, 8, 20, 40, 80, 120]", cores),
                    ("{fs}:256m", "sim:{cores.time},servers={fs.servers}"),
                    ("engine = \"libaio\"\n", ""),
                ],
            )
        };
        let scaled = |experiment: &Experiment| run(experiment, "sim:1ms", CPUS, 0.2);
        let (before, from) = ("f2fs did not scale before", "from 5.7 f2fs equals");
        let (ext4, btrfs) = ("ext4 scales", "btrfs rises");
        let published = with(500, 20, 20);
        verdicts(
            || scaled(&published),
            &[
                (ext4, Holds),
                (before, Holds),
                (from, DoesNotHold),
                (btrfs, Holds),
            ],
        );
        let turned = with(20, 20, 500);
        verdicts(
            || scaled(&turned),
            &[
                (ext4, DoesNotHold),
                (before, DoesNotHold),
                (from, Holds),
                (btrfs, DoesNotHold),
            ],
        );
    });
}
