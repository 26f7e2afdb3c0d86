use super::Parse;
use super::blocks::{BOM, LONGEST_LINE};
use crate::import::error::BadLine;
use crate::import::row::Row;
use crate::import::run::Skipped;
use std::collections::BTreeMap;

/// Memory for rows is reserved as if all lines were as short as this, since growing it means
/// copying.
const SHORT_LINE: usize = 32;

/// The result of parsing a block. Lines count from 1 within the block.
pub(super) struct Parsed {
    pub(super) rows: Vec<Row>,
    pub(super) lines: u64,
    pub(super) skipped: BTreeMap<&'static str, Skipped>,
    pub(super) stopped: Option<(u64, BadLine)>,
    pub(super) memory: Vec<u8>,
}

impl Parsed {
    /// Parses a block. `first` says that it is the first block of its source, which may begin with
    /// a byte order mark.
    pub(super) fn from_block(
        block: Vec<u8>,
        first: bool,
        skip_bad: bool,
        parse: &mut dyn FnMut(&[u8]) -> Parse,
    ) -> Parsed {
        let mut parsed = Parsed {
            rows: Vec::with_capacity(block.len() / SHORT_LINE),
            lines: 0,
            skipped: BTreeMap::new(),
            stopped: None,
            memory: Vec::new(),
        };
        let mut rest = &block[..];
        if first {
            rest = rest.strip_prefix(BOM).unwrap_or(rest);
        }
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest);
            let line = &rest[..end.unwrap_or(rest.len())];
            rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
            parsed.lines += 1;
            match parse_line(line, parse) {
                Ok(None) => {}
                Ok(Some(mut row)) => {
                    row.position = parsed.lines;
                    parsed.rows.push(row);
                }
                Err(bad) if skip_bad => {
                    let skipped = parsed.skipped.entry(bad.reason).or_default();
                    skipped.add(parsed.lines);
                }
                Err(bad) => {
                    parsed.stopped = Some((parsed.lines, bad));
                    break;
                }
            }
        }
        parsed.memory = block;
        parsed
    }
}

fn parse_line(line: &[u8], parse: &mut dyn FnMut(&[u8]) -> Parse) -> Parse {
    if line.len() > LONGEST_LINE {
        let expected = "at most 65536 bytes and a line break";
        return Err(BadLine::new("line too long", "line", expected, "").found("a longer line"));
    }
    match line.trim_ascii_end() {
        [] => Ok(None),
        line => parse(line),
    }
}
