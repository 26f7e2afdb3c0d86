//! Files that users mistake for recordings, or that cannot be read: how to detect each kind, and
//! what to do instead. One line each.

use super::ImportError;
use super::error::unfit;
use std::path::Path;

struct UnreadFormat {
    what: &'static str,
    /// True if a file that begins with these bytes is of this kind.
    is: fn(&[u8]) -> bool,
    todo: &'static str,
}

pub(super) const FIO: &str = "run fio with --write_lat_log=NAME and without --log_avg_msec, and import NAME_lat.1.log, or import what --write_iolog writes";
const SINGLE: &str =
    "record single I/Os: q2c trace record DISK, or blktrace, and import what they write";
const AS_CSV: &str = "write it as CSV with a header row, one I/O per row, and import that";
const UNPACK: &str = "unpack it, and import the file in it";
const BTT: &str = "import the files of blktrace, or the text of blkparse, that btt read";
const EVENTS: &str = "run blkparse without -q, or import the files of blktrace that it read";
const NAMES: &str = "put a line with a name for each column above them, such as time_us,latency_us,op,size,offset, and import it with --format csv (and --delimiter); a single column of latencies is a --format latency-list";

/// The first kind that recognises a file is used.
const KINDS: &[UnreadFormat] = &[
    kind(
        "a recording of perf",
        |head| begins(head, &[b"PERFILE2", b"2ELIFREP"]),
        "import the text of perf script",
    ),
    kind(
        "a recording of trace-cmd",
        |head| begins(head, &[b"\x17\x08Dtracing"]),
        "import the text of trace-cmd report",
    ),
    kind(
        "a program (ELF)",
        |head| begins(head, &[b"\x7fELF"]),
        "name the recording that it made",
    ),
    kind(
        "an SQLite database",
        |head| begins(head, &[b"SQLite format 3\0"]),
        "write its table with sqlite3 -csv -header, and import that",
    ),
    kind("packets of a network (pcap)", is_pcap, SINGLE),
    kind("a table (Arrow, Avro, HDF5 or NumPy)", is_table, AS_CSV),
    kind("a file that is packed in another way", is_packed, UNPACK),
    kind(
        "text in UTF-16",
        |head| begins(head, &[b"\xff\xfe", b"\xfe\xff"]),
        "turn it into UTF-8 with iconv -f UTF-16 -t UTF-8",
    ),
    kind(
        "nothing but zero bytes",
        |head| head.iter().all(|byte| *byte == 0),
        "record it again, or name another file",
    ),
    kind("a report of fio", is_fio, FIO),
    kind(
        "a log of fio with histograms",
        |head| numbers(head, |count, _| count > 50),
        FIO,
    ),
    kind("averages of iostat or sar", is_iostat, SINGLE),
    kind(
        "a histogram of a BPF tool",
        |head| has(head, b": count ") || has(head, b"|@"),
        SINGLE,
    ),
    kind(
        "a summary of blkparse without events",
        |head| has(head, b"Reads Queued:"),
        EVENTS,
    ),
    kind("a report of btt", |head| has(head, b" All Devices "), BTT),
    kind(
        "a page of the web or XML",
        is_page,
        "save the recording itself, not the page that shows it",
    ),
    kind("JSON", is_json, AS_CSV),
    kind(
        "times and latencies of btt",
        |head| numbers(head, |count, points| count == 2 && points == 2),
        BTT,
    ),
    kind(
        "columns of numbers without names",
        |head| numbers(head, |count, _| count > 1),
        NAMES,
    ),
];

const fn kind(what: &'static str, is: fn(&[u8]) -> bool, todo: &'static str) -> UnreadFormat {
    UnreadFormat { what, is, todo }
}

/// The error for a file that begins with `head`; `None` if it is of no listed kind.
pub(super) fn refusal(path: &Path, head: &[u8]) -> Option<ImportError> {
    let kind = KINDS.iter().find(|kind| (kind.is)(head))?;
    Some(unread(path, kind.what, kind.todo))
}

/// The error for a file that is not a recording of single I/Os.
pub(super) fn unread(path: &Path, found: &str, todo: &str) -> ImportError {
    unfit(
        path,
        format_args!(": expected a recording of single I/Os, found {found}; {todo}"),
    )
}

fn begins(head: &[u8], with: &[&[u8]]) -> bool {
    with.iter().any(|magic| head.starts_with(magic))
}

fn is_pcap(head: &[u8]) -> bool {
    let magics: [&[u8]; 3] = [b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1", b"\n\r\r\n"];
    begins(head, &magics)
}

fn is_table(head: &[u8]) -> bool {
    begins(head, &[b"ARROW1", b"Obj\x01", b"\x89HDF", b"\x93NUMPY"])
}

/// 7z, rar, lzip, lzma, lzop, Snappy, compress, cpio and ar.
fn is_packed(head: &[u8]) -> bool {
    begins(
        head,
        &[b"7z\xbc\xaf", b"Rar!", b"LZIP", b"\x5d\0\0", b"\x89LZO"],
    ) || begins(
        head,
        &[b"\xff\x06\0\0sNaPpY", b"\x1f\x9d", b"070701", b"!<arch>"],
    )
}

fn is_fio(head: &[u8]) -> bool {
    has(head, b"\"fio version\"")
        || has(head, b";fio-")
        || begins(head, &[b"fio-"])
        || has(head, b": (g=") && has(head, b"rw=")
}

fn is_iostat(head: &[u8]) -> bool {
    let columns: [&[u8]; 4] = [b"r/s", b"tps", b"rkB/s", b"rd_sec/s"];
    has(head, b"\"sysstat\"")
        || (has(head, b"Device") || has(head, b"DEV")) && columns.iter().any(|name| has(head, name))
}

fn is_page(head: &[u8]) -> bool {
    begins(
        head.trim_ascii_start(),
        &[b"<!", b"<html", b"<HTML", b"<?xml", b"<svg"],
    )
}

/// A line of a kernel log begins with a bracket, too.
fn is_json(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    let inner = head.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    begins(inner.unwrap_or(head), &[b"{"]) || inner.is_some_and(|inner| begins(inner, &[b"["]))
}

fn has(head: &[u8], words: &[u8]) -> bool {
    memchr::memmem::find(head, words).is_some()
}

/// True if the first lines hold only numbers, and `fits` accepts for each line its count of numbers
/// and of those with a decimal point.
fn numbers(head: &[u8], fits: fn(usize, usize) -> bool) -> bool {
    let text = String::from_utf8_lossy(head);
    // The last line may be cut.
    let complete = text.rfind('\n').map_or(&*text, |end| &text[..end]);
    let mut lines = complete.lines().filter(|line| !line.trim().is_empty());
    let line_fits = |line: &str| {
        let split = |c: char| c.is_whitespace() || c == ',' || c == ';';
        let cells: Vec<&str> = line.split(split).filter(|cell| !cell.is_empty()).collect();
        let decimals = cells.iter().filter(|cell| cell.contains('.')).count();
        cells.iter().all(|cell| cell.parse::<f64>().is_ok()) && fits(cells.len(), decimals)
    };
    lines.next().is_some_and(line_fits) && lines.all(line_fits)
}
