//! Suggests options for a file with unusual headers: a map made from the words in them. It is only
//! suggested, because words are less certain than usual names.

use super::clock::ClockOrigin;
use super::field::{self, BLOCK, Field, LENGTH};
use super::guess::{fields_of, size_unit_of, typed, unit_of, words};
use super::plan::{Wrong, has};
use super::unit::{Mapped, UnitEvidence, missing_unit};
use crate::Column;
use crate::import::TimeUnit;
use crate::import::error::shown;

/// Fields by a word that a header may hold among others. The first field that fits is suggested.
const LIKELY: &str = "\
latency: took takes lat latency response service duration elapsed long spent
submit_ns: when time timestamp ts begin began start started submitted arrival arrived issued
offset: where offset off position pos address addr
sector: sector lba lbn
bytes: long size length len bytes amount
op: op operation rw kind type direction";

/// Words for units of size that cannot be read.
const OTHER_UNITS: [&str; 4] = ["gb", "gib", "pages", "page"];

/// The error if usual names lack what an import needs, with options that should import the file.
/// `None` if nothing is missing, or if headers and first row suggest nothing.
pub(super) fn advice(fields: &[Mapped], of: &UnitEvidence<'_>) -> Option<Wrong> {
    let (likely, quoted_words) = with_likely(fields, of);
    let gains = |field| has(&likely, field) && !has(fields, field);
    let lacking = if !has_instant(fields) {
        "start"
    } else if of.options.op_or_assumed().is_none() && gains(OP) {
        "operation"
    } else if of.options.bytes_or_assumed().is_none() && gains(LENGTH) {
        "length"
    } else {
        return None;
    };
    let reason = if quoted_words.is_empty() {
        String::new()
    } else {
        format!("guessed by {} in the headers; ", quoted_words.join(", "))
    };
    let expected = format!(
        "a column with the {lacking} of each request, such as {} ({reason}fields: {}; reap_ns \
         or complete_ns with latency where the times are those of the ends)",
        options(&likely, of),
        Field::names()
    );
    let headers: Vec<&str> = of.header.iter().collect();
    Some((
        expected,
        format!("the headers {}", shown(&headers.join(", "))),
    ))
}

const OP: Field = Field::Column(Column::Op);

fn has_instant(fields: &[Mapped]) -> bool {
    fields.iter().any(|column| column.field.is_instant())
}

/// The fields, plus those that the first row or words of other headers make likely, in the order of
/// the file. Also returns these words in quotes.
fn with_likely(fields: &[Mapped], of: &UnitEvidence<'_>) -> (Vec<Mapped>, Vec<String>) {
    let (mut fields, mut reasons) = (fields.to_vec(), Vec::new());
    for (at, name) in of.header.iter().enumerate() {
        if fields.iter().any(|column| column.at == at) {
            continue;
        }
        let likely_field = likely(name, &fields).filter(|(field, _)| may_hold(*field, at, of));
        if let Some((field, word)) = likely_field {
            fields.push(Mapped::new(field, at));
            reasons.push(format!("`{word}`"));
        }
    }
    if !has(&fields, OP) {
        let names_op = |at: &usize| {
            of.sampled(*at)
                .is_some_and(|cell| field::op(cell, None).is_ok())
        };
        let is_free = |at: &usize| fields.iter().all(|column| column.at != *at);
        let mut free = (0..of.header.count).filter(is_free);
        let named = free.find(names_op);
        fields.extend(named.map(|at| Mapped::new(OP, at)));
    }
    stamp_by_ends(&mut fields);
    fields.sort_by_key(|column| column.at);
    (fields, reasons)
}

/// Treats the times of a tracer as ends: a tracer such as biosnoop prints a row, with the process,
/// when a request ends.
fn stamp_by_ends(fields: &mut [Mapped]) {
    let column = |column| Field::Column(column);
    let tracer = [column(Column::Comm), column(Column::Pid), Field::Latency];
    if !tracer.iter().all(|field| has(fields, *field)) {
        return;
    }
    for Mapped { field, .. } in fields {
        if *field == column(Column::SubmitNs) {
            *field = column(Column::CompleteNs);
        }
    }
}

/// True if the first row's cell may be of this field.
fn may_hold(field: Field, at: usize, of: &UnitEvidence<'_>) -> bool {
    let cell = of.sampled(at).unwrap_or("");
    let measures = field.is_time() || field.is_size();
    let is_number = || cell.replace(',', ".").parse::<f64>().is_ok();
    !measures || cell.is_empty() || is_number() || ClockOrigin::recognise(cell).is_some()
}

/// The options to suggest: the map, with a unit of lengths if needed, and what no header gives.
fn options(fields: &[Mapped], of: &UnitEvidence<'_>) -> String {
    let unit = missing_unit(fields, of);
    let mut map = typed(fields, of.header, unit);
    // If nothing shows which column is the start, none is suggested: a wrong guess would import
    // something else.
    if !has_instant(fields) {
        map = format!("submit_ns=COLUMN,{map}");
    }
    let mut options = format!("--columns '{}'", map.trim_end_matches(','));
    let is_bare = |Mapped { field, at, .. }: &&Mapped| {
        let clock = of.sampled(*at).and_then(ClockOrigin::recognise);
        field.is_time() && clock.is_none() && unit_of(of.header.get(*at).unwrap_or("")).is_none()
    };
    if let Some(Mapped { at, .. }) = fields.iter().find(is_bare) {
        let unit = of.options.unit.or_else(|| unix_unit(of.sampled(*at)?));
        options += &format!(" --unit {}", unit.map_or("UNIT", TimeUnit::name));
    }
    if !has(fields, OP) {
        options += " --op read";
    }
    if !has(fields, LENGTH) {
        options += " --bs 4k";
    }
    options
}

/// The unit in which a number is a current Unix time, by its number of digits.
fn unix_unit(cell: &str) -> Option<TimeUnit> {
    match cell.split('.').next()?.len() {
        10 => Some(TimeUnit::Seconds),
        13 => Some(TimeUnit::Milliseconds),
        16 => Some(TimeUnit::Microseconds),
        19 => Some(TimeUnit::Nanoseconds),
        _ => None,
    }
}

/// The first field that a word of the header makes likely and that fits the other fields.
fn likely(header: &str, fields: &[Mapped]) -> Option<(Field, &'static str)> {
    let header_words = words(header);
    let is_time = unit_of(header).is_some();
    let is_size = size_unit_of(header).is_some();
    let mut other_units = OTHER_UNITS.iter();
    if other_units.any(|unit| header_words.iter().any(|word| word == unit)) {
        return None;
    }
    let fits = |field: Field| {
        if field.is_time() { !is_size } else { !is_time }
    };
    let candidates = fields_of(LIKELY);
    let mut candidates = candidates.filter(|(field, _)| fits(*field) && goes_with(*field, fields));
    candidates.find_map(|(field, mut known)| {
        let word = known.find(|known| header_words.iter().any(|word| word == known));
        word.map(|word| (field, word))
    })
}

/// True if a map may have the field besides the others.
fn goes_with(field: Field, fields: &[Mapped]) -> bool {
    let column = |column| has(fields, Field::Column(column));
    let other = match field {
        Field::Latency => column(Column::ReapNs) || column(Column::CompleteNs),
        Field::Offset => column(Column::Sector),
        Field::Column(Column::Sector) => has(fields, Field::Offset),
        Field::Column(Column::SubmitNs) => {
            let by_end = column(Column::ReapNs) && has(fields, Field::Latency);
            by_end || BLOCK.iter().any(|block| column(*block))
        }
        Field::Column(_) => false,
    };
    !has(fields, field) && !other
}
