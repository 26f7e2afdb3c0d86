//! One small file per format. The expected records follow by hand from the format's description.

use super::{import, in_sectors, in_unit, options};
use q2c_model::{Bytes, IoRecord, Layer, Nanos, Sectors};
use q2c_trace::import::{ImportOptions, TimeUnit, sniff};

/// Parses a request from a line: device, operation, sector + bytes, start and end (ns since the
/// first start, `-` if unknown), depth, and the process's number and name.
fn record(id: u64, layer: Layer, line: &str) -> IoRecord {
    let cells: Vec<&str> = line.split(' ').collect();
    let number = |word: &str| word.parse::<u64>().ok();
    let (sector, bytes) = cells[2].split_once('+').unwrap();
    let (sector, bytes) = (number(sector).unwrap(), number(bytes).unwrap());
    let (device, op) = (cells[0].parse().unwrap(), cells[1].parse().unwrap());
    let mut record = IoRecord::new(id, layer, device, op, Sectors(sector), Bytes(bytes));
    let (start, end) = (number(cells[3]).map(Nanos), number(cells[4]).map(Nanos));
    match layer {
        Layer::Block => (record.queue_ns, record.complete_ns) = (start, end),
        Layer::User => (record.submit_ns, record.reap_ns) = (start, end),
    }
    record.depth_at_submit = cells[5].parse().unwrap();
    record.pid = cells.get(6).and_then(|pid| pid.parse().ok());
    record.comm = cells.get(7).map(|name| (*name).to_owned());
    record
}

/// Checks that the format is recognised, imports the text, and compares the requests and the facts
/// in the description.
fn check(format: &str, text: &[u8], options: &ImportOptions, requests: &[&str], facts: &[&str]) {
    assert_eq!(sniff(text).map(|f| f.name), Some(format));
    let (records, meta) = import(format, text, options).unwrap();
    let is_log = format == "fio-iolog";
    let layer = if is_log { Layer::User } else { Layer::Block };
    let expected = requests.iter().zip(0..);
    let expected: Vec<_> = expected.map(|(line, id)| record(id, layer, line)).collect();
    assert_eq!(records, expected, "{format}");
    assert_eq!(meta.source, format);
    assert!(meta.unmatched.is_empty());
    for fact in facts {
        let (name, value) = fact.split_once('=').unwrap();
        let actual = match name {
            "source_version" => meta.source_version.clone(),
            "start_unix_ns" => meta.start_unix_ns.unwrap().to_string(),
            name => meta.facts[name].clone(),
        };
        assert_eq!(actual, value, "{format}: {name}");
    }
}

macro_rules! golden {
    ($format:literal, $file:literal, $options:expr, $requests:expr, $facts:expr) => {
        let text = include_bytes!(concat!("../data/public/", $file));
        check($format, text, &$options, &$requests, &$facts);
    };
}

#[test]
fn tables_of_public_traces() {
    let requests = [
        "1:419 write 17173304+16384 0 - 1",
        "1:725 read 115449856+362496 0 - 1",
        "1:419 read 0+512 233000 - 1",
    ];
    let zero = "source_time_of_zero_ns=1577808144360767000";
    let facts = ["start_unix_ns=1577808144360767000", zero];
    golden!("alibaba", "alibaba.csv", options(), requests, facts);
    let requests = [
        "1:1063 read 12910952+65536 0 - 1",
        "1:1627 write 6338688+4096 0 - 1",
        "1:1063 read 0+512 3000000000 - 1",
    ];
    golden!("tencent", "tencent.csv", options(), requests, []);
    // The same file, read with offsets in units of 4 KiB.
    let requests = [
        "1:1063 read 103287616+65536 0 - 1",
        "1:1627 write 50709504+4096 0 - 1",
        "1:1063 read 0+512 3000000000 - 1",
    ];
    let mut offsets = options();
    offsets.offset_unit = Some(Bytes(4096));
    golden!("tencent", "tencent.csv", offsets, requests, []);
    let requests = [
        "1:0 write 20941264+8192 0 - 1",
        "1:0 write 20939840+8192 2335000 - 1",
        "1:1 read 3436288+15872 460026000 - 1",
    ];
    golden!("spc", "spc.csv", options(), requests, []);
    // The second and the third request start together, so the third has the second in flight.
    let requests = [
        "1:0 read 13700410+24576 0 4128600 1",
        "1:0 write 4917376+4096 1332052600 1333508600 1",
        "2:2 read 1+1024 1332052600 1332052600 2",
    ];
    let hosts = ["device.major.1=host usr", "device.major.2=host proj"];
    let facts = [&["start_unix_ns=1172163600306162900"], &hosts[..]].concat();
    golden!("msr", "msr.csv", options(), requests, facts);
    // A lost response has neither end nor type. A header line in the middle is skipped.
    let requests = [
        "1:4 read 150014+4096 0 502000 1",
        "1:0 other 2+8192 500 - 2",
        "1:4 write 1+512 39000 1039000 2",
    ];
    golden!("systor17", "systor17.csv", options(), requests, []);
}

#[test]
fn lines_with_blanks() {
    // In a name that is not UTF-8, the bad bytes are replaced.
    let requests = [
        "6:0 write 904265560+4096 0 - 1 4892 syslogd",
        "253:1 read 0+8192 1047576 - 1 2522 kj\u{fffd}d",
    ];
    golden!("fiu", "fiu.txt", options(), requests, []);
    let mut stated = in_unit(TimeUnit::Milliseconds);
    let requests = ["1:1 read 8+8192 0 - 1", "1:0 write 24+4096 2500000 - 1"];
    golden!("disksim", "disksim.txt", stated, requests, []);
    stated.read_flag = Some(0);
    let requests = ["1:1 write 8+8192 0 - 1", "1:0 read 24+4096 2500000 - 1"];
    golden!("disksim", "disksim.txt", stated, requests, []);
    let requests = [
        "0:0 read 6094848+4096 0 300000000 1",
        "0:0 write 0+8192 150000000 500000000 2",
    ];
    golden!("nexus5", "nexus5.txt", in_sectors(), requests, []);
}

#[test]
fn logs_of_events() {
    // The events are in the order of completion, and the requests in that of their starts.
    let requests = [
        "1:1 read 4096+8192 0 500000 1 2404 sqlservr.exe",
        "1:0 write 8+512 300000 400000 2 4 System",
        "1:0 flush 0+0 550000 600000 1 - Unknown",
    ];
    golden!("ms-etw", "ms-etw.csv", options(), requests, []);
    let requests = [
        "1:0 read 8+8192 0 - 1",
        "1:0 flush 0+0 2000 - 1",
        "1:0 discard 0+1048576 20000 - 1",
    ];
    let facts = ["source_version=3", "device.1:0=/dev/nvme0n1"];
    golden!("fio-iolog", "fio-3.log", options(), requests, facts);
    let requests = [
        "1:1 write 1+512 0 - 1",
        "1:0 read 0+4096 250000 - 1",
        "1:0 flush 0+0 300000 - 1",
    ];
    let facts = ["source_version=2", "device.1:1=/tmp/b"];
    golden!("fio-iolog", "fio-2.log", options(), requests, facts);
}

/// Two records of 40 bytes: a read of 4 KiB at block 5 from 1000 to 1250 us, and a write of 512
/// bytes at 1200 us.
#[test]
fn vscsi_2() {
    let record = |command: u16, length: u32, block: u64, at: u64, took: u64| {
        let mut bytes = command.to_le_bytes().to_vec();
        bytes.extend(0x0200u16.to_le_bytes());
        bytes.extend([7, length, 1].map(u32::to_le_bytes).concat());
        bytes.extend([block, at, took].map(u64::to_le_bytes).concat());
        bytes
    };
    let read = record(0x28, 4096, 5, 1_000, 250);
    let file = [read, record(0x8a, 512, 6, 1_200, 100)].concat();
    assert_eq!(file.len(), 80);
    let requests = [
        "0:0 read 5+4096 0 250000 1",
        "0:0 write 6+512 200000 300000 2",
    ];
    check("vscsi", &file, &options(), &requests, &[]);
}
