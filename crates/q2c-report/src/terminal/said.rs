//! Writes the sentences and tables of [`crate::said`] to a terminal.

use super::screen::{Screen, Tone};
use super::table;
use crate::phrase::when;
use crate::quantity::NOTHING;
use crate::said::{Note, ReportField, ReportTable, Weight};

pub(super) fn notes<'a>(said: impl IntoIterator<Item = &'a Note>, screen: Screen) -> String {
    let one = |said: &Note| screen.note(tone(said.weight), &format!("{}:", said.what), &said.words);
    said.into_iter().map(one).collect()
}

pub(super) fn tone(weight: Weight) -> Tone {
    match weight {
        Weight::Plain => Tone::Strong,
        Weight::Good => Tone::Good,
        Weight::Caution => Tone::Caution,
        Weight::Bad => Tone::Bad,
    }
}

/// The table and its legend. `weights` are those of its rows, if they differ.
pub(super) fn table(content: &ReportTable, weights: &[Weight], screen: Screen) -> String {
    let mut text = laid_out(content, weights).text(screen);
    if !content.legend.is_empty() {
        text += &screen.legend(content.legend);
    }
    text
}

fn laid_out(content: &ReportTable, weights: &[Weight]) -> table::TerminalTable {
    let column = |(at, head): (usize, &String)| match table::TerminalColumn::numbers(head) {
        _ if at == 0 || content.is_of_words(&at) => table::TerminalColumn::words(head),
        column if is_text(content, at) => column.left(),
        // What can be had by --json goes first where there is no room.
        column if head.ends_with(RANGE) => column.optional(),
        column => column,
    };
    let is_marked = weights.contains(&Weight::Good);
    let mut table = table::TerminalTable::new(content.head.iter().enumerate().map(column));
    for (at, row) in content.rows.iter().enumerate() {
        let weight = weights.get(at).copied().unwrap_or(Weight::Plain);
        let mark = match (is_marked, weight) {
            (false, _) => "",
            (_, Weight::Good) => "\u{25b8} ",
            _ => "  ",
        };
        let tone = match weight {
            Weight::Plain => Tone::Plain,
            weight => tone(weight),
        };
        table.add(row.iter().enumerate().map(|(column, cell)| match column {
            0 => field(cell, tone).marked(mark, "    "),
            _ => field(cell, Tone::Plain),
        }));
    }
    table
}

const RANGE: &str = "[min, max]";

/// Whether a column has no numbers: its fields begin with letters, or make a picture.
fn is_text(content: &ReportTable, column: usize) -> bool {
    let fields = content.rows.iter().filter_map(|row| row.get(column));
    let mut known = fields.filter(|field| !["", NOTHING].contains(&&*field.text));
    let begins_number = |c: char| c.is_ascii_digit() || "-+[<".contains(c);
    known.all(|field| !field.text.starts_with(begins_number))
}

fn field(field: &ReportField, tone: Tone) -> table::TerminalField {
    let feed = when(!field.below.is_empty(), "\n");
    table::TerminalField::new(tone, &format!("{}{feed}{}", field.text, field.below))
}
