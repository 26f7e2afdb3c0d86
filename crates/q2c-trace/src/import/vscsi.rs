//! CloudPhysics vscsi traces: binary, little-endian, records of 32 bytes (version 1) or 40 bytes
//! (version 2).
//!
//! Version 1: serial u32, length u32, scatter-gather entries u32, command u16, version u16, block
//! u64, time u64.
//! Version 2: command u16, version u16, serial u32, length u32, entries u32, block u64, time u64,
//! response u64.
//! The version is in the high byte of its field. Times are microseconds, blocks have 512 bytes, and
//! the length is in bytes: consecutive blocks in the public sample of version 1 confirm it.

use super::arrange::RowSorter;
use super::run::{read_error, refusal};
use super::text::sectors;
use super::{BadLine, Import, ImportError, ImportFormat, ImportOption, MaybeTime, Row, Spec, fact};
use q2c_model::{Bytes, DevId, Nanos, Op, TraceMeta};
use std::io::{BufRead, Read};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "vscsi",
    help: "CloudPhysics vscsi, binary, version 1 or 2 (version 2 not verified against a real file)",
    sniff,
    by_shape: false,
    uses: &[ImportOption::Sort],
    import,
};

const V1: Spec = Spec {
    is_binary: true,
    ..Spec::lines("vscsi", "microseconds, as in the source")
};
const V2: Spec = Spec { ends: true, ..V1 };
/// Number of records that are read at once.
const RECORDS_AT_ONCE: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One = 1,
    Two = 2,
}

impl Version {
    /// The version of a record by its version field, whose offset differs between the two.
    fn from_record(record: &[u8]) -> Option<Version> {
        let high_byte = |at: usize| record.get(at + 1).copied();
        match (high_byte(14), high_byte(2)) {
            (Some(1), in_version_2) if in_version_2 != Some(2) => Some(Version::One),
            (in_version_1, Some(2)) if in_version_1 != Some(1) => Some(Version::Two),
            _ => None,
        }
    }

    const fn size(self) -> usize {
        match self {
            Version::One => 32,
            Version::Two => 40,
        }
    }

    /// Offsets of version, command, length, block and time in a record, bytes.
    const fn offsets(self) -> [usize; 5] {
        match self {
            Version::One => [14, 12, 4, 16, 24],
            Version::Two => [2, 0, 8, 16, 24],
        }
    }
}

/// True if the first records have one version and known commands.
fn sniff(head: &[u8]) -> bool {
    let Some(version) = Version::from_record(head) else {
        return false;
    };
    let records = head.chunks_exact(version.size()).take(8);
    records.len() > 0
        && records.clone().all(|record| {
            let row = parse_row(record, version, DevId::default());
            Version::from_record(record) == Some(version)
                && row.is_ok_and(|row| row.op != Op::Other)
        })
}

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let (path, options) = (from.path, from.options);
    let mut block = Vec::new();
    let read = |input: &mut dyn BufRead, block: &mut Vec<u8>, size: usize| {
        let missing_bytes = (size - block.len()) as u64;
        let read = input.take(missing_bytes).read_to_end(block);
        read.map_err(read_error(path))
    };
    // The first record gives the version, and so the size of all records.
    read(from.input, &mut block, Version::One.size())?;
    let version = match Version::from_record(&block) {
        None if !block.is_empty() => {
            let expected = "1 in byte 15 (version 1) or 2 in byte 3 (version 2)";
            let bad = BadLine::new("no version", "version", expected, "");
            return Err(refusal(path, true, 0, bad.found("neither, or both")));
        }
        version => version.unwrap_or(Version::One),
    };
    let spec = if version == Version::One { &V1 } else { &V2 };
    let mut out = RowSorter::new(path, options, from.sink, spec);
    let mut position = 0;
    loop {
        read(from.input, &mut block, RECORDS_AT_ONCE * version.size())?;
        if block.is_empty() {
            break;
        }
        for record in block.chunks(version.size()) {
            match parse_row(record, version, options.device) {
                Ok(row) => out.push(Row { position, ..row })?,
                Err(bad) => out.intake.bad(position, bad)?,
            }
            position += record.len() as u64;
        }
        block.clear();
    }
    let number = if version == Version::One { "1" } else { "2" };
    out.lines = position / version.size() as u64;
    let mut meta = out.finish()?;
    meta.facts.extend([fact("stated.device", options.device)]);
    number.clone_into(&mut meta.source_version);
    Ok(meta)
}

fn parse_row(record: &[u8], version: Version, device: DevId) -> Result<Row, BadLine> {
    if record.len() < version.size() {
        let expected = match version {
            Version::One => "32 bytes",
            Version::Two => "40 bytes",
        };
        let end = format!("the end after {} bytes", record.len());
        return Err(BadLine::new("truncated record", "record", expected, "").found(end));
    }
    let [version_at, command_at, length_at, block_at, time_at] = version.offsets();
    let (field, number) = (bytes(record, version_at), version as u16);
    if u16::from_le_bytes(field) >> 8 != number {
        let expected = "the version of the first record";
        let version_field = format!("{:#06x}", u16::from_le_bytes(field));
        return Err(BadLine::new("mixed versions", "version", expected, "").found(version_field));
    }
    let op = operation(u16::from_le_bytes(bytes(record, command_at)));
    let length = Bytes(u64::from(u32::from_le_bytes(bytes(record, length_at))));
    if length.0 == 0 && matches!(op, Op::Read | Op::Write) {
        return Err(BadLine::zero_length("length"));
    }
    let start = nanos(u64::from_le_bytes(bytes(record, time_at)), "time")?;
    let block = u64::from_le_bytes(bytes(record, block_at));
    let sector = sectors(block, Bytes(512)).ok_or_else(|| {
        let expected = "a block below 2^55";
        BadLine::new("too large", "block", expected, &block.to_string())
    })?;
    let mut row = Row::new(start, op, sector, length);
    row.device = device;
    if version == Version::Two {
        let response = u64::from_le_bytes(bytes(record, 32));
        row.latency = MaybeTime::from(nanos(response, "response")?);
    }
    Ok(row)
}

fn bytes<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|byte| record[at + byte])
}

fn nanos(us: u64, field: &'static str) -> Result<Nanos, BadLine> {
    let ns = us.checked_mul(1_000).map(Nanos);
    ns.ok_or_else(|| {
        let expected = "microseconds below 2^64 ns";
        BadLine::new("too large", field, expected, &us.to_string())
    })
}

const fn operation(command: u16) -> Op {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Op::Read,
        0x0a | 0x2a | 0xaa | 0x8a => Op::Write,
        0x35 | 0x91 => Op::Flush,
        0x42 => Op::Discard,
        _ => Op::Other,
    }
}
