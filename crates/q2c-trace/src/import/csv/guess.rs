//! Makes a column map from the header row, for sources with usual column names.

use super::cells::CsvCells;
use super::field::{Field, LENGTH};
use super::unit::Mapped;
use crate::import::TimeUnit;
use q2c_model::parse_size;

/// Fields with their usual header names: lower case, without a unit and separators. Beside a start
/// of the user layer, `complete` is that layer's end. fio's clat and slat are left out: they are
/// only parts of a latency.
const NAMES: &str = "\
submit_ns: time timestamp ts start starttime submit submittime arrival arrivaltime datetime
reap_ns: end endtime finish finishtime completiontime
complete_ns: complete completion
latency: lat latency responsetime response duration servicetime elapsed
op: op operation rw iotype optype opcode readwrite type kind
bytes: bytes size length len iosize requestsize blocksize bs sectors nrsectors
offset: offset off byteoffset address addr
sector: sector lba lbn startsector
device: device dev disk lun volume diskname
pid: pid processid
comm: comm process command processname
cpu_submit: cpu";

/// Parses a table with a field and its words in each line.
pub(super) fn fields_of(
    table: &'static str,
) -> impl Iterator<Item = (Field, impl Iterator<Item = &'static str>)> {
    let lines = table.lines().filter_map(|line| line.split_once(": "));
    lines.filter_map(|(name, words)| Some((Field::by_name(name)?, words.split(' '))))
}

/// True if a header is a name of offsets that is usual for both bytes and blocks, so that it needs
/// a unit.
pub(super) fn is_address(header: &str) -> bool {
    matches!(words(header).concat().as_str(), "address" | "addr")
}

/// The headers, in lower case and without a unit, that stand for a field which no map names.
pub(super) fn usual_headers(field: Field) -> Vec<&'static str> {
    let mut fields = fields_of(NAMES).filter(|(known, _)| *known == field);
    fields
        .next()
        .map_or_else(Vec::new, |(_, headers)| headers.collect())
}

/// The time unit at the end of a header: `took_us`, `Response Time (ms)`. The names of the trace's
/// columns have one too: `submit_ns`.
pub(in crate::import) fn unit_of(header: &str) -> Option<TimeUnit> {
    let header_words = words(header);
    let (last, front) = header_words.split_last()?;
    time_unit(last).filter(|_| !front.is_empty())
}

/// Bytes in the unit of sizes at the end of a header: `Length(KB)`, `nr_sectors`, `bytes`.
pub(super) fn size_unit_of(header: &str) -> Option<u64> {
    let header_words = words(header);
    let (last, front) = header_words.split_last()?;
    let alone = ["bytes", "sector", "sectors", "blocks"];
    size_unit(last)
        .or_else(|| block_size(last))
        .filter(|_| !front.is_empty() || alone.contains(&last.as_str()))
        .or_else(|| last.ends_with("sectors").then_some(512))
}

/// Bytes in one block if a header ends with their number and unit: `lba_4k`.
fn block_size(word: &str) -> Option<u64> {
    let is_number = word.starts_with(|first: char| first.is_ascii_digit());
    let has_unit = word.ends_with(|last: char| last.is_ascii_alphabetic());
    let size = parse_size(word).ok().filter(|_| is_number && has_unit)?;
    (size.0 > 0).then_some(size.0)
}

pub(super) fn time_unit(name: &str) -> Option<TimeUnit> {
    Some(match name {
        "ns" | "nsec" => TimeUnit::Nanoseconds,
        "us" | "usec" => TimeUnit::Microseconds,
        "ms" | "msec" => TimeUnit::Milliseconds,
        "s" | "sec" | "seconds" => TimeUnit::Seconds,
        _ => return None,
    })
}

pub(super) fn size_unit(name: &str) -> Option<u64> {
    Some(match name {
        "b" | "byte" | "bytes" => 1,
        "k" | "kb" | "kib" => 1024,
        "m" | "mb" | "mib" => 1024 * 1024,
        "512b" | "sector" | "sectors" | "blocks" => 512,
        _ => return None,
    })
}

/// The field that a header names, with or without a unit at its end.
pub(super) fn field_named(header: &str) -> Option<Field> {
    let by_name = |parts: &[String]| {
        let name = parts.concat();
        let mut fields = fields_of(NAMES);
        fields.find_map(|(field, mut names)| names.any(|known| known == name).then_some(field))
    };
    let header_words = words(header);
    let front = header_words.split_last().map_or(&[][..], |last| last.1);
    let has_unit = |field: &Field| {
        field.is_time() && unit_of(header).is_some()
            || field.is_size() && size_unit_of(header).is_some()
    };
    Field::by_name(header.trim())
        .or_else(|| by_name(&header_words))
        .or_else(|| by_name(front).filter(has_unit))
}

/// A text in lower case, with the micro sign as `u`.
pub(super) fn in_small(text: &str) -> String {
    text.to_lowercase().replace(['\u{b5}', '\u{3bc}'], "u")
}

/// The words of a header in lower case: `Response Time (us)` is `response`, `time`, `us`.
pub(super) fn words(header: &str) -> Vec<String> {
    let small = in_small(header);
    let parts = small.split(|c: char| !c.is_alphanumeric());
    parts
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A map as it would be typed after `--columns`, with `:unit` after the header of the lengths if
/// `unit` is given.
pub(super) fn typed(fields: &[Mapped], header: &CsvCells, unit: Option<&str>) -> String {
    let pair = |Mapped { field, at, .. }: &Mapped| {
        let unit = unit.filter(|_| *field == LENGTH);
        let unit = unit.map_or(String::new(), |unit| format!(":{unit}"));
        let header = header.get(*at).unwrap_or_default();
        format!("{}={header}{unit}", field.name())
    };
    fields.iter().map(pair).collect::<Vec<_>>().join(",")
}

/// Detects the delimiter: the comma, semicolon or tab that splits the header into most cells, else
/// blanks if header and first row have as many words.
pub(super) fn detect(header: &str, row: Option<&str>) -> u8 {
    let count = |delimiter: &u8| {
        let mut quoted = false;
        let mut separates = |byte: u8| {
            quoted ^= byte == b'"';
            byte == *delimiter && !quoted
        };
        header.bytes().filter(|byte| separates(*byte)).count()
    };
    // Of several with as many cells, `max_by_key` takes the last one.
    let most = [b'\t', b';', b','].into_iter().max_by_key(count);
    let word_count = |line: &str| line.split_whitespace().count();
    let has_columns =
        word_count(header) > 1 && row.is_none_or(|row| word_count(row) == word_count(header));
    match most {
        Some(delimiter) if count(&delimiter) > 0 => delimiter,
        _ if has_columns => b' ',
        _ => b',',
    }
}

/// True if the first line looks like a header row: at least two names, apart from an unnamed index
/// column at the start or a delimiter at the end.
pub(super) fn sniff(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let head = head.strip_prefix('\u{feff}').unwrap_or(&head);
    let mut lines = head.lines();
    let first = lines.next().unwrap_or("");
    let row = lines.find(|line| !line.trim().is_empty());
    let unprintable = |c: char| c == '\u{fffd}' || c.is_control() && c != '\t';
    if first.contains(unprintable) || first.trim_start().starts_with(['{', '[', '<']) {
        return false;
    }
    let delimiter = detect(first, row);
    if delimiter == b' ' {
        let names: Vec<&str> = first.split_whitespace().collect();
        return names.iter().all(|name| is_name(name)) && are_columns(&names, row.unwrap_or(""));
    }
    let separates = |c: char| c == char::from(delimiter);
    let mut names: Vec<&str> = first.split(separates).map(str::trim).collect();
    names.pop_if(|last| last.is_empty());
    let unnamed = usize::from(names.first().is_some_and(|first| first.is_empty()));
    let names = &names[unnamed..];
    names.len() > 1 && names.iter().all(|name| is_name(name))
}

/// True if a cell may be a header; JSON, settings and log lines are not.
fn is_name(cell: &str) -> bool {
    !cell.is_empty()
        && !cell.contains(['{', '}', '='])
        && cell
            .split_whitespace()
            .all(|word| word.parse::<f64>().is_err())
}

/// True if words are headers: at least two are usual names, one of them a time, and the row has a
/// number.
fn are_columns(names: &[&str], row: &str) -> bool {
    let fields: Vec<Field> = names.iter().filter_map(|name| field_named(name)).collect();
    let has_time = fields.iter().any(|field| field.is_instant());
    let number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    fields.len() > 1 && has_time && row.split_whitespace().any(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_known() {
        for (header, field, unit) in [
            ("Timestamp", "submit_ns", None),
            ("time (us)", "submit_ns", Some("us")),
            ("Response Time [ms]", "latency", Some("ms")),
            ("lat_ns", "latency", Some("ns")),
            ("latency_\u{b5}s", "latency", Some("us")),
            ("Latency (\u{3bc}s)", "latency", Some("us")),
            ("IO-Type", "op", None),
            ("size", "bytes", None),
            ("Offset", "offset", None),
            ("LBA", "sector", None),
            ("Length(KB)", "bytes", None),
            ("nr_sectors", "bytes", None),
            ("offset_bytes", "offset", None),
            ("complete_ns", "complete_ns", Some("ns")),
            ("completion_us", "complete_ns", Some("us")),
            ("complete ms", "complete_ns", Some("ms")),
            ("start_sector", "sector", None),
            ("lba_4k", "sector", None),
            ("addr (KB)", "offset", None),
        ] {
            let guessed = field_named(header).unwrap();
            let guessed = (guessed.name(), unit_of(header).map(TimeUnit::name));
            assert_eq!(guessed, (field, unit), "{header}");
        }
        let others = ["", "hostname", "id", "queue depth", "us"];
        for other in others.into_iter().chain(["op_kb", "clat_us", "slat"]) {
            assert_eq!(field_named(other), None, "{other}");
        }
    }
}
