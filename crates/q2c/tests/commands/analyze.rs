//! Tests of `q2c analyze`.

use crate::blktrace::BlktraceRecord;
use crate::program::*;
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors, TraceMeta};
use q2c_trace::TraceWriter;

/// The blktrace record of an event of a 4 KiB read on the device 259:0.
fn record(cpu: u32, sequence: u32, us: u64, action: u32, sector: u64) -> Vec<u8> {
    let event = BlktraceRecord {
        ns: us * 1000,
        cpu,
        action,
        category: 1,
        sector,
        bytes: 4096,
        device: (259, 0),
    };
    event.record(sequence)
}

/// A folder with blktrace's files of ten reads, one every 50 us, by a process called `db`. Q, G and
/// D are on CPU 0, C is on CPU 2. Q2G takes 10 us, G2D 20 us and D2C 70 us.
fn two_files() -> Place {
    const NOTE: u32 = 0x400 << 16;
    let mut note = record(0, 0, 0, 0, 0);
    note[28..32].copy_from_slice(&NOTE.to_le_bytes());
    note[46..48].copy_from_slice(&16u16.to_le_bytes()); // the payload's length
    note.extend(b"db\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let (mut events, mut completions) = (Vec::new(), Vec::new());
    for n in 0..10u64 {
        for (action, after_us) in [(1, 0), (4, 10), (7, 30)] {
            events.push((n * 50 + after_us, action, n * 64));
        }
        completions.extend(record(2, n as u32 + 1, n * 50 + 100, 8, n * 64));
    }
    events.sort_unstable();
    let numbered = (1u32..).zip(events);
    let queued = numbered.flat_map(|(n, (us, action, sector))| record(0, n, us, action, sector));
    let file_0: Vec<u8> = note.into_iter().chain(queued).collect();
    let folder = Place::with_file("nvme0n1.blktrace.0", file_0);
    folder.put("nvme0n1.blktrace.2", completions);
    folder
}

fn check_figures(result: &Value) {
    let figure = |pointer: &str| number(result, pointer);
    assert_eq!(result["schema"], "q2c.analyze/1");
    assert_eq!(figure("/requests"), 10.0);
    assert_eq!(figure("/completed"), 10.0);
    assert_eq!(figure("/issued"), 10.0);
    for (stage, ns) in [
        ("Q2G", 10_000.0),
        ("G2D", 20_000.0),
        ("D2C", 70_000.0),
        ("Q2C", 100_000.0),
    ] {
        for field in ["min_ns", "mean_ns", "max_ns", "p50_ns", "p9999_ns"] {
            let got = figure(&format!("/stages/{stage}/{field}"));
            assert_eq!(got, ns, "{stage} {field}");
        }
        assert_eq!(figure(&format!("/stages/{stage}/n")), 10.0);
    }
    assert_eq!(figure("/stages/Q2Q/mean_ns"), 50_000.0);
    // The reads last from 0 to 550 us: ten of 100 us each, with at most two in flight.
    assert_eq!(figure("/span_ns"), 550_000.0);
    assert_eq!(figure("/in_flight/sum_q2c_ns"), 1_000_000.0);
    assert_eq!(figure("/in_flight/integral_ns"), 1_000_000.0);
    assert_eq!(figure("/in_flight/most"), 2.0);
    assert_eq!(result["groups"]["process"][0]["key"], "db (42)");
    // Each read starts 56 sectors after the end of the one before.
    assert_eq!(figure("/seeks/0/mean_sectors"), 56.0);
    // The bottleneck is the largest stage before the driver with at least 20 % of the time. G2D has
    // exactly that.
    assert_eq!(result["bottleneck"]["stage"], "G2D");
    assert_eq!(result["unmatched"], serde_json::json!({}));
}

#[test]
fn blktrace_and_the_trace_imported_from_it_say_the_same() {
    let folder = two_files();
    let direct = folder.json("analyze nvme0n1 --json");
    check_figures(&direct);
    assert_eq!(direct["warnings"][0]["id"], "missing-cpu-files");
    assert_eq!(direct["input"]["facts"]["cpus_without_file"], "1");
    let info = folder.done("trace import nvme0n1 --format blktrace --out t.parquet");
    has_words(&info, "10 records | 259:0 (10)");
    // `diff` analyses a trace as well, and finds it equal to itself.
    let same = folder.done("diff t.parquet t.parquet");
    has_words(&same, "▸ Single values, which tell nothing apart\n");
    let imported = folder.json("analyze t.parquet --json");
    check_figures(&imported);
    for part in split("stages groups in_flight seeks bottleneck activity unmatched") {
        assert_eq!(imported[part], direct[part], "{part}");
    }
}

/// Two processes read. The reads of one are analysed as if the other process did not exist.
#[test]
fn one_process_is_analysed_alone() {
    let folder = Place::new();
    let row = |n: u32| {
        let (comm, pid) = [("db", 7), ("backup", 9)][usize::from(!n.is_multiple_of(4))];
        let (begin, end) = (n * 100, n * 100 + 20 + pid);
        format!("{begin},{end},read,4096,{comm},{pid}\n")
    };
    let rows: String = (0..40).map(row).collect();
    let head = "queue_ns,complete_ns,op,bytes,comm,pid\n";
    folder.put("in.csv", format!("{head}{rows}"));
    let analyze = |how: &str| folder.q2c(format!("analyze in.csv --format csv --unit us {how}"));
    for process in ["db", "7"] {
        let result = analyze(&format!("--process {process} --json")).json();
        assert_eq!(number(&result, "/requests"), 10.0);
        assert_eq!(number(&result, "/stages/Q2C/max_ns"), 27_000.0);
        assert_eq!(result["input"]["facts"]["analyzed.process"], process);
    }
    let said = analyze("--process db").done();
    has_words(&said, "10 I/Os of process db in 3.63 ms");
    let others = "find process fio in in.csv | backup (9), db (7) | q2c analyze";
    analyze("--process fio").refused(3, others);
    folder.put("in.csv", "queue_ns,complete_ns,op,bytes\n0,20,read,4096\n");
    analyze("--process fio").refused(3, "found none | q2c trace record DISK");
    analyze("").done();
}

#[test]
fn btt_s_tables_hold_the_same_in_seconds() {
    let folder = two_files();
    let said = folder.done("analyze nvme0n1 --btt");
    for row in [
        "Q2Q 0.000050000 0.000050000 0.000050000 9",
        "D2C 0.000070000 0.000070000 0.000070000 10",
        "Overall | 10.0000% | 20.0000% | 70.0000%",
        "TOTAL 10 10 1.0",
        "259:0 9 56.0 56",
    ] {
        let name = row.split(' ').next().unwrap();
        let mut lines = said.lines().map(str::trim_start);
        let line = lines.find(|line| line.starts_with(name)).unwrap();
        assert_eq!(split(line), split(row));
    }
}

#[test]
fn other_recordings_are_analysed_directly() {
    let folder = Place::with_file("list", "10\n20\n30\n");
    let result = folder.json("analyze list --unit us --op read --bs 4k --json");
    assert_eq!(result["layer"], "user");
    assert_eq!(number(&result, "/stages/U2C/mean_ns"), 20_000.0);
    assert_eq!(number(&result, "/in_flight/mean"), 1.0);
    assert_eq!(result["bottleneck"], Value::Null);
    folder.done("trace import list --format latency-list --unit us --op read --bs 4k --out t");
    let same = folder.done("diff t t");
    has_words(&same, "▸ Single values, which tell nothing apart\n");
}

#[test]
fn what_cannot_be_analysed_is_said() {
    let folder = Place::new();
    let mut bytes = record(0, 1, 1, 1, 8);
    bytes.extend([7; 48]);
    folder.put("bad.blktrace.0", bytes);
    let bad = folder.q2c("analyze bad");
    bad.refused(3, "offset 48 | 07 07 07 07");
    let skipped = folder.json("analyze bad --skip-bad --json");
    assert_eq!(number(&skipped, "/unmatched/no record"), 1.0);
}

#[test]
fn a_page_is_written_once_and_drawn_again_from_the_result() {
    let folder = two_files();
    let result = folder.json("analyze nvme0n1 --json --html a.html --window 120us..130us");
    let page = folder.text("a.html");
    // The two reads in flight were queued at 50 and 100 us, and complete at 150 and 200 us.
    let window = entry(&result, "excerpts", "what", "window");
    let ios = window.list("ios").iter();
    let queued: Vec<f64> = ios.map(|io| number(io, "/queue_ns")).collect();
    assert_eq!(queued, [50_000.0, 100_000.0]);
    let again = folder.q2c("analyze nvme0n1 --html a.html");
    again.refused(2, "a.html | existing file");
    let backwards = folder.q2c("analyze nvme0n1 --window 2ms..1ms");
    backwards.refused(2, "the first the smaller");
    folder.put("result.json", result.to_string());
    folder.done("report result.json --html b.html");
    assert_eq!(folder.text("b.html"), page);
    let table = folder.done("report result.json --csv");
    has_words(&table, "all,,D2C,,,70000,70000,70000,70000,10,");
}

/// Writes a trace of 259:0, which had four queues of two CPUs each, and of 8:0, whose queues the
/// trace does not state. On 259:0 CPU 0 reads 300 times and CPU 2 100 times, each in its own queue.
/// CPU 4 writes 60 times, 15 of them in queue 3, which is not its own.
fn write_queued(path: &Path) {
    let map = ["device.259:0.queues", "0:0-1 1:2-3 2:4-5 3:6-7"].map(str::to_owned);
    let meta = TraceMeta {
        facts: [map.into()].into(),
        ..TraceMeta::default()
    };
    let mut writer = TraceWriter::create(path, meta).unwrap();
    let mut records = Vec::new();
    for (device, op, hctx, cpu, n) in [
        ((259, 0), Op::Read, 0, 0, 300),
        ((259, 0), Op::Read, 1, 2, 100),
        ((259, 0), Op::Write, 2, 4, 45),
        ((259, 0), Op::Write, 3, 4, 15),
        ((8, 0), Op::Read, 0, 0, 10),
    ] {
        for _ in 0..n {
            let (major, minor) = device;
            let (id, sector) = (records.len() as u64, Sectors(8 * records.len() as u64));
            let device = DevId { major, minor };
            let new = IoRecord::new(id, Layer::Block, device, op, sector, Bytes(4096));
            records.push(IoRecord {
                queue_ns: Some(Nanos(1_000 * id)),
                complete_ns: Some(Nanos(1_000 * id + 500)),
                cpu_submit: Some(cpu),
                hctx: Some(hctx),
                ..new
            });
        }
    }
    writer.push(&records).unwrap();
    writer.finish().unwrap();
}

/// Neither direction is spread evenly over all queues. By the map from CPUs to queues, all reads
/// are in the right queue, but 15 of 60 writes are not.
#[test]
fn queues_by_device_and_direction() {
    let folder = Place::new();
    write_queued(&folder.path().join("t.parquet"));
    let result = folder.json("analyze t.parquet --json");
    let [known, unknown] = ["259:0", "8:0"].map(|name| entry(&result, "queues", "device", name));
    assert_eq!(known["queues"], json!(4));
    assert_eq!(unknown["queues"], Value::Null);
    let (reads, writes) = (&known["reads"], &known["writes"]);
    assert_eq!(reads["unused"], json!([2, 3]));
    assert_eq!(writes["unused"], json!([0, 1]));
    assert_eq!(reads["even"]["verdict"], json!("uneven"));
    assert_eq!(reads["map"]["verdict"], json!("as-mapped"));
    assert_eq!(number(reads, "/queues/0/expected"), 0.75);
    assert_eq!(number(reads, "/even/queues"), 4.0);
    assert_eq!(number(writes, "/map/misplaced"), 0.25);
    assert_eq!(number(writes, "/map/off_map"), 15.0);
    assert_eq!(writes["map"]["verdict"], "otherwise");
    assert_eq!(number(known, "/all/requests"), 460.0);
    assert_eq!(unknown["all"]["unused"], Value::Null);
    assert_eq!(unknown["writes"], Value::Null);
}

/// A table of starts and latencies is analysed as such: it has Q2C, and no stage, bottleneck or
/// seek is invented. The result states the mapped column.
#[test]
fn a_start_and_a_latency_are_no_stages() {
    let folder = Place::new();
    let rows = (0..100).map(|n| format!("{},{},t{}", n * 50, 20 + n % 2 * 20, n % 4 / 3));
    let rows: Vec<String> = rows.collect();
    folder.put("in.csv", format!("start,took,tenant\n{}", rows.join("\n")));
    let columns = "--columns queue_ns=start,latency=took,comm=tenant";
    let import = "trace import in.csv --format csv --unit us --op read --bs 4k --out t";
    folder.done(format!("{import} {columns}"));
    let result = folder.json("analyze t --json");
    assert_eq!(number(&result, "/stages/Q2C/mean_ns"), 30_000.0);
    assert!(result["bottleneck"].is_null(), "{}", result["bottleneck"]);
    assert_eq!(result["seeks"], json!([]));
    assert_eq!(result["warnings"][0]["id"], "start-and-latency");
    let tenants = result["groups"].list("process").iter();
    let tenants = tenants.map(|t| (t["key"].clone(), number(t, "/requests")));
    let wanted = [(json!("t0"), 75.0), (json!("t1"), 25.0)];
    assert_eq!(tenants.collect::<Vec<_>>(), wanted);
    let said = folder.done("analyze t");
    for made_up in ["most time:", "rest"] {
        assert!(!said.contains(made_up), "{said}");
    }
}

/// A trace of many processes, one with a name longer than any kernel's. The result has a limited
/// number of groups, cuts the name, and says what it leaves out.
#[test]
fn a_trace_with_more_and_longer_names_than_a_machine_has() {
    const PROCESSES: u32 = 10_000;
    let folder = Place::new();
    let path = folder.path().join("t.parquet");
    let mut writer = TraceWriter::create(&path, TraceMeta::default()).unwrap();
    let device = DevId { major: 8, minor: 0 };
    let record = |n: u32| {
        let ns = u64::from(n) * 1_000;
        let new = IoRecord::new(ns, Layer::User, device, Op::Read, Sectors(0), Bytes(4096));
        let long = (n == 0).then(|| "x".repeat(5 << 20));
        IoRecord {
            submit_ns: Some(Nanos(ns)),
            reap_ns: Some(Nanos(ns + 500)),
            pid: Some(n),
            comm: long.or_else(|| Some(format!("process {n}"))),
            ..new
        }
    };
    let records: Vec<IoRecord> = (0..PROCESSES).map(record).collect();
    writer.push(&records).unwrap();
    writer.finish().unwrap();
    let result = folder.json("analyze t.parquet --json --html page.html");
    let groups = result["groups"].list("process");
    assert!(groups.len() <= 513, "{}", groups.len());
    assert_eq!(groups.last().unwrap()["key"], "others");
    let longest = groups.iter().map(|g| g["key"].as_str().unwrap().len());
    assert!(longest.max().unwrap() < 100);
    let warning = entry(&result, "warnings", "id", "names-left-out");
    let phrases = "1 names of processes were cut";
    has_words(&warning["found"].to_string(), phrases);
    let page = fs::metadata(folder.path().join("page.html")).unwrap();
    assert!(page.len() < 16 << 20, "{}", page.len());
}
