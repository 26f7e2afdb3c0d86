//! Reads where the fields of a record are, from `events/GROUP/EVENT/format` and
//! `events/header_page`. Both have lines `field:TYPE NAME; offset:N; size:N; signed:N;`.

use std::collections::BTreeMap;

/// A field's place in its record: offset and size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TracefsField {
    pub(super) offset: usize,
    pub(super) size: usize,
}

impl TracefsField {
    /// The field's bytes in a record; `None` when the record is too short.
    pub(super) fn bytes_in<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        record.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// The field as an unsigned little-endian number; `None` when it is longer than 8 bytes or the
    /// record is too short.
    pub(super) fn number(&self, record: &[u8]) -> Option<u64> {
        let bytes = self.bytes_in(record).filter(|bytes| bytes.len() <= 8)?;
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        Some(u64::from_le_bytes(wide))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Format {
    /// The number by which records name the event; 0 for a page's head.
    pub(super) id: u16,
    fields: BTreeMap<String, TracefsField>,
}

impl Format {
    /// Reads a format file's text; lines that declare no field are left out.
    pub(super) fn parse(text: &str) -> Format {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"));
        let id = id.and_then(|id| id.trim().parse().ok()).unwrap_or(0);
        let fields = text.lines().filter_map(field).collect();
        Format { id, fields }
    }

    pub(super) fn get(&self, name: &str) -> Option<TracefsField> {
        self.fields.get(name).copied()
    }
}

fn field(line: &str) -> Option<(String, TracefsField)> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let name = declared.rsplit([' ', '*']).next()?;
    let name = name.split('[').next()?;
    let (mut offset, mut size) = (None, None);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", n)) => offset = n.parse().ok(),
            Some(("size", n)) => size = n.parse().ok(),
            _ => {}
        }
    }
    let (offset, size) = (offset?, size?);
    Some((name.to_owned(), TracefsField { offset, size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The format file of Linux 6.1, shortened.
    const ISSUE: &str = "name: block_rq_issue
ID: 1243
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:char rwbs[8];\toffset:32;\tsize:8;\tsigned:0;
\tfield:__data_loc char[] cmd;\toffset:56;\tsize:4;\tsigned:0;

print fmt: \"%d,%d %s %u\", ((unsigned int) ((REC->dev) >> 20)), REC->rwbs
";

    #[test]
    fn fields_by_name() {
        let format = Format::parse(ISSUE);
        assert_eq!(format.id, 1243);
        let at = |offset, size| Some(TracefsField { offset, size });
        assert_eq!(format.get("sector"), at(16, 8));
        assert_eq!(format.get("rwbs"), at(32, 8));
        assert_eq!(format.get("common_pid"), at(4, 4));
        assert_eq!(format.get("cmd"), at(56, 4));
        assert_eq!(format.get("error"), None);
    }

    #[test]
    fn numbers_of_a_record() {
        let field = TracefsField { offset: 2, size: 4 };
        assert_eq!(field.number(&[0, 0, 1, 2, 0, 0x80, 9]), Some(0x8000_0201));
        assert_eq!(field.number(&[0; 5]), None);
        let wide = TracefsField { offset: 0, size: 9 };
        assert_eq!(wide.number(&[0; 9]), None);
    }
}
