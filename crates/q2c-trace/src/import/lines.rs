//! Reads the lines of a text file in bounded memory.

use super::error::BadLine;
use std::io::{self, BufRead, Read};

const LONGEST_LINE: usize = 64 * 1024;

pub(super) type TextLine<'a> = Result<&'a str, BadLine>;

/// Reads lines without their ends (`\n` or `\r\n`). It keeps one line, at most 64 KiB.
pub(super) struct Lines<'a> {
    input: &'a mut dyn BufRead,
    line: Vec<u8>,
    /// Whether the last line was cut off, so that its rest is still to be read.
    rest_ahead: bool,
    pub(super) number: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead) -> Self {
        Lines {
            input,
            line: Vec::new(),
            rest_ahead: false,
            number: 0,
        }
    }

    /// The next line; `None` at the end. A line that is too long is returned as `Err` at once. Its
    /// rest is passed over only when the next line is asked for.
    pub(super) fn next(&mut self) -> io::Result<Option<TextLine<'_>>> {
        if self.rest_ahead {
            self.pass_over_rest()?;
        }
        self.line.clear();
        let mut some = (&mut *self.input).take(LONGEST_LINE as u64 + 1);
        if some.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else {
            self.rest_ahead = self.line.len() > LONGEST_LINE;
        }
        Ok(Some(self.text()))
    }

    /// Some of what is ahead, up to 64 KiB.
    pub(super) fn ahead(&mut self) -> io::Result<&[u8]> {
        let ahead = self.input.fill_buf()?;
        Ok(&ahead[..ahead.len().min(LONGEST_LINE)])
    }

    fn text(&self) -> TextLine<'_> {
        let expected = "at most 65536 bytes and a line break";
        if self.rest_ahead {
            return Err(BadLine::new("line too long", "line", expected, "").found("a longer line"));
        }
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        let line = std::str::from_utf8(line).map_err(|_| {
            let line_text = String::from_utf8_lossy(line);
            BadLine::new("not UTF-8", "line", "text in UTF-8", &line_text)
        })?;
        Ok(match self.number {
            1 => line.strip_prefix('\u{feff}').unwrap_or(line),
            _ => line,
        })
    }

    fn pass_over_rest(&mut self) -> io::Result<()> {
        self.rest_ahead = false;
        loop {
            let some = self.input.fill_buf()?;
            let end = some.iter().position(|byte| *byte == b'\n');
            let read = end.map_or(some.len(), |at| at + 1);
            self.input.consume(read);
            if end.is_some() || read == 0 {
                return Ok(());
            }
        }
    }
}
