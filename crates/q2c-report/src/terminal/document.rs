//! A document in a terminal.

use super::screen::{Screen, Tone};
use super::table::{TerminalColumn, TerminalField, TerminalTable};
use crate::document::{Document, DocumentAnswer, DocumentPart, Section};
use crate::phrase::{some_listed, when};
use crate::quantity::NOTHING;
use crate::said::{Note, ReportField, ReportTable, Weight};
use q2c_result::Warning;

pub(crate) fn document(document: &Document<'_>, screen: Screen) -> String {
    let dot = when(!document.about.is_empty(), "\u{b7} ");
    let about = format!("{dot}{}", document.about);
    let mut text = screen.note(Tone::Strong, &document.title, &about);
    if let Some(words) = &document.simulated {
        text += &screen.note(Tone::Strong, "simulated:", words);
    }
    text += &notes(&document.unfinished, screen);
    text.extend(document.answers.iter().map(|item| answer(item, screen)));
    text += &notes(&document.notices, screen);
    let sections = document.sections.iter();
    let (folded, shown): (Vec<&Section>, Vec<&Section>) = sections
        .filter(|section| section.has_text())
        .partition(|section| section.folded && !screen.verbose);
    text.extend(shown.iter().map(|item| section(item, screen)));
    // A warning that an answer shows as a caveat is not repeated.
    let caveats = || document.answers.iter().flat_map(|answer| &answer.caveats);
    let is_told = |warning: &Warning| {
        let end = format!("[{}]", warning.id);
        caveats().any(|caveat| caveat.starts_with(&warning.found) && caveat.ends_with(&end))
    };
    let warnings = document.warnings.iter();
    let warnings = warnings.filter(|warning| screen.verbose || !is_told(warning));
    let warnings: Vec<Note> = warnings.map(Note::warning).collect();
    text += when(!warnings.is_empty(), "\n");
    text += &notes(&warnings, screen);
    let held = |has: fn(&DocumentAnswer) -> bool, name| {
        let is_held = !screen.verbose && document.answers.iter().any(has);
        is_held.then_some(name)
    };
    let evidence = held(|answer| !answer.evidence.is_empty(), "evidence").into_iter();
    let mut titles: Vec<&str> = evidence
        .chain(held(|answer| !answer.to_do.is_empty(), "how to apply"))
        // Sections that exist for each block size are named once.
        .chain(folded.iter().flat_map(|it| it.title.split(", ").next()))
        .collect();
    titles.dedup();
    let titles = some_listed(titles);
    text.extend(titles.map(|titles| screen.note(Tone::Dim, "with -v:", &titles)));
    text
}

fn answer(answer: &DocumentAnswer, screen: Screen) -> String {
    let subject = format!(" {}:", answer.of);
    let mark = "\u{25b8}".to_owned() + when(!answer.of.is_empty(), &subject);
    let mut text = screen.note(tone(answer.weight), &mark, &answer.headline);
    for words in &answer.caveats {
        text += &screen.note(Tone::Caution, "caveat:", words);
    }
    if screen.verbose {
        let evidence = answer.evidence.iter();
        text.extend(evidence.map(|words| screen.part(words, "  \u{b7} ")));
        text.extend(answer.to_do.iter().map(|line| screen.step(line)));
    }
    text
}

fn section(section: &Section<'_>, screen: Screen) -> String {
    let mut text = "\n".to_owned();
    if !section.title.is_empty() {
        text += &screen.note(Tone::Strong, &section.title, "");
    }
    for (at, part) in section.parts.iter().enumerate() {
        match part {
            DocumentPart::Told(sentences) => text += &notes(sentences, screen),
            DocumentPart::Table(content, weights) => {
                text += when(at > 0, "\n");
                text += &table(content, weights, screen);
            }
            DocumentPart::Remark(words) => text += &screen.legend(words),
            DocumentPart::Lines(lines) => text.extend(lines.iter().map(|line| screen.line(line))),
            DocumentPart::Plots(_) => {}
        }
    }
    text
}

fn notes<'a>(said: impl IntoIterator<Item = &'a Note>, screen: Screen) -> String {
    let note =
        |said: &Note| screen.note(tone(said.weight), &format!("{}:", said.what), &said.words);
    said.into_iter().map(note).collect()
}

fn tone(weight: Weight) -> Tone {
    match weight {
        Weight::Plain => Tone::Strong,
        Weight::Good => Tone::Good,
        Weight::Caution => Tone::Caution,
        Weight::Bad => Tone::Bad,
    }
}

/// The table and its legend. `weights` has one per row, or is empty if the rows are alike.
fn table(content: &ReportTable, weights: &[Weight], screen: Screen) -> String {
    laid_out(content, weights).text(screen) + &screen.legend(content.legend)
}

fn laid_out(content: &ReportTable, weights: &[Weight]) -> TerminalTable {
    let column = |(at, head): (usize, &String)| match TerminalColumn::numbers(head) {
        _ if at == 0 || content.is_of_words(&at) => TerminalColumn::words(head),
        column if is_text(content, at) => column.left(),
        // Ranges are the first columns to be left out, because --json has them.
        column if head.ends_with(RANGE) => column.optional(),
        column => column,
    };
    let is_marked = weights.contains(&Weight::Good);
    let mut table = TerminalTable::new(content.head.iter().enumerate().map(column));
    for (at, row) in content.rows.iter().enumerate() {
        let weight = weights.get(at).copied().unwrap_or(Weight::Plain);
        let mark = match weight {
            Weight::Good => "\u{25b8} ",
            _ => when(is_marked, "  "),
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

/// True if a column has no numbers: its fields start with letters, or are drawings.
fn is_text(content: &ReportTable, column: usize) -> bool {
    let fields = content.rows.iter().filter_map(|row| row.get(column));
    let mut known = fields.filter(|field| !["", NOTHING].contains(&&*field.text));
    let begins_number = |c: char| c.is_ascii_digit() || "-+[<".contains(c);
    known.all(|field| !field.text.starts_with(begins_number))
}

fn field(field: &ReportField, tone: Tone) -> TerminalField {
    let feed = when(!field.below.is_empty(), "\n");
    TerminalField::new(tone, &format!("{}{feed}{}", field.text, field.below))
}
