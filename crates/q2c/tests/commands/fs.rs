//! Tests of `q2c fs bench` on file systems that it creates on loop devices.

use crate::program::*;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The reason why no file system can be created and mounted here; `None` if there is none.
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
    let makers = ["/usr/sbin/mke2fs", "/sbin/mke2fs"];
    let is_missing = !makers.iter().any(|program| Path::new(program).exists());
    is_missing.then_some("mke2fs is not installed")
}

const SMALL: &str = "fs bench --fs ext4 --size 256m --file 1m --seconds 0.1 --warm-up 0.05";

/// The number of loop devices over a file in `folder`.
fn loops_on(folder: &Path) -> usize {
    let disks = fs::read_dir("/sys/block").unwrap();
    let disks = disks.map(|disk| disk.unwrap().path());
    let file = |disk: PathBuf| fs::read_to_string(disk.join("loop/backing_file")).ok();
    let is_inside = |file: &String| file.starts_with(folder.to_str().unwrap());
    disks.filter_map(file).filter(is_inside).count()
}

#[test]
fn points_ratios_and_all_reports() {
    if let Some(reason) = unable() {
        return skip(reason);
    }
    let folder = Place::new();
    let axes = "--rw read,append --io direct,buffered --jobs 1,2 --trials 2 --json";
    let result = folder.json(format!("{SMALL} {axes}"));
    assert_eq!(result["schema"], "q2c.fs/1");
    let cells = result.list("cells");
    // Reads at three levels and appends at two; direct and buffered; one and two jobs.
    assert_eq!(cells.len(), (3 + 2) * 2 * 2);
    for cell in cells {
        assert_eq!(cell["iops"]["trials"], 2, "{cell}");
        assert!(cell["iops"]["min"].as_f64().unwrap() > 0.0, "{cell}");
    }
    // Only reads that bypass the page cache make requests.
    for cell in cells {
        if cell["caching"] == "direct" && cell["access"] == "read" {
            assert!(number(cell, "/in_flight/max") > 0.01, "{cell}");
        }
    }
    let ratios = result.list("ratios");
    assert_eq!(ratios.len(), (2 + 1) * 2 * 2);
    assert_eq!(result["left_out"][0]["what"], "append blocks");
    let made = &result["file_systems"][0];
    assert_eq!(made["fs"], "ext4");
    assert_eq!(made["size_bytes"], (256 << 20));
    let Reports { table, csv, .. } = folder.reports(folder.only_run(), &result);
    assert_eq!(csv.lines().count(), 1 + cells.len());
    has_words(&table, "IOPS, direct append of 4 KiB | ext4 same");
    assert_eq!(loops_on(folder.path()), 0);
}

#[test]
fn a_program_has_its_figures() {
    if let Some(reason) = unable() {
        return skip(reason);
    }
    let command = "touch here && echo made $Q2C_CPUS files";
    let run = |command: &str, trials: u32| {
        let program = format!("--macro '{command}' --metric 'made ([0-9]+)'");
        let how = format!("--jobs 1 --json --trials {trials}");
        Place::new().q2c(format!("{SMALL} {how} {program}"))
    };
    let result = run(command, 3).json();
    let cell = &result["program"]["cells"][0];
    assert_eq!(cell["cpus"], 1);
    assert_eq!(cell["value"]["median"], 1.0);
    assert_eq!(cell["value"]["trials"], 3);
    let failed = run("echo made none", 1);
    assert_eq!(failed.code, 6);
    has_words(&failed.stderr, "find the metric | made none");
}

/// Readahead is restored, and determines how many requests read the same bytes.
#[test]
fn scans_read_from_the_device_as_far_ahead_as_asked() {
    if let Some(reason) = unable() {
        return skip(reason);
    }
    let folder = Place::new();
    let axes = "--rw scan --io buffered --readahead 0,1m --jobs 1 --sharing private --trials 2";
    let result = folder.json(format!("{SMALL} {axes} --json"));
    let cells = result.list("cells");
    let ahead = cells.iter().map(|cell| cell["readahead_bytes"].as_u64());
    assert!(ahead.eq([Some(0), Some(1 << 20)]), "{cells:?}");
    for cell in cells {
        let share = cell["from_device"]["median"].as_f64().unwrap();
        assert!((0.5..2.0).contains(&share), "{cell}");
    }
    let iops = |n: usize| cells[n]["iops"]["median"].as_f64().unwrap();
    assert!(iops(1) > 2.0 * iops(0), "{} against {}", iops(1), iops(0));
    let wrong = folder.q2c("fs bench --readahead 1m");
    wrong.refused(2, "--rw scan --io buffered");
}

#[test]
fn the_built_in_mix_has_jobs_per_minute() {
    if let Some(reason) = unable() {
        return skip(reason);
    }
    let folder = Place::new();
    let mix = format!("{SMALL} --mix --jobs 1,2 --trials 2 --json");
    let result = folder.json(&mix);
    let program = &result["program"];
    assert_eq!(program["command"], Value::Null);
    assert_eq!(program["metric"], "jobs per minute");
    let cells = program.list("cells");
    assert_eq!(cells.len(), 2);
    for cell in cells {
        assert!(cell["value"]["min"].as_f64().unwrap() > 0.0, "{cell}");
    }
    let table = folder.q2c(format!("report {}", folder.only_run().display()));
    let phrases = "jobs per minute of the built-in mix | 2 tasks";
    has_words(&table.done(), phrases);
}

#[test]
fn a_device_must_be_named_twice() {
    if let Some(reason) = unable() {
        return skip(reason);
    }
    let folder = Place::new();
    let backing = folder.path().join("backing");
    folder.put("backing", vec![7; 64 << 20]);
    let mut both = fs::File::options();
    let file = both.read(true).write(true).open(&backing).unwrap();
    let device = match q2c_sys::loop_device::attach(&file) {
        Ok(device) => device,
        Err(error) => return skip(&error.to_string()),
    };
    let name = device.path.to_str().unwrap().to_owned();
    let options = "--file 1m --seconds 0.1 --trials 1 --jobs 1";
    let first = folder.q2c(format!("fs bench {name} --fs ext4 {options}"));
    assert_eq!(first.code, 5, "{}", first.stderr);
    assert!(first.stderr.contains("--allow-write"), "{}", first.stderr);
    assert!(!first.stderr.contains("making"), "{}", first.stderr);
    // The same holds without a named file system.
    let unnamed = folder.q2c(format!("fs bench {name} {options}"));
    assert_eq!(unnamed.code, 5, "{}", unnamed.stderr);
    assert!(fs::read(&backing).unwrap().iter().all(|&byte| byte == 7));
}

/// When a run is killed, the kernel removes everything except the folder of the mount.
#[test]
fn a_killed_run_leaves_no_device_and_no_mount() {
    if let Some(reason) = unable() {
        return skip(reason);
    }
    let folder = Place::new();
    let long = format!("{SMALL} --jobs 1 --trials 500");
    let mut child = q2c_command(folder.path(), &split(&long));
    let child = child.stderr(Stdio::null()).env("TMPDIR", folder.path());
    let mut child = child.spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let wait_for = |what: &str, done: &dyn Fn() -> bool| {
        while !done() {
            assert!(Instant::now() < end, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait_for("a device", &|| loops_on(folder.path()) == 1);
    let runs = folder.path().join("runs");
    let has_run = || runs.read_dir().is_ok_and(|mut runs| runs.next().is_some());
    wait_for("a run folder", &has_run);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("no device", &|| loops_on(folder.path()) == 0);
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains("q2c-ext4"), "{mounts}");
    folder.q2c("restore");
    for entry in fs::read_dir(folder.path()).unwrap() {
        let name = entry.unwrap().file_name();
        let is_mount = name.to_string_lossy().starts_with("q2c-ext4-");
        assert!(!is_mount, "the folder of the mount");
    }
}
