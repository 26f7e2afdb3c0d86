//! The list of experiments in a terminal. Names stay whole, since they are
//! what one copies; sentences are wrapped at words.

use super::pieces;
use super::screen::{Screen, Tone, printable};
use super::table::{TerminalColumn, TerminalTable};
use crate::reproduce::list::{here, needs, sum, takes};
use q2c_result::reproduce::{ListResult, ListedExperiment};
use textwrap::core::display_width;

/// Least room for sentences in a column of their own. With less of it they stand below the name.
const SENTENCES: usize = 36;
const HEAD: [&str; 4] = ["experiment", "judged here", "takes", "asks"];

/// The list of experiments. A terminal that is wide enough has a table; in others what an
/// experiment asks and needs stands below its name.
#[must_use]
pub fn reproduce_list(result: &ListResult, screen: Screen) -> String {
    let rows: Vec<ShortRow> = result.experiments.iter().map(short).collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| display_width(&row[column]));
        widths.max().unwrap_or(0).max(HEAD[column].len())
    };
    // Behind each column stand a blank of padding and one of the table.
    let taken: usize = (0..3).map(|column| width(column) + 2).sum();
    let room = screen.columns().saturating_sub(taken + 1);
    let text = match room {
        SENTENCES.. => side_by_side(result, rows, room, screen),
        _ => below(result, &rows, screen),
    };
    text + &screen.note(Tone::Strong, "in all:", &sum(result))
}

/// What is short: the name, how many claims are judged here, and how long it takes.
type ShortRow = [String; 3];

fn short(experiment: &ListedExperiment) -> ShortRow {
    [experiment.name.clone(), here(experiment), takes(experiment)].map(|text| printable(&text))
}

/// What an experiment asks and needs: the sentences below its name or beside it.
fn sentences(experiment: &ListedExperiment) -> Vec<String> {
    let variant = experiment.variant_of.as_ref();
    let mut texts = vec![experiment.title.clone()];
    texts.extend(variant.map(|name| format!("variant of {name}")));
    texts.extend(needs(experiment));
    texts.iter().map(|text| printable(text)).collect()
}

fn wrapped(sentences: &[String], room: usize) -> Vec<String> {
    let wrapped = |text: &String| pieces::wrapped(text, room, "", "");
    sentences.iter().flat_map(wrapped).collect()
}

fn side_by_side(list: &ListResult, rows: Vec<ShortRow>, room: usize, screen: Screen) -> String {
    let mut table = TerminalTable::new(HEAD.map(|head| TerminalColumn::words(head).left()));
    for (experiment, row) in list.experiments.iter().zip(rows) {
        let lines = wrapped(&sentences(experiment), room).join("\n");
        table.add(row.into_iter().chain([lines]));
    }
    table.text(screen)
}

fn below(result: &ListResult, rows: &[ShortRow], screen: Screen) -> String {
    let mut text = String::new();
    let room = screen.columns().saturating_sub(2);
    for (experiment, [name, here, takes]) in result.experiments.iter().zip(rows) {
        text += &(screen.paint(Tone::Strong, name) + "\n");
        let takes = match experiment.seconds {
            None => "length not known".to_owned(),
            Some(_) => format!("takes {takes}"),
        };
        let first = format!("judged here: {here} · {takes}");
        let lines = wrapped(&[vec![first], sentences(experiment)].concat(), room);
        text.extend(lines.iter().map(|line| format!("  {line}\n")));
    }
    text
}
