//! A column map made from the names of a header row, for sources that name their columns as others
//! do.

use super::cells::Cells;
use super::field::Field;
use crate::Column;
use crate::import::decimal::TimeUnit;
use std::collections::BTreeSet;

/// Fields by the names that sources give them, in small letters, without a unit and without what
/// stands between words.
const NAMES: [(Field, &[&str]); 11] = [
    (
        Field::Column(Column::SubmitNs),
        &[
            "time",
            "timestamp",
            "ts",
            "start",
            "starttime",
            "submit",
            "submittime",
            "arrival",
            "arrivaltime",
        ],
    ),
    (
        Field::Column(Column::ReapNs),
        &["end", "endtime", "finish", "finishtime", "completiontime"],
    ),
    (
        Field::Latency,
        &[
            "lat",
            "latency",
            "responsetime",
            "response",
            "duration",
            "servicetime",
            "elapsed",
        ],
    ),
    (
        Field::Column(Column::Op),
        &[
            "op",
            "operation",
            "rw",
            "iotype",
            "optype",
            "opcode",
            "readwrite",
            "type",
        ],
    ),
    (
        Field::Column(Column::Bytes),
        &[
            "bytes",
            "size",
            "length",
            "len",
            "iosize",
            "requestsize",
            "blocksize",
            "bs",
        ],
    ),
    (Field::Offset, &["offset", "off", "byteoffset"]),
    (Field::Column(Column::Sector), &["sector", "lba", "lbn"]),
    (Field::Column(Column::Device), &["device", "dev", "disk"]),
    (Field::Column(Column::Pid), &["pid", "processid"]),
    (
        Field::Column(Column::Comm),
        &["comm", "process", "command", "processname"],
    ),
    (Field::Column(Column::CpuSubmit), &["cpu"]),
];

/// The headers, in small letters and without a unit, that are taken as a field where no map is
/// given; by the field's name.
pub(in crate::import) fn usual_headers()
-> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    NAMES
        .iter()
        .map(|(field, headers)| (field.name(), *headers))
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

/// What the names of a header row say.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Guess {
    /// Fields with the indexes of their cells.
    pub fields: Vec<(Field, usize)>,
    /// The units that the names of times end with, with the header of each.
    pub units: Vec<(TimeUnit, String)>,
}

/// Reads a header row. A field that several headers would fit goes to the first.
pub(super) fn guess(header: &Cells) -> Guess {
    let mut guess = Guess::default();
    for (at, name) in header.iter().enumerate() {
        let Some((field, unit)) = named(name) else {
            continue;
        };
        if guess.fields.iter().any(|(known, _)| *known == field) {
            continue;
        }
        guess.fields.push((field, at));
        if let Some(unit) = unit {
            guess.units.push((unit, name.to_owned()));
        }
    }
    guess
}

/// The field that a header names, and the unit if its name ends with one. A trace's own column
/// names its unit, too: `submit_ns`.
fn named(header: &str) -> Option<(Field, Option<TimeUnit>)> {
    let own = Field::by_name(header.trim());
    let words = words(header);
    let (last, front) = words.split_last()?;
    let unit = UNITS
        .iter()
        .find(|(name, _)| name == last)
        .map(|(_, unit)| *unit);
    if let Some(field) = own {
        return Some((field, unit.filter(|_| !front.is_empty())));
    }
    let by_name = |name: &str| {
        let fits = |(_, names): &&(Field, &[&str])| names.contains(&name);
        NAMES.iter().find(fits).map(|(field, _)| *field)
    };
    let whole = by_name(&words.concat());
    match (whole, unit) {
        (Some(field), _) => Some((field, None)),
        (None, Some(_)) => Some((by_name(&front.concat())?, unit)),
        (None, None) => None,
    }
}

/// The words of a header in small letters: `Response Time (us)` is `response`, `time`, `us`.
fn words(header: &str) -> Vec<String> {
    let small = header.to_lowercase();
    let words = small.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

impl Guess {
    /// The unit of all times; `Err` names the headers where they have several.
    pub(super) fn unit(&self) -> Result<Option<TimeUnit>, String> {
        let names: BTreeSet<&str> = self.units.iter().map(|(unit, _)| unit.name()).collect();
        match names.len() {
            0 => Ok(None),
            1 => Ok(self.units.first().map(|(unit, _)| *unit)),
            _ => Err(self
                .units
                .iter()
                .map(|(_, header)| header.as_str())
                .collect::<Vec<_>>()
                .join(", ")),
        }
    }

    /// The map as it would be typed behind `--columns`.
    pub(super) fn typed(&self, header: &Cells) -> String {
        let name = |at: usize| header.iter().nth(at).unwrap_or_default();
        let pairs = self
            .fields
            .iter()
            .map(|(field, at)| format!("{}={}", field.name(), name(*at)));
        pairs.collect::<Vec<_>>().join(",")
    }
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
            ("IO-Type", "op", None),
            ("size", "bytes", None),
            ("Offset", "offset", None),
            ("LBA", "sector", None),
            ("complete_ns", "complete_ns", Some("ns")),
        ] {
            let (found, its) = named(header).unwrap();
            assert_eq!(
                (found.name(), its.map(TimeUnit::name)),
                (field, unit),
                "{header}"
            );
        }
        for other in ["", "hostname", "id", "queue depth", "us"] {
            assert_eq!(named(other), None, "{other}");
        }
    }
}
