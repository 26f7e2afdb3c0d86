//! Opens sources that may be packed. gzip and Zstandard are recognised by their first bytes.

use super::error::ImportError;
use super::run::read_error;
use crate::CountedFile;
use flate2::bufread::MultiGzDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

const BUFFER: usize = 256 * 1024;
/// Bytes that are looked at to recognise a format.
const HEAD: usize = 4096;
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTANDARD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Opens a source and says whether it is packed; packed data is unpacked while it is read. Packed
/// data that ends in the middle gives a read error with the byte of the file.
///
/// # Errors
/// [`ImportError::Read`] when the file cannot be opened or read.
pub(super) fn open(path: &Path) -> Result<(bool, Box<dyn BufRead>), ImportError> {
    let file = File::open(path).map_err(read_error(path))?;
    let counted = CountedFile(file);
    unpacked(BufReader::with_capacity(BUFFER, counted)).map_err(read_error(path))
}

/// The beginning of a source, long enough to recognise its format.
///
/// # Errors
/// When the source cannot be read.
pub(super) fn head(input: &mut dyn BufRead) -> io::Result<&[u8]> {
    let head = input.fill_buf()?;
    Ok(&head[..head.len().min(HEAD)])
}

fn unpacked(mut input: impl BufRead + 'static) -> io::Result<(bool, Box<dyn BufRead>)> {
    let head = input.fill_buf()?;
    let (gzip, zstandard) = (head.starts_with(GZIP), head.starts_with(ZSTANDARD));
    let at = Rc::<Cell<u64>>::default();
    let counted = Counted {
        input,
        at: Rc::clone(&at),
    };
    let (name, reader): (_, Box<dyn Read>) = if gzip {
        ("gzip", Box::new(MultiGzDecoder::new(counted)))
    } else if zstandard {
        let decoder = zstd::stream::read::Decoder::with_buffer(counted)?;
        ("Zstandard", Box::new(decoder))
    } else {
        return Ok((false, Box::new(counted.input)));
    };
    let unpacked = Unpacked { reader, name, at };
    Ok((true, Box::new(BufReader::with_capacity(BUFFER, unpacked))))
}

/// Counts the bytes that are taken from a file.
struct Counted<R> {
    input: R,
    at: Rc<Cell<u64>>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.at.set(self.at.get() + read as u64);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.at.set(self.at.get() + amount as u64);
        self.input.consume(amount);
    }
}

/// Unpacked data. Its errors name the byte of the file at which they were found.
struct Unpacked {
    reader: Box<dyn Read>,
    name: &'static str,
    at: Rc<Cell<u64>>,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer).map_err(|error| {
            let (name, at) = (self.name, self.at.get());
            let words = match error.kind() {
                io::ErrorKind::Interrupted => return error,
                io::ErrorKind::UnexpectedEof => format!(
                    "expected the rest of the {name} data, found the end of the file at byte {at}; get the whole file"
                ),
                _ => format!("expected {name} data, found damage at byte {at} of the file: {error}"),
            };
            io::Error::new(error.kind(), words)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn text() -> Vec<u8> {
        let line = |n: u32| format!("{},W,{},4096,{n}\n", n % 7, n.wrapping_mul(2_654_435_761));
        (0..50_000).map(line).collect::<String>().into_bytes()
    }

    fn gz(text: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    }

    fn read(packed: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        unpacked(io::Cursor::new(packed))?.1.read_to_end(&mut all)?;
        Ok(all)
    }

    #[test]
    fn packed_or_not_the_text_is_the_same() {
        let text = text();
        let zst = zstd::encode_all(&text[..], 3).unwrap();
        for packed in [text.clone(), gz(&text), zst.clone()] {
            assert!(read(packed).unwrap() == text);
        }
        let (front, back) = text.split_at(10_000);
        assert!(read([gz(front), gz(back)].concat()).unwrap() == text);
        let twice = read([zst.clone(), zst].concat()).unwrap();
        assert!(twice == [&text[..], &text].concat());
    }

    #[test]
    fn what_is_cut_in_the_middle_is_an_error_with_its_place() {
        let text = text();
        let zst = zstd::encode_all(&text[..], 3).unwrap();
        for (name, whole) in [("gzip", gz(&text)), ("Zstandard", zst)] {
            for cut in [whole.len() / 2, whole.len() - 1] {
                let told = read(whole[..cut].to_vec()).unwrap_err();
                assert_eq!(told.kind(), io::ErrorKind::UnexpectedEof, "{name} {cut}");
                let place =
                    format!("rest of the {name} data, found the end of the file at byte {cut};");
                assert!(told.to_string().contains(&place), "{told}");
            }
        }
    }

    #[test]
    fn damage_is_told() {
        let mut packed = gz(&text());
        let middle = packed.len() / 2;
        packed[middle..middle + 64].fill(0xff);
        let told = read(packed).unwrap_err().to_string();
        assert!(
            told.contains("expected gzip data, found damage at byte "),
            "{told}"
        );
    }
}
