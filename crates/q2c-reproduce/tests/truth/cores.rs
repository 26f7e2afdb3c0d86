//! Scaling over cores, on devices whose number of servers determines where it ends.

use crate::harness::{assert_verdicts, changed, changed_text, check_all, pick, run, without_needs};
use q2c_reproduce::Experiment;
use q2c_result::reproduce::ReproduceResult;
use q2c_result::reproduce::ReproduceVerdict::{DoesNotHold, Holds};

/// A CPU for each job of every experiment.
const CPUS: u32 = 192;
/// Phases of 10 s last 1 s.
const SCALE: f64 = 0.1;
/// A device with as many servers as jobs.
const SCALES: &str = "sim:5ms,servers=192";

fn on_many(experiment: &Experiment) -> ReproduceResult {
    run(experiment, SCALES, CPUS, SCALE)
}

fn small(name: &str, changes: &[(&str, &str)]) -> Experiment {
    without_needs(&changed(name, changes))
}

/// Gives an experiment a device; `make` may contain `{axis}`, and so differ at each value.
fn with_device(make: &str) -> String {
    format!("[[device]]\nname = \"disk\"\nmake = \"{make}\"\n\n[[phase]]")
}

#[test]
fn interfaces() {
    let says = [
        "libaio is flat",
        "below libaio up to 8 jobs",
        "maximum from 2 jobs",
        "SPDK",
    ];
    let with = |devices: &str| {
        let makes: Vec<String> = devices
            .split(' ')
            .map(|disk| format!("\"sim:{disk}\""))
            .collect();
        let makes = format!(
            "with.method = [\"interrupt\", \"interrupt\", \"interrupt\", \"interrupt\"]\n\
             with.make = [{}]",
            makes.join(", ")
        );
        let methods = "with.method = [\"interrupt\", \"poll\", \"poll\", \"poll\"]";
        let changes = [
            (methods, makes.as_str()),
            ("engine = \"{interface}\"", "device = \"disk\""),
            ("[[phase]]", &with_device("{interface.make}")),
            ("550 K +- 55 K", "800 +- 80"),
            // A job of depth 1 suffices to fill these servers.
            ("[32, 1, 32, 32]", "[1, 1, 1, 1]"),
        ];
        let text = pick("interfaces-by-jobs", &says);
        let experiment = changed_text("interfaces-by-jobs", text, &changes);
        on_many(&without_needs(&experiment))
    };
    // 2 servers of 2.5 ms do 800 requests per second; 45 of 15 ms do 3000, and with 8 jobs 533.
    let published = with("2500us,servers=2 15ms,servers=45 2ms,servers=1 4ms,servers=1");
    assert_verdicts(&published, Holds, &says);
    let turned = with("15ms,servers=45 10ms,servers=8 10ms,servers=45 10ms,servers=30");
    assert_verdicts(&turned, DoesNotHold, &says);
}

/// Polling and interrupts have the same IOPS here. 30 servers with 1 ms per core do 1000 requests
/// per second on up to 30 cores, and 250 on 120.
#[test]
fn interrupts_and_polling() {
    let with = |make: &str| {
        let on_disk = "method = \"interrupt\"\ndevice = \"disk\"";
        let changes = [
            ("method = \"{method}\"", on_disk),
            ("[[phase]]", &with_device(make)),
        ];
        on_many(&small("irq-vs-poll-scaling", &changes))
    };
    let (fall, hold) = ("interrupts then fall", "polling holds");
    let limited = with("sim:{cores}ms,servers=30");
    check_all(&limited, &[(fall, Holds), (hold, DoesNotHold)]);
    check_all(&with(SCALES), &[(fall, DoesNotHold), (hold, Holds)]);
}

/// Of 10 ms one rule sleeps 6 and polls 4, the other sleeps 8 and polls 2: 20 points less CPU.
#[test]
fn tuned_rule() {
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
        ];
        let text = pick("hybrid-tuned", &[says]);
        let experiment = changed_text("hybrid-tuned", text, &changes);
        run(&experiment, "sim:10ms,servers=192", CPUS, SCALE)
    };
    check_all(&rules("6ms", "8ms"), &[(says, Holds)]);
    check_all(&rules("8ms", "6ms"), &[(says, DoesNotHold)]);
}

/// An experiment whose RAM disk is replaced by a simulated device.
fn on_ram(name: &str, make: &str) -> ReproduceResult {
    let changes = [("null_blk:size=1g,memory_backed=0", make), OWN_ENGINE];
    on_many(&small(name, &changes))
}

/// A simulated device is its own engine.
const OWN_ENGINE: (&str, &str) = ("engine = \"libaio\"\n", "");

#[test]
fn kernel_versions() {
    let (until, from) = ("until 4.20", "from 5.0");
    let on = |make: &str| on_ram("blkmq-kernel-version", make);
    let limited = on("sim:5ms,servers=15");
    check_all(&limited, &[(until, Holds), (from, DoesNotHold)]);
    check_all(&on(SCALES), &[(until, DoesNotHold), (from, Holds)]);
}

/// 15 servers with 1 ms per core do 1000 requests per second on up to 15 cores, and 125 on 120.
#[test]
fn throughput_that_falls_beyond_15_cores() {
    let on = |make: &str| on_ram("blkmq-core-scaling", make);
    let limited = on("sim:{cores}ms,servers=15");
    check_all(&limited, &[("beyond 15 cores", Holds)]);
    check_all(&on(SCALES), &[("beyond 15 cores", DoesNotHold)]);
}

/// A simulated device is its own engine, and jobs of depth 1 suffice to fill its servers.
const ONE_IN_FLIGHT: (&str, &str) = (
    "engine = \"libaio\"\nmethod = \"interrupt\"\nbs = \"4k\"\ndepth = 128\n",
    "method = \"interrupt\"\nbs = \"4k\"\n",
);

/// Servers of a simulated device act as queues. Requests take longer at 120 cores. With 20 queues
/// throughput then falls from 400 to 308 per second; with 120 it rises from 1500 to 1846.
#[test]
fn hardware_queues() {
    let with = |make: &str| {
        let cores = "values = [4, 75, 120]\nwith.time = [\"50ms\", \"50ms\", \"65ms\"]";
        let published_cores = "values = [1, 2, 4, 8, 15, 30, 45, 60, 75, 90, 105, 120]";
        let disk = ("null_blk:size=1g,queues={queues},memory_backed=0", make);
        let changes = [(published_cores, cores), ONE_IN_FLIGHT, disk];
        on_many(&small("hwqueue-scaling", &changes))
    };
    let says = ["with about 20 hardware queues", "more hardware queues move"];
    assert_verdicts(&with("sim:{cores.time},servers={queues}"), Holds, &says);
    // All queues are alike: the end of scaling does not depend on their number.
    assert_verdicts(&with("sim:50ms,servers=192"), DoesNotHold, &says);
}

#[test]
fn requests_of_queues() {
    let with = |make: &str| {
        let device = "null_blk:size=1g,queues={queues},depth={requests},memory_backed=0";
        let make = (device, make);
        on_many(&small("nr-requests-scaling", &[ONE_IN_FLIGHT, make]))
    };
    let helps = "more nr_requests help where";
    let servers_by_requests = with("sim:10ms,servers={requests}");
    check_all(
        &servers_by_requests,
        &[(helps, Holds), ("with 9 queues", DoesNotHold)],
    );
    // The more requests there are, the longer each takes: 1.6 to 25.6 ms.
    let slower = with("sim:{requests}00us,servers={queues}");
    check_all(&slower, &[(helps, DoesNotHold)]);
}

#[test]
fn ram_disks() {
    let with = |[mq, bio, null]: [&str; 3]| {
        let disks = "\"ramdisk_mq:size=1g\", \"ramdisk_mq:size=1g,bio\", \"null_blk:size=1g\"";
        let makes = format!("\"sim:{mq}\", \"sim:{bio}\", \"sim:{null}\"");
        on_many(&small("ramdisk-scaling", &[(disks, &makes)]))
    };
    let says = ["scales where null_blk", "what the layer costs"];
    let published = with(["5ms,servers=192", "3ms,servers=192", "5ms,servers=4"]);
    assert_verdicts(&published, Holds, &says);
    let turned = with(["3ms,servers=4", "5ms,servers=192", "5ms,servers=192"]);
    assert_verdicts(&turned, DoesNotHold, &says);
}

/// Each file system has its own number of servers, and requests take longer at 120 cores. With 20
/// servers throughput then falls from 1000 to 333 per second; with 192 it rises to 2000.
#[test]
fn file_systems() {
    let with = |ext4: u32, f2fs: u32, btrfs: u32| {
        let file_systems = "values = [\"ext4\", \"f2fs\", \"btrfs\"]";
        let servers = format!("{file_systems}\nwith.servers = [{ext4}, {f2fs}, {btrfs}]");
        let cores = "values = [4, 20, 120]\nwith.time = [\"20ms\", \"20ms\", \"60ms\"]";
        let changes = [
            (file_systems, servers.as_str()),
            ("values = [1, 2, 4, 8, 20, 40, 80, 120]", cores),
            ("{fs}:256m", "sim:{cores.time},servers={fs.servers}"),
            ("engine = \"pvsync2\"\n", ""),
        ];
        on_many(&small("fs-shared-file-scaling", &changes))
    };
    let (before, from) = ("f2fs did not scale before", "from 5.7 f2fs equals");
    let (ext4, btrfs) = ("ext4 scales", "btrfs rises");
    let published = with(192, 20, 20);
    assert_verdicts(&published, Holds, &[ext4, before, btrfs]);
    assert_verdicts(&published, DoesNotHold, &[from]);
    let turned = with(20, 20, 192);
    assert_verdicts(&turned, Holds, &[from]);
    assert_verdicts(&turned, DoesNotHold, &[ext4, before, btrfs]);
}
