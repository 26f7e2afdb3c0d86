//! FIU IODedup and SRCMap: `ts pid process lba size op major minor md5`, separated by blanks.
//!
//! Times are nanoseconds, address and size are in sectors of 512 bytes, the operation is `R` or
//! `W`. The hash may be missing and is not kept.

use super::shape::{self, Units};
use super::text::{Cells, Parse, Separator, address, device, letter, sector_length, time};
use super::{ImportFormat, ImportOption as O, Name, Row, Spec, TimeUnit};
use q2c_model::DevId;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "fiu",
    help: "FIU IODedup, SRCMap: ts pid process lba size op major minor md5 (not verified against a real file)",
    sniff: |head| {
        shape::sniff(head, &SPEC, |line| {
            row(line, TimeUnit::Nanoseconds, Units::SECTORS)
        })
    },
    by_shape: true,
    uses: &[O::Unit, O::OffsetUnit, O::Sort],
    import: |from| {
        let unit = from.options.unit.unwrap_or(TimeUnit::Nanoseconds);
        shape::import_units(from, &SPEC, |line, units| row(line, unit, units))
    },
};

const SPEC: Spec = Spec::lines("fiu", "as in the source");
const LINE: &str = "8 or 9 cells: ts pid process lba size op major minor md5";

fn row(line: &[u8], unit: TimeUnit, units: Units) -> Parse {
    let cells = Cells::<9>::from_line(line, Separator::Blanks, (8, 9), LINE)?;
    let start = time(cells.get(0), unit, "ts")?;
    let pid = device(cells.get(1), "pid")?;
    let sector = address(cells.get(3), units.offsets, "lba")?;
    let bytes = sector_length(cells.get(4), units.sizes, "size")?;
    let op = letter(cells.get(5), "op")?;
    let mut row = Row::new(start, op, sector, bytes);
    row.device = DevId {
        major: device(cells.get(6), "major")?,
        minor: device(cells.get(7), "minor")?,
    };
    row.pid = Some(pid);
    row.name = Name::cut(cells.get(2));
    Ok(Some(row))
}
