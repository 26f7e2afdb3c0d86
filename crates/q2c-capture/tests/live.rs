//! Runs the probes on this machine, where they are permitted. Elsewhere each test is a counted
//! skip.

use q2c_capture::ProbeError;
use q2c_capture::kernel_hybrid::KernelHybrid;
use q2c_capture::latency::LatencyProbe;
use q2c_host::Roots;
use q2c_host::block::{Disk, disk_of_path};
use q2c_model::Op;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

const BLOCK: u32 = 256 << 10;

/// The disk that holds a folder; `None` when the test is skipped because there is no such single
/// disk.
fn disk(test: &str, folder: &Path) -> Option<Disk> {
    match disk_of_path(&Roots::live(), folder) {
        Ok(target_disk) if target_disk.below.is_empty() => return Some(target_disk.disk),
        Ok(target_disk) => {
            let reason = format!("{} stands on other disks", target_disk.disk.name);
            q2c_testkit::skip(test, &reason);
        }
        Err(error) => q2c_testkit::skip(test, &error.to_string()),
    }
    None
}

/// Writes blocks to the file, each followed by a sync, so that they reach the device. Returns how
/// long that took.
fn write(file: &mut File, blocks: u32) -> Duration {
    let begun = Instant::now();
    for n in 0..blocks {
        file.write_all(&vec![n as u8; BLOCK as usize])
            .expect("room on the disk");
        file.sync_data().expect("a disk that takes it");
    }
    begun.elapsed()
}

#[test]
fn latencies_of_what_was_written() {
    let test = "latencies_of_what_was_written";
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let Some(disk) = disk(test, folder.path()) else {
        return;
    };
    let mut probe = match LatencyProbe::attach(&Roots::live(), &disk) {
        Ok(probe) => probe,
        Err(error @ (ProbeError::Capability { .. } | ProbeError::NoTypes { .. })) => {
            return q2c_testkit::skip(test, &error.to_string());
        }
        Err(error) => panic!("failed to {error}"),
    };
    let file = File::create(folder.path().join("written"));
    let took = write(&mut file.expect("a file"), 8);
    let mut bytes = 0;
    while let Some(done) = probe.next_completion() {
        assert!(done.latency.0 > 0, "{done:?}");
        if done.op == Op::Write {
            let max_ns = took.as_nanos() * 2;
            assert!(u128::from(done.latency.0) <= max_ns, "{done:?} in {took:?}");
            bytes += u64::from(done.bytes);
        }
    }
    let lost = probe.losses().expect("a map");
    // Kernels hide the issue of some requests from BPF (docs/capture.md). The probe counts them.
    let seen = bytes + lost.unpaired * u64::from(BLOCK);
    assert!(seen >= u64::from(8 * BLOCK), "{bytes} bytes, {lost:?}");
    assert_eq!(lost.no_room, 0);
}

/// On a kernel with hybrid polling of its own the loader must find everything that the program
/// names. On others it must give the reason.
#[test]
fn hybrid_polling_of_the_kernel_or_the_reason() {
    let test = "hybrid_polling_of_the_kernel_or_the_reason";
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let Some(disk) = disk(test, folder.path()) else {
        return;
    };
    match KernelHybrid::attach(&Roots::live(), &disk) {
        Ok(probe) => assert_eq!(probe.read().expect("a map").not_kept, 0),
        Err(ProbeError::NoHybrid { reason, .. }) => {
            let known = reason.contains("Linux") || reason.contains("poll queues");
            assert!(known, "{reason}");
        }
        Err(error) => q2c_testkit::skip(test, &error.to_string()),
    }
}
