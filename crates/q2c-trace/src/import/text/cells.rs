//! Splits a line into cells and parses them. A good line needs no allocation.

use crate::import::decimal::{self, NOT_A_NUMBER};
use crate::import::{BadLine, TimeUnit, bad};
use q2c_model::{Bytes, Nanos, Op, Sectors};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// A comma, with or without blanks around it.
    Comma,
    /// Any number of blanks or tabs.
    Blanks,
}

/// A line split into cells, of which the first `N` are kept.
pub(crate) struct Cells<'a, const N: usize> {
    cells: [&'a [u8]; N],
    /// Number of all cells, including those after the first `N`.
    pub(crate) count: usize,
}

impl<'a, const N: usize> Cells<'a, N> {
    #[inline]
    pub(crate) fn split(line: &'a [u8], separator: Separator) -> Self {
        let mut cells: [&[u8]; N] = [b""; N];
        let mut count = 0;
        let mut keep = |cell: &'a [u8]| {
            if let Some(slot) = cells.get_mut(count) {
                *slot = cell;
            }
            count += 1;
        };
        match separator {
            Separator::Comma => {
                let mut from = 0;
                for comma in memchr::memchr_iter(b',', line) {
                    keep(line[from..comma].trim_ascii());
                    from = comma + 1;
                }
                keep(line[from..].trim_ascii());
            }
            Separator::Blanks => line
                .split(u8::is_ascii_whitespace)
                .filter(|cell| !cell.is_empty())
                .for_each(keep),
        }
        Cells { cells, count }
    }

    /// Splits a line, which must have at least `min` and at most `max` cells.
    #[inline]
    pub(crate) fn from_line(
        line: &'a [u8],
        separator: Separator,
        (min, max): (usize, usize),
        expected: &'static str,
    ) -> Result<Self, BadLine> {
        let cells = Self::split(line, separator);
        if (min..=max).contains(&cells.count) {
            Ok(cells)
        } else {
            Err(BadLine::wrong_cells(expected, line))
        }
    }

    /// The cell at index `at` (from 0); empty if the line has no such cell.
    pub(crate) fn get(&self, at: usize) -> &'a [u8] {
        self.cells.get(at).copied().unwrap_or_default()
    }
}

/// The positions of cells that blanks separate, for lines with a cell that may hold blanks.
pub(crate) fn cell_ranges(line: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    line.split(u8::is_ascii_whitespace).filter_map(move |cell| {
        let at = from..from + cell.len();
        from += cell.len() + 1;
        (!cell.is_empty()).then_some(at)
    })
}

pub(crate) fn whole_number(cell: &[u8], field: &'static str) -> Result<u64, BadLine> {
    parse_digits(cell).ok_or_else(|| bad(field, "a whole number below 2^64", cell))
}

#[inline]
fn parse_digits(cell: &[u8]) -> Option<u64> {
    const MAX_FITTING_DIGITS: usize = 19;
    if cell.is_empty() {
        return None;
    }
    if cell.len() <= MAX_FITTING_DIGITS {
        let (mut value, mut invalid) = (0u64, 0);
        for byte in cell {
            let digit = byte.wrapping_sub(b'0');
            invalid |= u8::from(digit > 9);
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        }
        return (invalid == 0).then_some(value);
    }
    parse_many_digits(cell)
}

#[cold]
fn parse_many_digits(cell: &[u8]) -> Option<u64> {
    // The standard library would accept a sign.
    let text = str::from_utf8(cell).ok()?;
    text.parse().ok().filter(|_| cell[0] != b'+')
}

/// Parses a number below 2^32, such as a disk's or a process's number.
pub(crate) fn number_32(cell: &[u8], field: &'static str) -> Result<u32, BadLine> {
    let number = parse_digits(cell).and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| bad(field, "a whole number below 2^32", cell))
}

pub(crate) fn time(cell: &[u8], unit: TimeUnit, field: &'static str) -> Result<Nanos, BadLine> {
    let whole = parse_digits(cell).and_then(|number| number.checked_mul(unit.nanos()));
    if let Some(ns) = whole {
        return Ok(Nanos(ns));
    }
    let text = std::str::from_utf8(cell).map_err(|_| NOT_A_NUMBER);
    let ns = text.and_then(|text| decimal::nanos(text, unit));
    ns.map(Nanos)
        .map_err(|reason| BadLine::new(reason, field, "a time, zero or above", cell))
}

/// Parses an offset in units of `unit` bytes into sectors.
pub(crate) fn address(cell: &[u8], unit: Bytes, field: &'static str) -> Result<Sectors, BadLine> {
    let offset = whole_number(cell, field)?;
    sectors(offset, unit)
        .ok_or_else(|| bad(field, "a multiple of 512 bytes below 2^64 bytes", cell))
}

/// Converts `offset` units to sectors; `None` if it is not a multiple of 512 or too large.
pub(crate) fn sectors(offset: u64, unit: Bytes) -> Option<Sectors> {
    let offset = Bytes(offset.checked_mul(unit.0)?);
    offset.0.is_multiple_of(512).then(|| offset.sectors())
}

/// Parses a length above zero, in units of `unit` bytes.
pub(crate) fn length(cell: &[u8], unit: Bytes, field: &'static str) -> Result<Bytes, BadLine> {
    const EXPECTED: &str = "a length above zero";
    let units = whole_number(cell, field)?;
    if units == 0 {
        return Err(BadLine::new("zero length", field, EXPECTED, "0"));
    }
    let bytes = units.checked_mul(unit.0).map(Bytes);
    bytes.ok_or_else(|| bad(field, "a length below 2^64 bytes", cell))
}

/// Parses a length above zero, in units of `unit` bytes, that must be whole sectors.
pub(crate) fn sector_length(
    cell: &[u8],
    unit: Bytes,
    field: &'static str,
) -> Result<Bytes, BadLine> {
    let bytes = length(cell, unit, field)?;
    if !bytes.0.is_multiple_of(512) {
        return Err(bad(field, "a multiple of 512, as in the first rows", cell));
    }
    Ok(bytes)
}

pub(crate) fn read_or_write(cell: &[u8], field: &'static str) -> Result<Op, BadLine> {
    match cell {
        b"R" | b"r" => Ok(Op::Read),
        b"W" | b"w" => Ok(Op::Write),
        word if word.eq_ignore_ascii_case(b"read") => Ok(Op::Read),
        word if word.eq_ignore_ascii_case(b"write") => Ok(Op::Write),
        _ => Err(bad(field, "R, W, Read or Write", cell)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_up_to_the_limit() {
        for (text, number) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("00000000000000000000000001", Some(1)),
            ("18446744073709551616", None),
            ("", None),
            ("-1", None),
            ("1 ", None),
            ("1.0", None),
        ] {
            assert_eq!(parse_digits(text.as_bytes()), number, "{text}");
        }
    }

    #[test]
    fn cells_beyond_the_kept_are_counted() {
        let cells = Cells::<2>::split(b"a, b ,c,", Separator::Comma);
        let values = [0, 1, 2].map(|at| cells.get(at));
        assert_eq!(values, [&b"a"[..], b"b", b""]);
        assert_eq!(cells.count, 4);
        let cells = Cells::<2>::split(b" a \t\t b  c", Separator::Blanks);
        let values = [0, 1].map(|at| cells.get(at));
        assert_eq!((values, cells.count), ([&b"a"[..], b"b"], 3));
    }
}
