//! A document in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::document::{Document, DocumentAnswer, DocumentPart, Section};
use crate::phrase::when;
use crate::said::{Note, Weight};
use q2c_result::Warning;

pub(crate) fn document(document: &Document<'_>, screen: Screen) -> String {
    let dot = when(!document.about.is_empty(), "\u{b7} ");
    let mut text = screen.note(
        Tone::Strong,
        &document.title,
        &format!("{dot}{}", document.about),
    );
    if let Some(words) = &document.simulated {
        text += &screen.note(Tone::Strong, "simulated:", words);
    }
    text += &said::notes(&document.unfinished, screen);
    text.extend(document.answers.iter().map(|item| answer(item, screen)));
    text += &said::notes(&document.notices, screen);
    let sections = document
        .sections
        .iter()
        .filter(|section| section.has_text());
    let (folded, shown): (Vec<&Section>, Vec<&Section>) =
        sections.partition(|section| section.folded && !screen.verbose);
    text.extend(shown.iter().map(|item| section(item, screen)));
    // A warning that is a caveat of an answer has been told.
    let caveats = || document.answers.iter().flat_map(|answer| &answer.caveats);
    let is_told = |warning: &Warning| {
        let end = format!("[{}]", warning.id);
        caveats().any(|caveat| caveat.starts_with(&warning.found) && caveat.ends_with(&end))
    };
    let warnings = document.warnings.iter();
    let warnings = warnings.filter(|warning| screen.verbose || !is_told(warning));
    let warnings: Vec<Note> = warnings.map(Note::warning).collect();
    if !warnings.is_empty() {
        text.push('\n');
        text += &said::notes(&warnings, screen);
    }
    let held = |has: fn(&DocumentAnswer) -> bool, name: &'static str| {
        let is_held = !screen.verbose && document.answers.iter().any(has);
        is_held.then_some(name)
    };
    let mut titles: Vec<&str> = held(|answer| !answer.evidence.is_empty(), "evidence")
        .into_iter()
        .chain(held(|answer| !answer.to_do.is_empty(), "how to apply"))
        .chain(folded.iter().map(|section| section.title.as_str()))
        // What is there for each block size is named once.
        .map(|title| title.split(", ").next().unwrap_or(title))
        .collect();
    titles.dedup();
    if !titles.is_empty() {
        text += &screen.note(Tone::Dim, "with -v:", &titles.join(", "));
    }
    text
}

fn answer(answer: &DocumentAnswer, screen: Screen) -> String {
    let tone = match answer.weight {
        Weight::Plain => Tone::Strong,
        weight => said::tone(weight),
    };
    let mark = match answer.of.as_str() {
        "" => "\u{25b8}".to_owned(),
        subject => format!("\u{25b8} {subject}:"),
    };
    let mut text = screen.note(tone, &mark, &answer.headline);
    for words in &answer.caveats {
        text += &screen.note(Tone::Caution, "caveat:", words);
    }
    if screen.verbose {
        text.extend(answer.evidence.iter().map(|words| screen.item(words)));
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
        if at > 0 && matches!(part, DocumentPart::Table(..)) {
            text.push('\n');
        }
        match part {
            DocumentPart::Told(sentences) => text += &said::notes(sentences, screen),
            DocumentPart::Table(table, weights) => text += &said::table(table, weights, screen),
            DocumentPart::Remark(words) => text += &screen.legend(words),
            DocumentPart::Lines(lines) => text.extend(lines.iter().map(|line| screen.line(line))),
            DocumentPart::Plots(_) => {}
        }
    }
    text
}
