//! The plan of an import: which cell of a row holds which field.

use super::cells::Cells;
use super::field::{BLOCK, Field, USER};
use super::guess::{guess, typed};
use super::suggest::to_begin_with;
use super::unit::{Mapped, with_units};
use crate::Column;
use crate::import::error::{ImportError, shown};
use crate::import::options::ImportOptions;
use crate::import::run::needed;
use q2c_model::facts::{COLUMNS_NOT_TAKEN, STATED_BYTES, STATED_OP, STATED_SECTOR};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Op, Sectors};
use std::path::Path;

/// A column map that was checked against the header row.
#[derive(Debug)]
pub(super) struct Plan {
    /// What is read of a row.
    pub(super) fields: Vec<Mapped>,
    /// Number of cells in the header row.
    pub(super) width: usize,
    /// Instants of the layer, in the order of a request's life.
    pub(super) instants: &'static [Column],
    /// The first instant that is mapped; rows must be sorted by it.
    pub(super) start: Column,
    /// A record with the values stated for all rows, into which each row's cells are put.
    pub(super) blank: IoRecord,
    /// Facts that the user stated for the whole source.
    pub(super) stated: Facts,
}

impl Plan {
    pub(super) fn new(
        options: &ImportOptions,
        header: &Cells,
        line: u64,
        path: &Path,
    ) -> Result<Self, ImportError> {
        let wrong = |(expected, found)| ImportError::Map {
            path: path.to_owned(),
            expected,
            found,
        };
        let mut fields = Vec::new();
        for map in &options.columns {
            let field = Field::by_name(&map.field)
                .ok_or_else(|| wrong((format!("one of {}", Field::names()), shown(&map.field))))?;
            fields.push((field, place(header, &map.header, line, path)?));
        }
        let mut taken = None;
        if options.columns.is_empty() {
            fields = guess(header);
            let twice = fields.iter().find_map(|&(_, at)| {
                let name = header.get(at)?;
                (header.iter().filter(|other| *other == name).count() > 1).then_some(name)
            });
            if let Some(name) = twice {
                let expected = "each header once, or a column map (field=header)".to_owned();
                return Err(wrong((expected, format!("{} twice", shown(name)))));
            }
            taken = Some(typed(&fields, header));
        }
        let layer = check(&fields).map_err(wrong)?;
        let instants = if layer == Layer::User { USER } else { BLOCK };
        let has = |column: Column| has(&fields, Field::Column(column));
        let start = instants.iter().copied().find(|column| has(*column));
        let start = start.ok_or_else(|| wrong(no_start(taken.is_some(), &fields, header)))?;
        let mapped = with_units(&fields, header, options.unit, path)?;
        let (blank, mut stated) = blank(layer, &fields, options, path)?;
        stated.extend(taken.map(|map| ("columns_by_name", map)));
        stated.extend(not_taken(&fields, header).map(|names| (COLUMNS_NOT_TAKEN, names)));
        Ok(Plan {
            fields: mapped,
            width: header.count(),
            instants,
            start,
            blank,
            stated,
        })
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.fields.iter().any(|mapped| mapped.field == field)
    }

    /// The instant at which a request ends.
    pub(super) fn end(&self) -> Column {
        self.instants[self.instants.len() - 1]
    }
}

/// The headers of the columns that nothing is read of; `None` where all are read.
fn not_taken(fields: &[(Field, usize)], header: &Cells) -> Option<String> {
    let taken = |at: usize| fields.iter().any(|(_, of)| *of == at);
    let free = header.iter().enumerate().filter(|(at, _)| !taken(*at));
    let names: Vec<&str> = free.map(|(_, name)| name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// What is told where no column is mapped to a start. Where the names were to say it: options that
/// import the file as they stand, with the headers.
fn no_start(by_name: bool, fields: &[(Field, usize)], header: &Cells) -> Wrong {
    if !by_name {
        let expected = "a time besides the durations, such as submit_ns=HEADER (latencies alone: format latency-list)";
        return (expected.to_owned(), "none".to_owned());
    }
    let headers: Vec<&str> = header.iter().collect();
    let (options, why) = to_begin_with(fields, header);
    let expected = format!(
        "a column with the start of each request, such as {options} ({why}fields: {})",
        Field::names()
    );
    (
        expected,
        format!("the headers {}", shown(&headers.join(", "))),
    )
}

/// Whether a map has the field.
pub(super) fn has(fields: &[(Field, usize)], field: Field) -> bool {
    fields.iter().any(|(known, _)| *known == field)
}

fn place(header: &Cells, name: &str, line: u64, path: &Path) -> Result<usize, ImportError> {
    let mut places = header.iter().enumerate().filter(|(_, cell)| *cell == name);
    if let (Some((at, _)), None) = (places.next(), places.next()) {
        return Ok(at);
    }
    let headers: Vec<&str> = header.iter().collect();
    Err(ImportError::Header {
        path: path.to_owned(),
        line,
        expected: format!("exactly one column {}", shown(name)),
        found: shown(&headers.join(", ")),
    })
}

/// An error of a map: what was expected, and what was found.
type Wrong = (String, String);

/// Finds the layer, and refuses fields that contradict each other.
fn check(fields: &[(Field, usize)]) -> Result<Layer, Wrong> {
    let wrong = |expected: &str, found: &str| Err((expected.to_owned(), shown(found)));
    for (at, (field, _)) in fields.iter().enumerate() {
        if has(&fields[..at], *field) {
            return wrong("every field once", field.name());
        }
    }
    let is = |name: Column| has(fields, Field::Column(name));
    let user = [Column::SleepAskedNs, Column::SleptNs, Column::Missed];
    let user = USER.iter().chain(&user).any(|c| is(*c));
    let block = BLOCK.iter().any(|c| is(*c));
    if user && block {
        let expected = "times of one layer, as the two are never mixed";
        return wrong(expected, "times of the user layer and of the block layer");
    }
    if has(fields, Field::Offset) && is(Column::Sector) {
        return wrong("either offset or sector", "both");
    }
    if has(fields, Field::Latency) && (is(Column::ReapNs) || is(Column::CompleteNs)) {
        return wrong("either latency or the time of the end", "both");
    }
    Ok(if block { Layer::Block } else { Layer::User })
}

/// Facts for the trace's description: name and value.
pub(super) type Facts = Vec<(&'static str, String)>;

/// Makes the record that holds what is stated for all rows, and the facts that list what is stated.
fn blank(
    layer: Layer,
    fields: &[(Field, usize)],
    options: &ImportOptions,
    path: &Path,
) -> Result<(IoRecord, Facts), ImportError> {
    let mapped = |column| has(fields, Field::Column(column));
    let mut stated = Vec::new();
    let (mut op, mut bytes, mut device) = (Op::Other, Bytes(0), DevId::default());
    if !mapped(Column::Op) {
        op = needed(options.op, path, "op", "no column is mapped to op")?;
        stated.push((STATED_OP, op.to_string()));
    }
    if !mapped(Column::Bytes) {
        bytes = needed(
            options.bytes,
            path,
            "block size",
            "no column is mapped to bytes",
        )?;
        stated.push((STATED_BYTES, bytes.0.to_string()));
    }
    if !mapped(Column::Device) {
        device = options.device;
        stated.push(("stated.device", device.to_string()));
    }
    if !mapped(Column::Sector) && !has(fields, Field::Offset) {
        let none = "0 (the source has no offsets)";
        stated.push((STATED_SECTOR, none.to_owned()));
    }
    let blank = IoRecord::new(0, layer, device, op, Sectors(0), bytes);
    Ok((blank, stated))
}
