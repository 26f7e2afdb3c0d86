//! CSV with all columns of the Parquet file under the same names. A null is an empty cell.

use super::{Export, ExportCounts, ExportFormat, write_fault};
use crate::Column;
use q2c_model::{Fault, IoRecord};
use std::io::{self, Write};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "csv",
    help: "comma-separated text with a header row: all columns, times in nanoseconds",
    export,
};

fn export(mut export: Export<'_>) -> Result<ExportCounts, Fault> {
    let mut counts = ExportCounts::default();
    let names: Vec<&str> = Column::ALL.iter().map(|column| column.name()).collect();
    writeln!(export.out, "{}", names.join(",")).map_err(write_fault(export.path))?;
    let mut row = Vec::new();
    export.write_each(|record, out| {
        row.clear();
        for column in Column::ALL {
            if !row.is_empty() {
                row.push(b',');
            }
            write_cell(&mut row, *column, record)?;
        }
        row.push(b'\n');
        counts.written += 1;
        out.write_all(&row)
    })?;
    Ok(counts)
}

fn write_cell(row: &mut Vec<u8>, column: Column, record: &IoRecord) -> io::Result<()> {
    match column {
        Column::Layer => write!(row, "{}", record.layer.name()),
        Column::Device => write!(row, "{}", record.device),
        Column::Op => write!(row, "{}", record.op.name()),
        Column::Comm => {
            record.comm.iter().for_each(|text| write_quoted(row, text));
            Ok(())
        }
        numeric => numeric.write(record, row),
    }
}

/// Writes a text, in quotes if a character in it would end the cell (RFC 4180). An empty text is
/// quoted, because an empty cell means null.
fn write_quoted(row: &mut Vec<u8>, text: &str) {
    let must_be_quoted = |byte: u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    if !text.is_empty() && !text.bytes().any(must_be_quoted) && text.trim() == text {
        row.extend(text.bytes());
        return;
    }
    row.push(b'"');
    for byte in text.bytes() {
        row.push(byte);
        if byte == b'"' {
            row.push(b'"');
        }
    }
    row.push(b'"');
}
