//! FIU IODedup and SRCMap: `ts pid process lba size op major minor md5`, separated by blanks.
//!
//! Times are nanoseconds, address and size are in sectors of 512 bytes, the operation is `R` or
//! `W`. The hash may be missing and is not kept.

use super::ImportFormat;
use super::arrange::Spec;
use super::decimal::TimeUnit;
use super::row::{Name, Row};
use super::text::{self, Cells, Parse, Separator, address, device, length, letter, time};
use q2c_model::{Bytes, DevId};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "fiu",
    help: "FIU IODedup, SRCMap: ts pid process lba size op major minor md5 (not verified against a real file)",
    sniff: |head| text::sniff(head, |line| row(line, SECTOR)),
    own_device_numbers: false,
    import: |from| {
        let unit = from.options.offset_unit.unwrap_or(SECTOR);
        text::import(from, &SPEC, |line| row(line, unit))
    },
};

const SECTOR: Bytes = Bytes(512);
const SPEC: Spec = Spec::lines("fiu", "nanoseconds, as in the source");
const LINE: &str = "8 or 9 cells: ts pid process lba size op major minor md5";

fn row(line: &[u8], unit: Bytes) -> Parse {
    let cells = Cells::<9>::of(line, Separator::Blanks, (8, 9), LINE)?;
    let start = time(cells.get(0), TimeUnit::Nanoseconds, "ts")?;
    let pid = device(cells.get(1), "pid")?;
    let sector = address(cells.get(3), unit, "lba")?;
    let bytes = length(cells.get(4), SECTOR, "size")?;
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
