//! `q2c trace columns` in a terminal.

use super::screen::{Screen, Tone};
use super::table::{TerminalColumn, TerminalTable};
use crate::phrase::listed;
use q2c_result::trace::{CsvColumn, TraceColumn, TraceColumns};

/// The columns of a trace, and the fields that a CSV file may hold.
#[must_use]
pub fn trace_columns(list: &TraceColumns, screen: Screen) -> String {
    let mut text = screen.note(
        Tone::Strong,
        "columns of a trace:",
        "a Parquet file with one row for each request. Times are from the trace's start. Cells are \
         null where the source does not tell the value; columns with * always have one.",
    );
    text += &columns(&list.columns).text(screen);
    text += "\n";
    text += &screen.note(
        Tone::Strong,
        "fields of trace import --format csv:",
        &fields(list),
    );
    for field in &list.csv_fields {
        if let Some(meaning) = &field.meaning {
            text += &screen.note(Tone::Strong, &format!("{}:", field.name), meaning);
        }
    }
    text + &headers(&list.csv_fields).text(screen)
}

fn columns(list: &[TraceColumn]) -> TerminalTable {
    let head = ["column", "type", "unit"].map(|head| TerminalColumn::numbers(head).left());
    let mut table = TerminalTable::new(head.into_iter().chain([TerminalColumn::words("meaning")]));
    for column in list {
        let always = if column.optional { "" } else { " *" };
        let name = format!("{}{always}", column.name);
        table.add([&name, &column.kind, &column.unit, &column.meaning]);
    }
    table
}

fn fields(list: &TraceColumns) -> String {
    let taken = |name: &String| list.csv_fields.iter().any(|field| field.name == *name);
    let names = list.columns.iter().map(|column| &column.name);
    let not = listed(names.filter(|name| !taken(name)));
    format!(
        "--columns FIELD=HEADER,... says which header holds which field: any column above but {not}, \
         and the two below. Times are in --unit. For fields that it does not name, these \
         names are taken as headers, and those below in any case, with a unit at their end or without (latency_us):"
    )
}

fn headers(fields: &[CsvColumn]) -> TerminalTable {
    let mut table = TerminalTable::new([
        TerminalColumn::numbers("field").left(),
        TerminalColumn::words("headers taken as it"),
    ]);
    for field in fields.iter().filter(|field| !field.headers.is_empty()) {
        table.add([field.name.clone(), field.headers.join(", ")]);
    }
    table
}
