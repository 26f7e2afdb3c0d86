//! Sorts rows by key in bounded memory: sorted runs go to an unnamed file and are merged at the
//! end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A row that packs into a fixed number of bytes.
pub(crate) trait SorterRow: Sized {
    type Key: Ord + Copy;
    /// Bytes of a packed row; `pack` appends exactly as many.
    const SIZE: usize;
    fn key(&self) -> Self::Key;
    /// Appends the row as bytes, for a file that only this process reads.
    fn pack(&self, into: &mut Vec<u8>);
    fn unpack(packed: &[u8]) -> Self;
}

/// Most rows of one run in memory while runs are merged.
const AHEAD: usize = 512;

/// Takes rows in any order and returns them sorted. Rows of one key keep the order in which they
/// came.
pub(crate) struct Sorter<R> {
    folder: PathBuf,
    run_rows: usize,
    rows: Vec<R>,
    /// Made when the first run leaves memory.
    file: Option<File>,
    runs: Vec<SortedRun<R>>,
    written: u64,
}

impl<R: SorterRow> Sorter<R> {
    /// A sorter that holds up to `run_rows` rows in memory. When there are more, it keeps sorted
    /// runs in a file in `folder`.
    pub(crate) fn new(folder: &Path, run_rows: usize) -> Self {
        Sorter {
            folder: folder.to_owned(),
            run_rows,
            rows: Vec::new(),
            file: None,
            runs: Vec::new(),
            written: 0,
        }
    }

    pub(crate) fn push(&mut self, row: R) -> io::Result<()> {
        if self.rows.len() == self.run_rows {
            self.run_to_file()?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// Hands all rows on, in order. `failed` turns an error of the file into the caller's error.
    pub(crate) fn finish<E>(
        mut self,
        failed: impl Fn(io::Error) -> E,
        mut take: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.runs.is_empty() {
            self.rows.sort_by_key(SorterRow::key);
            return self.rows.drain(..).try_for_each(take);
        }
        self.run_to_file().map_err(&failed)?;
        self.rows = Vec::new();
        let mut runs = std::mem::take(&mut self.runs);
        let mut next = BinaryHeap::new();
        for (at, run) in runs.iter_mut().enumerate() {
            let first = self.first(run).map_err(&failed)?;
            next.extend(first.map(|key| Reverse((key, at))));
        }
        while let Some(Reverse((_, at))) = next.pop() {
            let run = &mut runs[at];
            if let Some(row) = run.ahead.pop() {
                take(row)?;
            }
            let first = self.first(run).map_err(&failed)?;
            next.extend(first.map(|key| Reverse((key, at))));
        }
        Ok(())
    }

    fn run_to_file(&mut self) -> io::Result<()> {
        self.rows.sort_by_key(SorterRow::key);
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
        self.written += (self.rows.len() * R::SIZE) as u64;
        self.rows.clear();
        self.runs.push(SortedRun {
            at: start,
            end: self.written,
            ahead: Vec::new(),
        });
        Ok(())
    }

    /// The key of the run's next row; `None` at the end of the run.
    fn first(&self, run: &mut SortedRun<R>) -> io::Result<Option<R::Key>> {
        if let (true, Some(file)) = (run.ahead.is_empty(), &self.file) {
            run.read(file)?;
        }
        Ok(run.ahead.last().map(SorterRow::key))
    }
}

/// A sorted part of the file, `at..end` of it not read yet.
struct SortedRun<R> {
    at: u64,
    end: u64,
    /// Rows in memory in reverse order: the next one is last.
    ahead: Vec<R>,
}

impl<R: SorterRow> SortedRun<R> {
    fn read(&mut self, file: &File) -> io::Result<()> {
        let left = (self.end - self.at) / R::SIZE as u64;
        // There are at most AHEAD rows, so the number fits.
        let rows = left.min(AHEAD as u64) as usize;
        let mut packed = vec![0; rows * R::SIZE];
        file.read_exact_at(&mut packed, self.at)?;
        self.at += packed.len() as u64;
        let rows = packed.chunks_exact(R::SIZE);
        self.ahead.extend(rows.rev().map(R::unpack));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Key, and number in the order of arrival.
    type Row = (u64, u64);

    impl SorterRow for Row {
        type Key = u64;
        const SIZE: usize = 16;
        fn key(&self) -> u64 {
            self.0
        }
        fn pack(&self, into: &mut Vec<u8>) {
            into.extend(self.0.to_le_bytes());
            into.extend(self.1.to_le_bytes());
        }
        fn unpack(packed: &[u8]) -> Row {
            let word = |at: usize| u64::from_le_bytes(packed[at..at + 8].try_into().unwrap());
            (word(0), word(8))
        }
    }

    proptest! {
        #[test]
        fn rows_come_out_as_the_standard_library_sorts_them(
            keys in prop::collection::vec(0u64..500, 0..4_000),
            run_rows in 1usize..900,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut sorter = Sorter::new(folder.path(), run_rows);
            let mut expected: Vec<Row> = keys.into_iter().zip(0..).collect();
            for row in &expected {
                sorter.push(*row).unwrap();
            }
            let mut sorted = Vec::new();
            sorter.finish(|e| e, |row| { sorted.push(row); Ok(()) }).unwrap();
            expected.sort_unstable();
            prop_assert_eq!(sorted, expected);
        }
    }

    #[test]
    fn no_folder_is_told() {
        let mut sorter = Sorter::new(Path::new("/nowhere/at/all"), 1);
        sorter.push((1, 0)).unwrap();
        let error = sorter.push((1, 1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
