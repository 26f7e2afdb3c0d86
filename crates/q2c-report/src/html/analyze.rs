//! The analysis of a trace as a page: sentences, charts and tables.

use super::chart::{Chart, analysis};
use super::page::RenderError;
use super::shell::Shell;
use crate::analysis::{self as told, ORDER, STAGE_HEAD, stage_row};
use crate::inexact;
use crate::most_time;
use crate::not_whole;
use askama::Template;
use q2c_result::analyze::{AnalyzeResult, Group};

struct Row {
    name: String,
    fields: Vec<String>,
}

struct Groups {
    property: String,
    head: Vec<&'static str>,
    rows: Vec<Row>,
    /// Number of groups that have no row.
    left_out: usize,
}

/// Most groups of a property that have a row: the page stays small.
const MOST: usize = 60;

#[derive(Template)]
#[template(path = "analyze.html")]
struct Page<'a> {
    result: &'a AnalyzeResult,
    shell: Shell,
    verdicts: Vec<(String, String)>,
    stage_head: [&'static str; 10],
    stages: Vec<Row>,
    not_whole: Option<(bool, String)>,
    groups: Vec<Groups>,
    charts: Vec<Chart>,
    facts: Vec<(&'a str, &'a str)>,
}

/// Makes the page of an analysis.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn analyze(result: &AnalyzeResult) -> Result<String, RenderError> {
    let charts = analysis::all(result);
    let input = &result.input;
    let own = [
        ("source", input.source.as_str()),
        ("clock", input.clock.as_str()),
    ];
    let facts = input
        .facts
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let page = Page {
        shell: Shell::new("analyze", about(result), charts.iter()),
        verdicts: verdicts(result),
        stage_head: STAGE_HEAD,
        stages: ORDER
            .iter()
            .filter_map(|name| row(stage_row(&result.stages, name)?))
            .collect(),
        not_whole: not_whole::told(result),
        groups: groups(result),
        charts,
        facts: own.into_iter().chain(facts).collect(),
        result,
    };
    Ok(page.render()?)
}

/// The line below the title, with the disks and the machine where the recording names them.
fn about(result: &AnalyzeResult) -> String {
    let facts = &result.input.facts;
    let of = [("disks", ""), ("kernel", "Linux "), ("cpu_model", "")];
    let named = of
        .iter()
        .filter_map(|(fact, before)| Some(format!(" \u{b7} {before}{}", facts.get(*fact)?)));
    told::about(result) + &named.collect::<String>()
}

/// The findings as headings with a sentence each, the most important first.
fn verdicts(result: &AnalyzeResult) -> Vec<(String, String)> {
    let named = |name: &str, words: Option<String>| words.map(|words| (name.to_owned(), words));
    let mut all = Vec::new();
    if let Some(found) = &result.bottleneck {
        let spent = most_time::told(found).into_iter();
        all.extend(spent.map(|(head, words)| (head.to_owned(), words)));
        all.push(("shares of Q2C".to_owned(), told::shares(&found.shares)));
    }
    all.extend(named("hardware queues", told::balance(result)));
    all.extend(told::device_queues(&result.queues));
    all.extend(told::words(result));
    let failed = (result.failed > 0).then(|| format!("{} I/Os", result.failed));
    all.extend(named("failed", failed));
    let inexact = inexact::told(result).into_iter();
    all.extend(inexact.map(|words| ("not exact".to_owned(), words)));
    all.extend(named("unmatched", told::unmatched(&result.unmatched)));
    all
}

fn row(fields: Vec<String>) -> Option<Row> {
    let mut fields = fields.into_iter();
    let name = fields.next()?;
    Some(Row {
        name,
        fields: fields.collect(),
    })
}

fn groups(result: &AnalyzeResult) -> Vec<Groups> {
    let several = result.groups.iter().filter(|(_, groups)| groups.len() > 1);
    let told = |(property, groups): (&String, &Vec<Group>)| {
        let shown = largest(groups);
        let table = told::group_table(shown.iter().copied());
        Groups {
            left_out: groups.len() - shown.len(),
            property: property.clone(),
            head: table.head,
            rows: table.rows.into_iter().filter_map(row).collect(),
        }
    };
    several.map(told).collect()
}

/// The groups with most I/Os, in the order in which they were told.
fn largest(groups: &[Group]) -> Vec<&Group> {
    let mut places: Vec<usize> = (0..groups.len()).collect();
    places.sort_by_key(|place| std::cmp::Reverse(groups[*place].requests));
    places.truncate(MOST);
    places.sort_unstable();
    places.into_iter().map(|place| &groups[place]).collect()
}
