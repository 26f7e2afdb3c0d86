//! A document in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::document::{Answer, Document, Part, Section};
use crate::phrase::when;
use crate::said::{Said, Weight};
use q2c_result::Warning;

pub(crate) fn document(of: &Document<'_>, screen: Screen) -> String {
    let dot = when(!of.about.is_empty(), "\u{b7} ");
    let mut text = screen.note(Tone::Strong, &of.title, &format!("{dot}{}", of.about));
    if let Some(words) = &of.simulated {
        text += &screen.note(Tone::Strong, "simulated:", words);
    }
    text += &said::all(&of.unfinished, screen);
    text.extend(of.answers.iter().map(|of| answer(of, screen)));
    text += &said::all(&of.notices, screen);
    let sections = of.sections.iter().filter(|section| section.has_text());
    let (folded, shown): (Vec<&Section>, Vec<&Section>) =
        sections.partition(|section| section.folded && !screen.verbose);
    text.extend(shown.iter().map(|of| section(of, screen)));
    // A warning that is a caveat of an answer has been told.
    let caveats = || of.answers.iter().flat_map(|answer| &answer.caveats);
    let is_told = |warning: &Warning| {
        let end = format!("[{}]", warning.id);
        caveats().any(|caveat| caveat.starts_with(&warning.found) && caveat.ends_with(&end))
    };
    let warnings = of.warnings.iter();
    let warnings = warnings.filter(|warning| screen.verbose || !is_told(warning));
    let warnings: Vec<Said> = warnings.map(Said::warning).collect();
    if !warnings.is_empty() {
        text.push('\n');
        text += &said::all(&warnings, screen);
    }
    let held = |has: fn(&Answer) -> bool, name: &'static str| {
        let is_held = !screen.verbose && of.answers.iter().any(has);
        is_held.then_some(name)
    };
    let mut titles: Vec<&str> = held(|of| !of.evidence.is_empty(), "evidence")
        .into_iter()
        .chain(held(|of| !of.to_do.is_empty(), "how to apply"))
        .chain(folded.iter().map(|of| of.title.as_str()))
        // What is there for each block size is named once.
        .map(|title| title.split(", ").next().unwrap_or(title))
        .collect();
    titles.dedup();
    if !titles.is_empty() {
        text += &screen.note(Tone::Dim, "with -v:", &titles.join(", "));
    }
    text
}

fn answer(of: &Answer, screen: Screen) -> String {
    let tone = match of.weight {
        Weight::Plain => Tone::Strong,
        weight => said::tone(weight),
    };
    let mark = match of.of.as_str() {
        "" => "\u{25b8}".to_owned(),
        of => format!("\u{25b8} {of}:"),
    };
    let mut text = screen.note(tone, &mark, &of.headline);
    for words in &of.caveats {
        text += &screen.note(Tone::Caution, "caveat:", words);
    }
    if screen.verbose {
        text.extend(of.evidence.iter().map(|words| screen.item(words)));
        text.extend(of.to_do.iter().map(|line| screen.step(line)));
    }
    text
}

fn section(of: &Section<'_>, screen: Screen) -> String {
    let mut text = "\n".to_owned();
    if !of.title.is_empty() {
        text += &screen.note(Tone::Strong, &of.title, "");
    }
    for (at, part) in of.parts.iter().enumerate() {
        if at > 0 && matches!(part, Part::Table(..)) {
            text.push('\n');
        }
        match part {
            Part::Told(of) => text += &said::all(of, screen),
            Part::Table(of, weights) => text += &said::table(of, weights, screen),
            Part::Remark(words) => text += &screen.legend(words),
            Part::Lines(lines) => text.extend(lines.iter().map(|line| screen.line(line))),
            Part::Plots(_) => {}
        }
    }
    text
}
