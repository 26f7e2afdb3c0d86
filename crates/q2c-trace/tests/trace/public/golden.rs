//! One small file per format. The expected records are worked out by hand from the format's
//! description.

use super::{import, in_sectors, in_unit, options};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors};
use q2c_trace::import::{ImportOptions, TimeUnit, sniff};

/// Device, operation, sector, bytes, start and end; times in nanoseconds from the first start.
type GoldenRequest = ((u32, u32), Op, u64, u64, u64, Option<u64>);

fn record(id: u64, layer: Layer, request: GoldenRequest) -> IoRecord {
    let ((major, minor), op, sector, bytes, start, end) = request;
    let device = DevId { major, minor };
    let mut record = IoRecord::new(id, layer, device, op, Sectors(sector), Bytes(bytes));
    match layer {
        Layer::Block => {
            (record.queue_ns, record.complete_ns) = (Some(Nanos(start)), end.map(Nanos));
        }
        Layer::User => (record.submit_ns, record.reap_ns) = (Some(Nanos(start)), end.map(Nanos)),
    }
    record
}

/// Checks that the format is recognised, imports the text, and compares. `depths` are the expected
/// depths, 1 where missing.
fn check(
    format: &str,
    text: &[u8],
    options: &ImportOptions,
    requests: &[GoldenRequest],
    depths: &[u32],
) {
    assert_eq!(sniff(text).map(|f| f.name), Some(format));
    let (records, meta) = import(format, text, options).unwrap();
    let is_log = format == "fio-iolog";
    let layer = if is_log { Layer::User } else { Layer::Block };
    let one = |(id, request): (usize, &GoldenRequest)| {
        let mut record = record(id as u64, layer, *request);
        record.depth_at_submit = depths.get(id).copied().unwrap_or(1);
        record
    };
    let expected: Vec<IoRecord> = requests.iter().enumerate().map(one).collect();
    let plain = |record: &IoRecord| {
        let mut record = record.clone();
        (record.pid, record.comm) = (None, None);
        record
    };
    let records: Vec<IoRecord> = records.iter().map(plain).collect();
    assert_eq!(records, expected, "{format}");
    assert_eq!(meta.source, format);
    assert!(meta.unmatched.is_empty());
}

#[test]
fn alibaba() {
    let text = include_bytes!("../data/public/alibaba.csv");
    let requests = [
        ((1, 419), Op::Write, 17_173_304, 16_384, 0, None),
        ((1, 725), Op::Read, 115_449_856, 362_496, 0, None),
        ((1, 419), Op::Read, 0, 512, 233_000, None),
    ];
    check("alibaba", text, &options(), &requests, &[]);
    let (_, meta) = import("alibaba", text, &options()).unwrap();
    assert_eq!(meta.start_unix_ns, Some(1_577_808_144_360_767_000));
    let zero = &meta.facts["source_time_of_zero_ns"];
    assert_eq!(zero, "1577808144360767000");
}

#[test]
fn tencent() {
    let text = include_bytes!("../data/public/tencent.csv");
    let mut requests = [
        ((1, 1063), Op::Read, 12_910_952, 65_536, 0, None),
        ((1, 1627), Op::Write, 6_338_688, 4096, 0, None),
        ((1, 1063), Op::Read, 0, 512, 3_000_000_000, None),
    ];
    check("tencent", text, &options(), &requests, &[]);
    // The same file, read with offsets in units of 4 KiB.
    let mut options = options();
    options.offset_unit = Some(Bytes(4096));
    (requests[0].2, requests[1].2) = (103_287_616, 50_709_504);
    check("tencent", text, &options, &requests, &[]);
}

#[test]
fn spc() {
    let text = include_bytes!("../data/public/spc.csv");
    let requests = [
        ((1, 0), Op::Write, 20_941_264, 8192, 0, None),
        ((1, 0), Op::Write, 20_939_840, 8192, 2_335_000, None),
        ((1, 1), Op::Read, 3_436_288, 15_872, 460_026_000, None),
    ];
    check("spc", text, &options(), &requests, &[]);
}

/// The second and the third request start together, so the third finds the second in flight.
#[test]
fn msr() {
    let text = include_bytes!("../data/public/msr.csv");
    let (start, end) = (1_332_052_600, 1_333_508_600);
    let requests = [
        ((1, 0), Op::Read, 13_700_410, 24_576, 0, Some(4_128_600)),
        ((1, 0), Op::Write, 4_917_376, 4096, start, Some(end)),
        ((2, 2), Op::Read, 1, 1024, start, Some(start)),
    ];
    check("msr", text, &options(), &requests, &[1, 1, 2]);
    let (records, meta) = import("msr", text, &options()).unwrap();
    assert!(records.iter().all(|record| record.comm.is_none()));
    assert_eq!(meta.start_unix_ns, Some(1_172_163_600_306_162_900));
    assert_eq!(meta.facts["device.major.1"], "host usr");
    assert_eq!(meta.facts["device.major.2"], "host proj");
}

/// A lost response leaves no end and no type. A header line in the middle is no request.
#[test]
fn systor17() {
    let text = include_bytes!("../data/public/systor17.csv");
    let requests = [
        ((1, 4), Op::Read, 150_014, 4096, 0, Some(502_000)),
        ((1, 0), Op::Other, 2, 8192, 500, None),
        ((1, 4), Op::Write, 1, 512, 39_000, Some(1_039_000)),
    ];
    check("systor17", text, &options(), &requests, &[1, 2, 2]);
}

/// A name that is not UTF-8 is kept with its bad bytes replaced.
#[test]
fn fiu() {
    let text = include_bytes!("../data/public/fiu.txt");
    let requests = [
        ((6, 0), Op::Write, 904_265_560, 4096, 0, None),
        ((253, 1), Op::Read, 0, 8192, 1_047_576, None),
    ];
    check("fiu", text, &options(), &requests, &[]);
    let (records, _) = import("fiu", text, &options()).unwrap();
    let who = |at: usize| (records[at].pid, records[at].comm.as_deref());
    assert_eq!(who(0), (Some(4892), Some("syslogd")));
    assert_eq!(who(1), (Some(2522), Some("kj\u{fffd}d")));
}

#[test]
fn disksim() {
    let text = include_bytes!("../data/public/disksim.txt");
    let mut requests = [
        ((1, 1), Op::Read, 8, 8192, 0, None),
        ((1, 0), Op::Write, 24, 4096, 2_500_000, None),
    ];
    let mut options = in_unit(TimeUnit::Milliseconds);
    check("disksim", text, &options, &requests, &[]);
    options.read_flag = Some(0);
    (requests[0].1, requests[1].1) = (Op::Write, Op::Read);
    check("disksim", text, &options, &requests, &[]);
}

#[test]
fn nexus5() {
    let text = include_bytes!("../data/public/nexus5.txt");
    let requests = [
        ((0, 0), Op::Read, 6_094_848, 4096, 0, Some(300_000_000)),
        ((0, 0), Op::Write, 0, 8192, 150_000_000, Some(500_000_000)),
    ];
    check("nexus5", text, &in_sectors(), &requests, &[1, 2]);
}

/// The events are in the order of completion; the requests come out in the order of their starts.
#[test]
fn ms_etw() {
    let text = include_bytes!("../data/public/ms-etw.csv");
    let requests = [
        ((1, 1), Op::Read, 4096, 8192, 0, Some(500_000)),
        ((1, 0), Op::Write, 8, 512, 300_000, Some(400_000)),
        ((1, 0), Op::Flush, 0, 0, 550_000, Some(600_000)),
    ];
    check("ms-etw", text, &options(), &requests, &[1, 2, 1]);
    let (records, _) = import("ms-etw", text, &options()).unwrap();
    let who = |at: usize| (records[at].pid, records[at].comm.as_deref());
    assert_eq!(who(0), (Some(2404), Some("sqlservr.exe")));
    assert_eq!(who(1), (Some(4), Some("System")));
    assert_eq!(who(2), (None, Some("Unknown")));
}

#[test]
fn fio_iolog_3() {
    let text = include_bytes!("../data/public/fio-3.log");
    let requests = [
        ((1, 0), Op::Read, 8, 8192, 0, None),
        ((1, 0), Op::Flush, 0, 0, 2_000, None),
        ((1, 0), Op::Discard, 0, 1_048_576, 20_000, None),
    ];
    check("fio-iolog", text, &options(), &requests, &[]);
    let (_, meta) = import("fio-iolog", text, &options()).unwrap();
    assert_eq!(meta.source_version, "3");
    assert_eq!(meta.facts["device.1:0"], "/dev/nvme0n1");
}

#[test]
fn fio_iolog_2() {
    let text = include_bytes!("../data/public/fio-2.log");
    let requests = [
        ((1, 1), Op::Write, 1, 512, 0, None),
        ((1, 0), Op::Read, 0, 4096, 250_000, None),
        ((1, 0), Op::Flush, 0, 0, 300_000, None),
    ];
    check("fio-iolog", text, &options(), &requests, &[]);
    let (_, meta) = import("fio-iolog", text, &options()).unwrap();
    assert_eq!(meta.source_version, "2");
    assert_eq!(meta.facts["device.1:1"], "/tmp/b");
}

/// Two records of 40 bytes: a read of 4 KiB at block 5 from 1000 to 1250 us, and a write of 512
/// bytes at 1200 us.
#[test]
fn vscsi_2() {
    let one = |command: u16, length: u32, block: u64, at: u64, took: u64| {
        let mut record = command.to_le_bytes().to_vec();
        record.extend(0x0200u16.to_le_bytes());
        record.extend([7, length, 1].map(u32::to_le_bytes).concat());
        record.extend([block, at, took].map(u64::to_le_bytes).concat());
        record
    };
    let read = one(0x28, 4096, 5, 1_000, 250);
    let file = [read, one(0x8a, 512, 6, 1_200, 100)].concat();
    assert_eq!(file.len(), 80);
    let requests = [
        ((0, 0), Op::Read, 5, 4096, 0, Some(250_000)),
        ((0, 0), Op::Write, 6, 512, 200_000, Some(300_000)),
    ];
    check("vscsi", &file, &options(), &requests, &[1, 2]);
}
