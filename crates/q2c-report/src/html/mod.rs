//! A result as one HTML file that opens without a network: charts, tables, and how to apply the
//! result.
//!
//! The page loads nothing from elsewhere, and its Content-Security-Policy forbids it. Only the two
//! scripts whose hashes the policy names can run, whatever a string in the result says.

use crate::document::{Document, DocumentPart, Section};
use crate::note::{Note, Weight};
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use q2c_model::{Exit, Fault, OrFault};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::Write as _;
use std::time::{Duration, UNIX_EPOCH};

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

#[derive(Template)]
#[template(path = "document.html")]
struct Page<'a> {
    result: &'a Document<'a>,
    sections: Vec<&'a Section<'a>>,
    /// The plots' figures by plot id: JSON, packed by gzip and written in base64.
    figures: String,
}

pub(crate) fn page(document: &Document<'_>) -> Result<String, Fault> {
    let sections = document.sections.iter();
    let sections: Vec<&Section> = sections.filter(|section| section.has_content()).collect();
    let parts = sections.iter().flat_map(|section| &section.parts);
    let plots = parts.flat_map(|part| part.plots());
    let figures = plots.map(|plot| (plot.id.clone(), plot.figures()));
    let figures: Value = figures.collect();
    let page = Page {
        result: document,
        sections,
        figures: gzip_base64(figures.to_string().as_bytes()),
    };
    page.render()
        .or_fault(Exit::Internal, "fill the report's template")
}

impl Page<'_> {
    /// The notices that change how the answers are to be read if `are_alarms`, else the others.
    fn notices(&self, are_alarms: bool) -> Vec<&Note> {
        let notices = self.result.notices.iter();
        let wanted = notices.filter(|note| (note.weight != Weight::Plain) == are_alarms);
        wanted.collect()
    }

    /// The page's Content-Security-Policy: no network, and no script but the two that belong to
    /// the page.
    fn policy() -> String {
        // Inline styles and images are allowed because plotly puts its own style sheet into the
        // page and makes pictures for "download as PNG".
        format!(
            "default-src 'none'; script-src {} {}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; \
             form-action 'none'",
            PLOTLY_HASH,
            csp_hash(SCRIPT)
        )
    }

    /// The line below the title: the run, its disks and the machine, without a part that was named
    /// before. A result that needs no run has no start.
    fn job(&self) -> String {
        let document = self.result;
        let mut line = document.about.clone();
        for name in document.facts.iter().flat_map(|facts| &facts.names) {
            if *name != document.title && !line.contains(name.as_str()) {
                line += &format!(" \u{b7} {name}");
            }
        }
        match document.started_unix_s {
            0 => line,
            start => format!("{line} \u{b7} {}", started(start)),
        }
    }
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

/// The start as `2026-01-01 00:00 UTC`; after the year 9999 as seconds since 1970.
pub(crate) fn started(unix_s: u64) -> String {
    const END_OF_YEAR_9999: u64 = 253_402_300_799;
    if unix_s > END_OF_YEAR_9999 {
        return format!("{unix_s} s after 1970");
    }
    let time = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(unix_s));
    let time = time.to_string().replace('T', " ");
    let time = time.trim_end_matches(":00Z").trim_end_matches('Z');
    format!("{time} UTC")
}

/// The bundle of plotly.js 3.7.0 for charts with two axes (MIT licence, beside the file), packed by
/// gzip: the unchanged file of the npm package `plotly.js-cartesian-dist-min`. The complete
/// plotly.js is three times as large and adds maps and 3-D plots, which no page draws.
const PLOTLY_GZ: &[u8] = include_bytes!("../../assets/plotly/plotly-cartesian.min.js.gz");
/// The hash of the unpacked file, by which the page's Content-Security-Policy admits it.
const PLOTLY_HASH: &str = "'sha256-fFk7ntoOdKHQczXPicv3pV/8EUkJmAw3Ka+DVFO9sCo='";

/// The packed library in base64.
fn library() -> String {
    STANDARD.encode(PLOTLY_GZ)
}

/// Text packed by gzip, which makes it a third as large or less, in base64, which is harmless
/// within a page.
fn gzip_base64(text: &[u8]) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let bytes = encoder.write_all(text).and_then(|()| encoder.finish());
    STANDARD.encode(bytes.expect("a vector takes all bytes"))
}

/// The hash by which a Content-Security-Policy admits a script of exactly this text.
fn csp_hash(script: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Screen;
    use std::cell::Cell;
    use std::io::Read;

    #[test]
    fn plots_are_made_once_and_for_a_page_alone() {
        let made = Cell::new(0);
        let document = Document::default().section(Section::new("only plots").plots(|| {
            made.set(made.get() + 1);
            Vec::new()
        }));
        let text = document.text(Screen::new(80, false)) + &document.markdown();
        assert_eq!(made.get(), 0, "{text}");
        let page = document.page().expect("make the page");
        assert_eq!(made.get(), 1);
        assert!(!page.contains("only plots"), "a section without plots");
    }

    #[test]
    fn the_line_below_the_title_names_disk_and_machine_once() {
        let line = |title: &str, about: &str, names: &[&str], start: u64| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let document = Document::default().titled(title, about).started(start);
            let document = document.facts("", Vec::new(), names);
            let (sections, figures) = Default::default();
            let page = Page {
                result: &document,
                sections,
                figures,
            };
            page.job()
        };
        let names = ["/dev/nvme0n1", "a drive", "Linux 6.18.0"];
        assert_eq!(
            line("a title", "on /dev/nvme0n1", &names, 0),
            "on /dev/nvme0n1 \u{b7} a drive \u{b7} Linux 6.18.0"
        );
        assert_eq!(
            line("/dev/nvme0n1", "run", &names[..2], 1_767_225_600),
            "run \u{b7} a drive \u{b7} 2026-01-01 00:00 UTC"
        );
    }

    #[test]
    fn the_policy_lets_nothing_in() {
        let policy = Page::policy();
        assert!(policy.starts_with("default-src 'none';"));
        for hole in ["http", "*", "unsafe-eval", "script-src 'unsafe-inline'"] {
            assert!(!policy.contains(hole), "{hole}");
        }
    }

    #[test]
    fn the_start_is_a_date() {
        assert_eq!(started(1_767_225_600), "2026-01-01 00:00 UTC");
        assert_eq!(started(951_782_399), "2000-02-28 23:59:59 UTC");
        assert_eq!(started(u64::MAX), "18446744073709551615 s after 1970");
    }

    fn plotly() -> String {
        let mut text = String::new();
        let mut decoder = flate2::read::GzDecoder::new(PLOTLY_GZ);
        decoder
            .read_to_string(&mut text)
            .expect("unpack the library");
        text
    }

    #[test]
    fn the_file_is_the_published_one() {
        // The digest of the file that the npm registry delivers.
        let digest: String = Sha256::digest(plotly())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let published = "7c593b9eda0e74a1d07335cf89cbf7a55ffc114909980c3729af835453bdb02a";
        assert_eq!(digest, published);
        assert_eq!(csp_hash(&plotly()), PLOTLY_HASH);
    }

    #[test]
    fn the_hash_is_that_of_the_specification() {
        // The example of the W3C's Content Security Policy Level 3, section on hash usage.
        assert_eq!(
            csp_hash("alert('Hello, world.');"),
            "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
        );
    }
}
