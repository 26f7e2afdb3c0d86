use super::UnpackError;
use std::io::{self, BufRead, Cursor, Read};
use tar::{Archive, Header};

const BLOCK_BYTES: usize = 512;
/// Bytes of the first file that are read in advance. A second file after a shorter one is then an
/// error at once; after a longer one, only when the first one ends.
const READ_AHEAD_BYTES: u64 = 1 << 20;
/// Most bytes of a file's headers, which may hold a long name.
const MAX_HEADER_BYTES: u64 = 1 << 20;
const SPARSE: &str = "expected a file without holes in the tar archive, found a sparse one; unpack it, and import the file";

/// True if the bytes are a tar header. Its checksum is the sum of its bytes, with blanks in the
/// place of the checksum.
pub(super) fn is_tar(head: &[u8]) -> bool {
    let Some(block) = head.get(..BLOCK_BYTES) else {
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
        remaining: 0,
        padding: 0,
        name: String::new(),
        ended: false,
    };
    let name = member.next_file()?;
    member.name =
        name.ok_or_else(|| UnpackError::error("expected a file in the tar archive, found none"))?;
    let mut front = Vec::new();
    let mut start = member.by_ref().take(READ_AHEAD_BYTES);
    start.read_to_end(&mut front)?;
    Ok(Box::new(Cursor::new(front).chain(member)))
}

/// A file in an archive. After it, only folders and links may follow.
struct TarMember {
    input: Box<dyn BufRead>,
    /// Bytes of the file that are not read yet, and of the zeros after them.
    remaining: u64,
    padding: u64,
    name: String,
    ended: bool,
}

impl Read for TarMember {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.remaining == 0 {
            if !std::mem::replace(&mut self.ended, true) {
                self.check_no_other_file()?;
            }
            return Ok(0);
        }
        let length = usize::try_from(self.remaining).map_or(buffer.len(), |n| n.min(buffer.len()));
        let read = self.input.read(&mut buffer[..length])?;
        if read == 0 && length > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.remaining -= read as u64;
        Ok(read)
    }
}

impl TarMember {
    fn check_no_other_file(&mut self) -> io::Result<()> {
        let mut names = vec![self.name.clone()];
        while names.len() <= super::MAX_LISTED_FILES
            && let Some(name) = self.next_file()?
        {
            names.push(name);
        }
        super::check_single_file("tar", &names)
    }

    /// Skips the unread bytes of a file. Returns the name of the next file; `None` at the end of
    /// the archive.
    fn next_file(&mut self) -> io::Result<Option<String>> {
        loop {
            self.skip_file()?;
            // Each header is read as a separate archive, so that the bytes after it stay in the
            // input.
            let mut archive = Archive::new(self.input.by_ref().take(MAX_HEADER_BYTES));
            let Some(entry) = archive.entries()?.next().transpose()? else {
                return Ok(None);
            };
            let kind = entry.header().entry_type();
            if kind.is_gnu_sparse() {
                return Err(UnpackError::error(SPARSE));
            }
            if !(kind.is_hard_link() || kind.is_symlink() || kind.is_dir()) {
                self.remaining = entry.size();
                self.padding = self.remaining.wrapping_neg() % BLOCK_BYTES as u64;
            }
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if (kind.is_file() || kind.is_contiguous()) && super::is_users_file(&name) {
                return Ok(Some(name));
            }
        }
    }

    fn skip_file(&mut self) -> io::Result<()> {
        let (file, padding) = (&mut self.remaining, &mut self.padding);
        let unread_bytes = std::mem::take(file).saturating_add(std::mem::take(padding));
        let skipped = io::copy(&mut self.input.by_ref().take(unread_bytes), &mut io::sink())?;
        if skipped < unread_bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}
