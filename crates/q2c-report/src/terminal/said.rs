//! Writes the sentences and tables of [`crate::said`] to a terminal.

use super::screen::{Screen, Tone};
use super::table;
use crate::phrase::when;
use crate::quantity::NOTHING;
use crate::said::{Field, Said, Table, Weight};

pub(super) fn all<'a>(said: impl IntoIterator<Item = &'a Said>, screen: Screen) -> String {
    let one = |said: &Said| screen.note(tone(said.weight), &format!("{}:", said.what), &said.words);
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
pub(super) fn table(of: &Table, weights: &[Weight], screen: Screen) -> String {
    let mut text = laid_out(of, weights).text(screen);
    if !of.legend.is_empty() {
        text += &screen.legend(of.legend);
    }
    text
}

fn laid_out(of: &Table, weights: &[Weight]) -> table::Table {
    let column = |(at, head): (usize, &String)| match table::Column::numbers(head) {
        _ if at == 0 || of.is_of_words(&at) => table::Column::words(head),
        column if is_text(of, at) => column.left(),
        // What can be had by --json goes first where there is no room.
        column if head.ends_with(RANGE) => column.optional(),
        column => column,
    };
    let is_marked = weights.contains(&Weight::Good);
    let mut table = table::Table::new(of.head.iter().enumerate().map(column));
    for (at, row) in of.rows.iter().enumerate() {
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
        table.add(row.iter().enumerate().map(|(column, of)| match column {
            0 => field(of, tone).marked(mark, "    "),
            _ => field(of, Tone::Plain),
        }));
    }
    table
}

const RANGE: &str = "[min, max]";

/// Whether a column has no numbers: its fields begin with letters, or make a picture.
fn is_text(of: &Table, column: usize) -> bool {
    let fields = of.rows.iter().filter_map(|row| row.get(column));
    let mut known = fields.filter(|field| !["", NOTHING].contains(&&*field.text));
    let begins_number = |c: char| c.is_ascii_digit() || "-+[<".contains(c);
    known.all(|field| !field.text.starts_with(begins_number))
}

fn field(field: &Field, tone: Tone) -> table::Field {
    let feed = when(!field.below.is_empty(), "\n");
    table::Field::new(tone, &format!("{}{feed}{}", field.text, field.below))
}
