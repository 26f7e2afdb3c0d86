//! A document as Markdown, to paste into an issue or a message.

use super::{Document, DocumentPart, Section};
use crate::phrase::{joined, when};
use crate::said::{Note, ReportField, ReportTable};
use crate::terminal::printable;

impl Document<'_> {
    /// The report as Markdown, without charts, which only the page has.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n{}\n", escaped(&self.title), escaped(&self.about));
        if let Some(words) = &self.simulated {
            text += &format!("\n**simulated:** {}\n", escaped(words));
        }
        text += &said_lines(self.unfinished.as_slice());
        for answer in &self.answers {
            let prefix = match answer.of.as_str() {
                "" => String::new(),
                part => format!("{}: ", escaped(part)),
            };
            text += &format!("\n**{prefix}{}**\n\n", escaped(&answer.headline));
            text += &items("caveat: ", &answer.caveats);
            text += &items("", &answer.evidence);
            text += &code(&answer.to_do);
        }
        text += &said_lines(&self.notices);
        let sections = self.sections.iter().filter(|section| section.has_text());
        text.extend(sections.map(section));
        let warnings: Vec<Note> = self.warnings.iter().map(Note::warning).collect();
        text + &said_lines(&warnings)
    }
}

fn section(section: &Section<'_>) -> String {
    let mut text = match (section.title.as_str(), section.folded) {
        (title, true) => format!("\n<details><summary>{}</summary>\n", escaped(title)),
        ("", false) => String::new(),
        (title, false) => format!("\n### {}\n", escaped(title)),
    };
    for part in &section.parts {
        match part {
            DocumentPart::Told(said) => text += &said_lines(said),
            DocumentPart::Table(content, _) => text += &table(content),
            DocumentPart::Lines(lines) => text += &code(lines),
            DocumentPart::Remark(words) => text += &format!("\n{}\n", escaped(words)),
            DocumentPart::Plots(_) => {}
        }
    }
    text += when(section.folded, "\n</details>\n");
    text
}

fn items(before: &str, words: &[String]) -> String {
    let item = |words: &String| format!("- {before}{}\n", escaped(words));
    words.iter().map(item).collect()
}

fn said_lines(said: &[Note]) -> String {
    let line = |said: &Note| format!("- **{}:** {}\n", escaped(&said.what), escaped(&said.words));
    let lines: String = said.iter().map(line).collect();
    when(!said.is_empty(), "\n").to_owned() + &lines
}

fn table(table: &ReportTable) -> String {
    let row = |fields: Vec<String>| format!("| {} |\n", fields.join(" | "));
    let head = table.head.iter();
    let head = head.map(|head| escaped(&head.replace('\n', " ")));
    let marks = (0..table.head.len()).map(|at| if at == 0 { "---" } else { "---:" }.to_owned());
    let mut text = format!("\n{}{}", row(head.collect()), row(marks.collect()));
    let field = |field: &ReportField| {
        let below = field.below.lines();
        let below: String = below.map(|line| format!("<br>{}", escaped(line))).collect();
        escaped(&field.text) + &below
    };
    for fields in &table.rows {
        text += &row(fields.iter().map(field).collect());
    }
    match table.legend {
        "" => text,
        legend => format!("{text}\n{}\n", escaped(legend)),
    }
}

/// Lines to copy, inside a fence that is longer than any run of backticks in them.
fn code(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines = joined(lines.iter().map(|line| printable(line)), "\n");
    let runs = lines.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("\n{fence}\n{lines}\n{fence}\n")
}

/// Escapes text from outside, so that it adds neither markup nor a line break.
fn escaped(text: &str) -> String {
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
            escaped("<b>|[x](y)\n# z"),
            "&lt;b&gt;\\|\\[x\\](y)\\u{a}\\# z"
        );
    }

    /// A name within a line to copy ends neither the line nor its fence.
    #[test]
    fn lines_to_copy_stay_in_their_fence() {
        let lines = ["echo 1 > /sys/a\n```\nb".to_owned(), "c ````".to_owned()];
        assert_eq!(
            code(&lines),
            "\n`````\necho 1 > /sys/a\\u{a}```\\u{a}b\nc ````\n`````\n"
        );
        assert_eq!(code(&["ls".to_owned()]), "\n```\nls\n```\n");
    }

    proptest! {
        #[test]
        fn nothing_from_outside_begins_a_tag_or_a_line(text in any::<String>()) {
            let safe = escaped(&text);
            prop_assert!(!safe.contains('<') && !safe.chars().any(char::is_control), "{safe:?}");
        }
    }
}
