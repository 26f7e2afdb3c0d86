//! CSV: all columns under the names that they have in the Parquet file. A cell is empty where the
//! Parquet file has null.

use super::run::{Exported, written};
use super::{Export, ExportFormat};
use crate::Column;
use q2c_model::{Fault, IoRecord, Nanos};
use std::fmt::Display;
use std::io::{self, Write};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "csv",
    help: "comma-separated text with a header row: all columns, times in nanoseconds",
    export,
};

fn export(of: Export<'_>) -> Result<Exported, Fault> {
    let out = of.out;
    let failed = written(of.path);
    let mut exported = Exported::default();
    let names: Vec<&str> = Column::ALL.iter().map(|column| column.name()).collect();
    writeln!(out, "{}", names.join(",")).map_err(&failed)?;
    let mut row = Vec::new();
    for records in of.records {
        for record in &records? {
            row.clear();
            for column in Column::ALL {
                if !row.is_empty() {
                    row.push(b',');
                }
                cell(&mut row, *column, record).map_err(&failed)?;
            }
            row.push(b'\n');
            out.write_all(&row).map_err(&failed)?;
            exported.written += 1;
        }
    }
    Ok(exported)
}

fn cell(row: &mut Vec<u8>, column: Column, r: &IoRecord) -> io::Result<()> {
    match column {
        Column::Id => write!(row, "{}", r.id),
        Column::Layer => write!(row, "{}", r.layer.name()),
        Column::Device => write!(row, "{}", r.device),
        Column::Op => write!(row, "{}", r.op.name()),
        Column::Flags => write!(row, "{}", r.flags.0),
        Column::Sector => write!(row, "{}", r.sector.0),
        Column::Bytes => write!(row, "{}", r.bytes.0),
        Column::Lane => write!(row, "{}", r.lane),
        Column::DepthAtSubmit => write!(row, "{}", r.depth_at_submit),
        Column::QueueNs => time(row, r.queue_ns),
        Column::GetrqNs => time(row, r.getrq_ns),
        Column::InsertNs => time(row, r.insert_ns),
        Column::IssueNs => time(row, r.issue_ns),
        Column::CompleteNs => time(row, r.complete_ns),
        Column::SubmitNs => time(row, r.submit_ns),
        Column::SubmitEndNs => time(row, r.submit_end_ns),
        Column::ReapNs => time(row, r.reap_ns),
        Column::SleepAskedNs => time(row, r.sleep_asked_ns),
        Column::SleptNs => time(row, r.slept_ns),
        Column::Missed => some(row, r.missed),
        Column::Pid => some(row, r.pid),
        Column::Comm => {
            r.comm.iter().for_each(|text| quoted(row, text));
            Ok(())
        }
        Column::CpuSubmit => some(row, r.cpu_submit),
        Column::CpuComplete => some(row, r.cpu_complete),
        Column::Hctx => some(row, r.hctx),
        Column::Tag => some(row, r.tag),
        Column::Cgroup => some(row, r.cgroup),
        Column::Error => some(row, r.error),
        Column::MergedInto => some(row, r.merged_into),
    }
}

fn time(row: &mut Vec<u8>, time: Option<Nanos>) -> io::Result<()> {
    some(row, time.map(|ns| ns.0))
}

fn some(row: &mut Vec<u8>, value: Option<impl Display>) -> io::Result<()> {
    value.map_or(Ok(()), |value| write!(row, "{value}"))
}

/// Writes a text, in quotes when it holds a character that would end the cell (RFC 4180). An empty
/// text is quoted, because an empty cell means null.
fn quoted(row: &mut Vec<u8>, text: &str) {
    let special = |byte: u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    if !text.is_empty() && !text.bytes().any(special) && text.trim() == text {
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
