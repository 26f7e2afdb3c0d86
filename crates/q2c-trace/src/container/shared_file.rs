//! A file that several readers read at the same time, each at its own offset.

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Reads by offset, so that scans of one trace in several threads do not move each other's offset
/// (duplicated file handles share one).
#[derive(Clone, Debug)]
pub(super) struct SharedFile {
    file: Arc<File>,
    len: u64,
}

impl SharedFile {
    /// Opens a regular file. The open of a pipe would wait until somebody writes to it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::other(
                "expected a regular file, found a folder, a pipe or a device; name the file of the trace",
            ));
        }
        let file = Arc::new(File::open(path)?);
        let len = file.metadata()?.len();
        Ok(SharedFile { file, len })
    }

    /// Up to `len` bytes from offset `at`, fewer at the end of the file.
    pub(super) fn peek(&self, at: u64, len: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.from(at).take(len).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn from(&self, at: u64) -> FileAt {
        let file = self.file.clone();
        FileAt { file, at }
    }
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for SharedFile {
    type T = BufReader<FileAt>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(self.from(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // Read through `take`, so that a damaged length is not allocated before the bytes are seen.
        let bytes = self.peek(start, length as u64)?;
        if bytes.len() == length {
            return Ok(bytes.into());
        }
        let available = bytes.len();
        let text = format!("expected {length} bytes at offset {start}, found {available}");
        Err(parquet::errors::ParquetError::EOF(text))
    }
}

pub(super) struct FileAt {
    file: Arc<File>,
    at: u64,
}

impl Read for FileAt {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
