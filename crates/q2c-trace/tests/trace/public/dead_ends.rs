//! Inputs that once had no way in: packings and archives, fio's logs, and files that are no
//! recordings.

use super::{in_unit, options};
use crate::support::{ImportedRecords, import_to_file, parts, place, read, stating, tells};
use bzip2::write::BzEncoder;
use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use liblzma::write::XzEncoder;
use lz4_flex::frame::{FrameEncoder, FrameInfo};
use q2c_model::facts::STATED_SECTOR;
use q2c_model::{Bytes, IoRecord, Nanos, Op};
use q2c_trace::Scan;
use q2c_trace::import::{ImportOptions, Input, TimeUnit};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

fn case(name: &str) -> PathBuf {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace/cases");
    cases.join(name)
}

fn import(path: &Path, format: Option<&str>, options: &ImportOptions) -> ImportedRecords {
    let mut records = Vec::new();
    let input = Input::recognise(path, format);
    let imported = input.and_then(|input| input.import(path, options, &mut records));
    let meta = imported.map_err(|error| error.to_string())?;
    Ok((records, meta))
}

fn import_text(name: &str, text: &[u8], options: &ImportOptions) -> ImportedRecords {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    import(&path, None, options)
}

fn compress<W: Write>(mut to: W, text: &[u8], finish: impl FnOnce(W) -> Vec<u8>) -> Vec<u8> {
    to.write_all(text).unwrap();
    finish(to)
}

fn xz(text: &[u8]) -> Vec<u8> {
    let to = XzEncoder::new(Vec::new(), 1);
    compress(to, text, |to| to.finish().unwrap())
}

fn bz2(text: &[u8]) -> Vec<u8> {
    let to = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    compress(to, text, |to| to.finish().unwrap())
}

fn lz4(text: &[u8]) -> Vec<u8> {
    let info = FrameInfo::new().block_checksums(true);
    let to = FrameEncoder::with_frame_info(info, Vec::new());
    compress(to, text, |to| to.finish().unwrap())
}

fn gz(text: &[u8]) -> Vec<u8> {
    let to = GzEncoder::new(Vec::new(), Compression::fast());
    compress(to, text, |to| to.finish().unwrap())
}

fn zst(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, name, *text).unwrap();
    }
    archive.into_inner().unwrap()
}

/// Makes a zip archive by its specification: a header for each file, the directory, its end.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let to = DeflateEncoder::new(Vec::new(), Compression::fast());
        let packed = compress(to, text, |to| to.finish().unwrap());
        let mut crc = Crc::new();
        crc.update(text);
        let mut entry = [20_u16, 0, 8, 0, 0].map(u16::to_le_bytes).concat();
        let lengths = [packed.len(), text.len(), name.len()].map(|length| length as u32);
        for number in [crc.sum()].into_iter().chain(lengths) {
            entry.extend(number.to_le_bytes());
        }
        directory.extend([b"PK\x01\x02\x14\0", &entry[..], &[0; 10]].concat());
        directory.extend((archive.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        archive.extend([b"PK\x03\x04", &entry[..], name.as_bytes(), &packed].concat());
    }
    let count = (files.len() as u16).to_le_bytes();
    let sizes = [directory.len() as u32, archive.len() as u32];
    let sizes = sizes.map(u32::to_le_bytes).concat();
    let end = [b"PK\x05\x06\0\0\0\0", &count[..], &count, &sizes, &[0; 2]].concat();
    [archive, directory, end].concat()
}

/// A Unix time, us.
const BEGIN: u64 = 1_577_808_144_000_000;

type Pack = fn(&[u8]) -> Vec<u8>;

const PACKERS: [Pack; 8] = [
    xz,
    bz2,
    lz4,
    gz,
    zst,
    |text| tar(&[("a.txt", text)]),
    |text| zip(&[("a.txt", text)]),
    |text| xz(&tar(&[("folder/a.txt", text)])),
];

/// Two reads: queued at 0 and 5 s, completed 101 and 201 us later.
fn check_two_reads(records: &[IoRecord]) {
    let reads = records.iter().map(|r| {
        let times = (r.queue_ns.unwrap().0, r.complete_ns.unwrap().0);
        (r.sector.0, times)
    });
    let (first, second) = ((0, 101_000), (5_000_000_000, 5_000_201_000));
    assert_eq!(reads.collect::<Vec<_>>(), [(1000, first), (2000, second)]);
}

/// Packed lines become a trace file; of a cut file there is none.
#[test]
fn packed_files_give_the_same_trace() {
    let line = |n: u64| format!("1,W,{},4096,{}\n", n * 512, BEGIN + n);
    let text: String = (0..1_000).map(line).collect();
    let (expected, _) = import_text("plain", text.as_bytes(), &options()).unwrap();
    let packed = gz(text.as_bytes());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packed");
    for bytes in [&packed, &zst(text.as_bytes())] {
        let (_folder, trace) = place();
        fs::write(&path, bytes).unwrap();
        import_to_file("alibaba", &path, &options(), &trace).unwrap();
        assert!(read(&trace, &Scan::new()).unwrap() == expected);
    }
    let (_folder, trace) = place();
    fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let error = import_to_file("alibaba", &path, &options(), &trace).unwrap_err();
    let cut = format!("end of the file at byte {}", packed.len() / 2);
    tells(&error.to_string(), &cut);
    assert!(!trace.exists());
}

#[test]
fn every_packing_is_read() {
    for packing in ["txt.xz", "txt.bz2", "txt.lz4", "zip", "tar.gz"] {
        let path = case(&format!("15-dead-ends/exec.{packing}"));
        let (records, _) = import(&path, None, &options()).unwrap();
        check_two_reads(&records);
    }
    // More bytes than are read before the first line.
    let line = |n: u64| format!("1,W,{},4096,{}\n", n * 512, BEGIN + n);
    let text: String = (0..100_000).map(line).collect();
    let (front, back) = text.as_bytes().split_at(1_000_000);
    let (expected, _) = import_text("plain", text.as_bytes(), &options()).unwrap();
    assert_eq!(expected.len(), 100_000);
    for pack in PACKERS {
        let (records, _) = import_text("packed", &pack(text.as_bytes()), &options()).unwrap();
        assert!(records == expected);
    }
    // The first five packers make streams, which may follow each other in a file.
    for pack in &PACKERS[..5] {
        let packed = [pack(front), pack(back)].concat();
        let (records, _) = import_text("packed", &packed, &options()).unwrap();
        assert!(records == expected);
    }
}

#[test]
fn what_is_cut_or_damaged_is_told() {
    let line = |n: u64| {
        let offset = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_000 * 512;
        format!("1,W,{offset},4096,{}\n", BEGIN + n)
    };
    // As many bytes as are read before the first line.
    let text: String = (0..12_000).map(line).collect();
    let cut = |packed: &[u8], at: usize| {
        let error = import_text("cut", &packed[..at], &options()).unwrap_err();
        tells(&error, &format!("end of the file at byte {at}"));
    };
    for pack in PACKERS {
        let packed = pack(text.as_bytes());
        cut(&packed, packed.len() / 2);
    }
    for pack in [gz, zst] {
        let packed = pack(text.as_bytes());
        cut(&packed, packed.len() - 1);
    }
    for pack in [xz, bz2, lz4, gz, |text: &[u8]| zip(&[("a.txt", text)])] {
        let mut packed = pack(text.as_bytes());
        let middle = packed.len() / 2;
        packed[middle..middle + 64].fill(0xff);
        let error = import_text("damaged", &packed, &options()).unwrap_err();
        tells(&error, "found damage at byte ");
    }
}

#[test]
fn an_archive_of_several_files_is_refused_by_their_names() {
    let line: &[u8] = b"1,W,512,4096,1577808144000000\n";
    let names: Vec<String> = (0..12).map(|n| format!("part-{n}")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), line)).collect();
    for archive in [tar(&files), gz(&tar(&files)), zip(&files)] {
        let error = import_text("archive", &archive, &options()).unwrap_err();
        tells(&error, "found part-0, part-1, ");
        tells(&error, "part-9, and more; unpack it");
    }
    // After a long file, the second one is detected when the first ends.
    let long = line.repeat(100_000);
    let two = tar(&[("long", &long), ("b", line)]);
    let error = import_text("archive", &two, &options()).unwrap_err();
    tells(&error, "found long, b; unpack it");
    // macOS's Finder adds files of its own.
    let finder = [("__MACOSX/._a", &b"x"[..]), ("._a", b"x"), ("a", line)];
    for archive in [tar(&finder), zip(&finder)] {
        let (records, _) = import_text("archive", &archive, &options()).unwrap();
        assert_eq!(records.len(), 1);
    }
    let mut large = zip(&[("a", line)]);
    let offset = large.len() - 6;
    large[offset..offset + 4].fill(0xff);
    let error = import_text("archive", &large, &options()).unwrap_err();
    tells(&error, "below 4 GiB");
    for empty in [tar(&[("._a", b"x")]), zip(&[])] {
        let error = import_text("archive", &empty, &options()).unwrap_err();
        tells(&error, "found none");
    }
}

/// A small file whose only line is 32 MiB long. The unpacked size counts: reading stops at the
/// limit for lines.
#[test]
fn a_bomb_is_refused_in_little_memory() {
    let line = vec![b'1'; 32 << 20];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb");
    for pack in PACKERS {
        fs::write(&path, pack(&line)).unwrap();
        let mut error = String::new();
        let memory = allocation_counter::measure(|| {
            error = import(&path, Some("alibaba"), &options()).unwrap_err();
        });
        tells(&error, "expected at most 65536 bytes and a line break");
        assert!(memory.bytes_max < 16 << 20, "{}", memory.bytes_max);
    }
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(line.len() as u64);
    header.set_cksum();
    fs::write(&path, gz(&[header.as_bytes(), &line[..]].concat())).unwrap();
    let memory = allocation_counter::measure(|| {
        import(&path, None, &options()).unwrap_err();
    });
    assert!(memory.bytes_max < 16 << 20, "{}", memory.bytes_max);
    let layers = (0..6).fold(line, |packed, _| gz(&packed));
    let error = import_text("layers", &layers, &options()).unwrap_err();
    tells(&error, "at most 4 packings");
}

/// The dictionary size is in the block's header, with the checksum after it.
#[test]
fn xz_that_wants_gigabytes_of_memory_is_refused() {
    const FOUR_GIB: u8 = 40;
    let mut packed = fs::read(case("15-dead-ends/exec.txt.xz")).unwrap();
    packed[16] = FOUR_GIB;
    let mut crc = Crc::new();
    crc.update(&packed[12..20]);
    packed[20..24].copy_from_slice(&crc.sum().to_le_bytes());
    let error = import_text("xz", &packed, &options()).unwrap_err();
    tells(&error, "memory");
}

#[test]
fn a_log_of_fio_becomes_ios() {
    let (records, meta) = import(&case("15-dead-ends/raw_clat.1.log"), None, &options()).unwrap();
    assert_eq!(meta.source, "fio-log");
    let times = |r: &IoRecord| (r.submit_ns.unwrap().0, r.reap_ns.unwrap().0);
    let ios = records[..2].iter().map(|r| (r.sector.0, times(r)));
    let second = (1_512, (99_957_947, 100_000_000));
    assert_eq!(ios.collect::<Vec<_>>(), [(120, (0, 23_605)), second]);
    for r in &records {
        assert_eq!((r.op, r.bytes.0, r.lane), (Op::Write, 4096, 0));
    }
    assert_eq!(records.len(), 10);
    assert_eq!(meta.facts["columns_not_taken"], "priority");
    assert!(!meta.facts.contains_key(STATED_SECTOR));
}

/// Each I/O ends within its millisecond and after the one before in its lane. Two of 700 us in the
/// first millisecond overlap; the third starts where the first ended.
#[test]
fn ios_of_a_log_that_overlap_have_lanes() {
    let text =
        "0, 700000, 0, 4096, 0x4004\n0, 700000, 2, 512, 0x4004\n1, 900000, 1, 4096, 0x4004\n";
    let (records, meta) = import_text("x_lat.1.log", text.as_bytes(), &options()).unwrap();
    let ios = records
        .iter()
        .map(|r| (r.lane, r.submit_ns.unwrap().0, r.op));
    let expected = [
        (0, 0, Op::Read),
        (1, 0, Op::Discard),
        (records[2].lane, 700_000, Op::Write),
    ];
    assert_eq!(ios.collect::<Vec<_>>(), expected);
    assert!(meta.facts["stated.lanes"].starts_with('2'));
    assert!(meta.facts.contains_key(STATED_SECTOR));
    // fio 2 wrote microseconds and no priority.
    let old = "5, 700, 0, 4096\n";
    let error = import_text("x_lat.1.log", old.as_bytes(), &options()).unwrap_err();
    tells(&error, "expected the option unit");
    let microseconds = in_unit(TimeUnit::Microseconds);
    let (records, _) = import_text("x_lat.1.log", old.as_bytes(), &microseconds).unwrap();
    let latency = records[0].reap_ns.unwrap() - records[0].submit_ns.unwrap();
    assert_eq!(latency, Nanos(700_000));
    // A log of bandwidths has the same shape.
    let error = import_text("renamed", text.as_bytes(), &options()).unwrap_err();
    tells(&error, "expected the option unit");
}

#[test]
fn a_column_of_latencies_may_have_a_name() {
    let stated = stating(|o| (o.op, o.bytes) = (Some(Op::Read), Some(Bytes(4096))));
    let path = case("15-dead-ends/onecol.csv");
    let (records, meta) = import(&path, None, &stated).unwrap();
    let ends: Vec<u64> = records.iter().map(|r| r.reap_ns.unwrap().0).collect();
    assert_eq!(ends, [31_200, 71_300]);
    assert_eq!(meta.facts["unit"], "us");
    let other = ImportOptions {
        unit: Some(TimeUnit::Seconds),
        ..stated
    };
    let error = import(&path, None, &other).unwrap_err();
    tells(&error, "expected the option unit");
}

#[test]
fn what_is_not_read_is_named_with_the_way_in() {
    for case in [
        "01-fio-averaged-log-as-tencent/fio_bw_avg_write.1.log => bandwidths => --write_lat_log",
        "15-dead-ends/gen_lat.1.log => averages => --log_avg_msec",
        "15-dead-ends/btt_q2c.dat => btt => blktrace",
        "15-dead-ends/iostat.txt => iostat => q2c trace record",
        "12-csv-recognition/fio.json => fio => --write_lat_log",
    ] {
        let [name, what, todo] = parts(case);
        let error = import(&self::case(name), None, &options()).unwrap_err();
        let (_, finding) = error.split_once("found ").unwrap();
        tells(finding, what);
        tells(finding, todo);
    }
    let log = "5, 1, 0, 4096, 0\n";
    for (name, text, what) in [
        ("x_iops.1.log", log.as_bytes(), "IOPS"),
        ("x_slat.1.log", log.as_bytes(), "submission"),
        ("perf.data", b"PERFILE2\x68\0\0\0\0\0\0\0", "perf script"),
        ("trace.dat", b"\x17\x08\x44tracing6\0", "trace-cmd report"),
        ("a.out", b"\x7fELF\x02\x01\x01\0", "program"),
        ("x.db", b"SQLite format 3\0\x10\0", "sqlite3"),
        ("x.pcap", b"\xd4\xc3\xb2\xa1\x02\0\x04\0", "network"),
        ("x.7z", b"7z\xbc\xaf\x27\x1c\0\x04", "unpack it"),
        ("x.json", b"[\n  {\"time\": 1, \"lat\": 2}]", "JSON"),
        ("x.html", b"<!DOCTYPE html>\n<html>", "page"),
        ("x.txt", b"1 2 3.5\n4 5 6.5\n", "columns of numbers"),
        ("x.csv", b"\xff\xfet\0i\0m\0e\0", "UTF-16"),
        ("hole", &[0; 5000], "zero bytes"),
        ("fio.txt", b"job: (g=0): rw=randread, bs=(R) 4096B-4096B\nfio-3.33\n", "report of fio"),
        ("blkparse.txt", b"CPU0 (8,0):\n Reads Queued:           2,        8KiB\n", "summary"),
        ("iostat.txt", b"Linux 6.1.0 (h) \t11/27/2026 \t_x86_64_\t(8 CPU)\n\nDevice             tps    kB_read/s\n", "iostat"),
        ("biolatency.txt", b"     usecs               : count     distribution\n         0 -> 1          : 0        |", "histogram"),
    ] {
        let error = import_text(name, text, &options()).unwrap_err();
        tells(&error, what);
    }
    let trace = import_text("x.parquet.gz", &gz(b"PAR1 and more"), &options()).unwrap_err();
    tells(&trace, "Parquet");
}
