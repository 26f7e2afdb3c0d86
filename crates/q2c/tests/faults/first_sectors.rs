//! Tests a device whose first sectors cannot be read. This is reported as the device's fault, not
//! as a lack of direct I/O.

use crate::bench::{FaultBench, FaultOutcome, works};
use crate::skip;
use q2c_result::Exit;
use std::fs::File;

const MIB: u64 = 1 << 20;

/// The path of a loop device of 8 MiB over a file that is then cut to its first bytes. The driver
/// keeps the device's size, and fails reads beyond the end of the file with EIO.
struct CutDevice(String);

impl CutDevice {
    fn new(bench: &FaultBench, readable_bytes: u64) -> Option<CutDevice> {
        let image = bench.file("image", &vec![7; 8 * MIB as usize]);
        let cut = CutDevice(bench.loop_device(&image)?);
        let file = File::options().write(true).open(&image).unwrap();
        file.set_len(readable_bytes).unwrap();
        Some(cut)
    }
}

impl Drop for CutDevice {
    fn drop(&mut self) {
        assert!(works("losetup", &["--detach", &self.0]));
    }
}

fn is_the_devices_fault(outcome: &FaultOutcome, device: &str) {
    let phrases = [
        "failed to read the first",
        device,
        "Input/output error",
        "the device failed this read",
        "dmesg",
    ];
    outcome.refuses(Exit::Device, &phrases);
    assert!(!outcome.stderr.contains("O_DIRECT"), "{outcome:#?}");
}

#[test]
fn first_sectors_that_cannot_be_read() {
    let bench = FaultBench::new();
    let Some(cut) = CutDevice::new(&bench, 0) else {
        return skip("no loop device");
    };
    let device = &cut.0;
    is_the_devices_fault(&bench.tune(device, &[]), device);
    is_the_devices_fault(&bench.q2c(&["bench", device]), device);
    is_the_devices_fault(&bench.q2c(&["doctor", device]), device);
    bench.assert_no_runs();
}

/// The first megabyte can be read, so the target is accepted. Later reads fail during the run.
#[test]
fn later_sectors_that_cannot_be_read() {
    let bench = FaultBench::new();
    let Some(cut) = CutDevice::new(&bench, MIB) else {
        return skip("no loop device");
    };
    let outcome = bench.tune(&cut.0, &[]);
    if outcome.stderr.contains("set up io_uring") {
        return skip("io_uring cannot be used");
    }
    outcome.fails(Exit::Device, "Input/output error | dmesg");
}
