//! I/Os whose times cannot be right are counted separately, and no figure includes them.
//!
//! The text files are variants of one recording: unchanged (`ok`), with the clock set back half-way
//! (`jumpback`), with completions too early (`cearly`), with issues too late (`dlate`), and doubled
//! (`dupall`). A second, small implementation computes the expected values from the lines.

use super::recording::{analyze_records, analyzed, read};
use q2c_analyze::Options;
use q2c_model::{IoRecord, Layer, Nanos, OpFlags};
use q2c_result::analyze::AnalyzeResult;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn file(name: &str) -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo when a test runs");
    let folder = Path::new(&package).join("tests/data/times-that-fall");
    folder.join(name).with_extension("txt")
}

/// The times of an I/O's lines by event. `falls` is true if a line has a time below an earlier one.
#[derive(Default)]
struct ListedIo {
    times: HashMap<String, u64>,
    falls: bool,
}

impl ListedIo {
    fn stage(&self, from: &str, to: &str) -> Option<u64> {
        Some(self.times.get(to)? - self.times.get(from)?)
    }
}

fn listed_ios(name: &str) -> Vec<ListedIo> {
    let text = std::fs::read_to_string(file(name)).expect("a file of the tests");
    let (mut ios, mut by_sector, mut latest) = (Vec::<ListedIo>::new(), HashMap::new(), 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (time, event, sector) = (fields[3].replace('.', ""), fields[5], fields[7]);
        let time: u64 = time.parse().expect("seconds with nine decimals");
        if event == "Q" {
            by_sector.insert(sector.to_owned(), ios.len());
            ios.push(ListedIo::default());
        }
        let io = &mut ios[by_sector[sector]];
        io.falls |= time < latest;
        io.times.insert(event.to_owned(), time);
        latest = latest.max(time);
    }
    ios
}

fn assert_stages(result: &AnalyzeResult, ios: &[ListedIo]) {
    for (name, from, to) in [("Q2G", "Q", "G"), ("D2C", "D", "C"), ("Q2C", "Q", "C")] {
        let rising = ios.iter().filter(|io| !io.falls);
        let ns: Vec<u64> = rising.filter_map(|io| io.stage(from, to)).collect();
        let Some(stage) = result.stages.get(name) else {
            assert!(ns.is_empty(), "{name}: {ns:?}");
            continue;
        };
        let sum = ns.iter().sum::<u64>() as f64;
        assert_eq!(stage.n, ns.len() as u64, "{name}");
        let range = (Some(&stage.min_ns), Some(&stage.max_ns));
        assert_eq!(range, (ns.iter().min(), ns.iter().max()), "{name}");
        let stage_sum = stage.mean_ns * ns.len() as f64;
        assert!((stage_sum - sum).abs() < 1e-3, "{name}");
    }
}

fn warned(result: &AnalyzeResult, id: &str) -> bool {
    result.warnings.iter().any(|warning| warning.id == id)
}

#[test]
fn a_recording_whose_times_rise_has_all_its_ios() {
    let result = analyzed(&file("ok"), &Options::default()).unwrap();
    let ios = listed_ios("ok");
    assert!(ios.iter().all(|io| !io.falls));
    assert_eq!(result.requests, ios.len() as u64);
    assert_stages(&result, &ios);
    assert!(!warned(&result, "times-fall"), "{:?}", result.warnings);
}

#[test]
fn ios_whose_times_fall_are_in_no_figure() {
    for name in ["jumpback", "cearly", "dlate"] {
        let ios = listed_ios(name);
        let fall = ios.iter().filter(|io| io.falls).count() as u64;
        assert!(fall > 0, "{name}");
        let rise = ios.len() as u64 - fall;
        match analyzed(&file(name), &Options::default()) {
            Ok(result) => {
                assert_eq!(result.requests, rise, "{name}");
                assert_eq!(result.unmatched["times that fall"], fall, "{name}");
                assert!(warned(&result, "times-fall"), "{name}");
                assert_stages(&result, &ios);
            }
            Err(fault) => {
                assert_eq!(rise, 0, "{name}: {fault}");
                let expected = format!("found {fall} I/Os whose times fall");
                assert!(fault.message().contains(&expected), "{name}: {fault}");
            }
        }
    }
}

/// Where the file starts for the second time, its clock falls back to the start.
#[test]
fn records_that_are_there_twice_count_once() {
    let once = analyzed(&file("ok"), &Options::default()).unwrap();
    let twice = analyzed(&file("dupall"), &Options::default()).unwrap();
    assert_eq!(twice.requests, once.requests);
    assert_eq!(twice.unmatched["times that fall"], once.requests);
    assert_eq!(twice.stages, once.stages);
    assert_eq!(twice.span_ns, once.span_ns);
    assert_eq!(twice.in_flight, once.in_flight);
    assert!(warned(&twice, "times-fall") && warned(&twice, "duplicate"));
}

fn six_reads() -> Vec<IoRecord> {
    let read = |id| read(id, Layer::Block, 100 * id, 10 + id);
    (0..6).map(read).collect()
}

/// Another program, such as SQL or pandas, reversed the rows. Only latencies and stages stay right.
#[test]
fn rows_that_another_program_turned_round_are_told() {
    let mut ios = six_reads();
    let sorted = analyze_records(&ios).unwrap();
    assert!(!warned(&sorted, "unsorted"));
    ios.reverse();
    let turned = analyze_records(&ios).unwrap();
    assert!(warned(&turned, "unsorted"));
    assert_eq!(turned.unmatched["row after one that began later"], 5);
    assert_eq!(turned.stages["Q2C"], sorted.stages["Q2C"]);
}

/// The G of one I/O is after its C, one I/O is marked, and a third is there twice.
#[test]
fn a_changed_trace_is_read_as_carefully() {
    let mut ios = six_reads();
    ios[1].getrq_ns = Some(Nanos(500_000));
    ios[2].flags = OpFlags::UNTIMED;
    ios.insert(4, ios[3].clone());
    let result = analyze_records(&ios).unwrap();
    assert_eq!(result.requests, 4);
    assert_eq!(result.unmatched["times that fall"], 2);
    assert_eq!(result.unmatched["duplicate record"], 1);
    assert_eq!(result.stages["Q2C"].min_ns, 10_000);
    assert!(warned(&result, "times-fall") && warned(&result, "duplicate"));
    let fault = analyze_records(&ios[2..3]).unwrap_err();
    assert!(fault.message().contains("found 1 I/Os whose times fall"));
}
