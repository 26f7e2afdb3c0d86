//! Alibaba Cloud block traces (2020): `device_id,opcode,offset,length,timestamp`.
//!
//! Offset and length are in bytes, the timestamp is microseconds since 1970 (the
//! option for the unit reads others), the opcode is `R` or
//! `W`. There is no header.

use super::text::{self, Cells, Parse, Separator, address, device, length, letter, time};
use super::{ImportFormat, ImportOption as O, Row, Spec, TimeUnit, shape};
use q2c_model::Bytes;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "alibaba",
    help: "Alibaba Cloud 2020: device_id,opcode,offset,length,timestamp (not verified against a real file)",
    sniff: |head| shape::unix_unit(head, &SPEC, UNIT, |line, unit| row(line, unit, BYTE)).is_some(),
    by_shape: true,
    uses: &[O::Unit, O::OffsetUnit, O::Sort],
    import: |from| {
        let offsets = from.options.offset_unit.unwrap_or(BYTE);
        let row = |line: &[u8], unit| row(line, unit, offsets);
        let unit = shape::stated_unit(from, &SPEC, UNIT, row)?;
        text::import(from, &SPEC, |line| row(line, unit))
    },
};

const UNIT: TimeUnit = TimeUnit::Microseconds;
const BYTE: Bytes = Bytes(1);
const SPEC: Spec = Spec {
    unix: true,
    ..Spec::lines("alibaba", "Unix time")
};
const LINE: &str = "5 cells: device_id,opcode,offset,length,timestamp";

fn row(line: &[u8], unit: TimeUnit, offsets: Bytes) -> Parse {
    let cells = Cells::<5>::from_line(line, Separator::Comma, (5, 5), LINE)?;
    if cells.get(0) == b"device_id" {
        return Ok(None);
    }
    let number = device(cells.get(0), "device_id")?;
    let op = letter(cells.get(1), "opcode")?;
    let sector = address(cells.get(2), offsets, "offset")?;
    let bytes = length(cells.get(3), Bytes(1), "length")?;
    let start = time(cells.get(4), unit, "timestamp")?;
    Ok(Some(Row::new(start, op, sector, bytes).with_disk(number)))
}
