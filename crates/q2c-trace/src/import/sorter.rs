//! Rows in any order, sorted by their starts in bounded memory: sorted runs in an unnamed file, merged at the end.

use super::error::ImportError;
use super::row::{PACKED, Row};
use q2c_model::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Rows sorted at once, about 90 MB; what a run has.
const RUN: usize = 1 << 20;
/// Rows that a run holds in memory while it is merged.
const AHEAD: usize = 512;

/// Takes rows, gives them back in order. Rows of one start keep the order in which they came.
pub(super) struct Sorter {
    path: PathBuf,
    folder: PathBuf,
    run_rows: usize,
    rows: Vec<Row>,
    /// Made for the first run that leaves memory.
    file: Option<File>,
    runs: Vec<Run>,
    /// Bytes in the file.
    written: u64,
}

impl Sorter {
    /// For rows of `path`, with a file in `folder`.
    pub(super) fn new(path: &Path, folder: &Path) -> Self {
        Sorter {
            path: path.to_owned(),
            folder: folder.to_owned(),
            run_rows: RUN,
            rows: Vec::new(),
            file: None,
            runs: Vec::new(),
            written: 0,
        }
    }

    pub(super) fn push(&mut self, row: Row) -> Result<(), ImportError> {
        if self.rows.len() == self.run_rows {
            self.run_to_file().map_err(|e| self.failed(e))?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// Hands all rows on, in order.
    pub(super) fn finish(
        mut self,
        mut take: impl FnMut(Row) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        if self.runs.is_empty() {
            self.rows.sort_by_key(|row| row.start);
            return self.rows.drain(..).try_for_each(take);
        }
        self.run_to_file().map_err(|e| self.failed(e))?;
        self.rows = Vec::new();
        let mut runs = std::mem::take(&mut self.runs);
        let mut next = BinaryHeap::new();
        for (at, run) in runs.iter_mut().enumerate() {
            next.extend(self.first(run)?.map(|start| Reverse((start, at))));
        }
        while let Some(Reverse((_, at))) = next.pop() {
            let run = &mut runs[at];
            if let Some(row) = run.ahead.pop() {
                take(row)?;
            }
            next.extend(self.first(run)?.map(|start| Reverse((start, at))));
        }
        Ok(())
    }

    fn run_to_file(&mut self) -> io::Result<()> {
        self.rows.sort_by_key(|row| row.start);
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.folder)?),
        };
        let mut packed = Vec::new();
        for some in self.rows.chunks(4096) {
            packed.clear();
            some.iter().for_each(|row| row.pack(&mut packed));
            file.write_all(&packed)?;
        }
        let start = self.written;
        self.written += (self.rows.len() * PACKED) as u64;
        self.rows.clear();
        self.runs.push(Run {
            at: start,
            end: self.written,
            ahead: Vec::new(),
        });
        Ok(())
    }

    /// The start of the run's next row.
    fn first(&self, run: &mut Run) -> Result<Option<Nanos>, ImportError> {
        if let (true, Some(file)) = (run.ahead.is_empty(), &self.file) {
            run.read(file).map_err(|e| self.failed(e))?;
        }
        Ok(run.ahead.last().map(|row| row.start))
    }

    fn failed(&self, source: io::Error) -> ImportError {
        ImportError::Sort {
            path: self.path.clone(),
            folder: self.folder.clone(),
            source,
        }
    }
}

/// A sorted part of the file.
struct Run {
    /// Where what was not read yet begins.
    at: u64,
    end: u64,
    /// Rows in memory, the next one last.
    ahead: Vec<Row>,
}

impl Run {
    fn read(&mut self, file: &File) -> io::Result<()> {
        let left = (self.end - self.at) / PACKED as u64;
        // At most AHEAD, so it fits.
        let rows = left.min(AHEAD as u64) as usize;
        let mut packed = vec![0; rows * PACKED];
        file.read_exact_at(&mut packed, self.at)?;
        self.at += packed.len() as u64;
        let (rows, _) = packed.as_chunks::<PACKED>();
        self.ahead.extend(rows.iter().rev().map(Row::unpack));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use q2c_model::{Bytes, Op, Sectors};

    proptest! {
        #[test]
        fn rows_come_out_as_the_standard_library_sorts_them(
            starts in prop::collection::vec(0u64..500, 0..4_000),
            run_rows in 1usize..900,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut sorter = Sorter::new(Path::new("some"), folder.path());
            sorter.run_rows = run_rows;
            let mut expected: Vec<(u64, u64)> = Vec::new();
            for (number, start) in (0..).zip(starts) {
                sorter.push(Row::new(Nanos(start), Op::Read, Sectors(number), Bytes(512))).unwrap();
                expected.push((start, number));
            }
            let mut found = Vec::new();
            sorter.finish(|row| { found.push((row.start.0, row.sector.0)); Ok(()) }).unwrap();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn no_folder_is_told() {
        let mut sorter = Sorter::new(Path::new("some"), Path::new("/nowhere/at/all"));
        sorter.run_rows = 1;
        let row = Row::new(Nanos(1), Op::Read, Sectors(0), Bytes(512));
        sorter.push(row).unwrap();
        let told = sorter.push(row).unwrap_err().to_string();
        assert!(told.starts_with("sort some in /nowhere/at/all: "), "{told}");
    }
}
