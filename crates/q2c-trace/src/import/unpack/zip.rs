//! Reads the only file in a zip archive. The directory is at the end, so pipes cannot be read. It
//! is parsed here, entry by entry, because it may have any size and the crates load it completely.

use super::{BUFFER_BYTES, CountedInput, UnpackError};
use crate::CountedFile;
use flate2::{CrcReader, bufread::DeflateDecoder};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::rc::Rc;

/// First bytes of a zip archive with files, and of an empty one.
pub(super) const MAGIC: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
/// Most bytes after the directory: the end record, and a comment.
const MAX_TAIL_BYTES: u64 = 22 + 65_535;
/// A file of 4 GiB or more has this value as its length, and its true length elsewhere (zip64).
const ZIP64_LENGTH: u64 = u32::MAX as u64;

struct ZipMember {
    name: String,
    encrypted: bool,
    method: u64,
    crc: u64,
    packed_bytes: u64,
    bytes: u64,
    offset: u64,
}

/// Opens the only file of an archive. `position` is set to the position in the archive, bytes.
pub(super) fn open(mut file: File, position: &Rc<Cell<u64>>) -> io::Result<Box<dyn Read>> {
    let end = file.seek(SeekFrom::End(0)).map_err(|_| {
        UnpackError::error("expected a file, found a pipe; a zip archive is read from its end: name the file, or unpack it")
    })?;
    position.set(end);
    let (entries, directory) = find_directory(&mut file, end)?;
    file.seek(SeekFrom::Start(directory))?;
    let mut input = BufReader::new(&file);
    let mut members: Vec<ZipMember> = Vec::new();
    for _ in 0..entries {
        let member = ZipMember::read(&mut input)?;
        if !member.name.ends_with('/') && super::is_users_file(&member.name) {
            members.push(member);
        }
        if members.len() > super::MAX_LISTED_FILES {
            break;
        }
    }
    let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
    super::check_single_file("zip", &names)?;
    let no_file = || UnpackError::error("expected a file in the zip archive, found none");
    members.pop().ok_or_else(no_file)?.open(file, position)
}

fn damage(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The little-endian number in the `N` bytes from `at` on.
fn number<const N: usize>(bytes: &[u8], at: usize) -> io::Result<u64> {
    let bytes = bytes.get(at..at + N);
    let bytes = bytes.ok_or_else(|| damage("a record that is too short"))?;
    let add = |number, byte: &u8| (number << 8) | u64::from(*byte);
    Ok(bytes.iter().rev().fold(0, add))
}

/// The number of entries in the directory, and its offset in bytes.
fn find_directory(file: &mut File, end: u64) -> io::Result<(u64, u64)> {
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(end.saturating_sub(MAX_TAIL_BYTES)))?;
    file.take(MAX_TAIL_BYTES).read_to_end(&mut tail)?;
    let at = memchr::memmem::rfind(&tail, b"PK\x05\x06");
    let end_record = &tail[at.ok_or(io::ErrorKind::UnexpectedEof)?..];
    let (entries, offset) = (number::<2>(end_record, 10)?, number::<4>(end_record, 16)?);
    if offset == ZIP64_LENGTH {
        return Err(UnpackError::error(
            "expected a zip archive below 4 GiB, found one for larger files (zip64); unpack it, and import the file",
        ));
    }
    Ok((entries, offset))
}

impl ZipMember {
    fn read(input: &mut impl BufRead) -> io::Result<ZipMember> {
        let mut entry = [0; 46];
        input.read_exact(&mut entry)?;
        if !entry.starts_with(b"PK\x01\x02") {
            return Err(damage("no entry of a directory"));
        }
        let [name_length, extra, comment] = [28, 30, 32].map(|at| number::<2>(&entry, at));
        let name = read_bytes(input, name_length?)?;
        read_bytes(input, extra? + comment?)?;
        Ok(ZipMember {
            name: String::from_utf8_lossy(&name).into_owned(),
            encrypted: number::<2>(&entry, 8)? & 1 == 1,
            method: number::<2>(&entry, 10)?,
            crc: number::<4>(&entry, 16)?,
            packed_bytes: number::<4>(&entry, 20)?,
            bytes: number::<4>(&entry, 24)?,
            offset: number::<4>(&entry, 42)?,
        })
    }

    fn open(self, mut file: File, position: &Rc<Cell<u64>>) -> io::Result<Box<dyn Read>> {
        if self.encrypted || self.is_large() || ![0, 8].contains(&self.method) {
            return Err(self.refusal());
        }
        let mut header = [0; 30];
        file.seek(SeekFrom::Start(self.offset))?;
        file.read_exact(&mut header)?;
        if !header.starts_with(MAGIC[0]) {
            return Err(damage("no header of a file"));
        }
        let variable_bytes = number::<2>(&header, 26)? + number::<2>(&header, 28)?;
        file.seek_relative(variable_bytes as i64)?;
        position.set(file.stream_position()?);
        let input =
            BufReader::with_capacity(BUFFER_BYTES, CountedFile(file)).take(self.packed_bytes);
        let input = CountedInput::new(Box::new(input), position);
        let reader: Box<dyn Read> = match self.method {
            0 => Box::new(input),
            _ => Box::new(DeflateDecoder::new(input)),
        };
        let (reader, crc, size) = (CrcReader::new(reader), self.crc, self.bytes);
        Ok(Box::new(CrcChecker { reader, crc, size }))
    }

    fn is_large(&self) -> bool {
        [self.packed_bytes, self.bytes, self.offset].contains(&ZIP64_LENGTH)
    }

    fn refusal(&self) -> io::Error {
        let how = if self.encrypted {
            "an encrypted one".to_owned()
        } else if self.is_large() {
            "one of 4 GiB or more".to_owned()
        } else {
            format!("one packed by method {}", self.method)
        };
        let name = self.name.escape_debug();
        UnpackError::error(format!(
            "expected a file packed by Deflate in the zip archive, found {how}: {name}; unpack it, and import the file"
        ))
    }
}

fn read_bytes(input: &mut impl BufRead, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Compares the length and the checksum of a file when it ends.
struct CrcChecker {
    reader: CrcReader<Box<dyn Read>>,
    crc: u64,
    size: u64,
}

impl Read for CrcChecker {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        let crc = self.reader.crc();
        let is_intact = u64::from(crc.sum()) == self.crc && crc.amount() == self.size as u32;
        if read == 0 && !buffer.is_empty() && !is_intact {
            return Err(damage("another checksum than the archive names"));
        }
        Ok(read)
    }
}
