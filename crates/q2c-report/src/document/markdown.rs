//! A document as Markdown, to paste into an issue or a message.

use super::{Document, DocumentPart, Section};
use crate::note::{Note, ReportField, ReportTable};
use crate::phrase::{joined, when};
use crate::terminal::printable;

impl Document<'_> {
    /// The report as Markdown, without charts, which only the page has.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n{}\n", escape(&self.title), escape(&self.about));
        if let Some(machine) = &self.simulated {
            text += &format!("\n**simulated:** {}\n", escape(machine));
        }
        text += &note_lines(self.unfinished.as_slice());
        for answer in &self.answers {
            let prefix = match answer.subject.as_str() {
                "" => String::new(),
                part => format!("{}: ", escape(part)),
            };
            text += &format!("\n**{prefix}{}**\n\n", escape(&answer.headline));
            text += &list_items("caveat: ", &answer.caveats);
            text += &list_items("", &answer.evidence);
            text += &code_block(&answer.to_do);
        }
        text += &note_lines(&self.notices);
        let sections = self.sections.iter().filter(|section| section.has_text());
        text.extend(sections.map(section));
        let warnings: Vec<Note> = self.warnings.iter().map(Note::warning).collect();
        text + &note_lines(&warnings)
    }
}

fn section(section: &Section<'_>) -> String {
    let mut text = match (section.title.as_str(), section.folded) {
        (title, true) => format!("\n<details><summary>{}</summary>\n", escape(title)),
        ("", false) => String::new(),
        (title, false) => format!("\n### {}\n", escape(title)),
    };
    for part in &section.parts {
        match part {
            DocumentPart::Notes(notes) => text += &note_lines(notes),
            DocumentPart::Table(content, _) => text += &table(content),
            DocumentPart::Lines(lines) => text += &code_block(lines),
            DocumentPart::Remark(remark) => text += &format!("\n{}\n", escape(remark)),
            DocumentPart::Plots(_) => {}
        }
    }
    text += when(section.folded, "\n</details>\n");
    text
}

fn list_items(prefix: &str, texts: &[String]) -> String {
    let item = |text: &String| format!("- {prefix}{}\n", escape(text));
    texts.iter().map(item).collect()
}

fn note_lines(notes: &[Note]) -> String {
    let line = |note: &Note| format!("- **{}:** {}\n", escape(&note.heading), escape(&note.text));
    let lines: String = notes.iter().map(line).collect();
    when(!notes.is_empty(), "\n").to_owned() + &lines
}

fn table(table: &ReportTable) -> String {
    let row = |fields: Vec<String>| format!("| {} |\n", fields.join(" | "));
    let head = table.head.iter();
    let head = head.map(|head| escape(&head.replace('\n', " ")));
    let alignment = (0..table.head.len()).map(|at| if at == 0 { "---" } else { "---:" }.to_owned());
    let mut text = format!("\n{}{}", row(head.collect()), row(alignment.collect()));
    let field = |field: &ReportField| {
        let below = field.below.lines();
        let below: String = below.map(|line| format!("<br>{}", escape(line))).collect();
        escape(&field.text) + &below
    };
    for fields in &table.rows {
        text += &row(fields.iter().map(field).collect());
    }
    match table.legend {
        "" => text,
        legend => format!("{text}\n{}\n", escape(legend)),
    }
}

/// Lines to copy, inside a fence that is longer than any run of backticks in them.
fn code_block(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines = joined(lines.iter().map(|line| printable(line)), "\n");
    let runs = lines.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("\n{fence}\n{lines}\n{fence}\n")
}

/// Escapes text from outside, so that it adds neither markup nor a line break.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => safe.extend(['\\', c]),
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '&' => safe += "&amp;",
            c if c.is_control() => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Names of disks and files stay text: no tag, no link, no column, no line break.
    #[test]
    fn markup_from_outside_is_text() {
        assert_eq!(
            escape("<b>|[x](y)\n# z"),
            "&lt;b&gt;\\|\\[x\\](y)\\u{a}\\# z"
        );
    }

    /// A name within a line to copy ends neither the line nor its fence.
    #[test]
    fn lines_to_copy_stay_in_their_fence() {
        let lines = ["echo 1 > /sys/a\n```\nb".to_owned(), "c ````".to_owned()];
        assert_eq!(
            code_block(&lines),
            "\n`````\necho 1 > /sys/a\\u{a}```\\u{a}b\nc ````\n`````\n"
        );
        assert_eq!(code_block(&["ls".to_owned()]), "\n```\nls\n```\n");
    }

    proptest! {
        #[test]
        fn nothing_from_outside_begins_a_tag_or_a_line(text in any::<String>()) {
            let safe = escape(&text);
            prop_assert!(!safe.contains('<') && !safe.chars().any(char::is_control), "{safe:?}");
        }
    }
}
