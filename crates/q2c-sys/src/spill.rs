//! Arrays that may not fit into memory: the words are written one after another to a file without a
//! name, which is then mapped and read like a slice.
//!
//! The kernel keeps as much of the mapping in memory as there is room for, and reads other pages
//! again when they are needed.

use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::NonNull;

/// Numbers of 32 bits for which every bit pattern is a valid value.
pub trait Word: Copy + Send + Sync + sealed::Sealed {
    /// The number's bytes in the machine's byte order.
    fn bytes(self) -> [u8; 4];
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for f32 {}
}

impl Word for u32 {
    fn bytes(self) -> [u8; 4] {
        self.to_ne_bytes()
    }
}

impl Word for f32 {
    fn bytes(self) -> [u8; 4] {
        self.to_ne_bytes()
    }
}

/// Bytes that are gathered before they are written.
const WRITE_BUFFER_BYTES: usize = 256 * 1024;

/// Words that are being written to a file. [`Spill::map`] ends the writing and gives them back as a
/// slice.
#[derive(Debug)]
pub struct Spill<T> {
    file: BufWriter<File>,
    words: usize,
    kind: PhantomData<T>,
}

impl<T: Word> Spill<T> {
    /// Makes a file without a name in `folder`. The kernel frees its space when the process ends in
    /// any way.
    pub fn new_in(folder: &Path) -> io::Result<Self> {
        Ok(Spill {
            file: BufWriter::with_capacity(WRITE_BUFFER_BYTES, tempfile::tempfile_in(folder)?),
            words: 0,
            kind: PhantomData,
        })
    }

    /// Appends words.
    pub fn write(&mut self, words: &[T]) -> io::Result<()> {
        for word in words {
            self.file.write_all(&word.bytes())?;
        }
        self.words += words.len();
        Ok(())
    }

    /// Ends the writing and maps all words for reading.
    pub fn map(self) -> io::Result<MappedWords<T>> {
        let file = self.file.into_inner().map_err(|e| e.into_error())?;
        let length = self.words * size_of::<T>();
        let mapped = |base| MappedWords {
            base,
            words: self.words,
        };
        if length == 0 {
            return Ok(mapped(NonNull::dangling()));
        }
        let (read, shared) = (ProtFlags::READ, MapFlags::SHARED);
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
        let base =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), length, read, shared, &file, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(mapped(base))
    }
}

/// Words in a mapped file, read through `as_ref`. Nobody else can change the file: it has no name,
/// and its descriptor is closed.
#[derive(Debug)]
pub struct MappedWords<T> {
    base: NonNull<T>,
    words: usize,
}

// SAFETY: the mapping is only ever read, and belongs to this value alone.
unsafe impl<T: Word> Send for MappedWords<T> {}
// SAFETY: shared references only read the mapping, which nobody writes.
unsafe impl<T: Word> Sync for MappedWords<T> {}

impl<T: Word> AsRef<[T]> for MappedWords<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: the mapping is aligned to a page and holds `words` words, all written before it
        // was made; every bit pattern is a valid word; nobody writes to the file or shortens it.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.words) }
    }
}

impl<T> Drop for MappedWords<T> {
    fn drop(&mut self) {
        if self.words > 0 {
            let length = self.words * size_of::<T>();
            // SAFETY: base and length are those of the mapping made in `map`, and nothing borrows
            // it any more.
            let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), length) };
            debug_assert!(unmapped.is_ok(), "{unmapped:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::new_in(folder.path()).unwrap();
        for part in 0..100_u32 {
            let numbers: Vec<f32> = (0..part * 37).map(|n| (part * 10_000 + n) as f32).collect();
            spill.write(&numbers).unwrap();
        }
        let mapped = spill.map().unwrap();
        let numbers = (0..100_u32).flat_map(|part| (0..part * 37).map(move |n| part * 10_000 + n));
        assert!(
            numbers
                .map(|n| n as f32)
                .eq(mapped.as_ref().iter().copied())
        );
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "no name");
    }

    #[test]
    fn nothing_is_a_slice_too() {
        let spill = Spill::<u32>::new_in(&std::env::temp_dir()).unwrap();
        assert_eq!(spill.map().unwrap().as_ref(), [0_u32; 0]);
    }

    #[test]
    fn a_folder_that_is_none() {
        let none = Spill::<u32>::new_in(Path::new("/nonexistent"));
        assert_eq!(none.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
