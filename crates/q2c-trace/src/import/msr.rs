//! MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Times are Windows file times (100 ns since 1601), the response is in 100 ns, offset and size are
//! in bytes. A device's major number is the number of its host by appearance, from 1; the minor
//! number is that of the disk.

use super::text::{self, Cells, Parse, Separator, address, device, length, letter, whole_number};
use super::{BadLine, ImportFormat, ImportOption, KnownTime, Name, Row, Spec, bad, shape};
use q2c_model::{Bytes, Nanos};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "msr",
    help: "MSR Cambridge: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime (not verified against a real file)",
    sniff: |head| shape::sniff(head, &SPEC, row),
    by_shape: true,
    uses: &[ImportOption::Sort],
    import: |from| text::import(from, &SPEC, row),
};

/// File time of 1970, in 100 ns: 369 years with 89 leap days.
const UNIX_EPOCH: u64 = (369 * 365 + 89) * 86_400 * 10_000_000;
const SPEC: Spec = Spec {
    unix: true,
    ends: true,
    hosts: true,
    numbers_devices: true,
    ..Spec::lines("msr", "Unix time from Windows file time, 100 ns")
};
const LINE: &str = "7 cells: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";

fn row(line: &[u8]) -> Parse {
    let cells = Cells::<7>::from_line(line, Separator::Comma, (7, 7), LINE)?;
    if cells.get(0) == b"Timestamp" {
        return Ok(None);
    }
    let start = file_time(cells.get(0))?;
    let host = cells.get(1);
    let name = Name::if_fits(host).filter(|_| !host.is_empty());
    let name = name.ok_or_else(|| bad("Hostname", "a name of 1 to 16 bytes", host))?;
    let disk = device(cells.get(2), "DiskNumber")?;
    let op = letter(cells.get(3), "Type")?;
    let sector = address(cells.get(4), Bytes(1), "Offset")?;
    let bytes = length(cells.get(5), Bytes(1), "Size")?;
    let mut row = Row::new(start, op, sector, bytes);
    row.latency = KnownTime::from(ticks(cells.get(6), "ResponseTime")?);
    row.name = name;
    row.device.minor = disk;
    Ok(Some(row))
}

fn file_time(cell: &[u8]) -> Result<Nanos, BadLine> {
    let since_1970 = whole_number(cell, "Timestamp")?.checked_sub(UNIX_EPOCH);
    let ns = since_1970.and_then(|ticks| ticks.checked_mul(100));
    let expected = "a Windows file time (100 ns since 1601) between 1970 and 2554";
    ns.map(Nanos)
        .ok_or_else(|| bad("Timestamp", expected, cell))
}

fn ticks(cell: &[u8], field: &'static str) -> Result<Nanos, BadLine> {
    let ns = whole_number(cell, field)?.checked_mul(100).map(Nanos);
    ns.ok_or_else(|| bad(field, "100 ns units, below 2^64 ns", cell))
}
