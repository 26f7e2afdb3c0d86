//! A document in a terminal.

use super::screen::{Screen, Tone};
use super::table::{TerminalColumn, TerminalField, TerminalTable};
use crate::document::{Document, DocumentAnswer, DocumentPart, Section};
use crate::note::{Note, ReportField, ReportTable, Weight};
use crate::phrase::{listed_if_any, when};
use crate::quantity::DASH;
use q2c_result::Warning;

pub(crate) fn document_head(document: &Document<'_>, screen: Screen) -> String {
    let dot = when(!document.about.is_empty(), "\u{b7} ");
    let about = format!("{dot}{}", document.about);
    let mut text = screen.note(Tone::Strong, &document.title, &about);
    if let Some(machine) = &document.simulated {
        text += &screen.note(Tone::Strong, "simulated:", machine);
    }
    text += &note_lines(&document.unfinished, screen);
    text.extend(document.answers.iter().map(|item| answer(item, screen)));
    text
}

pub(crate) fn document(document: &Document<'_>, screen: Screen) -> String {
    let mut text = document_head(document, screen);
    text += &note_lines(&document.notices, screen);
    let sections = document.sections.iter();
    let (folded, shown): (Vec<&Section>, Vec<&Section>) = sections
        .filter(|section| section.has_text())
        .partition(|section| section.folded && !screen.verbose);
    text.extend(shown.iter().map(|item| section(item, screen)));
    // A warning that an answer shows as a caveat is not repeated.
    let caveats = || document.answers.iter().flat_map(|answer| &answer.caveats);
    let is_shown = |warning: &Warning| {
        let end = format!("[{}]", warning.id);
        caveats().any(|caveat| caveat.starts_with(&warning.found) && caveat.ends_with(&end))
    };
    let warnings = document.warnings.iter();
    let warnings = warnings.filter(|warning| screen.verbose || !is_shown(warning));
    let warnings: Vec<Note> = warnings.map(Note::warning).collect();
    text += when(!warnings.is_empty(), "\n");
    text += &note_lines(&warnings, screen);
    let hidden = |has_part: fn(&DocumentAnswer) -> bool, name| {
        let is_hidden = !screen.verbose && document.answers.iter().any(has_part);
        is_hidden.then_some(name)
    };
    let evidence = hidden(|answer| !answer.evidence.is_empty(), "evidence").into_iter();
    let mut titles: Vec<&str> = evidence
        .chain(hidden(|answer| !answer.to_do.is_empty(), "how to apply"))
        // Sections that exist for each block size are named once.
        .chain(folded.iter().flat_map(|it| it.title.split(", ").next()))
        .collect();
    titles.dedup();
    let titles = listed_if_any(titles);
    text.extend(titles.map(|titles| screen.note(Tone::Dim, "with -v:", &titles)));
    text
}

fn answer(answer: &DocumentAnswer, screen: Screen) -> String {
    let subject = format!(" {}:", answer.subject);
    let mark = "\u{25b8}".to_owned() + when(!answer.subject.is_empty(), &subject);
    let mut text = screen.note(tone(answer.weight), &mark, &answer.headline);
    for caveat in &answer.caveats {
        text += &screen.note(Tone::Caution, "caveat:", caveat);
    }
    if screen.verbose {
        let evidence = answer.evidence.iter();
        text.extend(evidence.map(|sentence| screen.bullet(sentence, "  \u{b7} ")));
        text.extend(answer.to_do.iter().map(|line| screen.command(line)));
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
            DocumentPart::Notes(notes) => text += &note_lines(notes, screen),
            DocumentPart::Table(content, weights) => {
                text += when(at > 0, "\n");
                text += &terminal_table(content, weights).text(screen);
                text += &screen.legend(content.legend);
            }
            DocumentPart::Remark(remark) => text += &screen.legend(remark),
            DocumentPart::Lines(lines) => text.extend(lines.iter().map(|line| screen.line(line))),
            DocumentPart::Plots(_) => {}
        }
    }
    text
}

fn note_lines<'a>(notes: impl IntoIterator<Item = &'a Note>, screen: Screen) -> String {
    let line =
        |note: &Note| screen.note(tone(note.weight), &format!("{}:", note.heading), &note.text);
    notes.into_iter().map(line).collect()
}

fn tone(weight: Weight) -> Tone {
    match weight {
        Weight::Plain => Tone::Strong,
        Weight::Good => Tone::Good,
        Weight::Caution => Tone::Caution,
        Weight::Bad => Tone::Bad,
    }
}

/// `weights` has one per row, or is empty if the rows are alike.
fn terminal_table(content: &ReportTable, weights: &[Weight]) -> TerminalTable {
    let column = |(at, head): (usize, &String)| match TerminalColumn::numbers(head) {
        _ if at == 0 || content.has_sentences(&at) => TerminalColumn::words(head),
        column if has_no_numbers(content, at) => column.left(),
        // Ranges are the first columns to be left out, because --json has them.
        column if head.ends_with(RANGE_HEAD) => column.optional(),
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
            0 => terminal_field(cell, tone).marked(mark, "    "),
            _ => terminal_field(cell, Tone::Plain),
        }));
    }
    table
}

const RANGE_HEAD: &str = "[min, max]";

/// True if a column has no numbers: its fields start with letters, or are drawings.
fn has_no_numbers(content: &ReportTable, column: usize) -> bool {
    let fields = content.rows.iter().filter_map(|row| row.get(column));
    let mut known = fields.filter(|field| !["", DASH].contains(&&*field.text));
    let begins_number = |c: char| c.is_ascii_digit() || "-+[<".contains(c);
    known.all(|field| !field.text.starts_with(begins_number))
}

fn terminal_field(field: &ReportField, tone: Tone) -> TerminalField {
    let line_break = when(!field.below.is_empty(), "\n");
    TerminalField::new(tone, &format!("{}{line_break}{}", field.text, field.below))
}
