//! CSV with a header row and a column map. Without a map, usual names of columns are taken as what
//! they say.
//!
//! Each line is one record: a quoted cell may hold delimiters and quotes, but no line breaks. Rows
//! must be sorted by their start. Times become times since the first row's start.

mod cells;
mod field;
mod guess;
mod plan;
mod row;
mod suggest;
mod unit;

pub(super) use guess::unit_of;

use super::error::ImportError;
use super::lines::Lines;
use super::options::ImportOptions;
use super::run::{Import, Intake, Position, read_error};
use super::{ImportFormat, ImportOption};
use crate::Column;
use cells::Cells;
use field::Field;
use plan::Plan;
use q2c_model::TraceMeta;
use row::Rows;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "csv",
    help: "comma-separated text with a header row, and a column map (field=header) where its names are unusual; needs --unit where the headers of times do not end with theirs (took_us)",
    sniff,
    own_device_numbers: false,
    by_shape: false,
    uses: &[
        ImportOption::Unit,
        ImportOption::Op,
        ImportOption::Bytes,
        ImportOption::ReadFlag,
        ImportOption::Columns,
        ImportOption::Delimiter,
        ImportOption::Sort,
    ],
    import,
};

/// A field that a CSV column may hold: a column of the trace, or what gives one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvField {
    /// Its name in a column map.
    pub name: &'static str,
    /// What its cells hold, where the trace has no column of this name.
    pub meaning: Option<&'static str>,
    /// Headers, in small letters and without a unit at their end, that are taken as this field
    /// where no map is given.
    pub headers: &'static [&'static str],
}

/// The fields that a CSV column may hold, in the order of the trace's columns.
#[must_use]
pub fn csv_fields() -> Vec<CsvField> {
    let columns = Column::ALL.iter().filter(|column| Field::takes(**column));
    let own = [
        (Field::Offset, "first byte, a multiple of 512; gives sector"),
        (
            Field::Latency,
            "time from the start to the end; gives reap_ns or complete_ns",
        ),
    ];
    let columns = columns.map(|column| (column.name(), None));
    let own = own.map(|(field, meaning)| (field.name(), Some(meaning)));
    let headers = |name| guess::usual_headers().find(|(field, _)| *field == name);
    let field = |(name, meaning)| CsvField {
        name,
        meaning,
        headers: headers(name).map_or(&[], |(_, headers)| headers),
    };
    columns.chain(own).map(field).collect()
}

/// The clock's description, because the source does not tell its clock.
const CLOCK: &str = "as in the source";

/// Whether the first line looks like a header row: at least two cells, none of them empty or a
/// number.
fn sniff(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let first = head.lines().next().unwrap_or("");
    let mut cells = first.split([',', ';', '\t']);
    let names = |cell: &str| !cell.trim().is_empty() && cell.trim().parse::<f64>().is_err();
    let printable = !first.contains(|c: char| c == '\u{fffd}' || c.is_control() && c != '\t');
    printable && cells.clone().count() > 1 && cells.all(names)
}

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let (path, options) = (from.path, from.options);
    let mut cells = Cells::new(options.delimiter.unwrap_or(b','), path)?;
    let mut intake = Intake::new(path, options.skip_bad, from.sink);
    let mut lines = Lines::new(from.input);
    let Some(plan) = header(&mut lines, &mut cells, options, path)? else {
        return intake.finish(FORMAT.name, "", lines.number);
    };
    let mut rows = Rows::new(&plan);
    let mut begun = false;
    loop {
        let record = match lines.next().map_err(read_error(path))? {
            None => break,
            Some(Ok(line)) if line.trim().is_empty() => continue,
            Some(line) => line
                .and_then(|line| cells.split(line))
                .and_then(|()| rows.record(&cells)),
        };
        match record {
            Ok(record) => {
                if !begun {
                    begun = true;
                    intake.begin(rows.origin());
                }
                intake.take(record)?;
            }
            Err(bad) => intake.bad(Position::Line(lines.number), bad)?,
        }
    }
    let mut meta = intake.finish(FORMAT.name, CLOCK, lines.number)?;
    meta.facts.extend(rows.facts());
    Ok(meta)
}

/// Makes the plan from the first line that is not blank; `None` when there is none.
fn header(
    lines: &mut Lines<'_>,
    cells: &mut Cells,
    options: &ImportOptions,
    path: &std::path::Path,
) -> Result<Option<Plan>, ImportError> {
    loop {
        let split = match lines.next().map_err(read_error(path))? {
            None => return Ok(None),
            Some(Ok(line)) if line.trim().is_empty() => continue,
            Some(line) => line.and_then(|line| cells.split(line)),
        };
        let line = lines.number;
        split.map_err(|bad| ImportError::Header {
            path: path.to_owned(),
            line,
            expected: bad.expected.to_owned(),
            found: bad.found,
        })?;
        return Plan::new(options, cells, line, path).map(Some);
    }
}
