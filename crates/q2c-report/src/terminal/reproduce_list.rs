//! The list of experiments in a terminal. Names stay whole, because users copy them; sentences are
//! wrapped at words.

use super::pieces;
use super::screen::{Screen, Tone, printable};
use super::table::{TerminalColumn, TerminalTable};
use crate::phrase::{counted, listed_if_any};
use crate::quantity::{or_dash, seconds};
use q2c_result::reproduce::{ListResult, ListedExperiment, ListedNeed, NeedKind};
use textwrap::core::display_width;

/// The smallest column for sentences. With less room they stand below the name.
const MIN_SENTENCE_COLUMNS: usize = 36;
const HEAD: [&str; 4] = ["experiment", "judged here", "takes", "asks"];

/// The list of experiments. A wide terminal gets a table; on a narrow one, the question and the
/// needs of an experiment stand below its name.
#[must_use]
pub fn reproduce_list(result: &ListResult, screen: Screen) -> String {
    let rows: Vec<ShortRow> = result.experiments.iter().map(short_row).collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| display_width(&row[column]));
        widths.max().unwrap_or(0).max(HEAD[column].len())
    };
    // Each column is followed by a blank of padding and a blank of the table.
    let used_columns: usize = (0..3).map(|column| width(column) + 2).sum();
    let sentence_columns = screen.columns().saturating_sub(used_columns + 1);
    let text = match sentence_columns {
        MIN_SENTENCE_COLUMNS.. => side_by_side(result, rows, sentence_columns, screen),
        _ => stacked(result, &rows, screen),
    };
    text + &screen.note(Tone::Strong, "in all:", &summary(result))
}

/// The short facts: the name, the number of claims that are judged here, and the time it takes.
type ShortRow = [String; 3];

fn short_row(experiment: &ListedExperiment) -> ShortRow {
    let name = experiment.name.clone();
    [name, claims(experiment), time(experiment)].map(|text| printable(&text))
}

/// The question and the needs of an experiment, as sentences below its name or beside it.
fn sentences(experiment: &ListedExperiment) -> Vec<String> {
    let variant = experiment.variant_of.as_ref();
    let mut texts = vec![experiment.title.clone()];
    texts.extend(variant.map(|name| format!("variant of {name}")));
    texts.extend(need_sentences(experiment));
    texts.iter().map(|text| printable(text)).collect()
}

fn wrap_all(sentences: &[String], room: usize) -> Vec<String> {
    let lines = sentences.iter().flat_map(|s| pieces::wrap(s, room, "", ""));
    lines.collect()
}

fn side_by_side(list: &ListResult, rows: Vec<ShortRow>, room: usize, screen: Screen) -> String {
    let mut table = TerminalTable::new(HEAD.map(|head| TerminalColumn::words(head).left()));
    for (experiment, row) in list.experiments.iter().zip(rows) {
        let lines = wrap_all(&sentences(experiment), room).join("\n");
        table.add(row.into_iter().chain([lines]));
    }
    table.text(screen)
}

fn stacked(result: &ListResult, rows: &[ShortRow], screen: Screen) -> String {
    let mut text = String::new();
    let room = screen.columns().saturating_sub(2);
    for (experiment, [name, here, takes]) in result.experiments.iter().zip(rows) {
        text += &(screen.paint(Tone::Strong, name) + "\n");
        let takes = match experiment.seconds {
            None => "length not known".to_owned(),
            Some(_) => format!("takes {takes}"),
        };
        let first = format!("judged here: {here} · {takes}");
        let lines = wrap_all(&[vec![first], sentences(experiment)].concat(), room);
        text.extend(lines.iter().map(|line| format!("  {line}\n")));
    }
    text
}

/// Times below this, in seconds, are not shown.
const MIN_SHOWN_S: f64 = 1.0;

fn claims(experiment: &ListedExperiment) -> String {
    let (total, by_target) = (experiment.claims, experiment.depend_on_target);
    let claims = counted(total, "claim");
    match experiment.judgeable {
        n if n == total => "all".to_owned(),
        0 if by_target == total => "depends on the target".to_owned(),
        0 if by_target > 0 => format!("{by_target} of {claims}, by the target"),
        0 => {
            let lack = experiment.needs.iter().find(|need| need.met == Some(false));
            format!("none: {}", or_dash(lack.map(brief_need)))
        }
        n if by_target > 0 => format!("{n} of {claims}, {by_target} by the target"),
        n => format!("{n} of {claims}"),
    }
}

/// A need in few words, with the present value if that is a number or a version.
fn brief_need(need: &ListedNeed) -> String {
    // The part after a dash is the name of a build.
    let version = need.present.split('-').next().unwrap_or_default();
    match need.what {
        NeedKind::Cpus | NeedKind::ThreadsPerCore | NeedKind::NumaNodes | NeedKind::HwQueues => {
            format!("{} ({} here)", need_text(need), need.present)
        }
        NeedKind::Kernel => format!("{} ({version} here)", need_text(need)),
        NeedKind::Other => {
            let needed = need.needed.split(" with ").next();
            needed.unwrap_or_default().to_owned()
        }
        _ => need_text(need),
    }
}

fn need_text(need: &ListedNeed) -> String {
    let needed = &need.needed;
    let plural = |what: &str| match needed.as_str() {
        "1" => format!("1 {what}"),
        _ => format!("{needed} {what}s"),
    };
    match need.what {
        NeedKind::Cpus => plural("CPU"),
        NeedKind::ThreadsPerCore => format!("{} per core", plural("thread")),
        NeedKind::NumaNodes => plural("NUMA node"),
        NeedKind::HwQueues => plural("hardware queue"),
        NeedKind::Kernel => format!("Linux {needed}"),
        NeedKind::PollQueues => "poll queues".to_owned(),
        NeedKind::Module => format!("the module {needed}"),
        NeedKind::Spdk => "SPDK".to_owned(),
        NeedKind::Capture => "block-layer capture".to_owned(),
        NeedKind::FileSystem | NeedKind::Other => needed.clone(),
        NeedKind::Setting => format!("q2c doctor content with {needed}"),
        NeedKind::NoMachine => format!("what no machine has, because {needed}"),
    }
}

/// The needs of an experiment in three groups: met, not met, and dependent on the target.
fn need_sentences(experiment: &ListedExperiment) -> Vec<String> {
    let needs = &experiment.needs;
    let with_state = |met| needs.iter().filter(move |n| n.met == met).map(need_text);
    let target = experiment.takes_target.then(|| "a target".to_owned());
    let needs = listed_if_any(target.into_iter().chain(with_state(Some(true))));
    let [lacks, undecided] = [Some(false), None].map(|met| listed_if_any(with_state(met)));
    let undecided = ("the target decides on", undecided);
    let clauses = [("needs", needs), ("lacks", lacks), undecided];
    let clauses = clauses.into_iter();
    let sentences = clauses.filter_map(|(what, names)| Some(format!("{what} {}", names?)));
    sentences.collect()
}

fn time(experiment: &ListedExperiment) -> String {
    match experiment.seconds {
        None => "not known".to_owned(),
        Some(s) if s < MIN_SHOWN_S => "< 1 s".to_owned(),
        Some(s) => seconds(s),
    }
}

fn summary(result: &ListResult) -> String {
    let unknown = result.experiments.iter().filter(|e| e.seconds.is_none());
    let unknown = match unknown.count() {
        0 => "",
        1 => "; the length of 1 is not known",
        n => &format!("; the lengths of {n} are not known"),
    };
    let scale = result.scale;
    let extent = match (scale == 1.0, result.trials) {
        (true, None) => "At full length, with the trials of the files",
        (true, Some(n)) => &format!("At full length, with {n} trials of each point"),
        (false, None) => &format!("With all times multiplied by {scale}"),
        (false, Some(n)) => {
            &format!("With all times multiplied by {scale} and {n} trials of each point")
        }
    };
    let (experiments, time) = (result.experiments.len(), seconds(result.seconds));
    let total_time = format!("{experiments} experiments take about {time}");
    format!("{total_time}, beside the time to prepare the target{unknown}. {extent}.")
}
