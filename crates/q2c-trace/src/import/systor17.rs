//! SYSTOR'17 (enterprise VDI): `Timestamp,Response,IOType,LUN,Offset,Size`, with a header.
//!
//! The timestamp is Unix seconds with 9 decimals, of which 6 are valid. The response is in seconds,
//! and blank where it was lost. Offset and size are in bytes. A type that was lost with the
//! response becomes `other`. Header lines may repeat where files were joined.

use super::text::{self, BOM, Cells, Parse, Separator, address, device, length, letter, time};
use super::{ImportFormat, ImportOption, KnownTime, Row, Spec, TimeUnit, shape};
use q2c_model::{Bytes, Op};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "systor17",
    help: "SYSTOR'17: Timestamp,Response,IOType,LUN,Offset,Size (not verified against a real file)",
    sniff: |head| {
        head.strip_prefix(BOM).unwrap_or(head).starts_with(HEADER)
            || shape::unix_unit(head, &SPEC, UNIT, row).is_some()
    },
    by_shape: true,
    uses: &[ImportOption::Unit, ImportOption::Sort],
    import: |from| {
        let unit = shape::stated_unit(from, &SPEC, UNIT, row)?;
        text::import(from, &SPEC, |line| row(line, unit))
    },
};

const UNIT: TimeUnit = TimeUnit::Seconds;
const HEADER: &[u8] = b"Timestamp,Response,IOType,LUN,Offset,Size";
const SPEC: Spec = Spec {
    unix: true,
    ends: true,
    ..Spec::lines("systor17", "Unix time, valid to 1 us")
};
const LINE: &str = "6 cells: Timestamp,Response,IOType,LUN,Offset,Size";

fn row(line: &[u8], time_unit: TimeUnit) -> Parse {
    let cells = Cells::<6>::from_line(line, Separator::Comma, (6, 6), LINE)?;
    if cells.get(0) == b"Timestamp" {
        return Ok(None);
    }
    let start = time(cells.get(0), time_unit, "Timestamp")?;
    let latency = match cells.get(1) {
        b"" => KnownTime::UNKNOWN,
        cell => KnownTime::from(time(cell, time_unit, "Response")?),
    };
    let op = match cells.get(2) {
        b"" => Op::Other,
        cell => letter(cell, "IOType")?,
    };
    let unit = device(cells.get(3), "LUN")?;
    let sector = address(cells.get(4), Bytes(1), "Offset")?;
    let bytes = length(cells.get(5), Bytes(1), "Size")?;
    let mut row = Row::new(start, op, sector, bytes).with_disk(unit);
    row.latency = latency;
    Ok(Some(row))
}
