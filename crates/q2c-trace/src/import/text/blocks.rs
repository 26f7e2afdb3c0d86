//! Reads text in blocks that end at line breaks, in bounded memory.

use std::io::{self, BufRead, Read};

const BLOCK: usize = 512 * 1024;
pub(in crate::import) const LONGEST_LINE: usize = 64 * 1024;
/// The byte order mark that some editors put before UTF-8 text.
pub(in crate::import) const BOM: &[u8] = b"\xef\xbb\xbf";

pub(in crate::import) struct Blocks<'a> {
    input: &'a mut dyn BufRead,
    /// The beginning of a line for which the last block had no room.
    rest: Vec<u8>,
    /// Whether the last line was cut off, so that its rest is still to be read.
    rest_ahead: bool,
}

impl<'a> Blocks<'a> {
    pub(in crate::import) fn new(input: &'a mut dyn BufRead) -> Self {
        Blocks {
            input,
            rest: Vec::new(),
            rest_ahead: false,
        }
    }

    /// The next block, in the memory of `block`; `None` at the end. A line that is longer than a
    /// block becomes a block of its own, cut off behind [`LONGEST_LINE`]. Its rest is passed over
    /// only when the next block is asked for.
    pub(in crate::import) fn next(&mut self, mut block: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        if self.rest_ahead {
            self.pass_over_rest()?;
        }
        block.clear();
        block.append(&mut self.rest);
        let room = BLOCK - block.len();
        block.reserve(room);
        let read = (&mut *self.input)
            .take(room as u64)
            .read_to_end(&mut block)?;
        if block.is_empty() {
            return Ok(None);
        }
        if read < room {
            return Ok(Some(block));
        }
        match block.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => {
                self.rest.extend_from_slice(&block[end + 1..]);
                block.truncate(end + 1);
            }
            None => {
                block.truncate(LONGEST_LINE + 1);
                self.rest_ahead = true;
            }
        }
        Ok(Some(block))
    }

    fn pass_over_rest(&mut self) -> io::Result<()> {
        self.rest_ahead = false;
        loop {
            let some = self.input.fill_buf()?;
            let end = memchr::memchr(b'\n', some);
            let read = end.map_or(some.len(), |at| at + 1);
            self.input.consume(read);
            if end.is_some() || read == 0 {
                return Ok(());
            }
        }
    }
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
            let line = |(at, length): (usize, &usize)| format!("{}\n", at % 10).repeat(1) + &"x".repeat(*length) + "\n";
            let text: String = lengths.iter().enumerate().map(line).collect();
            let mut input = text.as_bytes();
            let mut blocks = Blocks::new(&mut input);
            let mut joined = Vec::new();
            while let Some(block) = blocks.next(Vec::new()).unwrap() {
                prop_assert!(block.len() <= BLOCK && block.ends_with(b"\n"));
                joined.extend(block);
            }
            prop_assert_eq!(lines(&joined), lines(text.as_bytes()));
        }
    }

    #[test]
    fn a_line_without_end_is_cut_and_the_next_one_kept() {
        let text = "a\n".to_owned() + &"x".repeat(3 * BLOCK) + "\nb\n";
        let mut input = text.as_bytes();
        let mut blocks = Blocks::new(&mut input);
        let mut sizes = Vec::new();
        while let Some(block) = blocks.next(Vec::new()).unwrap() {
            sizes.push(block.len());
        }
        assert_eq!(sizes, [2, LONGEST_LINE + 1, 2]);
    }
}
