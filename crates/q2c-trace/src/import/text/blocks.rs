//! Reads text in blocks that end at line breaks, in bounded memory.

use crate::import::BadLine;
use std::io::{self, BufRead, Read};

/// Bytes of a block whose rows are parsed together.
pub(super) const BLOCK_BYTES: usize = 512 * 1024;
/// Bytes of a block that is read line by line; more than the longest line.
const LINE_BLOCK_BYTES: usize = 96 * 1024;
const MAX_LINE_BYTES: usize = 64 * 1024;
/// The byte order mark that some editors put before UTF-8 text.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

pub(crate) struct Blocks<'a> {
    input: &'a mut dyn BufRead,
    max_bytes: usize,
    /// The start of a line that did not fit into the last block.
    line_start: Vec<u8>,
    /// True if the last line was cut, so that the end of it must still be skipped.
    line_was_cut: bool,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(input: &'a mut dyn BufRead, max_bytes: usize) -> Self {
        Blocks {
            input,
            max_bytes,
            line_start: Vec::new(),
            line_was_cut: false,
        }
    }

    /// Reads the next block into the memory of `block`; `None` at the end. A line longer than a
    /// block becomes its own block, cut after [`MAX_LINE_BYTES`] bytes. The end of the line is
    /// skipped when the next block is requested.
    pub(crate) fn next(&mut self, mut block: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        if self.line_was_cut {
            self.skip_cut_line()?;
        }
        block.clear();
        block.append(&mut self.line_start);
        let free_bytes = self.max_bytes - block.len();
        block.reserve(free_bytes);
        let read = (&mut *self.input)
            .take(free_bytes as u64)
            .read_to_end(&mut block)?;
        if block.is_empty() {
            return Ok(None);
        }
        if read < free_bytes {
            return Ok(Some(block));
        }
        match block.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => {
                self.line_start.extend_from_slice(&block[end + 1..]);
                block.truncate(end + 1);
            }
            None => {
                block.truncate(MAX_LINE_BYTES + 1);
                self.line_was_cut = true;
            }
        }
        Ok(Some(block))
    }

    fn skip_cut_line(&mut self) -> io::Result<()> {
        self.line_was_cut = false;
        loop {
            let bytes = self.input.fill_buf()?;
            let end = memchr::memchr(b'\n', bytes);
            let read = end.map_or(bytes.len(), |offset| offset + 1);
            self.input.consume(read);
            if end.is_some() || read == 0 {
                return Ok(());
            }
        }
    }
}

/// The lines of a text, one by one, without line breaks.
pub(crate) struct Lines<'a> {
    blocks: Blocks<'a>,
    block: Vec<u8>,
    /// Offset of the next line in the block.
    offset: usize,
    /// Number of the last line that was read, counted from 1.
    pub(crate) number: u64,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(input: &'a mut dyn BufRead) -> Self {
        Lines {
            blocks: Blocks::new(input, LINE_BLOCK_BYTES),
            block: Vec::new(),
            offset: 0,
            number: 0,
        }
    }

    /// The next line; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Result<&[u8], BadLine>>> {
        if !self.fill()? {
            return Ok(None);
        }
        let (line, after) = first_line(&self.block[self.offset..]);
        self.offset = self.block.len() - after.len();
        self.number += 1;
        Ok(Some(line))
    }

    /// As [`Lines::next`], as UTF-8 and without a carriage return at the end.
    pub(crate) fn next_text(&mut self) -> io::Result<Option<Result<&str, BadLine>>> {
        let text = |line: Result<_, _>| {
            let line: &[u8] = line?;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            std::str::from_utf8(line).map_err(|_| BadLine::not_utf8(line))
        };
        Ok(self.next()?.map(text))
    }

    /// The bytes ahead, up to 64 KiB of those that are in memory.
    pub(crate) fn peek(&mut self) -> io::Result<&[u8]> {
        self.fill()?;
        let bytes = self.block.get(self.offset..).unwrap_or_default();
        Ok(&bytes[..bytes.len().min(MAX_LINE_BYTES)])
    }

    fn fill(&mut self) -> io::Result<bool> {
        if self.offset < self.block.len() {
            return Ok(true);
        }
        let is_first = self.number == 0;
        let block = self.blocks.next(std::mem::take(&mut self.block))?;
        self.offset = 0;
        let Some(block) = block else { return Ok(false) };
        if is_first && block.starts_with(BOM) {
            self.offset = BOM.len();
        }
        self.block = block;
        Ok(true)
    }
}

/// The first line of a text without its line break, and the text after it.
#[inline]
pub(super) fn first_line(text: &[u8]) -> (Result<&[u8], BadLine>, &[u8]) {
    let end = memchr::memchr(b'\n', text);
    let line = &text[..end.unwrap_or(text.len())];
    let after = &text[end.map_or(text.len(), |end| end + 1)..];
    if line.len() > MAX_LINE_BYTES {
        return (Err(BadLine::too_long()), after);
    }
    (Ok(line), after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lines as the standard library splits them.
    fn lines(text: &[u8]) -> Vec<Vec<u8>> {
        let lines = text.split(|byte| *byte == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    }

    proptest! {
        #[test]
        fn blocks_put_together_are_the_text(lengths in prop::collection::vec(0usize..60_000, 0..40)) {
            let line = |(offset, length): (usize, &usize)| format!("{}\n", offset % 10) + &"x".repeat(*length) + "\n";
            let text: String = lengths.iter().enumerate().map(line).collect();
            let mut input = text.as_bytes();
            let mut blocks = Blocks::new(&mut input, BLOCK_BYTES);
            let mut joined = Vec::new();
            while let Some(block) = blocks.next(Vec::new()).unwrap() {
                prop_assert!(block.len() <= BLOCK_BYTES && block.ends_with(b"\n"));
                joined.extend(block);
            }
            prop_assert_eq!(lines(&joined), lines(text.as_bytes()));
        }
    }

    #[test]
    fn a_line_without_end_is_cut_and_the_next_one_kept() {
        let text = "a\n".to_owned() + &"x".repeat(3 * BLOCK_BYTES) + "\nb\n";
        let mut input = text.as_bytes();
        let mut blocks = Blocks::new(&mut input, BLOCK_BYTES);
        let mut sizes = Vec::new();
        while let Some(block) = blocks.next(Vec::new()).unwrap() {
            sizes.push(block.len());
        }
        assert_eq!(sizes, [2, MAX_LINE_BYTES + 1, 2]);
    }
}
