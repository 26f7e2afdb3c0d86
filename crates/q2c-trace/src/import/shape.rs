//! Checks of formats that only the shape of their rows identifies.

use super::row::DAY;
use super::text::{self, BOM, Parse, complete_lines, first_rows};
use super::{FORMATS, Import, ImportError, ImportFormat, Row, Spec, TimeUnit, fact, require};
use q2c_model::{Bytes, TraceMeta};

/// Longest plausible request, bytes: 1 GiB.
const MAX_REQUEST_BYTES: u64 = 1 << 30;
/// Bytes ahead that are examined.
const HEAD_BYTES: usize = 64 * 1024;
/// Range of plausible times: the years 1990 to 2099 in Unix time, ns; the end is exclusive.
const PLAUSIBLE_NS: std::ops::Range<u64> = 631_152_000_000_000_000..4_102_444_800_000_000_000;
/// Offsets and lengths in bytes are multiples of this; those in blocks seldom are.
const BLOCK_BYTES: u64 = 512;

/// A note on a file whose format only the shape of its rows shows; `None` if there is no doubt.
pub(super) fn ambiguity_note(head: &[u8], format: &ImportFormat) -> Option<String> {
    let text = head.strip_prefix(BOM).unwrap_or(head).trim_ascii_start();
    let has_header = text.first()?.is_ascii_alphabetic();
    if !format.by_shape || has_header {
        return None;
    }
    let others = FORMATS.iter().filter(|other| other.name != format.name);
    let names = others.filter(|other| (other.sniff)(head));
    let names = Vec::from_iter(names.map(|other| other.name)).join(", ");
    let names = if names.is_empty() { "none" } else { &names };
    let name = format.name;
    Some(format!(
        "{name} by the shape of its rows; other readings: {names}"
    ))
}

/// True if the first rows fit the format and are plausible for a recording.
pub(super) fn sniff(head: &[u8], spec: &Spec, parse: impl FnMut(&[u8]) -> Parse) -> bool {
    let rows = first_rows(head, parse).unwrap_or_default();
    !rows.is_empty() && rows.iter().all(|row| is_plausible(row, spec))
}

fn is_plausible(row: &Row, spec: &Spec) -> bool {
    row.bytes.0.is_multiple_of(512)
        && row.bytes.0 <= MAX_REQUEST_BYTES
        && row.latency.get().is_none_or(|latency| latency < DAY)
        && (!spec.is_unix || PLAUSIBLE_NS.contains(&row.start.0))
}

/// How to interpret a source's lines: the units of the format, or those that the user states.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineUnits {
    pub(super) unit: TimeUnit,
    /// Bytes per unit of offsets, and of sizes.
    pub(super) offsets: Bytes,
    pub(super) sizes: Bytes,
    /// The lowest bit of a read's flags.
    pub(super) read_flag: u64,
}

impl LineUnits {
    pub(super) const fn in_units(unit: TimeUnit, offsets: Bytes) -> LineUnits {
        LineUnits {
            unit,
            offsets,
            sizes: offsets,
            read_flag: 1,
        }
    }
}

/// The unit of a file's times: the format's own, or, for Unix times, the first unit in which the
/// first rows are plausible.
pub(super) fn detect_unit(
    head: &[u8],
    spec: &Spec,
    own: LineUnits,
    parse: impl Fn(&[u8], &LineUnits) -> Parse,
) -> Option<TimeUnit> {
    use TimeUnit::{Microseconds, Milliseconds, Nanoseconds, Seconds};
    let others = [Seconds, Milliseconds, Microseconds, Nanoseconds];
    let others = others.into_iter().filter(|_| spec.is_unix);
    let mut units = std::iter::once(own.unit).chain(others);
    units.find(|&unit| {
        let units = LineUnits { unit, ..own };
        sniff(head, spec, |line| parse(line, &units))
    })
}

/// The format's units with the stated unit of times. The unit must be stated if the first rows are
/// plausible only in another unit than the format's.
pub(super) fn find_units(
    from: &mut Import<'_>,
    spec: &Spec,
    own: LineUnits,
    parse: impl Fn(&[u8], &LineUnits) -> Parse,
) -> Result<LineUnits, ImportError> {
    if let Some(unit) = from.options.unit {
        return Ok(LineUnits { unit, ..own });
    }
    let reason = match detect_unit(from.peek(HEAD_BYTES)?, spec, own, parse) {
        None => return Ok(own),
        Some(unit) if unit == own.unit => return Ok(own),
        Some(TimeUnit::Seconds) => "its times are of this age in seconds (--unit s) alone",
        Some(TimeUnit::Milliseconds) => "its times are of this age in milliseconds (--unit ms)",
        Some(TimeUnit::Microseconds) => "its times are of this age in microseconds (--unit us)",
        Some(TimeUnit::Nanoseconds) => "its times are of this age in nanoseconds (--unit ns)",
    };
    require(None, from.path, "unit", reason)
}

/// The stated unit of offsets, or blocks of 512 bytes. It must be stated if the first offsets look
/// like bytes. `lengths_too` is true if lengths have the same unit.
pub(super) fn find_offset_unit(
    from: &mut Import<'_>,
    lengths_too: bool,
    parse: impl FnMut(&[u8]) -> Parse,
) -> Result<Bytes, ImportError> {
    if let Some(unit) = from.options.offset_unit {
        return Ok(unit);
    }
    let rows = first_rows(from.peek(HEAD_BYTES)?, parse).unwrap_or_default();
    let in_bytes = |row: &Row| {
        let is_small = row.bytes.0 / 512 < BLOCK_BYTES && !lengths_too;
        row.sector.0.is_multiple_of(BLOCK_BYTES) && (is_small || has_size_in_bytes(row))
    };
    let has_offsets = rows.len() > 1 && rows.iter().any(|row| row.sector.0 > 0);
    if has_offsets && rows.iter().all(in_bytes) {
        let reason = if rows.iter().all(has_size_in_bytes) {
            "the format counts blocks, but its first offsets and sizes are multiples of 512, as \
             bytes are (--offset-unit 1 for bytes, --offset-unit 512 for blocks)"
        } else {
            "the format counts blocks, but its first offsets are multiples of 512, as bytes are \
             (--offset-unit 1 for bytes, --offset-unit 512 for blocks)"
        };
        return require(None, from.path, "offset unit", reason);
    }
    Ok(Bytes(512))
}

/// True if the size of a row, parsed as blocks, looks like bytes.
fn has_size_in_bytes(row: &Row) -> bool {
    row.bytes.0.is_multiple_of(512 * BLOCK_BYTES)
}

/// Imports rows whose offsets and sizes are both in blocks or both in bytes. If the stated unit of
/// offsets is bytes, and all sizes are multiples of 512, sizes are bytes too.
pub(super) fn import_units(
    from: &mut Import<'_>,
    spec: &Spec,
    mut units: LineUnits,
    parse: impl Fn(&[u8], &LineUnits) -> Parse + Sync,
) -> Result<TraceMeta, ImportError> {
    units.offsets = find_offset_unit(from, false, |line| parse(line, &units))?;
    if units.offsets != Bytes(1) || !are_sizes_in_bytes(from, |line| parse(line, &units))? {
        return text::import(from, spec, |line| parse(line, &units));
    }
    units.sizes = Bytes(1);
    let mut meta = text::import(from, spec, |line| parse(line, &units))?;
    let sizes = "1 B (as that of offsets: all are multiples of 512)";
    meta.facts.extend([fact("unit.bytes", sizes)]);
    Ok(meta)
}

/// True if all sizes ahead, parsed as blocks, look like bytes. Bad lines are ignored.
fn are_sizes_in_bytes(
    from: &mut Import<'_>,
    parse: impl Fn(&[u8]) -> Parse,
) -> Result<bool, ImportError> {
    let lines = complete_lines(from.peek(HEAD_BYTES)?);
    let rows = Vec::from_iter(lines.filter_map(|line| parse(line).ok().flatten()));
    Ok(!rows.is_empty() && rows.iter().all(has_size_in_bytes))
}
