use super::UnpackError;
use std::io::{self, BufRead, Cursor, Read};
use tar::{Archive, Header};

const BLOCK: usize = 512;
/// Bytes of the first file that are read in advance. A second file after a shorter one is then an
/// error at once; after a longer one, only when the first one ends.
const AHEAD: u64 = 1 << 20;
/// Most bytes of a file's headers, which may hold a long name.
const MOST_HEADERS: u64 = 1 << 20;
const SPARSE: &str = "expected a file without holes in the tar archive, found a sparse one; unpack it, and import the file";

/// True if the bytes are a tar header. Its checksum is the sum of its bytes, with blanks in the
/// place of the checksum.
pub(super) fn is_tar(head: &[u8]) -> bool {
    let Some(block) = head.get(..BLOCK) else {
        return false;
    };
    let blanks = 8 * u32::from(b' ');
    let others = block[..148].iter().chain(&block[156..]);
    let sum = others.map(|byte| u32::from(*byte)).sum::<u32>() + blanks;
    let stored_sum = Header::from_byte_slice(block).cksum();
    block[0] != 0 && stored_sum.is_ok_and(|stored| stored == sum)
}

/// Opens the only file of an archive.
pub(super) fn open(input: Box<dyn BufRead>) -> io::Result<Box<dyn Read>> {
    let mut member = TarMember {
        input,
        left: 0,
        padding: 0,
        name: String::new(),
        ended: false,
    };
    let name = member.next_file()?;
    member.name =
        name.ok_or_else(|| UnpackError::error("expected a file in the tar archive, found none"))?;
    let mut front = Vec::new();
    member.by_ref().take(AHEAD).read_to_end(&mut front)?;
    Ok(Box::new(Cursor::new(front).chain(member)))
}

/// A file in an archive. After it, only folders and links may follow.
struct TarMember {
    input: Box<dyn BufRead>,
    /// Bytes of the file that are not read yet, and of the zeros after them.
    left: u64,
    padding: u64,
    name: String,
    ended: bool,
}

impl Read for TarMember {
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

impl TarMember {
    fn expect_no_other(&mut self) -> io::Result<()> {
        let mut names = vec![self.name.clone()];
        while names.len() <= super::MOST_NAMED
            && let Some(name) = self.next_file()?
        {
            names.push(name);
        }
        super::expect_one("tar", &names)
    }

    /// Skips the rest of a file, up to the next one. Returns the next one's name; `None` at the end
    /// of the archive.
    fn next_file(&mut self) -> io::Result<Option<String>> {
        loop {
            self.pass_over_rest()?;
            // Each header is read as a separate archive, so that the bytes after it stay in the
            // input.
            let mut archive = Archive::new(self.input.by_ref().take(MOST_HEADERS));
            let Some(entry) = archive.entries()?.next().transpose()? else {
                return Ok(None);
            };
            let kind = entry.header().entry_type();
            if kind.is_gnu_sparse() {
                return Err(UnpackError::error(SPARSE));
            }
            if !(kind.is_hard_link() || kind.is_symlink() || kind.is_dir()) {
                self.left = entry.size();
                self.padding = self.left.wrapping_neg() % BLOCK as u64;
            }
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if (kind.is_file() || kind.is_contiguous()) && super::is_own(&name) {
                return Ok(Some(name));
            }
        }
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
