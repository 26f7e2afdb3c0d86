//! The page that replays and comparisons share: verdict, tables, sentences, charts and facts.

use super::chart::Chart;
use super::facts::{self, Fact};
use super::page::{RenderError, started};
use super::shell::Shell;
use crate::label;
use crate::said::{self, Weight};
use crate::sim_machine;
use askama::Template;
use q2c_result::{Machine, Target, Warning};

/// A sentence with its heading, `what`, and its class in the style sheet.
pub(super) struct Sentence {
    pub class: &'static str,
    pub what: String,
    pub words: String,
}

impl From<said::Said> for Sentence {
    fn from(said: said::Said) -> Self {
        let class = match said.weight {
            Weight::Plain => "",
            Weight::Good => "good",
            Weight::Caution => "caution",
            Weight::Bad => "bad",
        };
        Sentence {
            class,
            what: said.what,
            words: said.words,
        }
    }
}

/// A table with its heading.
pub(super) struct Table {
    pub title: String,
    pub of: said::Table,
}

impl Table {
    pub fn new(title: impl Into<String>, of: said::Table) -> Self {
        Table {
            title: title.into(),
            of,
        }
    }
}

/// Sentences with their heading.
pub(super) struct Told {
    pub title: String,
    pub said: Vec<Sentence>,
}

impl Told {
    pub fn new(title: impl Into<String>, said: Vec<said::Said>) -> Self {
        Told {
            title: title.into(),
            said: said.into_iter().map(Sentence::from).collect(),
        }
    }
}

/// Facts with their heading.
pub(super) struct Facts {
    title: String,
    facts: Vec<Fact>,
    /// What they are of, for the line below the page's title.
    of: Vec<String>,
}

impl Facts {
    /// The facts of a target.
    pub fn target(target: &Target) -> Self {
        let model = target.device.as_ref().and_then(|disk| disk.model.clone());
        Facts {
            title: format!("Target {}", target.path),
            facts: facts::target(target),
            of: [label::target(target)].into_iter().chain(model).collect(),
        }
    }

    pub fn machine(machine: &Machine) -> Self {
        Facts {
            title: "Machine".to_owned(),
            facts: facts::machine(machine),
            of: sim_machine::about(machine),
        }
    }
}

/// The run that made the result.
pub(super) struct Made<'a> {
    pub version: &'a str,
    pub schema: &'a str,
    pub started_unix_s: u64,
    pub complete: bool,
    pub warnings: &'a [Warning],
}

impl<'a> Made<'a> {
    /// A result that was computed at once and states no time of its own.
    pub fn computed(version: &'a str, schema: &'a str, warnings: &'a [Warning]) -> Self {
        Made {
            version,
            schema,
            started_unix_s: 0,
            complete: true,
            warnings,
        }
    }
}

/// The content of a page.
pub(super) struct Content<'a> {
    pub command: &'static str,
    pub result: Made<'a>,
    pub title: String,
    pub about: String,
    pub seed: u64,
    /// Notices at the top of the page, behind those that any result may have.
    pub notices: Vec<said::Said>,
    /// Sentences; empty for a replay, which has no verdict.
    pub verdict: Vec<String>,
    pub tables: Vec<Table>,
    pub told: Vec<Told>,
    pub charts: Vec<Chart>,
    pub facts: Vec<Facts>,
}

#[derive(Template)]
#[template(path = "replayed.html")]
struct Page<'a> {
    result: Made<'a>,
    shell: Shell,
    title: String,
    seed: u64,
    notices: Vec<Sentence>,
    verdict: Vec<String>,
    tables: Vec<Table>,
    told: Vec<Told>,
    charts: Vec<Chart>,
    facts: Vec<Facts>,
}

/// Renders the page.
pub(super) fn render(content: Content<'_>) -> Result<String, RenderError> {
    let charts = content.charts;
    let job = job(
        &content.title,
        content.about,
        &content.facts,
        content.result.started_unix_s,
    );
    let page = Page {
        shell: Shell::new(content.command, job, charts.iter()),
        title: content.title,
        seed: content.seed,
        notices: notices(&content.result, content.notices),
        verdict: content.verdict,
        tables: with_rows(content.tables),
        told: with_sentences(content.told),
        charts,
        facts: content.facts,
        result: content.result,
    };
    Ok(page.render()?)
}

/// Tables that have a row: a heading without one says nothing.
fn with_rows(mut tables: Vec<Table>) -> Vec<Table> {
    tables.retain(|table| !table.of.rows.is_empty());
    tables
}

fn with_sentences(mut told: Vec<Told>) -> Vec<Told> {
    told.retain(|told| !told.said.is_empty());
    told
}

/// The line below the title: the run, and the disks and the machine that it was on, but for what
/// was named already. A result that is always the same has no start.
fn job(title: &str, about: String, facts: &[Facts], started_unix_s: u64) -> String {
    let mut words = about;
    for name in facts.iter().flat_map(|facts| &facts.of) {
        if name != title && !words.contains(name.as_str()) {
            words += &format!(" \u{b7} {name}");
        }
    }
    match started_unix_s {
        0 => words,
        start => format!("{words} \u{b7} {}", started(start)),
    }
}

/// The notices in front of the numbers, the most important first: an early stop, `own`, and the
/// warnings.
fn notices(result: &Made<'_>, own: Vec<said::Said>) -> Vec<Sentence> {
    let what = "the run was stopped early; what is shown is valid, the rest is missing";
    let stopped = (!result.complete).then(|| said::Said::new(Weight::Bad, "incomplete", what));
    let warnings = result.warnings.iter().map(said::Said::warning);
    let all = stopped.into_iter().chain(own).chain(warnings);
    all.map(Sentence::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_below_the_title_names_disk_and_machine_once() {
        let facts = |of: &[&str]| Facts {
            title: String::new(),
            facts: Vec::new(),
            of: of.iter().map(|name| (*name).to_owned()).collect(),
        };
        let of = [
            facts(&["/dev/nvme0n1", "a drive"]),
            facts(&["Linux 6.18.0", "a CPU"]),
        ];
        assert_eq!(
            job("a title", "on /dev/nvme0n1".to_owned(), &of, 0),
            "on /dev/nvme0n1 \u{b7} a drive \u{b7} Linux 6.18.0 \u{b7} a CPU"
        );
        assert_eq!(
            job("/dev/nvme0n1", "run".to_owned(), &of[..1], 1_767_225_600),
            "run \u{b7} a drive \u{b7} 2026-01-01 00:00 UTC"
        );
    }
}
