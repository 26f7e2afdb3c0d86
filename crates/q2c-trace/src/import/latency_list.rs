//! A list of latencies, one number per line, as a web page or a script prints it.
//!
//! The requests form one lane of depth 1, each submitted when the one before was reaped. Text after
//! `#` and blank lines are ignored. A name may precede the numbers, with their unit at its end.
//! There are no offsets: sector 0 means unknown.

use super::csv::unit_of;
use super::decimal::{self, latency};
use super::run::{Intake, read_error};
use super::text::{Lines, NO_OFFSETS};
use super::unpack::HEAD_BYTES;
use super::{BadLine, Import, ImportError, ImportFormat, ImportOption, TimeUnit, fact, require};
use q2c_model::facts::{STATED_BYTES, STATED_OP, STATED_SECTOR};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors, TraceMeta};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "latency-list",
    help: "one latency per line, in the unit stated; needs unit, op and block size",
    sniff,
    by_shape: true,
    uses: &[ImportOption::Unit, ImportOption::Op, ImportOption::Bytes],
    import,
};

fn sniff(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let first = values(&text).next();
    first.is_some_and(is_number) || name_above(head).is_some()
}

fn values(head: &str) -> impl Iterator<Item = &str> {
    let lines = head.trim_start_matches('\u{feff}').lines();
    lines.map(strip_comment).filter(|value| !value.is_empty())
}

fn is_number(value: &str) -> bool {
    decimal::nanos(value, TimeUnit::Nanoseconds).is_ok()
}

fn name_above(head: &[u8]) -> Option<String> {
    const SEPARATORS: [char; 5] = [',', ';', '\t', '=', ':'];
    let text = String::from_utf8_lossy(head);
    let mut values = values(&text);
    let name = values.next().filter(|name| {
        name.starts_with(|c: char| c.is_alphabetic()) && !name.contains(SEPARATORS)
    })?;
    let is_above = !is_number(name) && values.next().is_some_and(is_number);
    is_above.then(|| name.to_owned())
}

struct LatencyList {
    unit: TimeUnit,
    device: DevId,
    op: Op,
    bytes: Bytes,
    /// Time at which the last request was reaped, ns from the first submission.
    now: u64,
}

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let (path, options) = (from.path, from.options);
    let mut name = name_above(from.peek(HEAD_BYTES)?);
    let named_unit = name.as_deref().and_then(unit_of);
    let unit = options.unit.or(named_unit);
    if named_unit.is_some() && named_unit != unit {
        let reason = "the name above the numbers ends with another unit than --unit";
        return require(None, path, "unit", reason);
    }
    let (op, bytes) = (options.op_or_assumed(), options.bytes_or_assumed());
    let mut list = LatencyList {
        unit: require(unit, path, "unit", "the list has bare numbers")?,
        device: options.device,
        op: require(op, path, "op", "the list names no operation")?,
        bytes: require(bytes, path, "block size", "the list has no lengths")?,
        now: 0,
    };
    let mut intake = Intake::new(path, options.skip_bad, from.sink);
    let mut lines = Lines::new(from.input);
    while let Some(line) = lines.next_text().map_err(read_error(path))? {
        let request = match line.map(strip_comment) {
            Ok("") => continue,
            // Only the first value can be a name.
            Ok(line) if name.take().is_some_and(|name| line == name) => continue,
            line => line.and_then(|line| list.request(line)),
        };
        match request {
            Ok(record) => intake.take(record)?,
            Err(bad) => intake.bad(lines.number, bad)?,
        }
    }
    let clock = "closed loop: each submission at the reaping before it";
    let mut meta = intake.finish(FORMAT.name, clock, lines.number)?;
    meta.facts.extend([
        fact("unit", list.unit.name()),
        fact(STATED_OP, list.op),
        fact(STATED_BYTES, list.bytes.0),
        fact("stated.device", list.device),
        fact(STATED_SECTOR, NO_OFFSETS),
    ]);
    Ok(meta)
}

/// The line without its comment, and without blanks around it.
fn strip_comment(line: &str) -> &str {
    let end = line.bytes().position(|byte| byte == b'#');
    line[..end.unwrap_or(line.len())].trim()
}

impl LatencyList {
    fn request(&mut self, text: &str) -> Result<IoRecord, BadLine> {
        let latency = latency(text, self.unit)?;
        let end = self.now.checked_add(latency).ok_or_else(|| {
            let expected = "a sum of latencies below 2^64 ns (584 years)";
            BadLine::new("too large", "latency", expected, text)
        })?;
        let start = std::mem::replace(&mut self.now, end);
        let (layer, sector) = (Layer::User, Sectors(0));
        let mut record = IoRecord::new(0, layer, self.device, self.op, sector, self.bytes);
        (record.submit_ns, record.reap_ns) = (Some(Nanos(start)), Some(Nanos(end)));
        Ok(record)
    }
}
