//! Tests of `q2c trace import` and `info`.

use crate::program::*;
use crate::terminal::{Terminal, fits};
use std::process::Command;

const LIST: &str = "--format=latency-list --unit=us --op read --bs 4k --out list.trace";

/// Three reads of one thread and a write of another.
pub(crate) const CSV: &str = "\
start,took,kind,len,thread
1000,30,read,4096,11
1040,30,read,4096,11
1050,12.5,write,8192,7
1080,30,read,4096,11
";

pub(crate) const COLUMNS: &str = "submit_ns=start,latency=took,op=kind,bytes=len,lane=thread";

#[test]
fn a_public_list_is_imported_whole() {
    let test = "trace::a_public_list_is_imported_whole";
    let Some(path) = shared_data(test, "zssd-983zet-randread4k-latency-us.txt") else {
        return;
    };
    let folder = Place::new();
    let text = fs::read_to_string(&path).unwrap();
    let us: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
    let info = folder.q2c(format!("trace import {} --json {LIST}", path.display()));
    let info = info.json();
    let u2c = |name: &str| number(&info, &format!("/summary/u2c/{name}"));
    assert_eq!(u2c("ios"), us.len() as f64);
    let min = us.iter().copied().fold(f64::MAX, f64::min);
    let max = us.iter().copied().fold(0.0, f64::max);
    let mean = us.iter().sum::<f64>() / us.len() as f64;
    for (name, us) in [("min_ns", min), ("max_ns", max), ("mean_ns", mean)] {
        assert!((u2c(name) - us * 1e3).abs() <= 1.0, "{name}");
    }
    assert_eq!(number(&info, "/summary/sizes/4096"), us.len() as f64);
    let again = folder.q2c("trace info list.trace --json");
    assert_eq!(again.json(), info);
}

/// Checks descriptions of traces, messages and the lines of a run in a terminal of 80 columns.
#[test]
fn nothing_runs_over_the_edge_of_80_columns() {
    let folder = Place::with_file("in.csv", CSV);
    let import =
        format!("trace import in.csv --format csv --unit us --columns {COLUMNS} --out csv.trace");
    let fact = "of many words ".repeat(12);
    let copy = format!("trace copy csv.trace -o copy.trace --fact 'job=a workload {fact}'");
    let replay = "replay copy.trace sim:50us --max-lateness 1s --trials 2";
    for (line, phrase) in [
        (import.as_str(), "reads and writes"),
        (&copy, "of many words"),
        ("trace info copy.trace", "I/Os and"),
        ("trace columns", "merged_into"),
        ("trace info in.csv", "failed to"),
        (replay, "report"),
    ] {
        let (_, text) = Terminal::of_columns(80, folder.path(), line).end();
        assert!(text.contains(phrase), "{line}: {text}");
        fits(80, &text);
    }
}

/// The list names every column of a trace, and a CSV file may have these fields.
#[test]
fn the_columns_of_a_trace_are_listed_with_their_units() {
    let folder = Place::new();
    let list = folder.json("trace columns --json");
    let columns = list.list("columns");
    let unit = |name: &str| entry(&list, "columns", "name", name)["unit"].clone();
    assert_eq!(columns.len(), 29);
    assert_eq!(unit("queue_ns"), json!("ns"));
    assert_eq!(unit("bytes"), json!("bytes"));
    let documented = include_str!("../../../../docs/sql.md");
    for column in columns {
        let text_of = |field: &str| column[field].as_str().unwrap();
        let [name, kind, unit, meaning] = ["name", "type", "unit", "meaning"].map(text_of);
        let unit = if unit.is_empty() { "-" } else { unit };
        let row = format!("| `{name}` | {kind} | {unit} | {meaning} |");
        assert!(documented.contains(&row), "docs/sql.md has no line {row}");
    }
    let names = texts(&list, "csv_fields", "name");
    assert_eq!(names.len(), 29 - 3 + 2); // three columns are no fields, two fields no columns
    assert!(!names.contains(&"merged_into") && names.contains(&"latency"));
    let said = folder.done("trace columns");
    let phrases = "depth_at_submit * | submit_ns   | timestamp | but id, layer, merged_into";
    has_words(&said, phrases);
}

#[test]
fn a_csv_is_imported_by_its_column_map() {
    let folder = Place::with_file("in.csv", CSV);
    let import = "trace import in.csv --format csv --unit us";
    let options = format!("--columns {COLUMNS} --out csv.trace");
    let said = folder.done(format!("{import} {options}"));
    let phrases = "4 records | read (3), write (1) | 4 KiB (3), 8 KiB (1) | source_time_of_zero_ns";
    has_words(&said, phrases);
    assert!(said.contains("\n  source                 csv\n"), "{said}");
    let info = folder.json("trace info csv.trace --json");
    let summary = |name: &str| number(&info, &format!("/summary/{name}"));
    assert_eq!((summary("lanes"), summary("deepest")), (2.0, 1.0));
    // The trace lasts from 1000 to 1110 us, and the latencies are 30, 30, 12.5 and 30 us.
    assert_eq!(summary("span_ns"), 110_000.0);
    assert_eq!(summary("u2c/mean_ns"), 25_625.0);
    assert_eq!(summary("u2c/min_ns"), 12_500.0);
    assert_eq!(info["summary"]["q2c"], Value::Null);
}

#[test]
fn bad_lines_stop_the_import_or_are_counted() {
    let folder = Place::with_file("list", "31.2\noops\n-1\n10\n");
    let bad = folder.q2c(format!("trace import list {LIST}"));
    bad.refused(3, "q2c: failed to import list, line 2 | `oops`");
    assert!(!folder.path().join("list.trace").exists());
    let said = folder.q2c(format!("trace import list {LIST} --skip-bad"));
    has_words(&said.done(), "2 records | negative (1), not a number (1)");
}

/// A q2c trace accepts these options only beside another tool's recording, which needs them.
#[test]
fn a_q2c_trace_takes_no_options_of_imports() {
    let folder = Place::with_file("in.csv", CSV);
    let run = |line: &str| folder.q2c(line);
    let map = format!("--unit us --columns {COLUMNS}");
    run(&format!("trace import in.csv -o a.parquet {map}")).done();
    for option in [
        "--unit us",
        "--op read",
        "--bs 4k",
        "--offset-unit 512",
        "--sort",
        "--skip-bad",
        "--read-flag 0",
        "--delimiter ;",
        "--columns op=kind",
        "--blkparse-format %a",
    ] {
        let flag = option.split(' ').next().unwrap();
        let merge = format!("trace import a.parquet a.parquet -o b.parquet {option}");
        run(&merge).refused(2, &[flag]);
        run(&format!("analyze a.parquet {option}")).refused(2, &[flag]);
        if flag != "--bs" {
            run(&format!("poll sim a.parquet --policy mean {option}")).refused(2, &[flag]);
        }
    }
    for command in ["poll sweep a.parquet", "replay a.parquet null"] {
        run(&format!("{command} --unit us")).refused(2, "--unit");
    }
    run(&format!("trace import a.parquet in.csv -o b.parquet {map}")).done();
    run("poll sim a.parquet --policy mean --bs 4k").done();
}

#[test]
fn standard_input_is_a_recording() {
    let folder = Place::new();
    let shell = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(folder.path());
        shell.env("Q2C", env!("CARGO_BIN_EXE_q2c"));
        shell.output().unwrap()
    };
    let row = "419,W,4096,8192,1577808144360767";
    let import = "\"$Q2C\" trace import - --out";
    let output = shell(&format!("echo {row} | gzip | {import} a.trace --json"));
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(info["meta"]["source"], "alibaba");
    assert_eq!(info["meta"]["facts"]["imported_from"], "stdin");
    for (input, phrase) in [
        ("PK\\003\\004", "found a pipe"),
        ("PAR1", "a Parquet file in a pipe"),
    ] {
        let output = shell(&format!("printf '{input}' | {import} b.trace"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        has_words(&stderr, phrase);
    }
    let both = "trace import - - --out b.trace";
    folder.q2c(both).refused(2, "standard input (-) once");
}

#[test]
fn a_disksim_file_needs_its_unit() {
    let folder = Place::with_file("rows", "5 0 8 8 0\n6 0 16 8 1\n");
    let import = "trace import rows --out rows.trace";
    folder.q2c(import).refused(2, "expected the option unit");
    let how = "--unit ms --read-flag 0 --offset-unit 4k --json";
    let info = folder.json(format!("{import} {how}"));
    assert_eq!(number(&info, "/summary/span_ns"), 1_000_000.0);
    assert_eq!(number(&info, "/summary/sizes/32768"), 2.0);
    let wrong = "trace import rows --out more.trace --unit ms --read-flag 2";
    folder.q2c(wrong).refused(2, "--read-flag | 0..=1");
}

/// Copies the first three of five latencies; the description keeps its facts and gets new ones.
#[test]
fn a_part_is_copied_with_facts_of_its_own() {
    let folder = Place::with_file("in.txt", "10\n20\n30\n40\n50\n");
    folder.done(format!("trace import in.txt {LIST}"));
    let copy = "trace copy list.trace --out part.trace --json";
    let facts = "--first 3 --fact 'pattern.source=a disk' --fact terms=a=b";
    let info = folder.json(format!("{copy} {facts}"));
    assert_eq!(number(&info, "/summary/records"), 3.0);
    assert_eq!(number(&info, "/summary/u2c/max_ns"), 30_000.0);
    let known = &info["meta"]["facts"];
    assert_eq!(known["pattern.source"], "a disk");
    assert_eq!(known["terms"], "a=b");
    assert_eq!(known["imported_from"], "in.txt");
    let again = folder.q2c("trace info part.trace --json");
    assert_eq!(again.json(), info);
    // The first latency starts at 0, the second at 10 us.
    let info = folder.json("trace copy list.trace --from 10us --out later.trace --json");
    assert_eq!(number(&info, "/summary/records"), 4.0);
    folder.q2c(copy).refused(2, "part.trace");
    let nothing = "trace copy list.trace --out x.trace --fact alone";
    folder.q2c(nothing).refused(2, "NAME=VALUE");
}

/// The trace of one device in the folder has the figures of a recording of only this device.
#[test]
fn a_device_of_a_folder_is_analysed_as_if_it_were_alone() {
    let folder = Place::new();
    let header = "queue_ns,complete_ns,device,op,bytes,sector\n";
    let line = |n: u64| {
        let (device, op) = (n % 3, if n.is_multiple_of(5) { "write" } else { "read" });
        let (at, end) = (n * 40, n * 40 + 30 + n * n % 977);
        format!("{at},{end},8:{device},{op},4096,{}\n", n * n % 4_001 * 8)
    };
    let is_alone = |n: &u64| n % 3 == 1;
    let rows: String = (0..900).map(line).collect();
    let alone: String = (0..900).filter(is_alone).map(line).collect();
    folder.put("all.csv", format!("{header}{rows}"));
    folder.put("alone.csv", format!("{header}{alone}"));
    let map =
        "queue_ns=queue_ns,complete_ns=complete_ns,device=device,op=op,bytes=bytes,sector=sector";
    let import = |how: &str| {
        let csv = "trace import --format csv --unit us";
        folder.q2c(format!("{csv} --columns {map} {how}"))
    };
    let made = import("all.csv --out fleet --partition-by device --stretch-rows 250 --json").json();
    assert_eq!(number(&made, "/rows"), 900.0);
    assert_eq!(number(&made, "/volumes"), 3.0);
    assert_eq!(number(&made, "/traces"), 6.0);
    import("alone.csv --out alone.parquet").done();
    let parts = ["000000", "000001"].map(|name| format!("fleet/device=8%3A1/{name}.parquet"));
    let [first, second] = &parts;
    let merged = format!("trace import {first} {second} --out joined.parquet");
    folder.done(&merged);
    let analysis = |trace: &str| folder.json(format!("analyze {trace} --json"));
    let (actual, expected) = (analysis("joined.parquet"), analysis("alone.parquet"));
    for figure in ["requests", "stages", "in_flight", "activity", "seeks"] {
        assert!(!expected[figure].is_null(), "{figure}");
        assert_eq!(actual[figure], expected[figure], "{figure}");
    }
    let again = "all.csv --out again --partition-by device";
    let phrases = "900 records of 3 devices in 3 traces";
    has_words(&import(again).done(), phrases);
    import(again).refused(2, "again | expected a new name");
    import("all.csv --out x --partition-by host").refused(2, "device");
}

/// Headers that end in their units need no --unit. The options that an error suggests import the
/// file as they are.
#[test]
fn options_that_an_error_suggests_work_as_pasted() {
    let folder = Place::new();
    let csv = "when_us,kind,where_bytes,how_long_bytes,took_us\n67.9,W,560160768,8192,122.3\n\
               70.1,R,4096,65536,80\n";
    folder.put("own.csv", csv);
    folder.put("bare.csv", "id,when,took\n1,1,2\n2,3,4\n");
    let map = "submit_ns=when_us,op=kind,offset=where_bytes,bytes=how_long_bytes,latency=took_us";
    let import = format!("trace import own.csv -o own.trace --json --columns {map}");
    let info = folder.json(import);
    assert_eq!(number(&info, "/summary/u2c/max_ns"), 122_300.0);
    // The first request ends last.
    assert_eq!(number(&info, "/summary/span_ns"), 122_300.0);

    for (name, start) in [
        ("own.csv", map),
        ("bare.csv", "submit_ns=when,latency=took"),
    ] {
        let import = format!("trace import {name} -o {name}.trace");
        let ended = folder.q2c(&import);
        let stderr = ended.stderr.clone();
        ended.refused(2, &["say with --columns", start]);
        let (_, suggested) = stderr.split_once("such as ").unwrap();
        let (suggested, _) = suggested.split_once(" (").unwrap();
        // UNIT stands for what only the user knows.
        let pasted = suggested.replace("UNIT", "us");
        let info = folder.json(format!("{import} {pasted} --json"));
        assert_eq!(number(&info, "/summary/records"), 2.0, "{suggested}");
    }
}
