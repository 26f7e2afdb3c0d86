//! The lines of blkparse, and their format as `blkparse -f` defines it.

use crate::blktrace::{BlktraceEvent, action, category};
use crate::import::error::quote;
use crate::import::text::whole_number;
use crate::import::{BadLine, bad};
use q2c_model::Op;

/// An event, and the name of its process (empty if the line lacks it). The name is `None` if the
/// text lacks the event's range of sectors.
pub(super) type BlkparseLine<'a> = (BlktraceEvent, Option<&'a [u8]>);

#[derive(Debug)]
pub(super) struct BlkparseLineFormat {
    pub(super) pattern: BlkparsePattern,
    pub(super) is_default: bool,
    /// The operation of all requests, if the lines lack it.
    pub(super) op: Option<Op>,
}

impl BlkparseLineFormat {
    /// Parses the event of a line; `None` for a message or a line of the summary.
    pub(super) fn parse<'a>(&self, line: &'a [u8]) -> Result<Option<BlkparseLine<'a>>, BadLine> {
        let mut parts = LineParts::default();
        let split = (self.pattern).split(line, |field, text| parts.store(field, text));
        if split.is_err() && is_summary(line) {
            return Ok(None);
        }
        let tail = split?;
        let Some(action) = action_number(parts.action)? else {
            return Ok(None);
        };
        parts.event.action = action;
        parts.event.category = match self.op {
            Some(op) => category_of_op(op),
            None => category_of(parts.rwbs)?,
        };
        if self.is_default {
            parse_tail(&mut parts, tail.trim_ascii())?;
        }
        parts.into_line().map(Some)
    }
}

const fn category_of_op(op: Op) -> u32 {
    match op {
        Op::Read => category::READ,
        Op::Write => category::WRITE,
        Op::Discard => category::DISCARD | category::WRITE,
        Op::Flush => category::FLUSH | category::WRITE,
        Op::Other => 0,
    }
}

#[derive(Default)]
struct LineParts<'a> {
    event: BlktraceEvent,
    action: &'a [u8],
    rwbs: &'a [u8],
    comm: &'a [u8],
    major: u64,
    minor: u64,
    seconds: u64,
    nanos: u64,
    bytes: u64,
    has_sector: bool,
}

impl<'a> LineParts<'a> {
    /// Stores the text of one field of `blkparse -f`, given by its letter.
    fn store(&mut self, field: u8, text: &'a [u8]) -> Result<(), BadLine> {
        let event = &mut self.event;
        match field {
            b'a' => self.action = text,
            b'd' => self.rwbs = text,
            b'C' => self.comm = text,
            b'c' => event.cpu = number(text, "cpu")?,
            b'p' => event.pid = number(text, "pid")?,
            b's' => event.sequence = number(text, "sequence")?,
            b'S' => {
                event.sector = whole_number(text, "sector")?;
                self.has_sector = true;
            }
            b'n' => self.bytes = parse_blocks(text)?,
            b'N' => self.bytes = whole_number(text, "bytes")?,
            b'e' => event.error = parse_errno(text)?,
            b'M' => self.major = whole_number(text, "major")?,
            b'm' => self.minor = whole_number(text, "minor")?,
            b'D' => (self.major, self.minor) = parse_device(text)?,
            b'T' => self.seconds = whole_number(text, "seconds")?,
            b't' => self.nanos = parse_nanos(text)?,
            _ => {}
        }
        Ok(())
    }

    fn into_line(mut self) -> Result<BlkparseLine<'a>, BadLine> {
        self.event.time = time_of(self.seconds, self.nanos)?;
        let event = &mut self.event;
        let below = |value: u64, limit: u32| u32::try_from(value).ok().filter(|v| *v < limit);
        let (major, minor) = (below(self.major, 1 << 12), below(self.minor, 1 << 20));
        let (Some(major), Some(minor)) = (major, minor) else {
            let device = format!("{},{}", self.major, self.minor);
            let expected = "a major below 4096 and a minor below 1048576";
            return Err(bad("device", expected, &device));
        };
        event.device = major << 20 | minor;
        event.bytes = u32::try_from(self.bytes)
            .map_err(|_| bad("length", "a length below 4 GiB", self.bytes.to_string()))?;
        let comm = match self.comm {
            b"(null)" => b"",
            comm => comm,
        };
        let event = self.event;
        let lacks_range = has_range(event.action) && event.bytes == 0 && !self.is_flush();
        Ok((event, Some(comm).filter(|_| !lacks_range)))
    }

    /// True if an event without a length belongs to a flush. The last completion of a flush
    /// sequence may lack the flush flags, but it is a write with a sector.
    fn is_flush(&self) -> bool {
        let has = |bits: u32| self.event.category & bits != 0;
        let ends_flush =
            self.event.action == action::COMPLETE && self.has_sector && has(category::WRITE);
        has(category::FLUSH) || ends_flush
    }
}

/// Parses the nanoseconds of a second. Fewer digits than blkparse prints mean another unit.
fn parse_nanos(text: &[u8]) -> Result<u64, BadLine> {
    if text.len() == 9 {
        return whole_number(text, "nanoseconds");
    }
    let expected = "nine digits behind the point, as blkparse prints";
    Err(bad("nanoseconds", expected, text))
}

/// Longest time before blkparse's time zero, ns. Times count from this long before it.
pub(super) const MAX_EARLY_NS: u64 = 86_400 * NS_PER_S;
const NS_PER_S: u64 = 1_000_000_000;

/// The time of an event, ns. If blkparse reads from a pipe, it prints a time `x` before its time
/// zero as 2^64 - x ns, with the seconds truncated to 32 bits.
fn time_of(seconds: u64, nanos: u64) -> Result<u64, BadLine> {
    const MAX_SECONDS: u128 = (1 << 64) / NS_PER_S as u128;
    const TRUNCATED_NS: u128 = (MAX_SECONDS - MAX_SECONDS % (1 << 32)) * NS_PER_S as u128;
    let printed = u128::from(seconds) * u128::from(NS_PER_S) + u128::from(nanos);
    let wrapped = printed + TRUNCATED_NS + u128::from(MAX_EARLY_NS);
    // Only wrapped times come within a day below 2^64.
    let early = wrapped.checked_sub(1 << 64);
    let early = early.filter(|ns| *ns <= u128::from(MAX_EARLY_NS));
    let time = early.unwrap_or(printed + u128::from(MAX_EARLY_NS));
    u64::try_from(time).map_err(|_| bad("seconds", "below 2^64 ns", seconds.to_string()))
}

/// True if the action is of a request, and so has a range of sectors.
const fn has_range(action: u16) -> bool {
    use action::{PLUG, REMAP, SLEEP, SPLIT, UNPLUG, UNPLUG_TIMER};
    !matches!(action, PLUG | UNPLUG | UNPLUG_TIMER | REMAP | SPLIT | SLEEP)
}

/// Parses the text after the columns of blkparse's default format, which depends on the action.
fn parse_tail<'a>(parts: &mut LineParts<'a>, text: &'a [u8]) -> Result<(), BadLine> {
    let event = &mut parts.event;
    match event.action {
        action::PLUG | action::UNPLUG | action::UNPLUG_TIMER | action::REMAP => return Ok(()),
        action::SPLIT => {
            let (sector, after) = split_number(text, "sector")?;
            let second = after.strip_prefix(b"/").unwrap_or_default();
            event.sector = sector;
            (event.split_at, _) = split_number(second.trim_ascii_start(), "sector of the rest")?;
            // The text lacks the length, which only must be above zero.
            parts.bytes = 512;
            return Ok(());
        }
        _ => {}
    }
    let has_error = matches!(event.action, action::COMPLETE | action::REQUEUE);
    let (extent, after) = parse_range(text, has_error)?;
    (event.sector, parts.bytes) = extent;
    parts.has_sector = text.first().is_some_and(u8::is_ascii_digit);
    let in_brackets = split_brackets(after, has_error)?;
    if has_error {
        event.error = parse_errno(in_brackets)?;
    } else {
        parts.comm = in_brackets;
    }
    Ok(())
}

/// Returns (sector, length in bytes) and the text after them. The text is `8 + 4 [...]`, or `8 + 4
/// ( 12) [...]` with -t. Without data, a completion has only its sector, and another event has
/// neither.
fn parse_range(text: &[u8], has_error: bool) -> Result<((u64, u64), &[u8]), BadLine> {
    if !text.first().is_some_and(u8::is_ascii_digit) {
        return Ok(((0, 0), text));
    }
    let (sector, after) = split_number(text, "sector")?;
    match after.strip_prefix(b"+") {
        Some(after) => {
            let after = after.trim_ascii_start();
            let end = after.iter().position(|byte| !byte.is_ascii_digit());
            let (count, after) = after.split_at(end.unwrap_or(after.len()));
            Ok(((sector, parse_blocks(count)?), after))
        }
        // In a passthrough command, the number is the length, and the command follows.
        None if !has_error => Ok(((0, 0), after)),
        None => Ok(((sector, 0), after)),
    }
}

/// A number and the text after it, without leading blanks.
fn split_number<'a>(text: &'a [u8], field: &'static str) -> Result<(u64, &'a [u8]), BadLine> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit());
    let (number, after) = text.split_at(end.unwrap_or(text.len()));
    Ok((whole_number(number, field)?, after.trim_ascii_start()))
}

fn split_brackets(text: &[u8], has_error: bool) -> Result<&[u8], BadLine> {
    let inside = || {
        let from = memchr::memchr(b'[', text)?;
        text[from + 1..].strip_suffix(b"]")
    };
    let expected = if has_error {
        "a place and [error], such as 8 + 8 [0]"
    } else {
        "a place and [process], such as 8 + 8 [fio]"
    };
    inside().ok_or_else(|| bad("end of the line", expected, text))
}

fn number(text: &[u8], field: &'static str) -> Result<u32, BadLine> {
    let number = u32::try_from(whole_number(text, field)?);
    number.map_err(|_| bad(field, "a whole number below 2^32", text))
}

fn parse_blocks(text: &[u8]) -> Result<u64, BadLine> {
    let bytes = whole_number(text, "blocks")?.checked_mul(512);
    bytes.ok_or_else(|| bad("blocks", "a length below 4 GiB", text))
}

/// The errno without its sign, so that it fits the 16 bits of a record.
fn parse_errno(text: &[u8]) -> Result<u16, BadLine> {
    let expected = "an errno, 0 for success";
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let number = u16::try_from(whole_number(digits, "error")?);
    number.map_err(|_| bad("error", expected, text))
}

fn parse_device(text: &[u8]) -> Result<(u64, u64), BadLine> {
    let comma = memchr::memchr(b',', text);
    let comma = comma.ok_or_else(|| bad("device", "major,minor, such as 259,0", text))?;
    let major = whole_number(&text[..comma], "major")?;
    let minor = whole_number(text[comma + 1..].trim_ascii_start(), "minor")?;
    Ok((major, minor))
}

/// The number of an action; `None` for messages and zone plugs, which are no events of a request.
fn action_number(text: &[u8]) -> Result<Option<u16>, BadLine> {
    Ok(Some(match text {
        b"Q" => action::QUEUE,
        b"M" => action::BACK_MERGE,
        b"F" => action::FRONT_MERGE,
        b"G" => action::GET_REQUEST,
        b"S" => action::SLEEP,
        b"R" => action::REQUEUE,
        b"D" => action::ISSUE,
        b"C" => action::COMPLETE,
        b"P" => action::PLUG,
        b"U" => action::UNPLUG,
        b"UT" | b"T" => action::UNPLUG_TIMER,
        b"I" => action::INSERT,
        b"X" => action::SPLIT,
        b"B" => action::BOUNCE,
        b"A" => action::REMAP,
        b"m" | b"ZP" | b"ZU" => return Ok(None),
        _ => {
            let expected = "one of Q M F G S R D C P U UT I X B A m";
            return Err(bad("action", expected, text));
        }
    }))
}

/// The category bits of the RWBS column: F for a preceding flush, one of R W D N, then F A S M B E.
/// Zone operations begin with Z.
fn category_of(text: &[u8]) -> Result<u32, BadLine> {
    let wrong = || bad("RWBS", "letters of FDWRNASMBZ, such as R, WS or FWFS", text);
    if let Some(zone_letters) = text.strip_prefix(b"Z") {
        return match zone_letters {
            [b'A' | b'R' | b'F' | b'O' | b'C', ..] => Ok(category::ZONE),
            _ => Err(wrong()),
        };
    }
    let (flush, letters) = match text.strip_prefix(b"F") {
        Some(letters) => (category::FLUSH, letters),
        None => (0, text),
    };
    let (op_letter, flag_letters) = letters.split_first().ok_or_else(wrong)?;
    let mut category = flush
        | match op_letter {
            b'D' => category::DISCARD | category::WRITE,
            b'W' => category::WRITE,
            b'R' => category::READ,
            b'N' => 0,
            _ => return Err(wrong()),
        };
    for letter in flag_letters {
        category |= match letter {
            b'F' => category::FUA,
            b'A' => category::AHEAD,
            b'S' => category::SYNC,
            b'M' => category::META,
            // A barrier. Readers older than Linux 2.6.37 print PREFLUSH so.
            b'B' => category::FLUSH,
            // Secure erase has no category bit.
            b'E' => 0,
            _ => return Err(wrong()),
        };
    }
    Ok(category)
}

/// True if the line is part of the summary that blkparse prints around the events.
fn is_summary(line: &[u8]) -> bool {
    const SUMMARY_STARTS: &str = "CPU|Total|Throughput|Events|Skips|Input file|Reads |Read |Writes |Write |PC |\
        IO unplugs|Allocations|Dispatch|Completion|Process";
    let line = line.trim_ascii_start();
    let mut begins = SUMMARY_STARTS.split('|');
    line.is_empty() || begins.any(|begin| line.starts_with(begin.as_bytes()))
}

/// The letters of fields, as blkparse names them. The values of `P u U g G` are ignored.
const FIELD_LETTERS: &str = "acCdDeMmnNpsStTPuUgG";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternItem {
    /// Any number of blanks, including none, because blanks pad fields.
    Blanks,
    Byte(u8),
    /// A field, by its letter.
    Field(u8),
}

#[derive(Clone, Debug)]
pub(super) struct BlkparsePattern(Vec<PatternItem>);

type PatternFault = (&'static str, String);

impl BlkparsePattern {
    /// Parses a format. `\n`, `\t` and `\\` are escapes, as in blkparse.
    pub(super) fn parse(text: &str) -> Result<BlkparsePattern, PatternFault> {
        let mut items = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            let item = match c {
                '%' => parse_field(&mut chars)?,
                '\\' => match chars.next() {
                    Some('n' | 't' | 'r') => PatternItem::Blanks,
                    Some(c) if c.is_ascii() => PatternItem::Byte(c as u8),
                    _ => return Err(("\\n, \\t or \\\\", quote(text))),
                },
                c if c.is_whitespace() => PatternItem::Blanks,
                c if c.is_ascii() => PatternItem::Byte(c as u8),
                _ => return Err(("ASCII", quote(text))),
            };
            items.push(item);
        }
        Ok(BlkparsePattern(items))
    }

    /// Checks that the format has every field that an event needs. `complete` is true if the format
    /// describes the line to its end, `stated` if the user states the operation.
    pub(super) fn check_fields(self, complete: bool, stated: bool) -> Result<Self, PatternFault> {
        let has = |field| self.has(field);
        let requirements = [
            (has(b'a'), "%a, the action"),
            (has(b'T') && has(b't'), "%T and %t, the time"),
            (
                has(b'd') || stated,
                "%d, the kind of request (or the option --op)",
            ),
            (has(b'S') || !complete, "%S, the sector"),
            (has(b'n') || has(b'N') || !complete, "%n or %N, the length"),
        ];
        match requirements.into_iter().find(|(is_met, _)| !is_met) {
            Some((_, missing)) => Err((missing, "a format without it".to_owned())),
            None => Ok(self),
        }
    }

    pub(super) fn has(&self, field: u8) -> bool {
        self.0.contains(&PatternItem::Field(field))
    }

    /// Splits a line and passes each field's text to `store`. Returns the text after the last item.
    pub(super) fn split<'a>(
        &self,
        line: &'a [u8],
        mut store: impl FnMut(u8, &'a [u8]) -> Result<(), BadLine>,
    ) -> Result<&'a [u8], BadLine> {
        let mut text = line;
        for (index, item) in self.0.iter().enumerate() {
            match item {
                PatternItem::Blanks => text = text.trim_ascii_start(),
                PatternItem::Byte(byte) => {
                    // Blanks before this byte pad the field before it.
                    let after = text.strip_prefix(&[*byte]);
                    let after = after.or_else(|| text.trim_ascii_start().strip_prefix(&[*byte]));
                    text = after.ok_or_else(|| unlike_format(line))?;
                }
                PatternItem::Field(field) => {
                    text = text.trim_ascii_start();
                    let len = self.field_length(*field, text, index);
                    store(*field, text[..len].trim_ascii_end())?;
                    text = &text[len..];
                }
            }
        }
        Ok(text)
    }

    fn field_length(&self, field: u8, text: &[u8], index: usize) -> usize {
        match field {
            b'a' | b'd' | b'C' | b'P' | b'u' | b'U' | b'g' | b'G' => {}
            b'D' => return device_length(text),
            _ => return end_of_digits(text, usize::from(text.first() == Some(&b'-'))),
        }
        let later = &self.0[index + 1..];
        let is_field = |item: &PatternItem| matches!(item, PatternItem::Field(_));
        let end = match later.first() {
            // A name may hold any character. If no field follows it, the name ends at the last
            // occurrence of the character after it.
            Some(PatternItem::Byte(byte)) if field == b'C' && !later.iter().any(is_field) => {
                text.iter().rposition(|other| other == byte)
            }
            Some(PatternItem::Byte(byte)) => memchr::memchr(*byte, text),
            _ if field == b'C' && later.iter().all(|item| *item == PatternItem::Blanks) => None,
            _ => text.iter().position(u8::is_ascii_whitespace),
        };
        end.unwrap_or(text.len())
    }
}

fn unlike_format(line: &[u8]) -> BadLine {
    BadLine::new("not of the format", "line", "a line of the format", line)
}

/// Parses the text after a percent sign: a minus for left alignment, a width, a letter.
fn parse_field(chars: &mut std::str::Chars<'_>) -> Result<PatternItem, PatternFault> {
    const EXPECTED: &str = "% with a width and one of a c C d D e g G m M n N p P s S t T u U";
    let is_padding = |c: &char| matches!(c, '-' | '0'..='9');
    let letter = chars.find(|c| !is_padding(c));
    let letter = letter.ok_or_else(|| (EXPECTED, "% at the end".to_owned()))?;
    if letter == '%' {
        return Ok(PatternItem::Byte(b'%'));
    }
    if !FIELD_LETTERS.contains(letter) {
        return Err((EXPECTED, quote(&letter.to_string())));
    }
    Ok(PatternItem::Field(letter as u8))
}

/// Index after the digits that begin at `from`.
fn end_of_digits(text: &[u8], from: usize) -> usize {
    let tail = text.get(from..).unwrap_or_default();
    from + tail.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Length of a device such as `8,0`, with the padding after the comma.
fn device_length(text: &[u8]) -> usize {
    let mut end = end_of_digits(text, 0);
    if text.get(end) == Some(&b',') {
        end += 1;
        end += text[end..].iter().take_while(|byte| **byte == b' ').count();
        end = end_of_digits(text, end);
    }
    end
}
