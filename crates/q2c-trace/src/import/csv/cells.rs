use crate::import::{BadLine, ImportError, require};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};
use std::path::Path;

const MAX_CELLS: usize = 4096;

/// The cells of the last line; each line reuses the memory.
pub(super) struct CsvCells {
    reader: Reader,
    is_by_blanks: bool,
    text: Vec<u8>,
    cell_ends: Vec<usize>,
    pub(super) count: usize,
}

impl CsvCells {
    pub(super) fn new(delimiter: u8, path: &Path) -> Result<Self, ImportError> {
        if !delimiter.is_ascii() || matches!(delimiter, b'"' | b'\n' | b'\r') {
            let reason = "an ASCII character other than a quote or a line break separates cells";
            return require(None, path, "delimiter", reason);
        }
        let mut builder = ReaderBuilder::new();
        // The line break is removed before; a carriage return within the line is text.
        builder.terminator(Terminator::Any(b'\n'));
        Ok(CsvCells {
            reader: builder.delimiter(delimiter).build(),
            is_by_blanks: delimiter == b' ',
            text: Vec::new(),
            cell_ends: vec![0; MAX_CELLS],
            count: 0,
        })
    }

    pub(super) fn split(&mut self, line: &str) -> Result<(), BadLine> {
        let cells = || line.split_whitespace().collect::<Vec<_>>();
        let joined = self.is_by_blanks.then(|| cells().join(" "));
        let line = joined.as_deref().unwrap_or(line);
        self.text.resize(line.len() + 1, 0);
        let (mut text_bytes, mut cells) = (0, 0);
        let mut result = ReadRecordResult::InputEmpty;
        // The line break tells the reader that the record is complete.
        for input in [line.as_bytes(), b"\n"] {
            let (out, end) = (&mut self.text[text_bytes..], &mut self.cell_ends[cells..]);
            let (outcome, _, more_text, more_cells) = self.reader.read_record(input, out, end);
            (text_bytes, cells, result) = (text_bytes + more_text, cells + more_cells, outcome);
            if !matches!(result, ReadRecordResult::InputEmpty) {
                break;
            }
        }
        self.count = cells;
        if matches!(result, ReadRecordResult::Record) {
            return Ok(());
        }
        self.reader.reset();
        let (reason, expected) = match result {
            ReadRecordResult::InputEmpty => ("open quote", "every quote closed on its line"),
            _ => ("too many cells", "at most 4096 cells"),
        };
        Err(BadLine::new(reason, "line", expected, line))
    }

    /// The cell at index `at` (from 0), without the blanks around it.
    pub(super) fn get(&self, at: usize) -> Option<&str> {
        let ends = &self.cell_ends[..self.count];
        let end = *ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| ends[before]);
        let cell = std::str::from_utf8(self.text.get(start..end)?);
        cell.ok().map(str::trim)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.count).filter_map(|at| self.get(at))
    }
}
