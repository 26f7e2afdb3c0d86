//! Opens sources that may be packed, and reads the only file of an archive. Both are detected by
//! their first bytes and unpacked while they are read, so memory does not grow with their size.

mod tar;
mod zip;

use super::ImportError;
use super::run::read_error;
use crate::CountedFile;
use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use lz4_flex::frame::FrameDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::rc::Rc;
use thiserror::Error;

const STDIN: &str = "-";
const BUFFER: usize = 256 * 1024;
/// Bytes that are read to detect a format.
pub(super) const HEAD: usize = 4096;
/// Most packings within each other, such as a tar archive in gzip.
const MOST_LAYERS: usize = 4;
/// Most bytes of memory for unpacking xz, equal to Zstandard's; xz -9 needs 65 MiB.
const MOST_XZ_MEMORY: u64 = 128 << 20;
/// Most files of an archive that a message lists.
const MOST_NAMED: usize = 10;

struct Packer {
    name: &'static str,
    /// True if a source that begins with these bytes is packed this way.
    is: fn(&[u8]) -> bool,
    open: fn(CountedInput) -> io::Result<Box<dyn Read>>,
}

const PACKERS: &[Packer] = &[
    Packer {
        name: "gzip",
        is: |head| head.starts_with(&[0x1f, 0x8b]),
        open: |input| Ok(Box::new(MultiGzDecoder::new(input))),
    },
    Packer {
        name: "Zstandard",
        is: |head| head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        open: |input| Ok(Box::new(zstd::stream::read::Decoder::with_buffer(input)?)),
    },
    Packer {
        name: "xz",
        is: |head| head.starts_with(b"\xfd7zXZ\0"),
        open: |input| {
            let stream = Stream::new_stream_decoder(MOST_XZ_MEMORY, CONCATENATED)?;
            Ok(Box::new(XzDecoder::new_stream(input, stream)))
        },
    },
    Packer {
        name: "bzip2",
        is: |head| {
            head.starts_with(b"BZh") && head.get(4..10).is_some_and(|magic| magic == b"1AY&SY")
        },
        open: |input| Ok(Box::new(MultiBzDecoder::new(input))),
    },
    Packer {
        name: "LZ4",
        is: |head| {
            head.starts_with(&[0x04, 0x22, 0x4d, 0x18]) || head.starts_with(b"\x02\x21L\x18")
        },
        open: |input| Ok(Box::new(Frames(FrameDecoder::new(input)))),
    },
    Packer {
        name: "tar",
        is: tar::is_tar,
        open: |input| tar::open(Box::new(input)),
    },
];

pub(super) fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

pub(super) fn source_name(path: &Path) -> &Path {
    if is_stdin(path) {
        Path::new("stdin")
    } else {
        path
    }
}

/// Opens a source; returns true if it is packed. Packed data is unpacked while it is read. If it is
/// truncated, reading fails with an error that names the byte of the file.
pub(super) fn open(path: &Path) -> Result<(bool, Box<dyn BufRead>), ImportError> {
    let file = if is_stdin(path) {
        io::stdin().as_fd().try_clone_to_owned().map(File::from)
    } else {
        File::open(path)
    };
    let opened = file.and_then(open_file);
    opened.map_err(read_error(source_name(path)))
}

fn open_file(file: File) -> io::Result<(bool, Box<dyn BufRead>)> {
    let mut input = BufReader::with_capacity(BUFFER, CountedFile(file));
    let mut magic = Vec::new();
    input.by_ref().take(4).read_to_end(&mut magic)?;
    if !zip::MAGIC.contains(&&magic[..]) {
        return unpacked(Cursor::new(magic).chain(input));
    }
    let at = Rc::<Cell<u64>>::default();
    let reader = zip::open(input.into_inner().0, &at);
    let reader = reader.map_err(|error| damage_error("zip", at.get(), error))?;
    let (_, source) = unpacked(buffered("zip", reader, at))?;
    Ok((true, source))
}

fn unpacked(input: impl BufRead + 'static) -> io::Result<(bool, Box<dyn BufRead>)> {
    let (mut head, mut source) = with_head(input)?;
    for layer in 0..=MOST_LAYERS {
        let Some(packer) = PACKERS.iter().find(|packer| (packer.is)(&head)) else {
            return Ok((layer > 0, source));
        };
        let at = Rc::<Cell<u64>>::default();
        let counted = CountedInput {
            input: source,
            at: Rc::clone(&at),
        };
        let reader = (packer.open)(counted);
        let reader = reader.map_err(|error| damage_error(packer.name, at.get(), error))?;
        (head, source) = with_head(buffered(packer.name, reader, at))?;
    }
    Err(UnpackError::error(
        "expected at most 4 packings inside each other, found more; unpack it, and import the file in it",
    ))
}

/// Reads the first bytes of a source. Returns them, and the whole source. A pipe gives few bytes at
/// a time.
fn with_head(mut input: impl BufRead + 'static) -> io::Result<(Vec<u8>, Box<dyn BufRead>)> {
    let mut head = Vec::new();
    input.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    if zip::MAGIC.iter().any(|magic| head.starts_with(magic)) {
        return Err(UnpackError::error(
            "expected one file in the packed data, found a zip archive; unpack it, and import the file in it",
        ));
    }
    Ok((head.clone(), Box::new(Cursor::new(head).chain(input))))
}

fn buffered(name: &'static str, reader: Box<dyn Read>, at: Rc<Cell<u64>>) -> impl BufRead {
    BufReader::with_capacity(BUFFER, Unpacked { reader, name, at })
}

fn expect_one(archive: &str, names: &[String]) -> io::Result<()> {
    if names.len() < 2 {
        return Ok(());
    }
    let shown = names.iter().take(MOST_NAMED);
    let shown: Vec<_> = shown.map(|name| name.escape_debug().to_string()).collect();
    let more = if names.len() > MOST_NAMED {
        ", and more"
    } else {
        ""
    };
    let names = shown.join(", ");
    let message = format!(
        "expected one file in the {archive} archive, found {names}{more}; unpack it, and import the file that is the recording"
    );
    Err(UnpackError::error(message))
}

/// True if a file's user put it into the archive. macOS adds files with file properties.
fn is_own(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    !name.starts_with("__MACOSX/") && !file.starts_with("._")
}

struct CountedInput {
    input: Box<dyn BufRead>,
    at: Rc<Cell<u64>>,
}

impl Read for CountedInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.at.set(self.at.get() + read as u64);
        Ok(read)
    }
}

impl BufRead for CountedInput {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.at.set(self.at.get() + amount as u64);
        self.input.consume(amount);
    }
}

/// Successive LZ4 frames. The decoder ends after each of them.
struct Frames(FrameDecoder<CountedInput>);

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let before = self.0.get_ref().at.get();
            let read = self.0.read(buffer)?;
            let ended = read == 0 && self.0.get_mut().fill_buf()?.is_empty();
            if read > 0 || ended || self.0.get_ref().at.get() == before {
                return Ok(read);
            }
        }
    }
}

/// Unpacked data. Its errors name the byte of the file at which they occurred.
struct Unpacked {
    reader: Box<dyn Read>,
    name: &'static str,
    at: Rc<Cell<u64>>,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer);
        read.map_err(|error| damage_error(self.name, self.at.get(), error))
    }
}

/// An error with what was expected and found. The outer layers pass it on unchanged.
#[derive(Debug, Error)]
#[error("{0}")]
struct UnpackError(String);

impl UnpackError {
    fn error(words: impl Into<String>) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, UnpackError(words.into()))
    }
}

fn damage_error(name: &str, at: u64, error: io::Error) -> io::Error {
    let inner = error.get_ref();
    let is_told = inner.is_some_and(|inner| inner.is::<UnpackError>());
    let message = match error.kind() {
        _ if is_told => return error,
        io::ErrorKind::Interrupted => return error,
        io::ErrorKind::UnexpectedEof => format!(
            "expected the rest of the {name} data, found the end of the file at byte {at}; get the whole file"
        ),
        _ => format!("expected {name} data, found damage at byte {at} of the file: {error}"),
    };
    io::Error::new(error.kind(), UnpackError(message))
}
