//! Doubts about formats that nothing but the shape of their rows tells.

use super::arrange::Spec;
use super::decimal::TimeUnit;
use super::error::ImportError;
use super::row::{DAY, Row};
use super::run::{Import, read_error};
use super::text::{BOM, Parse, first_rows};
use super::{FORMATS, ImportFormat};
use q2c_model::Bytes;

/// The longest request that a row is believed.
const LONGEST: u64 = 1 << 30;
/// Begin and end of the time that recordings are of: the years 1990 to 2099 in Unix time, ns.
const YEARS: std::ops::Range<u64> = 631_152_000_000_000_000..4_102_444_800_000_000_000;
/// Offsets and lengths in bytes are multiples of this, those in blocks seldom.
const BLOCK: u64 = 512;

/// What is said of a file that has no other mark of its format than the shape of its rows.
pub(super) fn doubt(head: &[u8], format: &ImportFormat) -> Option<String> {
    let text = head.strip_prefix(BOM).unwrap_or(head).trim_ascii_start();
    let has_header = text.first()?.is_ascii_alphabetic();
    if !format.by_shape || has_header {
        return None;
    }
    let others = FORMATS.iter().filter(|other| other.name != format.name);
    let others: Vec<&str> = others
        .filter(|other| (other.sniff)(head))
        .map(|other| other.name)
        .collect();
    let others = if others.is_empty() {
        "none".to_owned()
    } else {
        others.join(", ")
    };
    let name = format.name;
    Some(format!(
        "{name} by the shape of its rows; other readings: {others}"
    ))
}

/// Whether the first rows fit the format and can be those of a recording.
pub(super) fn sniff(head: &[u8], spec: &Spec, parse: impl FnMut(&[u8]) -> Parse) -> bool {
    let rows = first_rows(head, parse).unwrap_or_default();
    !rows.is_empty() && rows.iter().all(|row| is_plausible(row, spec))
}

fn is_plausible(row: &Row, spec: &Spec) -> bool {
    row.bytes.0.is_multiple_of(512)
        && row.bytes.0 <= LONGEST
        && row.latency.get().is_none_or(|latency| latency < DAY)
        && (!spec.unix || YEARS.contains(&row.start.0))
}

/// The unit of a file's Unix times: the format's own, or else another one in which the first rows
/// can be those of a recording.
pub(super) fn unix_unit(
    head: &[u8],
    spec: &Spec,
    own: TimeUnit,
    parse: impl Fn(&[u8], TimeUnit) -> Parse,
) -> Option<TimeUnit> {
    use TimeUnit::{Microseconds, Milliseconds, Nanoseconds, Seconds};
    let mut units = [own, Seconds, Milliseconds, Microseconds, Nanoseconds].into_iter();
    units.find(|unit| sniff(head, spec, |line| parse(line, *unit)))
}

/// The unit that is stated, or the format's own. It must be stated where the first rows are of no
/// year that a recording can be of, but would be in another unit.
pub(super) fn stated_unit(
    from: &mut Import<'_>,
    spec: &Spec,
    own: TimeUnit,
    parse: impl Fn(&[u8], TimeUnit) -> Parse,
) -> Result<TimeUnit, ImportError> {
    if let Some(unit) = from.options.unit {
        return Ok(unit);
    }
    let why = match unix_unit(head(from)?, spec, own, parse) {
        None => return Ok(own),
        Some(unit) if unit == own => return Ok(own),
        Some(TimeUnit::Seconds) => "its times are of this age in seconds (--unit s) alone",
        Some(TimeUnit::Milliseconds) => "its times are of this age in milliseconds (--unit ms)",
        Some(TimeUnit::Microseconds) => "its times are of this age in microseconds (--unit us)",
        Some(TimeUnit::Nanoseconds) => "its times are of this age in nanoseconds (--unit ns)",
    };
    Err(ImportError::Option {
        path: from.path.to_owned(),
        option: "unit",
        why,
    })
}

/// The unit of offsets that is stated, or blocks of 512 bytes. It must be stated where the first
/// offsets look like bytes. `lengths` says that the unit is also that of lengths.
pub(super) fn stated_block(
    from: &mut Import<'_>,
    lengths: bool,
    parse: impl FnMut(&[u8]) -> Parse,
) -> Result<Bytes, ImportError> {
    if let Some(unit) = from.options.offset_unit {
        return Ok(unit);
    }
    let rows = first_rows(head(from)?, parse).unwrap_or_default();
    let in_bytes = |row: &Row| {
        let length = row.bytes.0 / 512;
        let small = length < BLOCK && !lengths;
        row.sector.0.is_multiple_of(BLOCK) && (small || lengths && length.is_multiple_of(BLOCK))
    };
    let some = rows.len() > 1 && rows.iter().any(|row| row.sector.0 > 0);
    if some && rows.iter().all(in_bytes) {
        return Err(ImportError::Option {
            path: from.path.to_owned(),
            option: "offset unit",
            why: "the format counts blocks, but its first offsets are multiples of 512, as bytes \
                  are (--offset-unit 1 for bytes, --offset-unit 512 for blocks)",
        });
    }
    Ok(Bytes(512))
}

fn head<'a>(from: &'a mut Import<'_>) -> Result<&'a [u8], ImportError> {
    let failed = read_error(from.path);
    from.input.fill_buf().map_err(failed)
}
