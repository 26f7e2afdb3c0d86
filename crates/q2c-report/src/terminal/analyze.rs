//! `q2c analyze` in a terminal.

use super::screen::{Screen, Tone};
use super::table;
use crate::analysis::{self, ORDER, STAGE_HEAD, stage_row};
use crate::inexact;
use crate::most_time;
use crate::not_whole;
use crate::quantity::{count, number};
use q2c_result::analyze::{AnalyzeResult, Bottleneck, Group, Hctx};

/// Most groups of one property, and most CPUs of a queue, that are shown; the JSON has all.
const SHOWN: usize = 12;

/// The report of an analysis.
#[must_use]
pub fn analyze(result: &AnalyzeResult, screen: Screen) -> String {
    let mut text = screen.note(
        Tone::Strong,
        &result.input.path,
        &format!("· {}", analysis::about(result)),
    );
    if let Some(words) = analysis::taken(result) {
        text += &screen.note(Tone::Caution, "processes:", &words);
    }
    let stages = ORDER
        .iter()
        .filter_map(|name| stage_row(&result.stages, name));
    text += &rows(&STAGE_HEAD, stages, screen);
    text += &lack(result, screen);
    for (property, groups) in &result.groups {
        // A single group has the figures of the whole, and is named below.
        if groups.len() > 1 {
            text += &group_table(property, groups, screen);
        }
    }
    text += "\n";
    for (what, words) in analysis::words(result) {
        text += &screen.note(Tone::Strong, &format!("{what}:"), &words);
    }
    text += &queues(result, screen);
    if let Some(found) = &result.bottleneck {
        text += &time_spent(found, result.in_flight.most, screen);
    }
    text + &qualified(result, screen)
}

/// How many I/Os the table of the stages lacks.
fn lack(result: &AnalyzeResult, screen: Screen) -> String {
    let Some((any, words)) = not_whole::told(result) else {
        return String::new();
    };
    let tone = if any { Tone::Caution } else { Tone::Good };
    screen.note(tone, "not wholly seen:", &words)
}

fn rows(head: &[&str], rows: impl Iterator<Item = Vec<String>>, screen: Screen) -> String {
    format!("\n{}", table::plain(head, rows, screen))
}

fn group_table(property: &str, groups: &[Group], screen: Screen) -> String {
    let mut order: Vec<&Group> = groups.iter().collect();
    if order.len() > SHOWN {
        order.sort_by_key(|group| std::cmp::Reverse(group.requests));
    }
    let shown = analysis::group_table(order.iter().take(SHOWN).copied());
    let head: Vec<&str> = [property].into_iter().chain(shown.head).collect();
    let mut text = rows(&head, shown.rows.into_iter(), screen);
    if order.len() > SHOWN {
        let more = format!("{} more; --json has all", order.len() - SHOWN);
        text += &screen.note(Tone::Dim, "and", &more);
    }
    text
}

fn queues(result: &AnalyzeResult, screen: Screen) -> String {
    let (Some(words), Some(balance)) = (analysis::balance(result), &result.balance) else {
        return String::new();
    };
    let row = |queue: &Hctx| {
        let cpus: Vec<String> = queue
            .cpus
            .iter()
            .take(SHOWN)
            .map(|(cpu, n)| format!("{cpu} ({n})"))
            .collect();
        let share = format!("{} %", number(queue.share * 100.0));
        vec![
            queue.hctx.to_string(),
            count(queue.requests),
            share,
            cpus.join(", "),
        ]
    };
    let head = ["queue", "requests", "share", "from CPUs"];
    let text = rows(&head, result.hctx.iter().map(row), screen);
    let tone = match balance.verdict.as_str() {
        "uneven" => Tone::Caution,
        _ => Tone::Good,
    };
    let mut text = text + &screen.note(tone, "balance:", &words);
    for (head, words) in analysis::device_queues(&result.queues) {
        text += &screen.note(Tone::Plain, &format!("{head}:"), &words);
    }
    text
}

fn time_spent(found: &Bottleneck, most: Option<u64>, screen: Screen) -> String {
    let told = most_time::told(found).into_iter();
    let mut text: String = told
        .map(|(head, words)| screen.note(Tone::Strong, &format!("{head}:"), &words))
        .collect();
    text += &screen.note(Tone::Dim, "shares:", &analysis::shares(&found.shares));
    if found.over_load.len() > 1 {
        for class in &found.over_load {
            let (range, words) = analysis::load(class, most);
            text += &screen.note(Tone::Dim, &format!("  {range} in flight:"), &words);
        }
    }
    text
}

fn qualified(result: &AnalyzeResult, screen: Screen) -> String {
    let each = inexact::told(result).into_iter();
    let mut text: String = each
        .map(|words| screen.note(Tone::Caution, "not exact:", &words))
        .collect();
    if let Some(reasons) = analysis::unmatched(&result.unmatched) {
        text += &screen.note(Tone::Caution, "unmatched:", &reasons);
    }
    if result.failed > 0 {
        let failed = format!("{} I/Os", count(result.failed));
        text += &screen.note(Tone::Bad, "failed:", &failed);
    }
    text += &screen.warnings(&result.warnings);
    text
}
