//! Sorts rows by key in bounded memory: sorted runs go to an unnamed file and are merged at the
//! end.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A row that is sorted by a key.
pub(crate) trait SorterRow: Serialize + DeserializeOwned {
    type Key: Ord + Copy;
    fn key(&self) -> Self::Key;
}

/// Bytes of a run that are read or written at once; far more than a row needs.
const BLOCK_BYTES: usize = 64 * 1024;

/// Takes rows in any order and returns them sorted. Rows with equal keys keep their order.
pub(crate) struct Sorter<R> {
    folder: PathBuf,
    run_rows: usize,
    rows: Vec<R>,
    /// `None` until the first run is written.
    file: Option<File>,
    runs: Vec<SortedRun<R>>,
}

impl<R: SorterRow> Sorter<R> {
    /// Makes a sorter that holds up to `run_rows` rows in memory. If there are more, sorted runs go
    /// to an unnamed file in `folder`.
    pub(crate) fn new(folder: &Path, run_rows: usize) -> Self {
        Sorter {
            folder: folder.to_owned(),
            run_rows,
            rows: Vec::new(),
            file: None,
            runs: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, row: R) -> io::Result<()> {
        if self.rows.len() == self.run_rows {
            self.write_run()?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// Passes all rows to `take`, in order. `to_error` turns the file's error into the caller's
    /// error.
    pub(crate) fn finish<E>(
        mut self,
        to_error: impl Fn(io::Error) -> E,
        mut take: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.runs.is_empty() {
            self.rows.sort_by_key(R::key);
            return self.rows.into_iter().try_for_each(take);
        }
        self.write_run().map_err(&to_error)?;
        self.rows = Vec::new();
        let Sorter { file, mut runs, .. } = self;
        let mut heads = BinaryHeap::new();
        // The key of a run's next row, whose block is read if it is not in memory.
        let next_key = |run: &mut SortedRun<R>, number| -> io::Result<_> {
            if let (true, Some(file)) = (run.rows.is_empty(), &file) {
                run.read_block(file)?;
            }
            Ok(run.rows.front().map(|row| Reverse((row.key(), number))))
        };
        for (number, run) in runs.iter_mut().enumerate() {
            heads.extend(next_key(run, number).map_err(&to_error)?);
        }
        while let Some(Reverse((_, number))) = heads.pop() {
            runs[number].rows.pop_front().map_or(Ok(()), &mut take)?;
            heads.extend(next_key(&mut runs[number], number).map_err(&to_error)?);
        }
        Ok(())
    }

    fn write_run(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            slot => slot.insert(tempfile::tempfile_in(&self.folder)?),
        };
        let offset = self.runs.last().map_or(0, |run| run.end);
        let mut packed = Vec::new();
        self.rows.sort_by_key(R::key);
        for row in self.rows.drain(..) {
            packed = postcard::to_extend(&row, packed).map_err(io::Error::other)?;
            if packed.len() >= BLOCK_BYTES {
                file.write_all(&packed)?;
                packed.clear();
            }
        }
        file.write_all(&packed)?;
        let (end, rows) = (file.stream_position()?, VecDeque::new());
        self.runs.push(SortedRun { offset, end, rows });
        Ok(())
    }
}

/// A sorted run in the file; the bytes `offset..end` are not read yet.
struct SortedRun<R> {
    offset: u64,
    end: u64,
    /// The next rows, which were read from the file.
    rows: VecDeque<R>,
}

impl<R: SorterRow> SortedRun<R> {
    fn read_block(&mut self, file: &File) -> io::Result<()> {
        let mut packed = vec![0; (self.end - self.offset).min(BLOCK_BYTES as u64) as usize];
        file.read_exact_at(&mut packed, self.offset)?;
        let mut unread = &packed[..];
        // A row that is cut at the end is read with the next block.
        while let Ok((row, after)) = postcard::take_from_bytes(unread) {
            self.rows.push_back(row);
            unread = after;
        }
        if self.rows.is_empty() && !packed.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.offset += (packed.len() - unread.len()) as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The key, and the number in the order of arrival.
    type KeyedRow = (u64, u64);

    impl SorterRow for KeyedRow {
        type Key = u64;
        fn key(&self) -> u64 {
            self.0
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
            let mut expected: Vec<KeyedRow> = keys.into_iter().zip(0..).collect();
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
