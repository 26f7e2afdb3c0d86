//! `q2c analyze` in a terminal.

use super::screen::{Screen, Tone};
use super::table;
use crate::quantity::{NOTHING, count, duration, number};
use comfy_table::{CellAlignment, ColumnConstraint};
use q2c_result::analyze::{AnalyzeResult, Bottleneck, Group, StageStats};
use std::collections::BTreeMap;

/// Stages in the order of a request's life.
const ORDER: [&str; 11] = [
    "Q2Q", "Q2G", "G2I", "Q2M", "I2D", "G2D", "M2D", "D2C", "Q2C", "U2U", "U2C",
];

/// Groups of one property that are shown; the JSON has all.
const SHOWN: usize = 12;

/// Everything that the trace says.
#[must_use]
pub fn analyze(result: &AnalyzeResult, screen: Screen) -> String {
    let mut text = head(result, screen);
    text += &stages(&result.stages, screen);
    for (property, groups) in &result.groups {
        // A single group says what the whole says.
        if groups.len() > 1 {
            text += &group_table(property, groups, screen);
        }
    }
    text += &figures(result, screen);
    text += &queues(result, screen);
    if let Some(found) = &result.bottleneck {
        text += &bottleneck(found, screen);
    }
    text + &qualified(result, screen)
}

fn head(result: &AnalyzeResult, screen: Screen) -> String {
    let rest = format!(
        "· {} I/Os in {} · {} layer · from {}",
        count(result.requests),
        time(result.span_ns as f64),
        result.layer,
        result.input.source
    );
    screen.note(Tone::Strong, &result.input.path, &rest)
}

fn time(ns: f64) -> String {
    duration(ns, "u")
}

fn rows(head: &[&str], rows: impl Iterator<Item = Vec<String>>, screen: Screen) -> String {
    let mut table = table::empty(screen);
    table.set_header(head.iter().map(|name| screen.cell(Tone::Strong, name)));
    for row in rows {
        table.add_row(row.iter().map(|field| screen.cell(Tone::Plain, field)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
        if column.index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    format!("\n{}", table::text(&table))
}

fn stages(stages: &BTreeMap<String, StageStats>, screen: Screen) -> String {
    let head = [
        "stage", "I/Os", "min", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max",
    ];
    let row = |name: &&str| {
        let of = stages.get(*name)?;
        let times = [
            of.min_ns as f64,
            of.mean_ns,
            of.p50_ns,
            of.p90_ns,
            of.p99_ns,
            of.p999_ns,
            of.p9999_ns,
            of.max_ns as f64,
        ];
        let names = [(*name).to_owned(), count(of.n)];
        Some(names.into_iter().chain(times.map(time)).collect())
    };
    rows(&head, ORDER.iter().filter_map(row), screen)
}

fn group_table(property: &str, groups: &[Group], screen: Screen) -> String {
    let mut order: Vec<&Group> = groups.iter().collect();
    if order.len() > SHOWN {
        order.sort_by_key(|group| std::cmp::Reverse(group.requests));
    }
    let row = |group: &&Group| {
        let stage = |names: [&str; 2]| names.iter().find_map(|name| group.stages.get(*name));
        let field = |of: Option<&StageStats>, get: fn(&StageStats) -> f64| {
            of.map_or_else(|| NOTHING.to_owned(), |of| time(get(of)))
        };
        let (all, device) = (stage(["Q2C", "U2C"]), stage(["D2C", ""]));
        vec![
            group.key.clone(),
            count(group.requests),
            number(group.bytes as f64 / f64::from(1 << 20)),
            field(all, |s| s.mean_ns),
            field(all, |s| s.p50_ns),
            field(all, |s| s.p99_ns),
            field(all, |s| s.max_ns as f64),
            field(device, |s| s.mean_ns),
            field(device, |s| s.p99_ns),
        ]
    };
    let head = [
        property, "I/Os", "MiB", "mean", "p50", "p99", "max", "D2C mean", "D2C p99",
    ];
    let mut text = rows(&head, order.iter().take(SHOWN).map(row), screen);
    if order.len() > SHOWN {
        let more = format!("{} more; --json has all", order.len() - SHOWN);
        text += &screen.note(Tone::Dim, "and", &more);
    }
    text
}

fn figures(result: &AnalyzeResult, screen: Screen) -> String {
    let (flight, activity) = (&result.in_flight, &result.activity);
    let mut text = "\n".to_owned();
    let words = format!(
        "{} on average, {} at most",
        number(flight.mean),
        count(flight.most)
    );
    text += &screen.note(Tone::Strong, "in flight:", &words);
    let words = format!(
        "{}, idle {} with {} pauses of 100 ms or more, the longest {}",
        time(activity.active_ns as f64),
        time(activity.idle_ns as f64),
        count(activity.pauses),
        time(activity.longest_idle_ns as f64)
    );
    text += &screen.note(Tone::Strong, "active:", &words);
    if let Some(ratio) = result.merge_ratio {
        let words = format!(
            "{} I/Os for each request issued ({} merged)",
            number(ratio),
            count(result.merged)
        );
        text += &screen.note(Tone::Strong, "merging:", &words);
    }
    for seeks in result.seeks.iter().filter(|seeks| seeks.n > 0).take(SHOWN) {
        let words = format!(
            "{} % sequential, mean {} sectors, median {}",
            number(seeks.sequential as f64 / seeks.n as f64 * 100.0),
            number(seeks.mean_sectors),
            number(seeks.median_sectors)
        );
        text += &screen.note(Tone::Strong, &format!("seeks on {}:", seeks.device), &words);
    }
    text
}

fn queues(result: &AnalyzeResult, screen: Screen) -> String {
    let Some(balance) = &result.balance else {
        return String::new();
    };
    let row = |queue: &q2c_result::analyze::Hctx| {
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
    let mut text = rows(
        &["queue", "requests", "share", "from CPUs"],
        result.hctx.iter().map(row),
        screen,
    );
    let words = format!(
        "{} over {} hardware queues (deviation {} %, chi-square {}, p = {})",
        balance.verdict,
        balance.queues,
        number(balance.cv * 100.0),
        number(balance.chi_square),
        number(balance.p)
    );
    let tone = if balance.verdict == "uneven" {
        Tone::Caution
    } else {
        Tone::Good
    };
    text += &screen.note(tone, "balance:", &words);
    text
}

fn shares(of: &BTreeMap<String, f64>) -> String {
    let known = ORDER
        .iter()
        .chain(&["rest"])
        .filter_map(|name| Some((name, of.get(*name)?)));
    let words: Vec<String> = known
        .map(|(name, share)| format!("{name} {} %", number(share * 100.0)))
        .collect();
    words.join(", ")
}

fn bottleneck(found: &Bottleneck, screen: Screen) -> String {
    let words = format!(
        "{} ({} % of Q2C): {}",
        found.stage,
        number(found.share * 100.0),
        found.why
    );
    let mut text = screen.note(Tone::Strong, "bottleneck:", &words);
    text += &screen.note(Tone::Dim, "shares:", &shares(&found.shares));
    if found.over_load.len() > 1 {
        for class in &found.over_load {
            let range = match class.from == class.to {
                true => class.from.to_string(),
                false => format!("{}-{}", class.from, class.to),
            };
            let words = format!(
                "{} I/Os, mean Q2C {}, {}: {}",
                count(class.requests),
                time(class.mean_q2c_ns),
                class.stage,
                shares(&class.shares)
            );
            text += &screen.note(Tone::Dim, &format!("  {range} in flight:"), &words);
        }
    }
    text
}

fn qualified(result: &AnalyzeResult, screen: Screen) -> String {
    let mut text = String::new();
    let reasons: Vec<String> = result
        .unmatched
        .iter()
        .map(|(why, n)| format!("{why} ({n})"))
        .collect();
    if !reasons.is_empty() {
        text += &screen.note(Tone::Caution, "unmatched:", &reasons.join(", "));
    }
    if result.failed > 0 {
        text += &screen.note(
            Tone::Bad,
            "failed:",
            &format!("{} I/Os", count(result.failed)),
        );
    }
    for warning in &result.warnings {
        let words = format!(
            "{}; {}. To do: {}",
            warning.found, warning.means, warning.todo
        );
        text += &screen.note(Tone::Caution, &format!("warning {}:", warning.id), &words);
    }
    text
}
