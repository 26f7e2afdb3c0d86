//! The format of a line, as `blkparse -f` takes it.

use crate::import::error::{BadLine, shown};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlkparseField {
    Action,
    Cpu,
    Comm,
    Rwbs,
    /// `%D`: major and minor number with a comma between them.
    Device,
    Error,
    Major,
    Minor,
    /// `%n`: length in 512-byte blocks.
    Blocks,
    /// `%N`: length in bytes.
    Bytes,
    Pid,
    Sequence,
    Sector,
    Seconds,
    Nanos,
    /// `%P`, `%u`, `%U`, `%g`, `%G`: fields that are passed over.
    Other,
}

const LETTERS: [(char, BlkparseField); 20] = [
    ('a', BlkparseField::Action),
    ('c', BlkparseField::Cpu),
    ('C', BlkparseField::Comm),
    ('d', BlkparseField::Rwbs),
    ('D', BlkparseField::Device),
    ('e', BlkparseField::Error),
    ('M', BlkparseField::Major),
    ('m', BlkparseField::Minor),
    ('n', BlkparseField::Blocks),
    ('N', BlkparseField::Bytes),
    ('p', BlkparseField::Pid),
    ('s', BlkparseField::Sequence),
    ('S', BlkparseField::Sector),
    ('T', BlkparseField::Seconds),
    ('t', BlkparseField::Nanos),
    ('P', BlkparseField::Other),
    ('u', BlkparseField::Other),
    ('U', BlkparseField::Other),
    ('g', BlkparseField::Other),
    ('G', BlkparseField::Other),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// Any number of blanks, also none, because fields are padded with blanks.
    Blanks,
    Byte(u8),
    Field(BlkparseField),
}

#[derive(Clone, Debug)]
pub(super) struct BlkparsePattern(Vec<Item>);

type PatternFault = (&'static str, String);

impl BlkparsePattern {
    /// Parses a format. `\n`, `\t` and `\\` are escapes, as for blkparse.
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

    /// Checks that the format has every field that an event needs. `whole` says that nothing
    /// follows the format on a line, `stated` that the user states the operation.
    pub(super) fn with_all_needed(
        self,
        whole: bool,
        stated: bool,
    ) -> Result<BlkparsePattern, PatternFault> {
        let has = |field| self.has(field);
        let needed = [
            (has(BlkparseField::Action), "%a, the action"),
            (
                has(BlkparseField::Seconds) && has(BlkparseField::Nanos),
                "%T and %t, the time",
            ),
            (
                has(BlkparseField::Rwbs) || stated,
                "%d, the kind of request (or the option --op)",
            ),
            (has(BlkparseField::Sector) || !whole, "%S, the sector"),
            (
                has(BlkparseField::Blocks) || has(BlkparseField::Bytes) || !whole,
                "%n or %N, the length",
            ),
        ];
        match needed.into_iter().find(|(has, _)| !has) {
            Some((_, missing)) => Err((missing, "a format without it".to_owned())),
            None => Ok(self),
        }
    }

    pub(super) fn has(&self, field: BlkparseField) -> bool {
        self.0.contains(&Item::Field(field))
    }

    /// Splits a line; `take` gets the text of each field. Returns the text behind the last item.
    pub(super) fn split<'a>(
        &self,
        line: &'a [u8],
        mut take: impl FnMut(BlkparseField, &'a [u8]) -> Result<(), BadLine>,
    ) -> Result<&'a [u8], BadLine> {
        let mut rest = line;
        for (at, item) in self.0.iter().enumerate() {
            match item {
                Item::Blanks => rest = rest.trim_ascii_start(),
                Item::Byte(byte) => {
                    // Blanks before it pad the field before it to its width.
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

    fn length(&self, field: BlkparseField, rest: &[u8], at: usize) -> usize {
        match field {
            BlkparseField::Action
            | BlkparseField::Rwbs
            | BlkparseField::Comm
            | BlkparseField::Other => {}
            BlkparseField::Device => return device_length(rest),
            _ => return digits(rest, usize::from(rest.first() == Some(&b'-'))),
        }
        let end = match self.0.get(at + 1) {
            // A name may hold any character. When no field follows, the name ends at the last
            // occurrence of the character behind it.
            Some(Item::Byte(byte)) if field == BlkparseField::Comm && !self.field_after(at) => {
                rest.iter().rposition(|other| other == byte)
            }
            Some(Item::Byte(byte)) => memchr::memchr(*byte, rest),
            _ if field == BlkparseField::Comm && self.only_blanks_after(at) => None,
            _ => rest.iter().position(u8::is_ascii_whitespace),
        };
        end.unwrap_or(rest.len())
    }

    fn only_blanks_after(&self, at: usize) -> bool {
        self.0[at + 1..].iter().all(|item| *item == Item::Blanks)
    }

    fn field_after(&self, at: usize) -> bool {
        let mut after = self.0[at + 1..].iter();
        after.any(|item| matches!(item, Item::Field(_)))
    }
}

fn unlike(line: &[u8]) -> BadLine {
    let line_text = String::from_utf8_lossy(line);
    BadLine::new(
        "not of the format",
        "line",
        "a line of the format",
        &line_text,
    )
}

/// Parses what stands behind the percent sign: a minus for left alignment, a width, a letter.
fn field(rest: &mut std::str::Chars<'_>) -> Result<Item, PatternFault> {
    const EXPECTED: &str = "% with a width and one of a c C d D e g G m M n N p P s S t T u U";
    let padding = |c: &char| matches!(c, '-' | '0'..='9');
    let letter = rest.find(|c| !padding(c));
    let letter = letter.ok_or_else(|| (EXPECTED, "% at the end".to_owned()))?;
    if letter == '%' {
        return Ok(Item::Byte(b'%'));
    }
    let entry = LETTERS.iter().find(|(known, _)| *known == letter);
    let field = entry.ok_or_else(|| (EXPECTED, shown(&letter.to_string())))?;
    Ok(Item::Field(field.1))
}

/// Index behind the digits that begin at `from`.
fn digits(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Length of a device such as `8,0`, with the padding behind the comma.
fn device_length(text: &[u8]) -> usize {
    let mut end = digits(text, 0);
    if text.get(end) == Some(&b',') {
        end += 1;
        end += text[end..].iter().take_while(|byte| **byte == b' ').count();
        end = digits(text, end);
    }
    end
}
