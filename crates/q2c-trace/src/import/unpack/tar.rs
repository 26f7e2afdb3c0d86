//! Reads the file in a tar archive, as a stream.

use super::Told;
use std::borrow::Cow;
use std::io::{self, BufRead, Cursor, Read};
use tar::{Header, PaxExtensions};

const BLOCK: usize = 512;
/// Bytes of the first file that are read before they are handed on. Behind a shorter one it is seen
/// at once whether there are others; behind a longer one when it ends.
const AHEAD: u64 = 1 << 20;
/// Most bytes of a name, or of the properties of a file.
const MOST_PROPERTIES: u64 = 64 * 1024;

/// Whether a file begins with the header of a tar archive.
pub(super) fn is_tar(head: &[u8]) -> bool {
    head.get(..BLOCK).is_some_and(is_header)
}

/// A header has the sum of its bytes, with blanks in the place of the sum.
fn is_header(block: &[u8]) -> bool {
    let blanks = 8 * u32::from(b' ');
    let others = block[..148].iter().chain(&block[156..]);
    let sum = others.map(|byte| u32::from(*byte)).sum::<u32>() + blanks;
    block[0] != 0
        && Header::from_byte_slice(block)
            .cksum()
            .is_ok_and(|own| own == sum)
}

/// Opens the only file of an archive.
pub(super) fn open(input: Box<dyn BufRead>) -> io::Result<Box<dyn Read>> {
    let mut member = Member {
        input,
        left: 0,
        padding: 0,
        name: String::new(),
        ended: false,
    };
    member.name = match member.next_file()? {
        Some(name) => name,
        None => {
            return Err(Told::error(
                "expected a file in the tar archive, found none",
            ));
        }
    };
    let mut front = Vec::new();
    member.by_ref().take(AHEAD).read_to_end(&mut front)?;
    Ok(Box::new(Cursor::new(front).chain(member)))
}

/// Properties of a file for which its own header has no room.
#[derive(Default)]
struct Stated {
    name: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Stated {
    fn add(&mut self, properties: &[u8]) -> io::Result<()> {
        for property in PaxExtensions::new(properties) {
            let property = property?;
            match property.key_bytes() {
                b"path" => self.name = Some(property.value_bytes().to_vec()),
                b"size" => self.size = property.value().ok().and_then(|n| n.parse().ok()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// A file in an archive. At its end nothing but folders and links may follow.
struct Member {
    input: Box<dyn BufRead>,
    /// Bytes of the file that were not read yet, and the zeros behind them.
    left: u64,
    padding: u64,
    name: String,
    ended: bool,
}

impl Read for Member {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            if !self.ended {
                self.ended = true;
                self.expect_no_other()?;
            }
            return Ok(0);
        }
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = self.input.read(&mut buffer[..most])?;
        if read == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        Ok(read)
    }
}

impl Member {
    fn expect_no_other(&mut self) -> io::Result<()> {
        let mut names = vec![self.name.clone()];
        while names.len() <= super::MOST_NAMED
            && let Some(name) = self.next_file()?
        {
            names.push(name);
        }
        super::expect_one("tar", &names)
    }

    /// Passes over the rest of a file, up to the next one. Returns its name; `None` at the end of
    /// the archive.
    fn next_file(&mut self) -> io::Result<Option<String>> {
        let mut stated = Stated::default();
        while let Some(block) = self.next_header()? {
            let header = Header::from_byte_slice(&block);
            let kind = header.entry_type();
            if !(kind.is_hard_link() || kind.is_symlink() || kind.is_dir()) {
                self.left = stated.size.unwrap_or(header.entry_size()?);
                self.padding = self.left.wrapping_neg() % BLOCK as u64;
            }
            if kind.is_gnu_longname() {
                stated.name = Some(self.properties()?);
                continue;
            }
            if kind.is_pax_local_extensions() {
                stated.add(&self.properties()?)?;
                continue;
            }
            if kind.is_gnu_sparse() {
                return Err(Told::error(
                    "expected a file without holes in the tar archive, found a sparse one; unpack it, and import the file",
                ));
            }
            let name = stated.name.map_or(header.path_bytes(), Cow::Owned);
            let name = String::from_utf8_lossy(&name).into_owned();
            if (kind.is_file() || kind.is_contiguous()) && super::is_own(&name) {
                return Ok(Some(name));
            }
            stated = Stated::default();
        }
        Ok(None)
    }

    fn next_header(&mut self) -> io::Result<Option<[u8; BLOCK]>> {
        self.pass_over_rest()?;
        let mut block = [0; BLOCK];
        if self.input.fill_buf()?.is_empty() {
            return Ok(None);
        }
        self.input.read_exact(&mut block)?;
        if block == [0; BLOCK] {
            return Ok(None);
        }
        if !is_header(&block) {
            let what = "no header of a file";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(Some(block))
    }

    fn properties(&mut self) -> io::Result<Vec<u8>> {
        if self.left > MOST_PROPERTIES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a name that is too long",
            ));
        }
        let mut bytes = Vec::new();
        self.input
            .by_ref()
            .take(self.left)
            .read_to_end(&mut bytes)?;
        self.left -= bytes.len() as u64;
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        Ok(bytes)
    }

    fn pass_over_rest(&mut self) -> io::Result<()> {
        let rest = self.left.saturating_add(std::mem::take(&mut self.padding));
        self.left = 0;
        let passed = io::copy(&mut self.input.by_ref().take(rest), &mut io::sink())?;
        if passed < rest {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}
