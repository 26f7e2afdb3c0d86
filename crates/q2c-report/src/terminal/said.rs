//! Writes the sentences and tables of [`crate::said`] to a terminal.

use super::screen::{Screen, Tone};
use super::table;
use crate::said::{Field, Said, Table, Weight};

/// Numbers with their units and ranges are not wider than this.
const NUMBER: usize = 24;

pub(super) fn all<'a>(said: impl IntoIterator<Item = &'a Said>, screen: Screen) -> String {
    let one = |said: &Said| screen.note(tone(said.weight), &format!("{}:", said.what), &said.words);
    said.into_iter().map(one).collect()
}

/// Conclusions: those that judge are marked as verdicts, the others as their evidence.
pub(super) fn concluded(said: &[Said], screen: Screen) -> String {
    let one = |said: &Said| {
        let (tone, mark) = match said.weight {
            Weight::Plain => (Tone::Plain, '·'),
            weight => (tone(weight), '▸'),
        };
        screen.note(tone, &format!("{mark} {}:", said.what), &said.words)
    };
    said.iter().map(one).collect()
}

fn tone(weight: Weight) -> Tone {
    match weight {
        Weight::Plain => Tone::Strong,
        Weight::Good => Tone::Good,
        Weight::Caution => Tone::Caution,
        Weight::Bad => Tone::Bad,
    }
}

/// An empty line, the table, and its legend.
pub(super) fn table(of: &Table, screen: Screen) -> String {
    let mut text = format!("\n{}", laid_out(of).text(screen));
    if !of.legend.is_empty() {
        text += &screen.legend(of.legend);
    }
    text
}

/// Whether the whole table fits on the screen with each name beside its numbers.
pub(super) fn fits(of: &Table, screen: Screen) -> bool {
    laid_out(of).fits(screen)
}

fn laid_out(of: &Table) -> table::Table {
    let column = |(at, head): (usize, &String)| match at == 0 || is_of_words(of, at) {
        true => table::Column::words(head),
        false => table::Column::numbers(head),
    };
    let mut table = table::Table::new(of.head.iter().enumerate().map(column));
    for row in &of.rows {
        table.add(row.iter().map(field));
    }
    table
}

/// Whether a column has sentences, which are too wide to stand in one line.
fn is_of_words(of: &Table, column: usize) -> bool {
    let fields = of.rows.iter().filter_map(|row| row.get(column));
    let mut long = fields.filter(|field| field.text.chars().count() > NUMBER);
    long.any(|field| field.text.contains(' '))
}

fn field(field: &Field) -> table::Field {
    let text = match field.below.as_str() {
        "" => field.text.clone(),
        below => format!("{}\n{below}", field.text),
    };
    table::Field::from(text)
}
