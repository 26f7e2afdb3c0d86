//! Tests of finding the program, running it and reading its output. A shell script stands in for
//! it, because no SPDK device is available.

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// This is no recording: it has the format of the tool's sources and the rows of two published runs
/// of one core each (spdk/spdk issue 970). The total was added by hand: 135405.05 + 176907.23 =
/// 312312.28.
const TWO_CORES: &str = include_str!("fixtures/two_cores.txt");

#[test]
fn the_total_and_the_percentiles_are_read() {
    let result = output::parse(TWO_CORES).unwrap();
    let speed = (result.workers, result.iops, result.mib_s);
    assert_eq!(speed, (2, 312_312.28, 1219.97));
    let times = [result.avg_us, result.min_us, result.max_us];
    assert_eq!(times, [307.37, 17.77, 1889.71]);
    let [first, second] = &result.latencies[..] else {
        panic!("{:?}", result.latencies);
    };
    assert_eq!(first.worker, "PCIE (0000:04:00.0) NSID 1 from core 0");
    assert_eq!(first.percentiles.len(), 5);
    assert_eq!(first.percentiles[2], (50.0, 230.4));
    assert_eq!(second.percentiles[2], (99.99999, 1892.538));
}

/// Older versions print no NSID, no rule above the table and no percentiles (spdk/spdk issue 970).
#[test]
fn the_older_table_is_read_too() {
    let old = "Starting thread on core 0\n\n\
        Device Information             :       IOPS      MiB/s    Average        Latency(us) min        max\n\
        PCIE (0000:86:00.0) from core 0:  135405.05     528.93     236.31      19.03    1761.46\n\
        Total                          :  135405.05     528.93     236.31      19.03    1761.46\n";
    let result = output::parse(old).unwrap();
    assert_eq!((result.iops, result.workers), (135_405.05, 1));
    assert!(result.latencies.is_empty());
}

#[test]
fn an_output_without_its_table_is_refused() {
    let until = |end: Option<usize>| &TWO_CORES[..end.unwrap()];
    for (output, words) in [
        ("", "Device Information"),
        ("No valid NVMe controllers found\n", "did it attach"),
        (until(TWO_CORES.find("Total")), "`Total` line"),
        (until(TWO_CORES.rfind("  1.0")), "percentiles of PCIE"),
    ] {
        let problem = output::parse(output).unwrap_err();
        assert!(problem.contains(words), "{problem}");
    }
}

fn args() -> SpdkArgs {
    SpdkArgs {
        address: "0000:04:00.0".to_owned(),
        pattern: "randread".parse().unwrap(),
        bs: Bytes(4096),
        depth: 128,
        seconds: 1,
        cpus: vec![CpuId(0), CpuId(2)],
    }
}

#[test]
fn the_command_line_names_controller_and_cores() {
    let arguments = args().to_args().join(" ");
    let expected = "-q 128 -o 4096 -w randread -t 1 -c [0,2] -r trtype:PCIe traddr:0000:04:00.0 -L";
    assert_eq!(arguments, expected);
}

fn program(folder: &Path, lines: &str) -> SpdkPerf {
    let path = folder.join(PROGRAM);
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    SpdkPerf { program: path }
}

#[test]
fn it_is_found_on_the_path_or_by_name_or_is_absent_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let here = || std::iter::once(folder.path().to_owned());
    let absent = SpdkPerf::find_in(None, here()).unwrap_err();
    assert!(absent.contains(PROGRAM_VARIABLE), "{absent}");
    let perf = program(folder.path(), "true");
    assert_eq!(SpdkPerf::find_in(None, here()), Ok(perf.clone()));
    let named = Some(perf.program().to_owned());
    assert_eq!(SpdkPerf::find_in(named, std::iter::empty()), Ok(perf));
    let gone = SpdkPerf::find_in(Some("/no/such/file".into()), here()).unwrap_err();
    assert!(gone.contains("/no/such/file"), "{gone}");
}

#[test]
fn a_program_is_heard_out_and_its_failure_told() {
    let folder = tempfile::tempdir().unwrap();
    let run = |lines: &str, stop| {
        let stop = AtomicBool::new(stop);
        program(folder.path(), lines).run_program(&args().to_args(), 1, &mut |_| (), &stop)
    };
    assert_eq!(run("echo $#:$2", false).unwrap(), "13:128\n");
    let failed = run("echo talk; echo no hugepages >&2; exit 3", false);
    let failed = failed.unwrap_err().to_string();
    let expected = "exit status: 3; its last words: no hugepages";
    assert!(failed.contains(expected), "{failed}");
    let start = Instant::now();
    let stopped = run("exec sleep 60", true);
    assert!(matches!(stopped, Err(SpdkError::Stopped(_))));
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// No machine has a device with this address.
#[test]
fn a_run_begins_with_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let perf = program(folder.path(), "exit 0");
    let nowhere = SpdkArgs {
        address: "ffff:ff:1f.7".to_owned(),
        ..args()
    };
    let (sys, stop) = (Path::new("/sys"), AtomicBool::new(false));
    let error = perf.run(sys, &nowhere, &mut |_| (), &stop).unwrap_err();
    assert!(error.to_string().contains("no such PCI device"), "{error}");
}
