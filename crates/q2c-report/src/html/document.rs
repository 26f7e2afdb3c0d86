//! A document as a page.

use super::shell::Shell;
use super::started;
use crate::document::{Document, DocumentPart, Section};
use crate::plot::Plot;
use crate::said::{Note, Weight};
use askama::Template;
use q2c_model::{Exit, Fault, OrFault};

#[derive(Template)]
#[template(path = "document.html")]
struct Page<'a> {
    result: &'a Document<'a>,
    sections: Vec<&'a Section<'a>>,
    shell: Shell,
    /// Notices that change how the answers are to be read.
    alarms: Vec<&'a Note>,
    /// The other notices.
    conditions: Vec<&'a Note>,
    warnings: Vec<Note>,
}

pub(crate) fn page(document: &Document<'_>) -> Result<String, Fault> {
    let is_alarm = |said: &&Note| said.weight != Weight::Plain;
    let (alarms, conditions) = document.notices.iter().partition(is_alarm);
    let sections = document.sections.iter();
    let sections = sections.filter(|section| section.has_content());
    let page = Page {
        alarms,
        conditions,
        sections: sections.collect(),
        shell: Shell::new(document.command, job(document), plots(document)),
        warnings: document.warnings.iter().map(Note::warning).collect(),
        result: document,
    };
    page.render()
        .or_fault(Exit::Internal, "fill the report's template")
}

/// The class of a row in the style sheet.
fn row_class(weights: &[Weight], row: &usize) -> &'static str {
    match weights.get(*row) {
        Some(Weight::Good) => "recommended",
        Some(Weight::Caution) => "caution",
        Some(Weight::Bad) => "suspect",
        Some(Weight::Plain) | None => "",
    }
}

fn plots<'a>(document: &'a Document<'a>) -> impl Iterator<Item = &'a Plot> {
    let parts = document.sections.iter().flat_map(|section| &section.parts);
    parts.flat_map(|part| match part {
        DocumentPart::Plots(plots) => plots.get(),
        _ => &[],
    })
}

impl Weight {
    /// The class in the style sheet.
    fn class(self) -> &'static str {
        match self {
            Weight::Plain => "",
            Weight::Good => "good",
            Weight::Caution => "caution",
            Weight::Bad => "bad",
        }
    }
}

/// The line below the title: the run, and the disks and the machine that it was on, but for what
/// was named already. A result that is always the same has no start.
fn job(document: &Document<'_>) -> String {
    let mut line = document.about.clone();
    for name in document.facts.iter().flat_map(|facts| &facts.of) {
        if *name != document.title && !line.contains(name.as_str()) {
            line += &format!(" \u{b7} {name}");
        }
    }
    match document.started_unix_s {
        0 => line,
        start => format!("{line} \u{b7} {}", started(start)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Facts;
    use crate::terminal::Screen;
    use std::cell::Cell;

    #[test]
    fn plots_are_made_once_and_for_a_page_alone() {
        let made = Cell::new(0);
        let section = Section::new("only plots").plots(|| {
            made.set(made.get() + 1);
            Vec::new()
        });
        let document = Document::default().section(section);
        let text = document.text(Screen::new(80, false)) + &document.markdown();
        assert_eq!(made.get(), 0, "{text}");
        let page = document.page().expect("make the page");
        assert_eq!(made.get(), 1);
        assert!(!page.contains("only plots"), "a section without plots");
    }

    #[test]
    fn the_line_below_the_title_names_disk_and_machine_once() {
        let document = |title: &str, about: &str, names: &[&str]| Document {
            facts: vec![Facts {
                title: String::new(),
                facts: Vec::new(),
                of: names.iter().map(|name| (*name).to_owned()).collect(),
            }],
            ..Document::default().titled(title, about)
        };
        let names = ["/dev/nvme0n1", "a drive", "Linux 6.18.0"];
        assert_eq!(
            job(&document("a title", "on /dev/nvme0n1", &names)),
            "on /dev/nvme0n1 \u{b7} a drive \u{b7} Linux 6.18.0"
        );
        let one = document("/dev/nvme0n1", "run", &names[..2]).run(0, 1_767_225_600);
        assert_eq!(job(&one), "run \u{b7} a drive \u{b7} 2026-01-01 00:00 UTC");
    }
}
