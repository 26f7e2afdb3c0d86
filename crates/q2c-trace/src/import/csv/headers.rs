//! Reads header rows: fields by their usual names, which become a column map, and suggestions for a
//! file with unusual headers. A map from mere words is only suggested, because words are less
//! certain than usual names.

use super::cells::CsvCells;
use super::clock::ClockOrigin;
use super::plan::{CsvHead, Mapping, UNSTATED_UNIT, WrongMap, check_fields, has, missing_unit};
use super::row::{self, BLOCK, Field, LENGTH, USER};
use crate::Column;
use crate::import::error::quote;
use crate::import::{ImportError, TimeUnit, require};
use q2c_model::parse_size;
use std::str::Split;

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
fn fields_of(table: &'static str) -> impl Iterator<Item = (Field, Split<'static, char>)> {
    let lines = table.lines().filter_map(|line| line.split_once(": "));
    lines.filter_map(|(name, words)| Some((Field::by_name(name)?, words.split(' '))))
}

/// True if a header is a name of offsets that is usual for both bytes and blocks, so that it needs
/// a unit.
fn is_address(header: &str) -> bool {
    matches!(words(header).concat().as_str(), "address" | "addr")
}

/// The headers, in lower case and without a unit, that stand for a field which no map names.
pub(super) fn usual_headers(field: Field) -> Vec<&'static str> {
    let mut fields = fields_of(NAMES);
    let usual = fields.find(|(known, _)| *known == field);
    usual.map_or_else(Vec::new, |(_, headers)| headers.collect())
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
    let bare_units = ["bytes", "sector", "sectors", "blocks"];
    size_unit(last)
        .or_else(|| block_size(last))
        .filter(|_| !front.is_empty() || bare_units.contains(&last.as_str()))
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
fn usual_field(header: &str) -> Option<Field> {
    let by_name = |words: &[String]| {
        let name = words.concat();
        let mut fields = fields_of(NAMES);
        fields.find_map(|(field, mut names)| names.any(|known| known == name).then_some(field))
    };
    let header_words = words(header);
    let front = &header_words[..header_words.len().saturating_sub(1)];
    let has_unit = |field: &Field| {
        field.is_time() && unit_of(header).is_some()
            || field.is_size() && size_unit_of(header).is_some()
    };
    let field = Field::by_name(header.trim()).or_else(|| by_name(&header_words));
    field.or_else(|| by_name(front).filter(has_unit))
}

/// A text in lower case, with the micro sign as `u`.
pub(super) fn to_lower(text: &str) -> String {
    text.to_lowercase().replace(['\u{b5}', '\u{3bc}'], "u")
}

/// The words of a header in lower case: `Response Time (us)` is `response`, `time`, `us`.
fn words(header: &str) -> Vec<String> {
    let lower = to_lower(header);
    let split = lower.split(|c: char| !c.is_alphanumeric());
    let non_empty = split.filter(|word| !word.is_empty());
    non_empty.map(str::to_owned).collect()
}

/// A map as it would be typed after `--columns`, with `:unit` after the header of the lengths if
/// `unit` is given.
pub(super) fn typed_map(fields: &[Mapping], header: &CsvCells, unit: Option<&str>) -> String {
    let pair = |Mapping { field, at, .. }: &Mapping| {
        let unit = unit.filter(|_| *field == LENGTH);
        let unit = unit.map_or(String::new(), |unit| format!(":{unit}"));
        let header = header.get(*at).unwrap_or_default();
        format!("{}={header}{unit}", field.name())
    };
    fields.iter().map(pair).collect::<Vec<_>>().join(",")
}

/// Detects the delimiter: the comma, semicolon or tab that splits the header into most cells, else
/// blanks if header and first row have as many words.
pub(super) fn detect_delimiter(header: &str, row: Option<&str>) -> u8 {
    let count = |delimiter: &u8| {
        let mut is_quoted = false;
        let separates = |byte: &u8| {
            is_quoted ^= *byte == b'"';
            byte == delimiter && !is_quoted
        };
        header.bytes().filter(separates).count()
    };
    // Of several with as many cells, `max_by_key` takes the last one.
    let frequent = [b'\t', b';', b','].into_iter().max_by_key(count);
    let count_cells = |line: &str| line.split_whitespace().count();
    let cells = count_cells(header);
    let has_columns = cells > 1 && row.is_none_or(|row| count_cells(row) == cells);
    match frequent {
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
    let delimiter = detect_delimiter(first, row);
    if delimiter == b' ' {
        let names: Vec<&str> = first.split_whitespace().collect();
        return names.iter().all(|name| is_name(name)) && are_columns(&names, row.unwrap_or(""));
    }
    let separates = |c: char| c == char::from(delimiter);
    let mut names: Vec<&str> = first.split(separates).map(str::trim).collect();
    names.pop_if(|last| last.is_empty());
    let unnamed_count = usize::from(names.first().is_some_and(|first| first.is_empty()));
    let names = &names[unnamed_count..];
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
    let fields: Vec<Field> = names.iter().filter_map(|name| usual_field(name)).collect();
    let has_time = fields.iter().any(|field| field.is_instant());
    let is_number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    fields.len() > 1 && has_time && row.split_whitespace().any(is_number)
}

/// The fields that usual names give in addition to the map, with the indexes of their cells.
pub(super) fn find_usual(header: &CsvCells, map: &[Mapping]) -> Result<Vec<Mapping>, WrongMap> {
    let is_free = |(at, _): &(usize, &str)| map.iter().all(|column| column.at != *at);
    let columns = header.iter().enumerate().filter(is_free);
    let columns = columns.filter_map(|(at, name)| Some(Mapping::new(usual_field(name)?, at)));
    let mut usual: Vec<Mapping> = columns.filter(|column| !has(map, column.field)).collect();
    move_end_to_layer_of_start(&mut usual, map, header);
    drop_contradictions(&mut usual, map);
    if map.is_empty() {
        refuse_repeated(&usual, header)?;
    } else {
        usual.retain(|column| !is_repeated(header, column.at));
    }
    refuse_rivals(&usual, header)?;
    Ok(usual)
}

/// `complete_us` is the end in the layer of the start, but `complete_ns` is always a column of the
/// block layer.
fn move_end_to_layer_of_start(usual: &mut [Mapping], map: &[Mapping], header: &CsvCells) {
    let is_present = |column: &Column| {
        let field = Field::Column(*column);
        has(usual, field) || has(map, field)
    };
    let has_user_start = USER.iter().any(is_present);
    for Mapping { field, at, .. } in usual {
        let is_own_name = Field::by_name(header.get(*at).unwrap_or_default()).is_some();
        if *field == Field::Column(Column::CompleteNs) && has_user_start && !is_own_name {
            *field = Field::Column(Column::ReapNs);
        }
    }
}

/// Drops fields that contradict the map. Fields that contradict each other stay and fail later.
fn drop_contradictions(usual: &mut Vec<Mapping>, map: &[Mapping]) {
    let start_field = Field::Column(Column::SubmitNs);
    let goes_with =
        |others: &[Mapping], column: &Mapping| check_fields(&[others, &[*column]].concat()).is_ok();
    // A latency and an end contradict each other only if there is a start.
    let start_column = usual.iter().find(|c| c.field == start_field).copied();
    let start = Vec::from_iter(start_column.filter(|start| goes_with(map, start)));
    let map_and_start = [map, &start].concat();
    usual.retain(|column| {
        start.contains(column) || goes_with(&map_and_start, column) || !goes_with(&start, column)
    });
}

fn is_repeated(header: &CsvCells, at: usize) -> bool {
    let name = header.get(at);
    (0..header.count).any(|other| other != at && header.get(other) == name)
}

fn refuse_repeated(usual: &[Mapping], header: &CsvCells) -> Result<(), WrongMap> {
    let Some(column) = usual.iter().find(|column| is_repeated(header, column.at)) else {
        return Ok(());
    };
    let expected = "each header once, or a column map (field=header)".to_owned();
    let name = header.get(column.at).unwrap_or_default();
    Err((expected, format!("{} twice", quote(name))))
}

/// Fails if several headers may hold one field, because the choice would be a guess.
fn refuse_rivals(usual: &[Mapping], header: &CsvCells) -> Result<(), WrongMap> {
    let rival = |column: &Mapping| {
        let mut others = usual.iter().filter(|other| other.at > column.at);
        let other = others.find(|other| other.field == column.field)?;
        Some((*column, other.at))
    };
    let Some((column, other)) = usual.iter().find_map(rival) else {
        return Ok(());
    };
    let name = |at| quote(header.get(at).unwrap_or_default());
    let map = typed_map(&[column], header, None);
    let field = column.field.name();
    let expected = format!("one column of {field}, as by --columns '{map}'");
    Err((expected, format!("{} and {}", name(column.at), name(other))))
}

/// Asks for the unit of addresses if no header states it: both bytes and blocks are usual.
pub(super) fn check_addresses(
    usual: &[Mapping],
    mapped: &[Mapping],
    head: &CsvHead<'_>,
) -> Result<(), ImportError> {
    let is_bare = |column: &Mapping| {
        column.unit_source == UNSTATED_UNIT
            && column.field == Field::Offset
            && usual.iter().any(|usual| usual.at == column.at)
            && is_address(head.header.get(column.at).unwrap_or_default())
    };
    if !mapped.iter().any(is_bare) {
        return Ok(());
    }
    let reason = "the header of the addresses does not tell their unit";
    require(None, head.path, "offset unit", reason)
}

/// Fields by a word that a header may hold among others. The first field that fits is suggested.
const LIKELY_WORDS: &str = "\
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
pub(super) fn suggest_map(fields: &[Mapping], head: &CsvHead<'_>) -> Option<WrongMap> {
    let (likely, quoted_words) = add_likely(fields, head);
    let is_gained = |field| has(&likely, field) && !has(fields, field);
    let missing = if !has_instant(fields) {
        "start"
    } else if head.options.op_or_assumed().is_none() && is_gained(OP) {
        "operation"
    } else if head.options.bytes_or_assumed().is_none() && is_gained(LENGTH) {
        "length"
    } else {
        return None;
    };
    let reason = format!("guessed by {} in the headers; ", quoted_words.join(", "));
    let reason = if quoted_words.is_empty() { "" } else { &reason };
    let expected = format!(
        "a column with the {missing} of each request, such as {} ({reason}fields: {}; reap_ns \
         or complete_ns with latency where the times are those of the ends)",
        suggested_options(&likely, head),
        Field::names()
    );
    let headers: Vec<&str> = head.header.iter().collect();
    let headers = format!("the headers {}", quote(&headers.join(", ")));
    Some((expected, headers))
}

const OP: Field = Field::Column(Column::Op);

fn has_instant(fields: &[Mapping]) -> bool {
    fields.iter().any(|column| column.field.is_instant())
}

/// The fields, plus those that the first row or words of other headers make likely, in the order of
/// the file. Also returns these words in quotes.
fn add_likely(fields: &[Mapping], head: &CsvHead<'_>) -> (Vec<Mapping>, Vec<String>) {
    let (mut fields, mut reasons) = (fields.to_vec(), Vec::new());
    for (at, name) in head.header.iter().enumerate() {
        if fields.iter().any(|column| column.at == at) {
            continue;
        }
        let likely = likely_field(name, &fields).filter(|(field, _)| may_hold(*field, at, head));
        if let Some((field, word)) = likely {
            fields.push(Mapping::new(field, at));
            reasons.push(format!("`{word}`"));
        }
    }
    if !has(&fields, OP) {
        let is_op = |at: &usize| {
            let is_free = fields.iter().all(|column| column.at != *at);
            let cell = head.sample_cell(*at).filter(|_| is_free);
            cell.is_some_and(|cell| row::op(cell, None).is_ok())
        };
        let at = (0..head.header.count).find(is_op);
        fields.extend(at.map(|at| Mapping::new(OP, at)));
    }
    make_tracer_times_ends(&mut fields);
    fields.sort_by_key(|column| column.at);
    (fields, reasons)
}

/// Treats the times of a tracer as ends: a tracer such as biosnoop prints a row, with the process,
/// when a request ends.
fn make_tracer_times_ends(fields: &mut [Mapping]) {
    let column = |column| Field::Column(column);
    let tracer = [column(Column::Comm), column(Column::Pid), Field::Latency];
    let is_tracer = tracer.iter().all(|field| has(fields, *field));
    for Mapping { field, .. } in fields {
        if is_tracer && *field == column(Column::SubmitNs) {
            *field = column(Column::CompleteNs);
        }
    }
}

/// True if the first row's cell may be of this field.
fn may_hold(field: Field, at: usize, head: &CsvHead<'_>) -> bool {
    let cell = head.sample_cell(at).unwrap_or("");
    let is_measure = field.is_time() || field.is_size();
    let is_number = || cell.replace(',', ".").parse::<f64>().is_ok();
    !is_measure || cell.is_empty() || is_number() || ClockOrigin::recognise(cell).is_some()
}

/// The options to suggest: the map, with a unit of lengths if needed, and what no header gives.
fn suggested_options(fields: &[Mapping], head: &CsvHead<'_>) -> String {
    let unit = missing_unit(fields, head);
    let mut map = typed_map(fields, head.header, unit);
    // If nothing shows which column is the start, none is suggested: a wrong guess would import
    // something else.
    if !has_instant(fields) {
        map = format!("submit_ns=COLUMN,{map}");
    }
    let mut options = format!("--columns '{}'", map.trim_end_matches(','));
    let is_bare = |Mapping { field, at, .. }: &&Mapping| {
        let clock = head.sample_cell(*at).and_then(ClockOrigin::recognise);
        field.is_time() && clock.is_none() && unit_of(head.header.get(*at).unwrap_or("")).is_none()
    };
    if let Some(Mapping { at, .. }) = fields.iter().find(is_bare) {
        let stated = head.options.unit;
        let unit = stated.or_else(|| unix_unit(head.sample_cell(*at)?));
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
fn likely_field(header: &str, fields: &[Mapping]) -> Option<(Field, &'static str)> {
    let header_words = words(header);
    let is_time = unit_of(header).is_some();
    let is_size = size_unit_of(header).is_some();
    let mut other_units = OTHER_UNITS.iter();
    if other_units.any(|unit| header_words.iter().any(|word| word == unit)) {
        return None;
    }
    let fits = |field: Field| if field.is_time() { !is_size } else { !is_time };
    let candidates = fields_of(LIKELY_WORDS);
    let mut candidates = candidates.filter(|(field, _)| fits(*field) && agrees(*field, fields));
    candidates.find_map(|(field, mut known)| {
        let word = known.find(|known| header_words.iter().any(|word| word == known));
        word.map(|word| (field, word))
    })
}

/// True if a map may have the field besides the others.
fn agrees(field: Field, fields: &[Mapping]) -> bool {
    let column = |column| has(fields, Field::Column(column));
    let contradicts = match field {
        Field::Latency => column(Column::ReapNs) || column(Column::CompleteNs),
        Field::Offset => column(Column::Sector),
        Field::Column(Column::Sector) => has(fields, Field::Offset),
        Field::Column(Column::SubmitNs) => {
            let has_end_and_latency = column(Column::ReapNs) && has(fields, Field::Latency);
            has_end_and_latency || BLOCK.iter().any(|block| column(*block))
        }
        Field::Column(_) => false,
    };
    !has(fields, field) && !contradicts
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
            let guessed = usual_field(header).unwrap();
            let guessed = (guessed.name(), unit_of(header).map(TimeUnit::name));
            assert_eq!(guessed, (field, unit), "{header}");
        }
        let unknown = ["", "hostname", "id", "queue depth", "us"];
        for header in unknown.into_iter().chain(["op_kb", "clat_us", "slat"]) {
            assert_eq!(usual_field(header), None, "{header}");
        }
    }
}
