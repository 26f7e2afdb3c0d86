//! Tests of targets that cannot be used as requested.

use crate::bench::{FaultBench, Q2C, can_be_nobody, can_mount, has_words, tune, works};
use crate::skip;
use q2c_result::Exit;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;

const SIZE: u64 = 1 << 20;

#[test]
fn a_pipe_is_no_target() {
    let bench = FaultBench::new();
    assert!(works("mkfifo", &[bench.path("pipe").to_str().unwrap()]));
    bench.tune("pipe", &[]).refuses(Exit::Target, "fifo");
    bench.assert_no_runs();
}

#[test]
fn files_never_written() {
    let bench = FaultBench::new();
    let sparse = bench.file("sparse", b"");
    let file = File::options().write(true).open(&sparse).unwrap();
    file.set_len(SIZE).unwrap();
    let phrases = "/sparse | hole | write the file fully first";
    bench.tune(&sparse, &[]).refuses(Exit::Target, phrases);
    let name = bench.file("allocated", b"");
    let file = File::options().write(true).open(&name).unwrap();
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, SIZE).unwrap();
    let phrases = "/allocated | unwritten | write the file fully first";
    bench.tune(&name, &[]).refuses(Exit::Target, phrases);
    bench.assert_no_runs();
}

/// Neither procfs nor sysfs has O_DIRECT.
#[test]
fn a_file_system_without_direct_io() {
    for file in ["/proc/version", "/sys/kernel/notes"] {
        if !std::path::Path::new(file).exists() {
            skip(&format!("no {file}"));
            continue;
        }
        let tried = FaultBench::new().q2c(&["doctor", file]);
        tried.refuses(Exit::Target, &[file, "O_DIRECT", "ext4 or xfs"]);
    }
}

#[test]
fn an_unreadable_target() {
    if !can_be_nobody() {
        return skip("setpriv: not root, or the program is out of reach");
    }
    let bench = FaultBench::new();
    let target = bench.target();
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o600)).unwrap();
    let args = tune(&target, &["--out", "/nowhere"]);
    let outcome = bench.by_nobody(&[&[Q2C], &args[..]].concat());
    let phrases = "/target | Permission denied | change its permissions";
    outcome.refuses(Exit::Target, phrases);
}

/// A file on overlay has no disk of its own. q2c says what it cannot prove and does not guess.
#[test]
fn what_cannot_be_proved_on_overlay_is_said() {
    if !can_mount() {
        return skip("unshare -m: no root");
    }
    let bench = FaultBench::new();
    bench.target();
    let script = format!(
        "mkdir -p low up m && mount -t tmpfs none up && mkdir up/u up/w && \
         mount -t overlay -o lowerdir=low,upperdir=up/u,workdir=up/w none m || exit 99; \
         cp target m/ && sync && exec {Q2C} doctor m/target"
    );
    let outcome = bench.mounting(&script);
    if outcome.status.code() == Some(99) {
        return skip("no overlay file system");
    }
    outcome.exits(Exit::Done);
    has_words(&outcome.stdout, "that I/O reaches a device");
}

#[test]
fn what_cannot_be_proved_on_btrfs_is_said() {
    if !can_mount() || !works("mkfs.btrfs", &["--version"]) {
        return skip("unshare -m or mkfs.btrfs: not to be had");
    }
    let bench = FaultBench::new();
    bench.target();
    let script = format!(
        "truncate -s 256M image && mkfs.btrfs -q image && mkdir -p m && mount -o loop image m || exit 99; \
         cp target m/ && sync && {Q2C} doctor m/target; code=$?; umount m; exit $code"
    );
    let outcome = bench.mounting(&script);
    if outcome.status.code() == Some(99) {
        return skip("the kernel has no btrfs");
    }
    outcome.exits(Exit::Done);
    let finding = "no device: that I/O reaches a device";
    assert!(outcome.stdout.contains(finding), "{outcome:#?}");
}
