//! Nexus 5 BIOtracer: `address sectors bytes type generated processed submitted [finished]`,
//! separated by tabs.
//!
//! Times are seconds. An odd type is a write. Readers of the set disagree on the unit of the
//! address, so it must be stated. A request begins when it was generated, and ends when it was
//! finished where the file tells that.

use super::text::{self, Cells, Parse, Separator, address, length, time, whole_number};
use super::{
    BadLine, Import, ImportError, ImportFormat, ImportOption as O, KnownTime, Row, Spec, TimeUnit,
    needed, shape,
};
use q2c_model::{Bytes, Nanos, Op, TraceMeta};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "nexus5",
    help: "Nexus 5 BIOtracer: address sectors bytes type generated processed submitted [finished]; needs the offset unit (not verified against a real file)",
    sniff: |head| {
        head.contains(&b'\t') && shape::sniff(head, &SPEC, |line| row(line, UNIT, Bytes(512)))
    },
    by_shape: true,
    uses: &[O::Unit, O::OffsetUnit, O::Sort],
    import,
};

const UNIT: TimeUnit = TimeUnit::Seconds;
const SPEC: Spec = Spec {
    ends: true,
    ..Spec::lines("nexus5", "as in the source")
};
const LINE: &str =
    "7 or 8 numbers: address sectors bytes type generated processed submitted [finished]";

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let reason = "addresses are sectors (512) or bytes (1), and readers of the set differ";
    let offsets = needed(from.options.offset_unit, from.path, "offset unit", reason)?;
    let unit = from.options.unit.unwrap_or(UNIT);
    text::import(from, &SPEC, |line| row(line, unit, offsets))
}

fn row(line: &[u8], unit: TimeUnit, offsets: Bytes) -> Parse {
    let cells = Cells::<8>::from_line(line, Separator::Blanks, (7, 8), LINE)?;
    let sector = address(cells.get(0), offsets, "address")?;
    whole_number(cells.get(1), "sectors")?;
    let bytes = length(cells.get(2), Bytes(1), "bytes")?;
    let write = whole_number(cells.get(3), "type")? % 2 == 1;
    let op = if write { Op::Write } else { Op::Read };
    let at = |cell, field| time(cells.get(cell), unit, field);
    let start = at(4, "generated")?;
    at(5, "processed")?;
    at(6, "submitted")?;
    let mut row = Row::new(start, op, sector, bytes);
    if cells.count == 8 {
        row.latency = KnownTime::from(since(start, at(7, "finished")?)?);
    }
    Ok(Some(row))
}

fn since(start: Nanos, end: Nanos) -> Result<Nanos, BadLine> {
    let latency = end.0.checked_sub(start.0).map(Nanos);
    latency.ok_or_else(|| {
        let distance = format!("{} ns before", start.0 - end.0);
        let expected = "a time not before the generation";
        BadLine::new("time goes back", "finished", expected, "").found(distance)
    })
}
