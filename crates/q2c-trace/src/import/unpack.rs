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
const BUFFER_BYTES: usize = 256 * 1024;
/// Bytes that are read to detect a format.
pub(super) const HEAD_BYTES: usize = 4096;
/// Most packings within each other, such as a tar archive in gzip.
const MAX_LAYERS: usize = 4;
/// Most bytes of memory for unpacking xz, equal to Zstandard's; xz -9 needs 65 MiB.
const MAX_XZ_BYTES: u64 = 128 << 20;
/// Most files of an archive that a message lists.
const MAX_LISTED_FILES: usize = 10;

/// The packing of a source that begins with these bytes; `None` if it is not packed.
fn packing(head: &[u8]) -> Option<&'static str> {
    Some(match head {
        [0x1f, 0x8b, ..] => "gzip",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "Zstandard",
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => "xz",
        [b'B', b'Z', b'h', _, b'1', b'A', b'Y', b'&', b'S', b'Y', ..] => "bzip2",
        [0x04, 0x22, 0x4d, 0x18, ..] | [0x02, 0x21, b'L', 0x18, ..] => "LZ4",
        _ if tar::is_tar(head) => "tar",
        _ => return None,
    })
}

/// Opens a source with this [`packing`].
fn open_packed(packing: &str, input: CountedInput) -> io::Result<Box<dyn Read>> {
    Ok(match packing {
        "gzip" => Box::new(MultiGzDecoder::new(input)),
        "Zstandard" => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
        "xz" => {
            let stream = Stream::new_stream_decoder(MAX_XZ_BYTES, CONCATENATED)?;
            Box::new(XzDecoder::new_stream(input, stream))
        }
        "bzip2" => Box::new(MultiBzDecoder::new(input)),
        "LZ4" => Box::new(Lz4Frames(FrameDecoder::new(input))),
        "tar" => return tar::open(Box::new(input)),
        unknown => unreachable!("{unknown} is no packing"),
    })
}

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
    let mut input = BufReader::with_capacity(BUFFER_BYTES, CountedFile(file));
    let mut magic = Vec::new();
    input.by_ref().take(4).read_to_end(&mut magic)?;
    if !zip::MAGIC.contains(&&magic[..]) {
        return unpack(Cursor::new(magic).chain(input));
    }
    let position = Rc::<Cell<u64>>::default();
    let reader = zip::open(input.into_inner().0, &position);
    let reader = reader.map_err(|error| damage_error("zip", position.get(), error))?;
    let (_, source) = unpack(buffered("zip", reader, position))?;
    Ok((true, source))
}

fn unpack(input: impl BufRead + 'static) -> io::Result<(bool, Box<dyn BufRead>)> {
    let (mut head, mut source) = read_head(input)?;
    for layer in 0..=MAX_LAYERS {
        let Some(packing) = packing(&head) else {
            return Ok((layer > 0, source));
        };
        let position = Rc::<Cell<u64>>::default();
        let reader = open_packed(packing, CountedInput::new(source, &position));
        let reader = reader.map_err(|error| damage_error(packing, position.get(), error))?;
        (head, source) = read_head(buffered(packing, reader, position))?;
    }
    Err(UnpackError::error(
        "expected at most 4 packings inside each other, found more; unpack it, and import the file in it",
    ))
}

/// Reads the first bytes of a source. Returns them, and the whole source. A pipe gives few bytes at
/// a time.
fn read_head(mut input: impl BufRead + 'static) -> io::Result<(Vec<u8>, Box<dyn BufRead>)> {
    let mut head = Vec::new();
    let mut start = input.by_ref().take(HEAD_BYTES as u64);
    start.read_to_end(&mut head)?;
    if zip::MAGIC.iter().any(|magic| head.starts_with(magic)) {
        return Err(UnpackError::error(
            "expected one file in the packed data, found a zip archive; unpack it, and import the file in it",
        ));
    }
    Ok((head.clone(), Box::new(Cursor::new(head).chain(input))))
}

fn buffered(packing: &'static str, reader: Box<dyn Read>, position: Rc<Cell<u64>>) -> impl BufRead {
    let unpacker = Unpacker {
        reader,
        packing,
        position,
    };
    BufReader::with_capacity(BUFFER_BYTES, unpacker)
}

fn check_single_file(archive: &str, names: &[String]) -> io::Result<()> {
    if names.len() < 2 {
        return Ok(());
    }
    let listed = names.iter().take(MAX_LISTED_FILES);
    let listed: Vec<_> = listed.map(|name| name.escape_debug().to_string()).collect();
    let has_more = names.len() > MAX_LISTED_FILES;
    let (names, more) = (listed.join(", "), if has_more { ", and more" } else { "" });
    Err(UnpackError::error(format!(
        "expected one file in the {archive} archive, found {names}{more}; unpack it, and import the file that is the recording"
    )))
}

/// True if the user put a file into the archive. macOS adds files with file properties.
fn is_users_file(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    !name.starts_with("__MACOSX/") && !file.starts_with("._")
}

struct CountedInput {
    input: Box<dyn BufRead>,
    position: Rc<Cell<u64>>,
}

impl CountedInput {
    fn new(input: Box<dyn BufRead>, position: &Rc<Cell<u64>>) -> CountedInput {
        let position = Rc::clone(position);
        CountedInput { input, position }
    }
}

impl Read for CountedInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.position.set(self.position.get() + read as u64);
        Ok(read)
    }
}

impl BufRead for CountedInput {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.position.set(self.position.get() + amount as u64);
        self.input.consume(amount);
    }
}

/// Successive LZ4 frames. The decoder returns no bytes after each frame, and is then asked again.
struct Lz4Frames(FrameDecoder<CountedInput>);

impl Read for Lz4Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let before = self.0.get_ref().position.get();
            let read = self.0.read(buffer)?;
            let ended = read == 0 && self.0.get_mut().fill_buf()?.is_empty();
            if read > 0 || ended || self.0.get_ref().position.get() == before {
                return Ok(read);
            }
        }
    }
}

/// Unpacked data. Its errors name the byte of the file at which they occurred.
struct Unpacker {
    reader: Box<dyn Read>,
    packing: &'static str,
    position: Rc<Cell<u64>>,
}

impl Read for Unpacker {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer);
        read.map_err(|error| damage_error(self.packing, self.position.get(), error))
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

fn damage_error(packing: &str, position: u64, error: io::Error) -> io::Error {
    let inner = error.get_ref();
    let message = match error.kind() {
        _ if inner.is_some_and(|inner| inner.is::<UnpackError>()) => return error,
        io::ErrorKind::Interrupted => return error,
        io::ErrorKind::UnexpectedEof => format!(
            "expected the rest of the {packing} data, found the end of the file at byte {position}; get the whole file"
        ),
        _ => {
            format!("expected {packing} data, found damage at byte {position} of the file: {error}")
        }
    };
    io::Error::new(error.kind(), UnpackError(message))
}
