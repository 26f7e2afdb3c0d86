//! Tests of `q2c trace record`. Refusals are tested everywhere. A recording needs permission for
//! BPF; otherwise the test is skipped and counted.

use crate::program::*;
use crate::terminal::{Terminal, fits};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// A folder on a disk, with a file of 16 MiB.
fn folder() -> Place {
    let folder = Place::on_disk();
    let data: Vec<u8> = (0..16 << 20).map(|n: u32| ((n * 31) >> 3) as u8).collect();
    folder.put_synced("file", data);
    folder
}

/// The messages of a recording and the description of its trace, in a terminal of 80 columns. The
/// command is silent, so every row is the recording's own.
#[test]
fn a_recording_fits_80_columns() {
    let folder = folder();
    let dd = "dd if=file of=/dev/null bs=64k iflag=direct count=20 status=none";
    let record = format!("trace record file --op read -- {dd}");
    let (code, text) = Terminal::of_columns(80, folder.path(), &record).end();
    fits(80, &text);
    if code == Some(4) || code == Some(5) {
        return skip(text.trim());
    }
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("reads and writes"), "{text}");
}

/// dd does 400 direct reads. The trace in a new run folder has as many records of that size, except
/// those that the capture counts as lost. An existing trace is not overwritten.
#[test]
fn a_command_is_recorded() {
    let folder = folder();
    let dd = "dd if=file of=/dev/null bs=32k iflag=direct count=400";
    let ended = folder.q2c(format!("trace record file --op read --json -- {dd}"));
    if ended.code == 4 || ended.code == 5 {
        return skip(ended.stderr.trim());
    }
    let stderr = ended.stderr.clone();
    let info = ended.json();
    let facts = &info["meta"]["facts"];
    let dd_ios: u64 = facts["command_ios"].as_str().unwrap().parse().unwrap();
    let lost = number(&info, "/meta/lost");
    assert!(dd_ios as f64 + lost >= 390.0, "{info}");
    let own_share = format!("{dd_ios} of ");
    has_words(&stderr, &[&own_share, "--process dd takes them alone"]);
    // A read across two extents of the file is split in two. Other programs may read at the same
    // time.
    let of_32k = number(&info, "/summary/sizes/32768");
    assert!(of_32k + lost >= 390.0, "{info}");
    assert_eq!(info["meta"]["source"], "q2c trace record");
    assert_eq!(info["meta"]["clock"], "CLOCK_MONOTONIC");
    assert_eq!(info["meta"]["facts"]["command_status"], "0");
    assert!(number(&info, "/meta/start_unix_ns") > 1.7e18);
    let trace = info["path"].as_str().unwrap();
    assert!(trace.starts_with("runs/"), "{trace}");
    assert!(trace.ends_with("-record/trace.parquet"), "{trace}");
    let result = folder.json(format!("analyze {trace} --json"));
    assert!(number(&result, "/stages/D2C/n") >= of_32k);

    let again = format!("trace record file --out {trace} --seconds 1");
    folder.q2c(&again).refused(2, "found an existing file");
    let ended = folder.q2c("trace record file --out b -- sh -c 'exit 3'");
    has_words(&ended.stderr, "sh ended with exit status: 3");
    assert!(ended.done().contains("command_status         3"));
    let absent = "trace record file --out c -- ./no-such-program";
    folder.q2c(absent).refused(2, "start ./no-such-program");
    assert!(!folder.path().join("c").exists());
}

/// Without the capabilities for BPF, q2c names them and records through tracefs.
#[test]
fn without_capabilities_it_is_tracefs() {
    let folder = folder();
    let command_line = "--bounding-set=-sys_admin,-bpf,-perfmon -- Q trace record file --op read --json --out t -- \
        dd if=file of=/dev/null bs=32k iflag=direct count=300";
    let arguments = command_line.split_whitespace().map(|word| match word {
        "Q" => env!("CARGO_BIN_EXE_q2c"),
        word => word,
    });
    let run = Command::new("setpriv")
        .args(arguments)
        .current_dir(folder.path())
        .output();
    let Ok(output) = run else {
        return skip("no setpriv");
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        // Without root or without tracefs, the message names both ways of capturing.
        let reason = "record by BPF: load a BPF program: this process lacks";
        let is_told = !stderr.contains("q2c: ") || stderr.contains(reason);
        assert!(is_told, "{stderr}");
        return skip(stderr.trim());
    }
    let lacking = "this process lacks CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN)";
    has_words(&stderr, &[lacking, "recording by tracefs"]);
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of_32k = number(&info, "/summary/sizes/32768");
    let lost = number(&info, "/meta/lost");
    assert!(of_32k <= 300.0 && of_32k + lost >= 290.0, "{info}");
    assert_eq!(info["meta"]["facts"]["capture"], "tracefs");
    let refused = &info["meta"]["facts"]["capture.bpf_refused"];
    has_words(refused.as_str().unwrap(), lacking);
}

/// In a time namespace, programs see another CLOCK_MONOTONIC than the kernel's traces. The
/// recording's start must still be the present.
#[test]
fn a_recording_in_a_time_namespace_has_the_kernels_times() {
    let folder = folder();
    let inside = ["--time", "--monotonic", "1000000", "--fork"];
    let record = "trace record file --out t.parquet -- dd if=file of=/dev/null iflag=direct bs=1M";
    let ended = Command::new("unshare")
        .args(inside)
        .arg(env!("CARGO_BIN_EXE_q2c"))
        .args(record.split(' '))
        .current_dir(folder.path())
        .output();
    let Some(ended) = ended.ok().filter(|ended| ended.status.success()) else {
        return skip("no time namespace in which BPF is permitted");
    };
    let info = folder.json("trace info t.parquet --json");
    let start = number(&info, "/meta/start_unix_ns") / 1e9;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let off = (now.as_secs_f64() - start).abs();
    assert!(off < 600.0, "{start}: {stderr}");
}
