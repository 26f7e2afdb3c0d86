//! Tests that q2c never writes to a target by accident.

use crate::bench::{FaultBench, Q2C, can_be_nobody, can_mount, tune};
use crate::skip;
use q2c_result::Exit;

const WRITE: [&str; 2] = ["--rw", "randwrite"];

#[test]
fn somebody_else_s_file() {
    if !can_be_nobody() {
        return skip("setpriv: not root, or the program is out of reach");
    }
    let bench = FaultBench::new();
    let target = bench.target();
    let before = std::fs::read(&target).unwrap();
    let writes = [&WRITE[..], &["--allow-write", &target]].concat();
    let outcome = bench.by_nobody(&[&[Q2C], &tune(&target, &writes)[..]].concat());
    let phrases =
        "open for reading and writing | Permission denied | run q2c as a user who has them";
    outcome.refuses(Exit::Target, phrases);
    assert_eq!(std::fs::read(&target).unwrap(), before);
    bench.assert_no_runs();
}

#[test]
fn a_mounted_device() {
    if !can_mount() {
        return skip("unshare -m: no root");
    }
    let bench = FaultBench::new();
    let script = format!(
        "truncate -s 16M image && mkfs.ext4 -q image && dev=$(losetup --find --show image) || exit 99; \
         mkdir m && mount $dev m || {{ losetup -d $dev; exit 99; }}; \
         {Q2C} tune $dev --rw randwrite --allow-write $dev --seconds 0.1; code=$?; \
         umount m; losetup -d $dev; exit $code"
    );
    let outcome = bench.mounting(&script);
    if outcome.status.code() == Some(99) {
        return skip("no loop device, or no mkfs.ext4");
    }
    outcome.fails(Exit::Target, "write to /dev/loop | mounted | free it first");
    bench.assert_no_runs();
}

/// Two runs would write to one file; the second is refused while the first one runs.
#[test]
fn a_file_that_another_run_writes() {
    let bench = FaultBench::new();
    let target = bench.target();
    let other = bench.file("other", &std::fs::read(&target).unwrap());
    let write = |target: &'static str| -> Vec<&'static str> {
        let mut args = vec!["bench", target, "--engine=pvsync2", "--method=interrupt"];
        args.extend(["--rw=randwrite", "--allow-write", target, "--trials=1"]);
        args
    };
    let (target, other) = (leaked(target), leaked(other));
    let long = [&write(target)[..], &["--seconds=600"]].concat();
    let mut first = bench.begin(&long);
    first.says("run folder");
    let short = |target| [&write(target)[..], &["--seconds=0.2", "--out=more"]].concat();
    let tried = bench.q2c(&short(target));
    tried.refuses(Exit::Target, &["another run of q2c", target]);
    bench.q2c(&short(other)).exits(Exit::Done);
    first.signal(rustix::process::Signal::INT);
    first.end().exits(Exit::Interrupted);
    bench.q2c(&short(target)).exits(Exit::Done);
}

fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}
