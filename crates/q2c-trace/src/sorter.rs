//! Sorts rows by key in bounded memory: sorted runs go to an unnamed file and are merged at the
//! end.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A row that is sorted by a key.
pub(crate) trait SorterRow: Serialize + DeserializeOwned {
    type Key: Ord + Copy;
    fn key(&self) -> Self::Key;
}

/// Bytes of a run that are read or written at once; far more than a row needs.
const BLOCK: usize = 64 * 1024;

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
            self.run_to_file()?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// Passes all rows to `take`, in order. `failed` turns the file's error into the caller's
    /// error.
    pub(crate) fn finish<E>(
        mut self,
        failed: impl Fn(io::Error) -> E,
        mut take: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.runs.is_empty() {
            self.rows.sort_by_key(R::key);
            return self.rows.into_iter().try_for_each(take);
        }
        self.run_to_file().map_err(&failed)?;
        self.rows = Vec::new();
        let Sorter { file, mut runs, .. } = self;
        let mut next = BinaryHeap::new();
        let first_key = |run: &mut SortedRun<R>, at| -> io::Result<_> {
            if let (true, Some(file)) = (run.ahead.is_empty(), &file) {
                run.read(file)?;
            }
            Ok(run.ahead.front().map(|row| Reverse((row.key(), at))))
        };
        for (at, run) in runs.iter_mut().enumerate() {
            next.extend(first_key(run, at).map_err(&failed)?);
        }
        while let Some(Reverse((_, at))) = next.pop() {
            runs[at].ahead.pop_front().map_or(Ok(()), &mut take)?;
            next.extend(first_key(&mut runs[at], at).map_err(&failed)?);
        }
        Ok(())
    }

    fn run_to_file(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.folder)?),
        };
        let at = self.runs.last().map_or(0, |run| run.end);
        let (mut end, mut packed) = (at, Vec::new());
        self.rows.sort_by_key(R::key);
        for row in self.rows.drain(..) {
            packed = postcard::to_extend(&row, packed).map_err(io::Error::other)?;
            if packed.len() >= BLOCK {
                file.write_all(&packed)?;
                end += packed.len() as u64;
                packed.clear();
            }
        }
        file.write_all(&packed)?;
        end += packed.len() as u64;
        let ahead = VecDeque::new();
        self.runs.push(SortedRun { at, end, ahead });
        Ok(())
    }
}

/// A sorted run in the file; the bytes `at..end` are not read yet.
struct SortedRun<R> {
    at: u64,
    end: u64,
    /// The next rows, which were read from the file.
    ahead: VecDeque<R>,
}

impl<R: SorterRow> SortedRun<R> {
    fn read(&mut self, file: &File) -> io::Result<()> {
        let mut packed = vec![0; (self.end - self.at).min(BLOCK as u64) as usize];
        file.read_exact_at(&mut packed, self.at)?;
        let mut rest = &packed[..];
        // A row that is cut at the end is read with the next block.
        while let Ok((row, behind)) = postcard::take_from_bytes(rest) {
            self.ahead.push_back(row);
            rest = behind;
        }
        if self.ahead.is_empty() && !packed.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.at += (packed.len() - rest.len()) as u64;
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
