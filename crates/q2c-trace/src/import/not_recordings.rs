//! Files that users mistake for recordings, or that cannot be read: how to detect each kind, and
//! what to do instead.

use super::ImportError;
use super::error::input_error;
use std::path::Path;

pub(super) const FIO_LOG_ADVICE: &str = "run fio with --write_lat_log=NAME and without --log_avg_msec, and import NAME_lat.1.log, or import what --write_iolog writes";
const RECORD_SINGLE: &str =
    "record single I/Os: q2c trace record DISK, or blktrace, and import what they write";
const WRITE_CSV: &str = "write it as CSV with a header row, one I/O per row, and import that";
const UNPACK: &str = "unpack it, and import the file in it";
const USE_BLKTRACE: &str = "import the files of blktrace, or the text of blkparse, that btt read";
const KEEP_EVENTS: &str = "run blkparse without -q, or import the files of blktrace that it read";
const NAME_COLUMNS: &str = "put a line with a name for each column above them, such as time_us,latency_us,op,size,offset, and import it with --format csv (and --delimiter); a single column of latencies is a --format latency-list";
const SCRIPT_TEXT: &str = "import the text of perf script";
const REPORT_TEXT: &str = "import the text of trace-cmd report";
const WRITE_TABLE: &str = "write its table with sqlite3 -csv -header, and import that";
const TO_UTF_8: &str = "turn it into UTF-8 with iconv -f UTF-16 -t UTF-8";
const RECORD_AGAIN: &str = "record it again, or name another file";
const SAVE_RECORDING: &str = "save the recording itself, not the page that shows it";

/// The kind of a file that begins with `head`, and what to do instead; `None` if it is of no
/// listed kind.
fn other_kind(head: &[u8]) -> Option<(&'static str, &'static str)> {
    Some(match head {
        _ if has_magic(head, &[b"PERFILE2", b"2ELIFREP"]) => ("a recording of perf", SCRIPT_TEXT),
        _ if has_magic(head, &[b"\x17\x08Dtracing"]) => ("a recording of trace-cmd", REPORT_TEXT),
        [0x7f, b'E', b'L', b'F', ..] => ("a program (ELF)", "name the recording that it made"),
        _ if head.starts_with(b"SQLite format 3\0") => ("an SQLite database", WRITE_TABLE),
        _ if is_pcap(head) => ("packets of a network (pcap)", RECORD_SINGLE),
        _ if is_table(head) => ("a table (Arrow, Avro, HDF5 or NumPy)", WRITE_CSV),
        _ if is_packed(head) => ("a file that is packed in another way", UNPACK),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => ("text in UTF-16", TO_UTF_8),
        _ if head.iter().all(|byte| *byte == 0) => ("nothing but zero bytes", RECORD_AGAIN),
        _ if is_fio(head) => ("a report of fio", FIO_LOG_ADVICE),
        _ if are_numbers(head, |count, _| count > 50) => {
            ("a log of fio with histograms", FIO_LOG_ADVICE)
        }
        _ if is_iostat(head) => ("averages of iostat or sar", RECORD_SINGLE),
        _ if contains(head, b": count ") || contains(head, b"|@") => {
            ("a histogram of a BPF tool", RECORD_SINGLE)
        }
        _ if contains(head, b"Reads Queued:") => {
            ("a summary of blkparse without events", KEEP_EVENTS)
        }
        _ if contains(head, b" All Devices ") => ("a report of btt", USE_BLKTRACE),
        _ if is_page(head) => ("a page of the web or XML", SAVE_RECORDING),
        _ if is_json(head) => ("JSON", WRITE_CSV),
        _ if are_numbers(head, |count, points| count == 2 && points == 2) => {
            ("times and latencies of btt", USE_BLKTRACE)
        }
        _ if are_numbers(head, |count, _| count > 1) => {
            ("columns of numbers without names", NAME_COLUMNS)
        }
        _ => return None,
    })
}

/// The error for a file that begins with `head`; `None` if it is of no listed kind.
pub(super) fn refuse_other_kind(path: &Path, head: &[u8]) -> Option<ImportError> {
    let (found, todo) = other_kind(head)?;
    Some(not_a_recording(path, found, todo))
}

/// The error for a file that is not a recording of single I/Os.
pub(super) fn not_a_recording(path: &Path, found: &str, todo: &str) -> ImportError {
    let message = format!(": expected a recording of single I/Os, found {found}; {todo}");
    input_error(path, message)
}

fn has_magic(head: &[u8], magics: &[&[u8]]) -> bool {
    magics.iter().any(|magic| head.starts_with(magic))
}

fn is_pcap(head: &[u8]) -> bool {
    let magics: [&[u8]; 3] = [b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1", b"\n\r\r\n"];
    has_magic(head, &magics)
}

fn is_table(head: &[u8]) -> bool {
    has_magic(head, &[b"ARROW1", b"Obj\x01", b"\x89HDF", b"\x93NUMPY"])
}

/// True for 7z, rar, lzip, lzma, lzop, Snappy, compress, cpio and ar.
fn is_packed(head: &[u8]) -> bool {
    let archives: [&[u8]; 5] = [b"7z\xbc\xaf", b"Rar!", b"LZIP", b"\x5d\0\0", b"\x89LZO"];
    let others: [&[u8]; 4] = [b"\xff\x06\0\0sNaPpY", b"\x1f\x9d", b"070701", b"!<arch>"];
    has_magic(head, &archives) || has_magic(head, &others)
}

fn is_fio(head: &[u8]) -> bool {
    contains(head, b"\"fio version\"")
        || contains(head, b";fio-")
        || has_magic(head, &[b"fio-"])
        || contains(head, b": (g=") && contains(head, b"rw=")
}

fn is_iostat(head: &[u8]) -> bool {
    let columns: [&[u8]; 4] = [b"r/s", b"tps", b"rkB/s", b"rd_sec/s"];
    contains(head, b"\"sysstat\"")
        || (contains(head, b"Device") || contains(head, b"DEV"))
            && columns.iter().any(|name| contains(head, name))
}

fn is_page(head: &[u8]) -> bool {
    let magics: [&[u8]; 5] = [b"<!", b"<html", b"<HTML", b"<?xml", b"<svg"];
    has_magic(head.trim_ascii_start(), &magics)
}

/// True if the text begins like JSON: `{`, `[{` or `[[`. A line of a kernel log begins with `[`.
fn is_json(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    let inner = head.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    has_magic(inner.unwrap_or(head), &[b"{"])
        || inner.is_some_and(|inner| has_magic(inner, &[b"["]))
}

fn contains(head: &[u8], text: &[u8]) -> bool {
    memchr::memmem::find(head, text).is_some()
}

/// True if the first lines hold only numbers, and `fits` accepts for each line its count of numbers
/// and of those with a decimal point.
fn are_numbers(head: &[u8], fits: fn(usize, usize) -> bool) -> bool {
    let text = String::from_utf8_lossy(head);
    // The last line may be cut.
    let complete = text.rfind('\n').map_or(&*text, |end| &text[..end]);
    let mut lines = complete.lines().filter(|line| !line.trim().is_empty());
    let line_fits = |line: &str| {
        let is_gap = |c: char| c.is_whitespace() || c == ',' || c == ';';
        let cells: Vec<&str> = line.split(is_gap).filter(|cell| !cell.is_empty()).collect();
        let decimals = cells.iter().filter(|cell| cell.contains('.')).count();
        cells.iter().all(|cell| cell.parse::<f64>().is_ok()) && fits(cells.len(), decimals)
    };
    lines.next().is_some_and(line_fits) && lines.all(line_fits)
}
