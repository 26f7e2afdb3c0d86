//! The format of a line, as `blkparse -f` defines it.

use crate::import::BadLine;
use crate::import::error::shown;

/// The letters of fields, as blkparse names them. The values of `P u U g G` are ignored.
const LETTERS: &str = "acCdDeMmnNpsStTPuUgG";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// Any number of blanks, including none, because blanks pad fields.
    Blanks,
    Byte(u8),
    /// A field, by its letter.
    Field(u8),
}

#[derive(Clone, Debug)]
pub(super) struct BlkparsePattern(Vec<Item>);

type PatternFault = (&'static str, String);

impl BlkparsePattern {
    /// Parses a format. `\n`, `\t` and `\\` are escapes, as in blkparse.
    pub(super) fn parse(text: &str) -> Result<BlkparsePattern, PatternFault> {
        let mut items = Vec::new();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let item = match c {
                '%' => field(&mut rest)?,
                '\\' => match rest.next() {
                    Some('n' | 't' | 'r') => Item::Blanks,
                    Some(c) if c.is_ascii() => Item::Byte(c as u8),
                    _ => return Err(("\\n, \\t or \\\\", shown(text))),
                },
                c if c.is_whitespace() => Item::Blanks,
                c if c.is_ascii() => Item::Byte(c as u8),
                _ => return Err(("ASCII", shown(text))),
            };
            items.push(item);
        }
        Ok(BlkparsePattern(items))
    }

    /// Checks that the format has every field that an event needs. `whole` is true if the format
    /// describes the line to its end, `stated` if the user states the operation.
    pub(super) fn with_all_needed(
        self,
        whole: bool,
        stated: bool,
    ) -> Result<BlkparsePattern, PatternFault> {
        let has = |field| self.has(field);
        let needed = [
            (has(b'a'), "%a, the action"),
            (has(b'T') && has(b't'), "%T and %t, the time"),
            (
                has(b'd') || stated,
                "%d, the kind of request (or the option --op)",
            ),
            (has(b'S') || !whole, "%S, the sector"),
            (has(b'n') || has(b'N') || !whole, "%n or %N, the length"),
        ];
        match needed.into_iter().find(|(has, _)| !has) {
            Some((_, missing)) => Err((missing, "a format without it".to_owned())),
            None => Ok(self),
        }
    }

    pub(super) fn has(&self, field: u8) -> bool {
        self.0.contains(&Item::Field(field))
    }

    /// Splits a line and passes each field's text to `take`. Returns the text after the last item.
    pub(super) fn split<'a>(
        &self,
        line: &'a [u8],
        mut take: impl FnMut(u8, &'a [u8]) -> Result<(), BadLine>,
    ) -> Result<&'a [u8], BadLine> {
        let mut rest = line;
        for (at, item) in self.0.iter().enumerate() {
            match item {
                Item::Blanks => rest = rest.trim_ascii_start(),
                Item::Byte(byte) => {
                    // Blanks before this byte pad the field before it.
                    let behind = rest.strip_prefix(&[*byte]);
                    let behind = behind.or_else(|| rest.trim_ascii_start().strip_prefix(&[*byte]));
                    rest = behind.ok_or_else(|| unlike(line))?;
                }
                Item::Field(field) => {
                    rest = rest.trim_ascii_start();
                    let len = self.length(*field, rest, at);
                    take(*field, rest[..len].trim_ascii_end())?;
                    rest = &rest[len..];
                }
            }
        }
        Ok(rest)
    }

    fn length(&self, field: u8, rest: &[u8], at: usize) -> usize {
        match field {
            b'a' | b'd' | b'C' | b'P' | b'u' | b'U' | b'g' | b'G' => {}
            b'D' => return device_length(rest),
            _ => return digits(rest, usize::from(rest.first() == Some(&b'-'))),
        }
        let after = &self.0[at + 1..];
        let is_field = |item: &Item| matches!(item, Item::Field(_));
        let end = match after.first() {
            // A name may hold any character. If no field follows it, the name ends at the last
            // occurrence of the character after it.
            Some(Item::Byte(byte)) if field == b'C' && !after.iter().any(is_field) => {
                rest.iter().rposition(|other| other == byte)
            }
            Some(Item::Byte(byte)) => memchr::memchr(*byte, rest),
            _ if field == b'C' && after.iter().all(|item| *item == Item::Blanks) => None,
            _ => rest.iter().position(u8::is_ascii_whitespace),
        };
        end.unwrap_or(rest.len())
    }
}

fn unlike(line: &[u8]) -> BadLine {
    BadLine::new("not of the format", "line", "a line of the format", line)
}

/// Parses the text after a percent sign: a minus for left alignment, a width, a letter.
fn field(rest: &mut std::str::Chars<'_>) -> Result<Item, PatternFault> {
    const EXPECTED: &str = "% with a width and one of a c C d D e g G m M n N p P s S t T u U";
    let padding = |c: &char| matches!(c, '-' | '0'..='9');
    let letter = rest.find(|c| !padding(c));
    let letter = letter.ok_or_else(|| (EXPECTED, "% at the end".to_owned()))?;
    if letter == '%' {
        return Ok(Item::Byte(b'%'));
    }
    if !LETTERS.contains(letter) {
        return Err((EXPECTED, shown(&letter.to_string())));
    }
    Ok(Item::Field(letter as u8))
}

/// Index after the digits that begin at `from`.
fn digits(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Length of a device such as `8,0`, with the padding after the comma.
fn device_length(text: &[u8]) -> usize {
    let mut end = digits(text, 0);
    if text.get(end) == Some(&b',') {
        end += 1;
        end += text[end..].iter().take_while(|byte| **byte == b' ').count();
        end = digits(text, end);
    }
    end
}
