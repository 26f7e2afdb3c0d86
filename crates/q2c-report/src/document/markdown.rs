//! A document as Markdown, to paste into an issue or a message.

use super::{Document, Part, Section};
use crate::phrase::{joined, when};
use crate::said::{Field, Said, Table};
use crate::terminal::printable;

impl Document<'_> {
    /// The report as Markdown. Charts are on the page alone.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n{}\n", escaped(&self.title), escaped(&self.about));
        if let Some(words) = &self.simulated {
            text += &format!("\n**simulated:** {}\n", escaped(words));
        }
        text += &told(self.unfinished.as_slice());
        for answer in &self.answers {
            let of = match answer.of.as_str() {
                "" => String::new(),
                of => format!("{}: ", escaped(of)),
            };
            text += &format!("\n**{of}{}**\n\n", escaped(&answer.headline));
            text += &items("caveat: ", &answer.caveats);
            text += &items("", &answer.evidence);
            text += &code(&answer.to_do);
        }
        text += &told(&self.notices);
        let sections = self.sections.iter().filter(|section| section.has_text());
        text.extend(sections.map(section));
        let warnings: Vec<Said> = self.warnings.iter().map(Said::warning).collect();
        text + &told(&warnings)
    }
}

fn section(of: &Section<'_>) -> String {
    let mut text = match (of.title.as_str(), of.folded) {
        (title, true) => format!("\n<details><summary>{}</summary>\n", escaped(title)),
        ("", false) => String::new(),
        (title, false) => format!("\n### {}\n", escaped(title)),
    };
    for part in &of.parts {
        match part {
            Part::Told(said) => text += &told(said),
            Part::Table(of, _) => text += &table(of),
            Part::Lines(lines) => text += &code(lines),
            Part::Remark(words) => text += &format!("\n{}\n", escaped(words)),
            Part::Plots(_) => {}
        }
    }
    if of.folded {
        text += "\n</details>\n";
    }
    text
}

fn items(before: &str, words: &[String]) -> String {
    let item = |words: &String| format!("- {before}{}\n", escaped(words));
    words.iter().map(item).collect()
}

fn told(said: &[Said]) -> String {
    let line = |said: &Said| format!("- **{}:** {}\n", escaped(&said.what), escaped(&said.words));
    let lines: String = said.iter().map(line).collect();
    when(!said.is_empty(), "\n").to_owned() + &lines
}

fn table(of: &Table) -> String {
    let row = |fields: Vec<String>| format!("| {} |\n", fields.join(" | "));
    let head = of.head.iter().map(|head| escaped(&head.replace('\n', " ")));
    let marks = (0..of.head.len()).map(|at| if at == 0 { "---" } else { "---:" }.to_owned());
    let mut text = format!("\n{}{}", row(head.collect()), row(marks.collect()));
    let field = |field: &Field| {
        let below = field.below.lines();
        let below: String = below.map(|line| format!("<br>{}", escaped(line))).collect();
        escaped(&field.text) + &below
    };
    for fields in &of.rows {
        text += &row(fields.iter().map(field).collect());
    }
    match of.legend {
        "" => text,
        legend => format!("{text}\n{}\n", escaped(legend)),
    }
}

/// Lines to copy, in a fence that none of them can end.
fn code(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines = joined(lines.iter().map(|line| printable(line)), "\n");
    let runs = lines.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("\n{fence}\n{lines}\n{fence}\n")
}

/// Makes text from outside harmless: no markup, no line of its own.
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

    /// Names that a disk or a file can have stay text: no tag, no link, no column, no line.
    #[test]
    fn markup_from_outside_is_text() {
        assert_eq!(
            escaped("<b>|[x](y)\n# z"),
            "&lt;b&gt;\\|\\[x\\](y)\\u{a}\\# z"
        );
    }

    /// A name in a line to copy ends neither the line nor the fence around it.
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
