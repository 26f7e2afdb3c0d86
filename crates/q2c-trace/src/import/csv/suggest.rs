//! Options to begin with, for a file whose headers are not usual ones: a map that is made from the
//! words in them. It is only told, as words say less than a usual name.

use super::cells::Cells;
use super::field::{BLOCK, Field};
use super::guess::{typed, unit_of, words};
use super::plan::has;
use crate::Column;

/// Fields by a word that a header has among others. The first field that fits is told.
const LIKELY: [(Field, &[&str]); 6] = [
    (
        Field::Latency,
        &[
            "took", "takes", "lat", "latency", "response", "service", "duration", "elapsed",
            "long", "spent",
        ],
    ),
    (
        Field::Column(Column::SubmitNs),
        &[
            "when",
            "time",
            "timestamp",
            "ts",
            "begin",
            "began",
            "start",
            "started",
            "submitted",
            "arrival",
            "arrived",
            "issued",
        ],
    ),
    (
        Field::Offset,
        &[
            "where", "offset", "off", "position", "pos", "address", "addr",
        ],
    ),
    (Field::Column(Column::Sector), &["sector", "lba", "lbn"]),
    (
        Field::Column(Column::Bytes),
        &["long", "size", "length", "len", "bytes", "amount"],
    ),
    (
        Field::Column(Column::Op),
        &["op", "operation", "rw", "kind", "type", "direction"],
    ),
];

/// Words of a unit of size that fields are not read in.
const OTHER_UNITS: [&str; 8] = ["k", "kb", "kib", "mb", "mib", "sectors", "blocks", "pages"];

/// Options that map the headers that no field of `fields` has by their words, and state what no
/// header says; and the words that they were guessed by, in the form `guessed by ...; `, empty
/// where there are none.
pub(super) fn to_begin_with(fields: &[(Field, usize)], header: &Cells) -> (String, String) {
    let mut fields = fields.to_vec();
    let mut reasons = Vec::new();
    for (at, name) in header.iter().enumerate() {
        if fields.iter().any(|(_, taken)| *taken == at) {
            continue;
        }
        if let Some((field, word)) = likely(name, &fields) {
            fields.push((field, at));
            reasons.push(word);
        }
    }
    if !has(&fields, Field::Column(Column::SubmitNs)) {
        fields.extend(first_free(&fields, header).map(|at| (Field::Column(Column::SubmitNs), at)));
    }
    fields.sort_by_key(|(_, at)| *at);
    let mut options = format!("--columns '{}'", typed(&fields, header));
    let bare = |(field, at): &(Field, usize)| {
        field.is_time() && unit_of(header.get(*at).unwrap_or_default()).is_none()
    };
    for (lacks, option) in [
        (fields.iter().any(bare), " --unit us"),
        (!has(&fields, Field::Column(Column::Op)), " --op read"),
        (!has(&fields, Field::Column(Column::Bytes)), " --bs 4k"),
    ] {
        options += if lacks { option } else { "" };
    }
    let words: Vec<String> = reasons.iter().map(|word| format!("`{word}`")).collect();
    let why = match words.is_empty() {
        true => String::new(),
        false => format!("guessed by {} in the headers; ", words.join(", ")),
    };
    (options, why)
}

/// The first header that no field has, one with a unit of time before others.
fn first_free(fields: &[(Field, usize)], header: &Cells) -> Option<usize> {
    let free = (0..header.count()).filter(|at| fields.iter().all(|(_, taken)| taken != at));
    free.min_by_key(|at| unit_of(header.get(*at).unwrap_or_default()).is_none())
}

/// The first field that a word of the header makes likely, and that goes with those there are.
fn likely(header: &str, fields: &[(Field, usize)]) -> Option<(Field, &'static str)> {
    let words = words(header);
    let is_time = unit_of(header).is_some();
    let is_size = words.last().is_some_and(|last| last == "bytes");
    if words
        .iter()
        .any(|word| OTHER_UNITS.contains(&word.as_str()))
    {
        return None;
    }
    let fits = |field: Field| match field.is_time() {
        true => !is_size,
        false => !is_time,
    };
    let mut all = LIKELY
        .iter()
        .filter(|(field, _)| fits(*field) && goes_with(*field, fields));
    all.find_map(|(field, known)| {
        let word = known
            .iter()
            .find(|known| words.iter().any(|word| word == **known));
        word.map(|word| (*field, *word))
    })
}

/// Whether a map may have the field beside those there are.
fn goes_with(field: Field, fields: &[(Field, usize)]) -> bool {
    let column = |column| has(fields, Field::Column(column));
    let other = match field {
        Field::Latency => column(Column::ReapNs) || column(Column::CompleteNs),
        Field::Offset => column(Column::Sector),
        Field::Column(Column::Sector) => has(fields, Field::Offset),
        Field::Column(Column::SubmitNs) => BLOCK.iter().any(|block| column(*block)),
        Field::Column(_) => false,
    };
    !has(fields, field) && !other
}
