//! Tencent CBS traces: `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! The timestamp is whole seconds since 1970, offset and size are in sectors of 512 bytes, the type
//! is `0` for a read and `1` for a write. Copies of the set have offsets, or sizes as well, in
//! bytes; the option for the offset unit reads them.

use super::shape::{self, Units};
use super::text::{Cells, Parse, Separator, address, device, sector_length, time};
use super::{ImportFormat, ImportOption as O, Row, Spec, TimeUnit, bad};
use q2c_model::Op;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "tencent",
    help: "Tencent CBS: Timestamp,Offset,Size,IOType,VolumeID (not verified against a real file)",
    sniff: |head| {
        shape::unix_unit(head, &SPEC, UNIT, |line, unit| {
            row(line, unit, Units::SECTORS)
        })
        .is_some()
    },
    by_shape: true,
    uses: &[O::Unit, O::OffsetUnit, O::Sort],
    import: |from| {
        let unit = |line: &[u8], unit| row(line, unit, Units::SECTORS);
        let unit = shape::stated_unit(from, &SPEC, UNIT, unit)?;
        shape::import_units(from, &SPEC, |line, units| row(line, unit, units))
    },
};

const UNIT: TimeUnit = TimeUnit::Seconds;
const SPEC: Spec = Spec {
    unix: true,
    ..Spec::lines("tencent", "Unix time")
};
const LINE: &str = "5 cells: Timestamp,Offset,Size,IOType,VolumeID";

fn row(line: &[u8], unit: TimeUnit, units: Units) -> Parse {
    let cells = Cells::<5>::from_line(line, Separator::Comma, (5, 5), LINE)?;
    if cells.get(0) == b"Timestamp" {
        return Ok(None);
    }
    let start = time(cells.get(0), unit, "Timestamp")?;
    let sector = address(cells.get(1), units.offsets, "Offset")?;
    let bytes = sector_length(cells.get(2), units.sizes, "Size")?;
    let op = match cells.get(3) {
        b"0" => Op::Read,
        b"1" => Op::Write,
        other => return Err(bad("IOType", "0 (read) or 1 (write)", other)),
    };
    let volume = device(cells.get(4), "VolumeID")?;
    Ok(Some(Row::new(start, op, sector, bytes).with_disk(volume)))
}
