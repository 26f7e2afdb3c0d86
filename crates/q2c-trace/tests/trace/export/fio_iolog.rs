//! fio's log, read back by the importer and by fio itself.

use super::{block, export, export_all, three, window};
use crate::support::import;
use q2c_model::{IoRecord, Layer, Op, TraceMeta};
use q2c_trace::export::ExportCounts;
use q2c_trace::import::ImportOptions;
use std::process::Command;

fn log(records: &[IoRecord]) -> (String, ExportCounts) {
    export_all("fio-iolog", records)
}

#[test]
fn lines_by_hand() {
    let mut records = three();
    records.push(block(3, Op::Other, 8, 512, [80_000, -1, -1, -1, -1]));
    records.push(block(4, Op::Discard, 16, 1 << 20, [80_999, -1, -1, -1, -1]));
    records.push(block(5, Op::Write, 16, 0, [81_000, -1, -1, -1, -1]));
    let (text, exported) = log(&records);
    let wanted = "\
fio version 3 iolog
0 device-259-3 add
0 device-259-3 open
0 device-259-3 read 4096 4096
1 device-259-3 write 4398046511104 512
70 device-259-3 sync 0 0
80 device-259-3 trim 8192 1048576
80 device-259-3 close
";
    assert_eq!(text, wanted);
    assert_eq!(exported.written, 4);
    let left_out = [("operation without a word in fio", 1), ("zero length", 1)];
    assert_eq!(exported.left_out, left_out.into());
}

#[test]
fn a_window_counts_from_its_beginning_and_the_file_keeps_its_name() {
    let meta = TraceMeta {
        file: Some("/data/my file".to_owned()),
        ..TraceMeta::default()
    };
    let (text, _) = export("fio-iolog", &meta, &three(), &window(1_000, 60_000)).unwrap();
    let lines: Vec<&str> = text.lines().skip(3).collect();
    let wanted = [
        "0 /data/my_file write 4398046511104 512",
        "0 /data/my_file close",
    ];
    assert_eq!(lines, wanted);
}

fn many() -> Vec<IoRecord> {
    let ops = [Op::Read, Op::Write, Op::Read, Op::Discard, Op::Read];
    let one = |id: u64| {
        let at = i64::try_from(id * 1_000).unwrap();
        let op = ops[usize::try_from(id % 5).unwrap()];
        let (sector, times) = ((id * 7_919) % 100_000 * 8, [at, -1, -1, -1, -1]);
        let mut record = block(id, op, sector, 4096, times);
        record.device.minor = u32::try_from(id % 2).unwrap();
        record
    };
    (0..5_000).map(one).collect()
}

#[test]
fn the_importer_reads_it_back() {
    let records = many();
    let (text, _) = log(&records);
    let options = ImportOptions::default();
    let (mut back, meta) = import("fio-iolog", "some", text.as_bytes(), &options).unwrap();
    assert_eq!(meta.facts["device.1:1"], "device-259-1");
    // fio's log lacks the layer and the device's number.
    for (back, record) in back.iter_mut().zip(&records) {
        (back.layer, back.device, back.error) = (Layer::Block, record.device, record.error);
        back.queue_ns = back.submit_ns.take();
    }
    assert_eq!(back, records);
}

#[test]
fn fio_replays_it() {
    let test = "export::fio_iolog::fio_replays_it";
    if Command::new("fio").arg("--version").output().is_err() {
        return q2c_testkit::skip(test, "fio is not installed");
    }
    let mut records = many();
    // fio before the end of 2023 does not replay trims, so they become flushes, which have no
    // length.
    for record in records.iter_mut().filter(|r| r.op == Op::Discard) {
        (record.op, record.bytes.0) = (Op::Flush, 0);
    }
    let (text, _) = log(&records);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("log"), text).unwrap();
    let options = [
        "--name=replay",
        "--ioengine=null",
        "--read_iolog=log",
        "--replay_no_stall=1",
        "--output-format=json",
    ];
    let mut fio = Command::new("fio");
    let fio = fio.args(options).current_dir(folder.path()).output();
    let fio = fio.unwrap();
    let json = String::from_utf8_lossy(&fio.stdout);
    let errors = String::from_utf8_lossy(&fio.stderr);
    assert!(fio.status.success(), "{json}{errors}");
    let result: serde_json::Value = serde_json::from_str(&json[json.find('{').unwrap()..]).unwrap();
    let job = &result["jobs"][0];
    let number = |kind: &str, name: &str| job[kind][name].as_u64();
    let done = |kind: &str| (number(kind, "total_ios"), number(kind, "io_bytes"));
    // fio must not refuse or lose a line: of 5000 requests, two in five are no reads.
    assert_eq!(done("read"), (Some(3_000), Some(3_000 * 4096)));
    assert_eq!(done("write"), (Some(1_000), Some(1_000 * 4096)));
    assert_eq!(job["sync"]["total_ios"].as_u64(), Some(1_000));
}
