//! Tests of interfaces that a target or a machine lacks. They are left out with the reason, and
//! nothing is changed.

use crate::bench::{FaultBench, FaultOutcome, Q2C};
use q2c_result::Exit;
use q2c_testkit::strict_json;
use serde_json::Value;

/// A PCI address that no device has: the highest one.
const NOWHERE: &str = "ffff:ff:1f.7";

fn short(bench: &FaultBench, args: &[&str]) -> FaultOutcome {
    let times = ["--seconds", "0.2", "--warm-up", "0.2", "--trials", "1"];
    let mut command = bench.command(Q2C, &[&["bench"], args, &times[..]].concat());
    command
        .env_remove("Q2C_SPDK_PERF")
        .env("PATH", bench.path("no programs"));
    bench.start(command).end()
}

fn left_out(outcome: &FaultOutcome) -> Vec<(String, String)> {
    outcome.exits(Exit::Done);
    let result: Value = strict_json(&outcome.stdout);
    let left = result["left_out"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    left.map(|left| (text(&left["engine"]), text(&left["reason"])))
        .collect()
}

#[test]
fn a_file_takes_no_commands_and_is_no_controller() {
    let bench = FaultBench::new();
    let target = bench.target();
    let args = [
        &target,
        "--engine",
        "pvsync2,io_uring_cmd,spdk",
        "--method",
        "interrupt",
        "--json",
    ];
    let left = left_out(&short(&bench, &args));
    let names: Vec<&str> = left.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["io_uring_cmd", "spdk"]);
    for (n, phrase) in [
        (0, "io_uring_cmd is absent here"),
        (0, "address a whole namespace"),
        (0, "/dev/ng0n1"),
        (1, "spdk is absent here"),
        (1, "spdk_nvme_perf is not on PATH"),
        (1, "Q2C_SPDK_PERF"),
    ] {
        assert!(left[n].1.contains(phrase), "no `{phrase}` in {left:?}");
    }
}

#[test]
fn a_controller_that_is_not_there() {
    let bench = FaultBench::new();
    let phrases = "spdk is absent here | spdk_nvme_perf | no such PCI device";
    short(&bench, &[NOWHERE, "--method", "poll"]).fails(Exit::Usage, phrases);
    let kernel = short(&bench, &[NOWHERE, "--engine", "io_uring,io_uring_cmd"]);
    kernel.fails(Exit::Usage, "PCI address | name a device of the kernel's");
}

/// Writing with SPDK overwrites the device, so `--allow-write` must repeat its address.
#[test]
fn a_controller_is_written_with_permission_alone() {
    let bench = FaultBench::new();
    let write = ["--rw", "randwrite", "--method", "poll"];
    let refused = short(&bench, &[&[NOWHERE][..], &write].concat());
    refused.refuses(Exit::Target, &[NOWHERE, "--allow-write"]);
    let other = [&[NOWHERE, "--allow-write", "0000:00:00.0"][..], &write].concat();
    short(&bench, &other).refuses(Exit::Target, "--allow-write");
    let allowed = [&[NOWHERE, "--allow-write", NOWHERE][..], &write].concat();
    short(&bench, &allowed).fails(Exit::Usage, "no such PCI device");
}
