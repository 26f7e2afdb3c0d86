//! Block events as text: of ftrace (`trace`, `trace_pipe`), of `trace-cmd report`, and of `perf
//! script`.
//!
//! Lines become the blktrace events for which the tracepoints stand, and the events become I/Os, as
//! with binary blktrace. The tools differ in the text before the time: `task-pid [cpu] flags`,
//! `task-pid [cpu]`, or `task pid [cpu]`. Events of other tracepoints are counted only.

use super::decimal;
use super::event_text::{EventLine, ParsedEvent};
use super::text::{BOM, whole_number};
use super::{BadLine, Import, ImportError, ImportFormat, TimeUnit, bad, fact};
use crate::blktrace::{
    BlktraceEvent, EventContext, TRACEPOINTS, action, category, category_of_rwbs,
};
use q2c_model::TraceMeta;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "ftrace",
    help: "text of block events: ftrace, trace-cmd report, perf script (not verified against a real file)",
    sniff,
    by_shape: false,
    uses: &[],
    import,
};

#[derive(Clone, Copy)]
enum FtraceLine<'a> {
    /// An event and the name of its process, which is empty if the line lacks it.
    Event(BlktraceEvent, &'a str),
    OtherEvent,
    /// The number of events that were lost before the next line.
    Lost(u64),
    /// A comment, or a line of the header or of a stack.
    Ignored,
}

/// True if all first lines are of this format and at least one is an event of a request.
fn sniff(head: &[u8]) -> bool {
    const MAX_LINES: usize = 32;
    let head = String::from_utf8_lossy(head.strip_prefix(BOM).unwrap_or(head));
    let end = head.rfind('\n').unwrap_or(head.len());
    let lines = head[..end].lines().take(MAX_LINES).map(parse);
    let is_event = |line: &FtraceLine<'_>| matches!(line, FtraceLine::Event(..));
    let lines: Result<Vec<_>, _> = lines.collect();
    lines.is_ok_and(|lines| lines.iter().any(is_event))
}

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let mut ftrace = FtraceParser { other_events: 0 };
    let mut meta = super::event_text::import(from, &mut ftrace)?;
    let other_events = fact("events_of_other_kinds", ftrace.other_events);
    meta.facts.extend([other_events]);
    FORMAT.name.clone_into(&mut meta.source);
    "that of the traced machine's tracer".clone_into(&mut meta.clock);
    Ok(meta)
}

struct FtraceParser {
    other_events: u64,
}

impl EventLine for FtraceParser {
    const ZERO_NS: u64 = 0;
    const GAPS_HIDE_ENDS: bool = true;

    fn parse_event(&mut self, line: &[u8], context: &mut EventContext) -> ParsedEvent {
        let text = std::str::from_utf8(line).map_err(|_| BadLine::not_utf8(line))?;
        match parse(text)? {
            FtraceLine::Event(event, comm) => {
                if !comm.is_empty() && event.action != action::COMPLETE {
                    let comm = comm.as_bytes();
                    context.notes.name_process(event.pid, event.time, comm);
                }
                return Ok(Some(event));
            }
            FtraceLine::Lost(events) => {
                context.losses.lost = context.losses.lost.saturating_add(events);
                context.losses.gaps += 1;
            }
            FtraceLine::OtherEvent => self.other_events += 1,
            FtraceLine::Ignored => {}
        }
        Ok(None)
    }
}

fn parse(line: &str) -> Result<FtraceLine<'_>, BadLine> {
    if let Some(lost) = lost_events(line) {
        return Ok(FtraceLine::Lost(lost));
    }
    let text = line.trim_start();
    if text.is_empty() || text.starts_with('#') {
        return Ok(FtraceLine::Ignored);
    }
    let wrong = || {
        let expected = "task, pid, [cpu], a time in seconds, and an event, such as \
                        `fio-12 [001] 5.000123: block_rq_issue: 8,0 R 4096 () 2048 + 8 [fio]`";
        bad("line", expected, line)
    };
    let head = match FtraceHead::split(line) {
        None if is_ignored(text) => return Ok(FtraceLine::Ignored),
        head => head.ok_or_else(wrong)?,
    };
    let mut tracepoints = TRACEPOINTS.iter();
    let Some((_, action)) = tracepoints.find(|(name, _)| *name == head.tracepoint) else {
        return Ok(FtraceLine::OtherEvent);
    };
    let mut event = BlktraceEvent {
        time: time(head.time)?,
        action: *action,
        cpu: head.cpu.unwrap_or_default(),
        pid: head.pid().ok_or_else(wrong)?,
        ..BlktraceEvent::default()
    };
    let comm = parse_payload(head.payload, &mut event)?;
    Ok(FtraceLine::Event(event, comm))
}

struct FtraceHead<'a> {
    task: &'a str,
    cpu: Option<u32>,
    time: &'a str,
    tracepoint: &'a str,
    payload: &'a str,
}

impl<'a> FtraceHead<'a> {
    /// Splits a line at its first `TIME: EVENT:`, which hardly any process has in its name.
    fn split(line: &'a str) -> Option<Self> {
        let mut from = 0;
        loop {
            let colon = from + line[from..].find(": ")?;
            from = colon + 2;
            let front = line[..colon].trim_end();
            let time = front.rsplit(' ').next()?;
            let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            if seconds.is_empty() || !digits(seconds) || !digits(fraction) {
                continue;
            }
            let event = line[from..].trim_start();
            let (tracepoint, payload) = event.split_once(": ").or(event.split_once(':'))?;
            let origin = front[..front.len() - time.len()].trim();
            let (task, cpu) = match origin.rfind(" [") {
                Some(at) => {
                    let (cpu, _) = origin[at + 2..].split_once(']')?;
                    (&origin[..at], Some(cpu.trim().parse().ok()?))
                }
                None => (origin, None),
            };
            return Some(FtraceHead {
                task: task.trim(),
                cpu,
                time,
                // perf also prints the system: block:block_rq_issue.
                tracepoint: tracepoint.rsplit(':').next()?.trim(),
                payload: payload.trim(),
            });
        }
    }

    /// The thread's id from `task-12`, `task-12 (11)` (the process in brackets), `task 12`, `task
    /// 11/12`.
    fn pid(&self) -> Option<u32> {
        let task = match self.task.strip_suffix(')') {
            Some(front) => front.rsplit_once('(')?.0.trim_end(),
            None => self.task,
        };
        let last = task.rsplit(' ').next()?;
        let number = last.rsplit(['-', '/']).next()?;
        number.parse().ok()
    }
}

/// Parses seconds with up to nine decimals into ns.
fn time(text: &str) -> Result<u64, BadLine> {
    let wrong = || {
        let expected = "seconds with 1 to 9 decimals (trace_clock local, global or mono)";
        bad("time", expected, text)
    };
    let (seconds, fraction) = text.split_once('.').ok_or_else(wrong)?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_number(seconds) || !is_number(fraction) || fraction.len() > 9 {
        return Err(wrong());
    }
    decimal::nanos(text, TimeUnit::Seconds).map_err(|_| wrong())
}

/// Reads an event's payload and returns the process name in it. The payload is
/// `8,0 WS 4096 () 2048 + 8 [fio]`: device, letters, for requests also bytes and command, then the
/// sectors, in newer kernels the priority, and in brackets the process or a completion's error.
fn parse_payload<'a>(text: &'a str, event: &mut BlktraceEvent) -> Result<&'a str, BadLine> {
    let wrong = |field, expected| bad(field, expected, text);
    let parts = text.split_once(" [").and_then(|(front, in_brackets)| {
        let (device, after) = front.split_once(' ')?;
        let (letters, range) = after.trim_start().split_once(' ')?;
        Some((device, letters, range, in_brackets.strip_suffix(']')?))
    });
    let expected = "8,0 R 2048 + 8 [fio], with bytes () before the sector for requests";
    let (device, letters, range, in_brackets) = parts.ok_or_else(|| wrong("event", expected))?;
    let device = pack_device(device);
    event.device = device.ok_or_else(|| wrong("device", "major,minor, such as 259,0"))?;
    if !letters.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(wrong("RWBS", "letters, such as R, WS or FWFS"));
    }
    event.category = category_of_rwbs(letters.as_bytes());
    parse_range(range, event)?;
    if matches!(event.action, action::COMPLETE | action::REQUEUE) {
        let error = in_brackets.parse::<i32>();
        // A negative errno, truncated to 16 bits as in blktrace's records.
        event.error = error.map_err(|_| wrong("error", "an errno, 0 for success"))? as u16;
        return Ok("");
    }
    Ok(in_brackets)
}

/// Reads the range of sectors from `4096 () 2048 + 8 none,0,0`.
fn parse_range(text: &str, event: &mut BlktraceEvent) -> Result<(), BadLine> {
    let command = text.split_once('(').and_then(|(bytes, after)| {
        let (_, range) = after.split_once(')')?;
        Some((bytes.trim(), range))
    });
    let (bytes, range) = command.unwrap_or(("", text));
    let mut numbers = range.split_ascii_whitespace().step_by(2);
    let mut next = |field| whole_number(numbers.next().unwrap_or_default().as_bytes(), field);
    let (sector, second_number) = (next("sector")?, next("sectors")?);
    // A request without a sector has the sector -1.
    event.sector = if sector == u64::MAX { 0 } else { sector };
    event.bytes = u32::try_from(second_number.saturating_mul(512)).unwrap_or(u32::MAX);
    if event.action == action::SPLIT {
        // The tracepoint lacks the length; the matcher only needs one above zero.
        (event.bytes, event.split_at) = (512, second_number);
    }
    if event.category == 0 {
        event.category = category::PC;
        if event.bytes == 0 && !bytes.is_empty() {
            // The issue of a passthrough request has bytes, its completion only sectors.
            let bytes = whole_number(bytes.as_bytes(), "bytes")?;
            event.bytes = u32::try_from(bytes).unwrap_or(u32::MAX) & !511;
        }
    }
    Ok(())
}

/// Packs a device `major,minor` as the kernel does.
fn pack_device(device: &str) -> Option<u32> {
    let (major, minor) = device.split_once(',')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
}

/// The number of lost events in a line: `CPU:1 [LOST 34 EVENTS]`, `CPU:1 [34 EVENTS DROPPED]` (1 if
/// it gives no number), `PERF_RECORD_LOST lost 34`. In ftrace's header,
/// `entries-in-buffer/entries-written: 4/10` gives those that were overwritten.
fn lost_events(line: &str) -> Option<u64> {
    let number = |text: &str| -> Option<u64> {
        let mut parts = text.split(|c: char| !c.is_ascii_digit());
        parts.find_map(|part| part.parse().ok())
    };
    if let Some(counts) = line.strip_prefix("# entries-in-buffer/entries-written:") {
        let (in_buffer, written) = counts.split_once('/')?;
        let lost = number(written)?.checked_sub(number(in_buffer)?);
        return lost.filter(|lost| *lost > 0);
    }
    let text = match line.strip_prefix("CPU:") {
        Some(text) if text.contains("LOST") || text.contains("DROPPED") => text.split_once('[')?.1,
        _ => line.split_once("PERF_RECORD_LOST lost ")?.1,
    };
    Some(number(text).unwrap_or(1))
}

/// True if a line without an event belongs to trace-cmd's header or to a stack.
fn is_ignored(text: &str) -> bool {
    const IGNORED_STARTS: [&str; 6] = ["cpus=", "version", "CPU ", "trace", "=> ", "<stack trace"];
    let word = text.split(' ').next().unwrap_or_default();
    let is_address = word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_address || IGNORED_STARTS.iter().any(|begin| text.starts_with(begin))
}
