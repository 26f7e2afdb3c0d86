//! Finds out what separates the cells of a line, and whether a file is CSV at all.

use super::field::Field;
use super::guess::field_named;

/// The delimiter of a header and the first row: the comma, semicolon or tab that makes most cells,
/// else blanks where both lines have as many words.
pub(super) fn detect(header: &str, row: Option<&str>) -> u8 {
    let count = |delimiter: &u8| {
        let mut quoted = false;
        let mut separates = |byte: u8| {
            quoted ^= byte == b'"';
            byte == *delimiter && !quoted
        };
        header.bytes().filter(|byte| separates(*byte)).count()
    };
    // The last of several with as many cells is taken.
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

/// Whether the first line looks like a header row: at least two names, besides the unnamed column
/// of an index at the begin or one behind a delimiter at the end.
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

/// Whether a cell may be a header: JSON, settings and lines of logs are none.
fn is_name(cell: &str) -> bool {
    !cell.is_empty()
        && !cell.contains(['{', '}', '='])
        && cell
            .split_whitespace()
            .all(|word| word.parse::<f64>().is_err())
}

/// Whether words are headers: some are usual names, a time among them, and the row has a number.
fn are_columns(names: &[&str], row: &str) -> bool {
    let fields: Vec<Field> = names.iter().filter_map(|name| field_named(name)).collect();
    let has_time = fields.iter().any(|field| field.is_instant());
    let number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    fields.len() > 1 && has_time && row.split_whitespace().any(number)
}
