//! DiskSim ASCII: `time device block blocks flags`, separated by blanks.
//!
//! Blocks have 512 bytes. Times are milliseconds in DiskSim's own files and nanoseconds in copies
//! of the format, so the unit must be stated. The lowest bit of the flags is 1 for reads, unless
//! stated otherwise.

use super::text::{self, Cells, Parse, Separator, address, device, length, time};
use super::{
    Import, ImportError, ImportFormat, ImportOption as O, Row, Spec, TimeUnit, fact, needed, shape,
};
use q2c_model::{Bytes, Op, TraceMeta};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "disksim",
    help: "DiskSim ASCII: time device block blocks flags; needs the unit (ms in DiskSim's own files); --read-flag 0 where 0 is a read",
    sniff: |head| {
        let fits = |block| {
            let stated = Stated { block, ..SNIFFED };
            shape::sniff(head, &SPEC, |line| row(line, &stated))
        };
        // Copies of the format have bytes; the import then asks for the unit of offsets.
        fits(Bytes(512)) || fits(Bytes(1))
    },
    by_shape: true,
    uses: &[O::Unit, O::OffsetUnit, O::ReadFlag, O::Sort],
    import,
};

const SPEC: Spec = Spec::lines("disksim", "as in the source");
const LINE: &str = "5 numbers: time device block blocks flags";

/// Properties that the file does not tell and the user states.
struct Stated {
    unit: TimeUnit,
    block: Bytes,
    read_flag: u64,
}

const SNIFFED: Stated = Stated {
    unit: TimeUnit::Nanoseconds,
    block: Bytes(512),
    read_flag: 1,
};

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let (path, options) = (from.path, from.options);
    let reason = "DiskSim counts milliseconds (ms), copies of the format also nanoseconds (ns)";
    let stated = Stated {
        unit: needed(options.unit, path, "unit", reason)?,
        block: shape::stated_block(from, true, |line| row(line, &SNIFFED))?,
        read_flag: u64::from(options.read_flag.unwrap_or(1) & 1),
    };
    let mut meta = text::import(from, &SPEC, |line| row(line, &stated))?;
    meta.facts.extend([
        fact("unit", stated.unit.name()),
        fact("stated.read_flag", stated.read_flag),
    ]);
    Ok(meta)
}

fn row(line: &[u8], stated: &Stated) -> Parse {
    let cells = Cells::<5>::from_line(line, Separator::Blanks, (5, 5), LINE)?;
    let start = time(cells.get(0), stated.unit, "time")?;
    let number = device(cells.get(1), "device")?;
    let sector = address(cells.get(2), stated.block, "block")?;
    let bytes = length(cells.get(3), stated.block, "blocks")?;
    let read = text::whole_number(cells.get(4), "flags")? & 1 == stated.read_flag;
    let op = if read { Op::Read } else { Op::Write };
    Ok(Some(Row::new(start, op, sector, bytes).with_disk(number)))
}
