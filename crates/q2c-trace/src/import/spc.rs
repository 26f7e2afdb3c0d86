//! SPC trace file format 1.0.1 (Financial, WebSearch): `ASU,LBA,size,opcode,timestamp`, further
//! cells allowed.
//!
//! The address is in blocks, 512 bytes by convention, and the size in bytes. The timestamp is in
//! seconds from the start. The opcode is `R` or `W` in either case.

use super::text::{self, Cells, Parse, Separator, address, device, length, letter, time};
use super::{ImportFormat, ImportOption as O, Row, Spec, TimeUnit, shape};
use q2c_model::Bytes;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "spc",
    help: "SPC 1.0.1 (Financial, WebSearch): ASU,LBA,size,opcode,timestamp (not verified against a real file)",
    sniff: |head| shape::sniff(head, &SPEC, |line| row(line, TimeUnit::Seconds, BLOCK)),
    by_shape: true,
    uses: &[O::Unit, O::OffsetUnit, O::Sort],
    import: |from| {
        let unit = from.options.unit.unwrap_or(TimeUnit::Seconds);
        let block = shape::stated_block(from, false, |line| row(line, unit, BLOCK))?;
        text::import(from, &SPEC, |line| row(line, unit, block))
    },
};

const BLOCK: Bytes = Bytes(512);
const SPEC: Spec = Spec::lines("spc", "from the recording's start");
const LINE: &str = "5 cells or more: ASU,LBA,size,opcode,timestamp";

fn row(line: &[u8], unit: TimeUnit, block: Bytes) -> Parse {
    let cells = Cells::<5>::from_line(line, Separator::Comma, (5, usize::MAX), LINE)?;
    let number = device(cells.get(0), "ASU")?;
    let sector = address(cells.get(1), block, "LBA")?;
    let bytes = length(cells.get(2), Bytes(1), "size")?;
    let op = letter(cells.get(3), "opcode")?;
    let start = time(cells.get(4), unit, "timestamp")?;
    Ok(Some(Row::new(start, op, sector, bytes).with_disk(number)))
}
