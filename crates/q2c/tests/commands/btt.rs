//! Compares q2c with btt in a case where btt is right: inserted requests on a SCSI disk without any
//! overlap.

use crate::blktrace::{BlktraceRecord, file};
use crate::program::*;
use std::collections::BTreeMap;
use std::process::Command;

/// Reads and writes on two CPUs, each on sectors of its own. Every fifth request carries a second,
/// merged bio.
fn trace() -> Vec<BlktraceRecord> {
    let mut events = Vec::new();
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut start_ns = 1000;
    for n in 0..5000u64 {
        start_ns += 10_000 + random(90_000);
        let first = BlktraceRecord {
            ns: start_ns,
            cpu: random(2) as u32,
            action: 1,
            category: 1 + random(2) as u32,
            sector: n * 4096 + random(1000) * 2,
            bytes: 4096,
            device: (8, 0),
        };
        let is_merged = n % 5 == 0;
        let bytes = if is_merged { 8192 } else { 4096 };
        let mut now_ns = start_ns;
        let mut step = |action: u32, bytes: u32, most_ns: u64| {
            now_ns += 1 + random(most_ns);
            BlktraceRecord {
                ns: now_ns,
                action,
                bytes,
                ..first
            }
        };
        events.extend([first, step(4, 4096, 3000), step(12, 4096, 2000)]);
        if is_merged {
            let second = BlktraceRecord {
                sector: first.sector + 8,
                ..step(1, 4096, 1000)
            };
            events.extend([
                second,
                BlktraceRecord {
                    sector: second.sector,
                    ..step(2, 4096, 1000)
                },
            ]);
        }
        events.extend([step(7, bytes, 20_000), step(8, bytes, 300_000)]);
    }
    events
}

/// The stages that btt prints for all devices: minimum, mean and maximum in s, and the number.
fn btt_stages(folder: &Path) -> BTreeMap<String, [f64; 4]> {
    let run = |program: &str, arguments: &[&str]| {
        let done = Command::new(program)
            .current_dir(folder)
            .args(arguments)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{program}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    run("blkparse", &["-i", "sda", "-d", "sda.bin", "-O"]);
    let said = run("btt", &["-i", "sda.bin"]);
    let (_, stage_table) = said.split_once("= All Devices =").unwrap();
    let (stage_table, _) = stage_table.split_once("= Device Overhead =").unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let numbers: Vec<f64> = fields
            .get(1..)?
            .iter()
            .filter_map(|w| w.parse().ok())
            .collect();
        Some((fields[0].to_owned(), numbers.try_into().ok()?))
    };
    stage_table.lines().filter_map(row).collect()
}

#[test]
fn means_extremes_and_counts_agree_with_btt() {
    if Command::new("btt").arg("-V").output().is_err() {
        return skip("btt is not installed (Debian: blktrace)");
    }
    let folder = Place::new();
    let events = trace();
    for cpu in 0..2 {
        folder.put(format!("sda.blktrace.{cpu}"), file(&events, cpu));
    }
    let theirs = btt_stages(folder.path());
    let ours: Value = folder.json("analyze sda --json");
    assert_eq!(ours["unmatched"], serde_json::json!({}));
    for stage in ["Q2Q", "Q2G", "G2I", "Q2M", "I2D", "M2D", "D2C", "Q2C"] {
        let [min, mean, max, n] = theirs[stage];
        let figure = |field: &str| number(&ours, &format!("/stages/{stage}/{field}"));
        assert_eq!(figure("n"), n, "{stage}");
        for (field, seconds) in [("min_ns", min), ("mean_ns", mean), ("max_ns", max)] {
            // btt prints seconds with nine digits, so whole ns.
            assert!(
                (figure(field) - seconds * 1e9).abs() < 1.0,
                "{stage} {field}: {} and btt's {seconds} s",
                figure(field)
            );
        }
    }
}
