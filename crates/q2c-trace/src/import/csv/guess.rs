//! A column map made from the names of a header row, for sources that name their columns as others
//! do.

use super::cells::CsvCells;
use super::field::{Field, LENGTH};
use crate::Column;
use crate::import::decimal::TimeUnit;
use q2c_model::parse_size;

/// Fields by the names that sources give them, in small letters, without a unit and without what
/// stands between words.
const NAMES: [(Field, &str); 12] = [
    (
        Field::Column(Column::SubmitNs),
        "time timestamp ts start starttime submit submittime arrival arrivaltime datetime",
    ),
    (
        Field::Column(Column::ReapNs),
        "end endtime finish finishtime completiontime",
    ),
    // Beside a start of the user layer they are its end.
    (Field::Column(Column::CompleteNs), "complete completion"),
    // fio's clat and slat are parts of a latency.
    (
        Field::Latency,
        "lat latency responsetime response duration servicetime elapsed",
    ),
    (
        Field::Column(Column::Op),
        "op operation rw iotype optype opcode readwrite type kind",
    ),
    (
        Field::Column(Column::Bytes),
        "bytes size length len iosize requestsize blocksize bs sectors nrsectors",
    ),
    (Field::Offset, "offset off byteoffset address addr"),
    (Field::Column(Column::Sector), "sector lba lbn startsector"),
    (
        Field::Column(Column::Device),
        "device dev disk lun volume diskname",
    ),
    (Field::Column(Column::Pid), "pid processid"),
    (
        Field::Column(Column::Comm),
        "comm process command processname",
    ),
    (Field::Column(Column::CpuSubmit), "cpu"),
];

/// Names of offsets that are usual for bytes and for blocks, so that they need a unit.
const ADDRESS: [&str; 2] = ["address", "addr"];

pub(super) fn is_address(header: &str) -> bool {
    ADDRESS.contains(&words(header).concat().as_str())
}

/// The headers, in small letters and without a unit, that are taken as a field where no map
/// names it; by the field's name.
pub(in crate::import) fn usual_headers() -> impl Iterator<Item = (&'static str, Vec<&'static str>)>
{
    let names = NAMES.iter();
    names.map(|(field, headers)| (field.name(), headers.split(' ').collect()))
}

/// Words at the end of a header that name a unit.
const UNITS: [(&str, TimeUnit); 9] = [
    ("ns", TimeUnit::Nanoseconds),
    ("nsec", TimeUnit::Nanoseconds),
    ("us", TimeUnit::Microseconds),
    ("usec", TimeUnit::Microseconds),
    ("ms", TimeUnit::Milliseconds),
    ("msec", TimeUnit::Milliseconds),
    ("s", TimeUnit::Seconds),
    ("sec", TimeUnit::Seconds),
    ("seconds", TimeUnit::Seconds),
];

/// The unit of time that a header ends with: `took_us`, `Response Time (ms)`. A trace's own column
/// names its unit, too: `submit_ns`.
pub(in crate::import) fn unit_of(header: &str) -> Option<TimeUnit> {
    let header_words = words(header);
    let (last, front) = header_words.split_last()?;
    time_unit(last).filter(|_| !front.is_empty())
}

/// The bytes in one unit of the sizes that a header ends with: `Length(KB)`, `nr_sectors`, `bytes`.
pub(super) fn size_unit_of(header: &str) -> Option<u64> {
    let header_words = words(header);
    let (last, front) = header_words.split_last()?;
    let alone = ["bytes", "sector", "sectors", "blocks"];
    size_unit(last)
        .or_else(|| block_size(last))
        .filter(|_| !front.is_empty() || alone.contains(&last.as_str()))
        .or_else(|| last.ends_with("sectors").then_some(512))
}

/// The bytes in one block where a header ends with their number and unit: `lba_4k`.
fn block_size(word: &str) -> Option<u64> {
    let is_number = word.starts_with(|first: char| first.is_ascii_digit());
    let has_unit = word.ends_with(|last: char| last.is_ascii_alphabetic());
    let size = parse_size(word).ok().filter(|_| is_number && has_unit)?;
    (size.0 > 0).then_some(size.0)
}

pub(super) fn time_unit(name: &str) -> Option<TimeUnit> {
    UNITS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, unit)| *unit)
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

/// The field that a header names, with a unit at its end or without.
pub(super) fn field_named(header: &str) -> Option<Field> {
    let by_name = |parts: &[String]| {
        let name = parts.concat();
        let fits = |(_, names): &&(Field, &str)| names.split(' ').any(|known| known == name);
        NAMES.iter().find(fits).map(|(field, _)| *field)
    };
    let header_words = words(header);
    let front = header_words
        .split_last()
        .map_or(&[][..], |(_, front)| front);
    let has_unit = |field: &Field| {
        field.is_time() && unit_of(header).is_some()
            || field.is_size() && size_unit_of(header).is_some()
    };
    Field::by_name(header.trim())
        .or_else(|| by_name(&header_words))
        .or_else(|| by_name(front).filter(has_unit))
}

/// A text in small letters, with the sign of millionths as `u`.
pub(super) fn in_small(text: &str) -> String {
    text.to_lowercase().replace(['\u{b5}', '\u{3bc}'], "u")
}

/// The words of a header in small letters: `Response Time (us)` is `response`, `time`, `us`.
pub(super) fn words(header: &str) -> Vec<String> {
    let small = in_small(header);
    small
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A map as it would be typed behind `--columns`, with `:unit` behind the header of the lengths
/// where there is one.
pub(super) fn typed(fields: &[(Field, usize)], header: &CsvCells, unit: Option<&str>) -> String {
    let pair = |(field, at): &(Field, usize)| {
        let unit = unit.filter(|_| *field == LENGTH);
        let unit = unit.map_or(String::new(), |unit| format!(":{unit}"));
        let header = header.get(*at).unwrap_or_default();
        format!("{}={header}{unit}", field.name())
    };
    fields.iter().map(pair).collect::<Vec<_>>().join(",")
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
