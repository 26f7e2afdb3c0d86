//! Tests of `q2c fs bench` on file systems that it makes on loop devices.

use crate::program::{has_words, q2c, q2c_command, refuses, run_in, run_q2c, split};
use q2c_testkit::skip;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Why no file system can be made and mounted here; `None` where one can.
fn unable() -> Option<&'static str> {
    let root = rustix::process::geteuid().is_root();
    if !root {
        return Some("it takes root to mount");
    }
    if !Path::new("/dev/loop-control").exists() {
        return Some("there are no loop devices");
    }
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if !known.lines().any(|line| line.trim() == "ext4") {
        return Some("this kernel has no ext4");
    }
    let made = ["/usr/sbin/mke2fs", "/sbin/mke2fs"];
    let none = !made.iter().any(|program| Path::new(program).exists());
    none.then_some("mke2fs is not installed")
}

const SMALL: &str = "fs bench --fs ext4 --size 256m --file 1m --seconds 0.1 --warm-up 0.05";

/// Loop devices that read and write a file in `folder`.
fn loops_on(folder: &Path) -> usize {
    let disks = fs::read_dir("/sys/block")
        .unwrap()
        .map(|disk| disk.unwrap().path());
    let file = |disk: std::path::PathBuf| fs::read_to_string(disk.join("loop/backing_file")).ok();
    let on = |file: &String| file.starts_with(folder.to_str().unwrap());
    disks.filter_map(file).filter(on).count()
}

#[test]
fn points_ratios_and_all_reports() {
    if let Some(reason) = unable() {
        return skip("points_ratios_and_all_reports", reason);
    }
    let folder = tempfile::tempdir().unwrap();
    let axes = "--rw read,append --io direct,buffered --jobs 1,2 --trials 2 --json";
    let result = run_q2c(folder.path(), &format!("{SMALL} {axes}")).json();
    assert_eq!(result["schema"], "q2c.fs/1");
    let cells = result["cells"].as_array().unwrap();
    // Reads at three levels, appends at two; direct and buffered; one and two jobs.
    assert_eq!(cells.len(), (3 + 2) * 2 * 2);
    for cell in cells {
        assert_eq!(cell["iops"]["trials"], 2, "{cell}");
        assert!(cell["iops"]["min"].as_f64().unwrap() > 0.0, "{cell}");
    }
    let in_flight = |caching: &str| -> Vec<f64> {
        cells
            .iter()
            .filter(|cell| cell["caching"] == caching && cell["access"] == "read")
            .map(|cell| cell["in_flight"]["max"].as_f64().unwrap())
            .collect()
    };
    // Reads from the page cache make no requests; those past it do.
    assert!(
        in_flight("direct").iter().all(|&n| n > 0.01),
        "{:?}",
        in_flight("direct")
    );
    let ratios = result["ratios"].as_array().unwrap();
    assert_eq!(ratios.len(), (2 + 1) * 2 * 2);
    assert_eq!(result["left_out"][0]["what"], "append blocks");
    let made = &result["file_systems"][0];
    assert_eq!(made["fs"], "ext4");
    assert_eq!(made["size_bytes"], (256 << 20));
    read_back(folder.path(), &result);
    assert_eq!(loops_on(folder.path()), 0);
}

/// `q2c report` has the same figures in every form.
fn read_back(folder: &Path, result: &Value) {
    let run = run_in(folder).display().to_string();
    let again = q2c(folder, &["report", &run, "--json"]).json();
    assert_eq!(again, *result);
    let csv = q2c(folder, &["report", &run, "--csv"]).done();
    assert_eq!(
        csv.lines().count(),
        1 + result["cells"].as_array().unwrap().len()
    );
    let table = q2c(folder, &["report", &run]).done();
    assert!(table.contains("IOPS, direct append of 4 KiB"), "{table}");
    assert!(table.contains("ext4 same"), "{table}");
}

#[test]
fn a_program_has_its_figures() {
    if let Some(reason) = unable() {
        return skip("a_program_has_its_figures", reason);
    }
    let folder = tempfile::tempdir().unwrap();
    let command = "touch here && echo made $Q2C_CPUS files";
    let program = [
        "--macro",
        command,
        "--metric",
        "made ([0-9]+)",
        "--jobs",
        "1",
        "--trials",
        "3",
        "--json",
    ];
    let result = q2c(folder.path(), &[&split(SMALL), &program[..]].concat()).json();
    let cell = &result["program"]["cells"][0];
    assert_eq!(cell["cpus"], 1);
    assert_eq!(cell["value"]["median"], 1.0);
    assert_eq!(cell["value"]["trials"], 3);
    let program = [
        "--macro",
        "echo made none",
        "--metric",
        "made ([0-9]+)",
        "--jobs",
        "1",
        "--trials",
        "1",
    ];
    let failed = q2c(folder.path(), &[&split(SMALL), &program[..]].concat());
    assert_eq!(failed.code, 6);
    has_words(&failed.stderr, &["find the metric"]);
    assert!(failed.stderr.contains("made none"), "{}", failed.stderr);
}

/// Readahead is put back, and decides how many requests bring the same bytes.
#[test]
fn scans_read_from_the_device_as_far_ahead_as_asked() {
    if let Some(reason) = unable() {
        return skip("scans_read_from_the_device_as_far_ahead_as_asked", reason);
    }
    let folder = tempfile::tempdir().unwrap();
    let axes = "--rw scan --io buffered --readahead 0,1m --jobs 1 --sharing private --trials 2";
    let result = run_q2c(folder.path(), &format!("{SMALL} {axes} --json")).json();
    let cells = result["cells"].as_array().unwrap();
    let ahead: Vec<_> = cells
        .iter()
        .map(|cell| cell["readahead_bytes"].as_u64())
        .collect();
    assert_eq!(ahead, [Some(0), Some(1 << 20)]);
    for cell in cells {
        let share = cell["from_device"]["median"].as_f64().unwrap();
        assert!((0.5..2.0).contains(&share), "{cell}");
    }
    let iops = |n: usize| cells[n]["iops"]["median"].as_f64().unwrap();
    assert!(iops(1) > 2.0 * iops(0), "{} against {}", iops(1), iops(0));
    let wrong = q2c(folder.path(), &["fs", "bench", "--readahead", "1m"]);
    assert_eq!(wrong.code, 2);
    has_words(&wrong.stderr, &["--rw scan --io buffered"]);
}

#[test]
fn the_built_in_mix_has_jobs_per_minute() {
    if let Some(reason) = unable() {
        return skip("the_built_in_mix_has_jobs_per_minute", reason);
    }
    let folder = tempfile::tempdir().unwrap();
    let mix = format!("{SMALL} --mix --jobs 1,2 --trials 2 --json");
    let result = run_q2c(folder.path(), &mix).json();
    let program = &result["program"];
    assert_eq!(program["command"], Value::Null);
    assert_eq!(program["metric"], "jobs per minute");
    let cells = program["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        assert!(cell["value"]["min"].as_f64().unwrap() > 0.0, "{cell}");
    }
    let run = run_in(folder.path());
    let table = q2c(folder.path(), &["report", run.to_str().unwrap()]).done();
    has_words(&table, &["jobs per minute of the built-in mix"]);
    assert!(table.contains("2 tasks"), "{table}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    refuses(&[
        "2 | fs bench --fs fat | expected one of ext4, xfs, btrfs, f2fs",
        "2 | fs bench --jobs 200 | raise --size or lower --file",
        "2 | fs bench --bs 32m | do not fit files of 16 MiB",
        "2 | fs bench --rw append --sharing blocks | no blocks of their own in a shared file",
        "2 | fs bench --rw scan --sharing same | --sharing",
        "2 | fs bench --macro x | --metric",
        "2 | fs bench --macro x --metric y | expected a group",
        "2 | fs bench /dev/null --fs ext4,xfs | one file system at a time",
    ]);
}

#[test]
fn a_device_must_be_named_twice() {
    if let Some(reason) = unable() {
        return skip("a_device_must_be_named_twice", reason);
    }
    let folder = tempfile::tempdir().unwrap();
    let backing = folder.path().join("backing");
    fs::write(&backing, vec![7u8; 64 << 20]).unwrap();
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(&backing)
        .unwrap();
    let device = match q2c_sys::loop_device::attach(&file) {
        Ok(device) => device,
        Err(error) => return skip("a_device_must_be_named_twice", &error.to_string()),
    };
    let name = device.path.to_str().unwrap().to_owned();
    let options = "--file 1m --seconds 0.1 --trials 1 --jobs 1";
    let first = run_q2c(
        folder.path(),
        &format!("fs bench {name} --fs ext4 {options}"),
    );
    assert_eq!(first.code, 5, "{}", first.stderr);
    assert!(first.stderr.contains("--allow-write"), "{}", first.stderr);
    assert!(!first.stderr.contains("making"), "{}", first.stderr);
    // Without a named file system it is the same.
    let unnamed = run_q2c(folder.path(), &format!("fs bench {name} {options}"));
    assert_eq!(unnamed.code, 5, "{}", unnamed.stderr);
    assert!(fs::read(&backing).unwrap().iter().all(|&byte| byte == 7));
}

/// The kernel takes everything away from a run that is killed, but for the folder of the mount.
#[test]
fn a_killed_run_leaves_no_device_and_no_mount() {
    if let Some(reason) = unable() {
        return skip("a_killed_run_leaves_no_device_and_no_mount", reason);
    }
    let folder = tempfile::tempdir().unwrap();
    let long = format!("{SMALL} --jobs 1 --trials 500");
    let mut child = q2c_command(folder.path(), &split(&long));
    let child = child.stderr(Stdio::null()).env("TMPDIR", folder.path());
    let mut child = child.spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let until = |what: &str, done: &dyn Fn() -> bool| {
        while !done() {
            assert!(Instant::now() < end, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until("a device", &|| loops_on(folder.path()) == 1);
    until("a run folder", &|| {
        folder
            .path()
            .join("runs")
            .read_dir()
            .is_ok_and(|mut d| d.next().is_some())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    until("no device", &|| loops_on(folder.path()) == 0);
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains("q2c-ext4"), "{mounts}");
    let points = || {
        fs::read_dir(folder.path())
            .unwrap()
            .filter(|entry| {
                entry
                    .as_ref()
                    .unwrap()
                    .file_name()
                    .to_string_lossy()
                    .starts_with("q2c-ext4-")
            })
            .count()
    };
    q2c(folder.path(), &["restore"]);
    assert_eq!(points(), 0, "the folder of the mount");
}
