//! CSV with a header row and a column map. Columns with usual names give the fields that the map
//! does not name.
//!
//! Each line is one record: a quoted cell may hold delimiters and quotes, but no line breaks. Rows
//! must be sorted by their start. Rows with only an end and a latency must be sorted by their end,
//! and a window sorts them by start. With the option to sort, rows may come in any order. Times
//! become relative to the first start.

mod cells;
mod clock;
mod headers;
mod plan;
mod row;

pub(super) use clock::{ClockOrigin, add_day, midnights};
pub(super) use headers::unit_of;

use super::arrange::WINDOW_ROWS;
use super::run::{Intake, read_error};
use super::text::Lines;
use super::{BadLine, Import, ImportError, ImportFormat, ImportOption, ImportOptions};
use cells::CsvCells;
use plan::{CsvHead, CsvPlan, map_error, wrong_header};
use q2c_model::{IoRecord, Nanos, TraceMeta};
use row::{CsvRows, Field};
use std::path::Path;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "csv",
    help: "text with a header row, separated by commas, semicolons, tabs or blanks, and a column map (field=header or field=header:unit) where its names are unusual; needs --unit where neither the headers of times end with theirs (took_us) nor they are dates",
    sniff: headers::sniff,
    by_shape: false,
    uses: &[
        ImportOption::Unit,
        ImportOption::OffsetUnit,
        ImportOption::Op,
        ImportOption::Bytes,
        ImportOption::ReadFlag,
        ImportOption::Columns,
        ImportOption::Delimiter,
        ImportOption::Sort,
    ],
    import,
};

/// A field that a CSV column may hold: a column of the trace, or the source of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvField {
    /// The field's name in a column map.
    pub name: &'static str,
    /// Description of its cells; `None` if the field is a column of the trace.
    pub meaning: Option<&'static str>,
    /// Headers, in lower case and without a unit at their end, that stand for this field if no map
    /// names it.
    pub headers: Vec<&'static str>,
}

/// The fields that a CSV column may hold, in the order of the trace's columns.
pub fn csv_fields() -> Vec<CsvField> {
    let field = |field: Field| CsvField {
        name: field.name(),
        meaning: match field {
            Field::Column(_) => None,
            Field::Offset => Some("first byte, a multiple of 512; gives sector"),
            Field::Latency => Some("time from the start to the end; gives reap_ns or complete_ns"),
        },
        headers: headers::usual_headers(field),
    };
    Field::iter().map(field).collect()
}

/// Describes the clock, because the source does not.
const CLOCK: &str = "as in the source";

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let path = from.path;
    let intake = Intake::new(path, from.options.skip_bad, from.sink);
    let mut lines = Lines::new(from.input);
    let Some((plan, mut cells)) = read_plan(&mut lines, from.options, path)? else {
        return intake.finish(FORMAT.name, "", lines.number);
    };
    let mut rows = CsvRows::new(&plan);
    rows.is_sorted_later = from.options.sort.is_some();
    let (full, keep) = match (rows.is_sorted_later, plan.has_computed_start()) {
        (true, _) => (usize::MAX, 0),
        (false, true) => (2 * WINDOW_ROWS, WINDOW_ROWS),
        (false, false) => (1, 0),
    };
    let mut out = CsvOutput { rows, intake };
    let mut window = CsvWindow {
        full,
        keep,
        waiting: Vec::new(),
        horizon: Nanos::ZERO,
    };
    while let Some(text) = lines.next_text().map_err(read_error(path))? {
        if text.as_ref().is_ok_and(|line| line.trim().is_empty()) {
            continue;
        }
        let split = text.and_then(|line| cells.split(line));
        let request = split.and_then(|()| out.rows.read(&cells));
        let line = lines.number;
        if let Ok((_, record)) = &request {
            let checked = plan.check_unit(record, line);
            checked.map_err(|wrong| map_error(path, wrong))?;
        }
        let pushed = request.and_then(|(start, record)| window.push((line, start, record)));
        match pushed {
            Ok(mut leaving) => leaving.try_for_each(|request| out.take(request))?,
            Err(bad) => out.intake.bad(line, bad)?,
        }
    }
    let mut leaving = window.release(window.waiting.len());
    leaving.try_for_each(|request| out.take(request))?;
    let origin = out.rows.origin();
    let mut meta = out
        .intake
        .finish(FORMAT.name, &origin.clock, lines.number)?;
    meta.start_unix_ns = origin.unix.then_some(origin.zero_ns);
    meta.facts.extend(out.rows.facts());
    Ok(meta)
}

struct CsvOutput<'a> {
    rows: CsvRows<'a>,
    intake: Intake<'a>,
}

impl CsvOutput<'_> {
    fn take(&mut self, (line, start, mut record): CsvRequest) -> Result<(), ImportError> {
        if let Err(bad) = self.rows.add(start, &mut record) {
            return self.intake.bad(line, bad);
        }
        if self.intake.record_count == 0 {
            self.intake.origin = self.rows.origin();
            if self.rows.numbers_devices() {
                self.intake.number_devices();
            }
        }
        self.intake.take(record)
    }
}

/// Makes the plan from the first line that is not blank and the row after it; `None` if there is no
/// such line.
fn read_plan(
    lines: &mut Lines<'_>,
    options: &ImportOptions,
    path: &Path,
) -> Result<Option<(CsvPlan, CsvCells)>, ImportError> {
    let header = loop {
        match lines.next_text().map_err(read_error(path))? {
            None => return Ok(None),
            Some(Ok(line)) if line.trim().is_empty() => {}
            Some(line) => break line.map(str::to_owned),
        }
    };
    let line = lines.number;
    let to_error = |bad: BadLine| wrong_header(path, line, bad.expected, &bad.found);
    let header = header.map_err(to_error)?;
    let next_lines = String::from_utf8_lossy(lines.peek().map_err(read_error(path))?);
    let row = next_lines.lines().find(|line| !line.trim().is_empty());
    let delimiter = options.delimiter;
    let delimiter = delimiter.unwrap_or_else(|| headers::detect_delimiter(&header, row));
    let mut names = CsvCells::new(delimiter, path)?;
    let mut sample = CsvCells::new(delimiter, path)?;
    names.split(&header).map_err(to_error)?;
    let has_row = row.is_some_and(|row| sample.split(row).is_ok());
    let head = CsvHead {
        header: &names,
        sample: has_row.then_some(&sample),
        delimiter,
        options,
        path,
    };
    Ok(Some((CsvPlan::new(&head, line)?, names)))
}

/// The line of a request in the source, its start, and its record.
type CsvRequest = (u64, Nanos, IoRecord);

/// Most rows that are sorted with --sort, because all of them are in memory: some 400 MB.
const MAX_SORTED_ROWS: usize = 1 << 20;

struct CsvWindow {
    /// Number of waiting requests at which some leave, and how many of them then keep waiting.
    /// Rows sorted by start do not wait; rows in any order all wait until the end.
    full: usize,
    keep: usize,
    waiting: Vec<CsvRequest>,
    /// The start of the last request that left.
    horizon: Nanos,
}

impl CsvWindow {
    /// Adds a request. Returns the requests that need not wait any longer, in order.
    fn push(&mut self, request: CsvRequest) -> Result<impl Iterator<Item = CsvRequest>, BadLine> {
        if request.1 < self.horizon {
            let expected = "a start not before the requests more than 65536 rows above";
            let early = format!("{} ns before", self.horizon.0 - request.1.0);
            return Err(BadLine::new("time goes back", "latency", expected, &early));
        }
        if self.waiting.len() == MAX_SORTED_ROWS {
            let expected = "at most 1048576 rows with --sort (sort the file by its start first)";
            return Err(BadLine::new("too many rows", "line", expected, "").found("another row"));
        }
        self.waiting.push(request);
        let is_full = self.waiting.len() == self.full;
        Ok(self.release(if is_full { self.full - self.keep } else { 0 }))
    }

    fn release(&mut self, count: usize) -> impl Iterator<Item = CsvRequest> {
        if count > 0 {
            // The sort is stable: requests of one instant keep the order of the source.
            self.waiting.sort_by_key(|(_, start, _)| *start);
            self.horizon = self.waiting[count - 1].1;
        }
        self.waiting.drain(..count)
    }
}
