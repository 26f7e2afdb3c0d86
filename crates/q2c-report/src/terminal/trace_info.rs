//! `q2c trace info` in a terminal, which the commands that make a trace print too.

use super::screen::{Screen, printable};
use crate::phrase::counted;
use crate::rates::TrafficRates;
use q2c_model::facts::LOST;
use q2c_model::lost::Losses;
use q2c_model::{FleetMeta, Nanos, TraceLatency, TraceMeta, TraceSummary};
use q2c_result::trace::TraceInfo;
use std::collections::BTreeMap;
use std::fmt::Display;

/// Columns of the names, so that the values stand below each other.
const NAMES: usize = 22;

/// What a trace holds: a line for each property, and more where one is long.
#[must_use]
pub fn trace_info(info: &TraceInfo, screen: Screen) -> String {
    let head = format!("{}: {}", info.path, counted(info.summary.records, "record"));
    let facts = info.meta.facts.iter().filter(|(name, _)| *name != LOST);
    let facts = facts.map(|(name, value)| (name.as_str(), value.clone()));
    lines(
        &head,
        records(info).chain(latencies_and_losses(info)).chain(facts),
        screen,
    )
}

/// What a folder with a trace for each device holds, as [`trace_info`] tells it of one trace.
#[must_use]
pub fn fleet_info(path: &str, fleet: &FleetMeta, screen: Screen) -> String {
    let (rows, volumes, traces) = (fleet.rows, fleet.volumes, fleet.traces);
    let head = format!("{path}: {rows} records of {volumes} devices in {traces} traces");
    let facts = [
        ("source", fleet.source.clone()),
        ("clock", fleet.clock.clone()),
        ("lost by the source", fleet.lost.to_string()),
        ("left out", left_out(&fleet.unmatched, |_| true)),
    ];
    lines(&head, facts, screen)
}

/// What was counted in the records, with the recording's own source.
fn records(info: &TraceInfo) -> impl Iterator<Item = (&str, String)> {
    let (meta, summary) = (&info.meta, &info.summary);
    let source = format!("{} {}", meta.source, meta.source_version);
    let queued = summary.q2c.is_some() || summary.u2c.is_some();
    let lanes = match summary.d2c {
        Some(_) if !queued => format!("{}; how many in flight each is not told", summary.lanes),
        _ => format!(
            "{}, at most {} in flight each",
            summary.lanes, summary.deepest
        ),
    };
    let facts = [
        ("source", source.trim_end().to_owned()),
        ("clock", meta.clock.clone()),
        ("layer", counts(&summary.layers)),
        ("device", counts(&summary.devices)),
        ("operation", counts(&summary.ops)),
        ("size", counts(&summary.sizes)),
        ("lanes", lanes),
        ("from first to last", summary.span_ns.to_string()),
    ];
    facts
        .into_iter()
        .chain(rates(summary).sentences(&meta.facts))
}

fn rates(summary: &TraceSummary) -> TrafficRates {
    let bytes = |op: &String| summary.op_bytes.get(op).map_or(0, |bytes| bytes.0);
    let ops = summary.ops.iter();
    let ops = ops.map(|(op, ios)| (op.as_str(), *ios, bytes(op)));
    TrafficRates::from_ops(ops, summary.records, summary.span_ns.0)
}

/// Latencies, and what failed or is missing.
fn latencies_and_losses(info: &TraceInfo) -> impl Iterator<Item = (&str, String)> {
    let (meta, summary) = (&info.meta, &info.summary);
    let slept = format!("{}, {} of them too long", summary.slept, summary.missed);
    let slept = (summary.slept > 0).then_some(("slept", slept));
    let latencies = [
        ("U2C", &summary.u2c),
        ("Q2C", &summary.q2c),
        ("D2C", &summary.d2c),
    ];
    let latencies = latencies.into_iter();
    let latencies = latencies.filter_map(|(name, stats)| Some((name, latency(stats.as_ref()?))));
    // A loss is told with its reasons.
    let has_losses = losses(meta).is_some();
    let apart = |reason: &str| !has_losses || !Losses::counts(reason);
    let rest = [
        ("failed", summary.failed.to_string()),
        ("lost by the source", lost(meta)),
        ("left out", left_out(&meta.unmatched, apart)),
    ];
    let file = meta.file.iter().map(|file| ("file", file.clone()));
    latencies.chain(slept).chain(rest).chain(file)
}

/// Why a recording by q2c lost I/Os or events; `None` where none is lost, or the source does not
/// say it like q2c.
fn losses(meta: &TraceMeta) -> Option<Losses> {
    let is_own_loss = meta.lost > 0 && meta.facts.contains_key("capture");
    is_own_loss
        .then(|| Losses::from_counts(&meta.unmatched))
        .flatten()
}

fn lost(meta: &TraceMeta) -> String {
    if let Some(not_told) = meta.facts.get(LOST) {
        return not_told.clone();
    }
    let reasons =
        losses(meta).map(|losses| format!(": {}. To do: {}", losses.causes, losses.remedies));
    format!("{}{}", meta.lost, reasons.unwrap_or_default())
}

/// A head, and a line for each property; further ones begin below its value.
fn lines<'a>(
    head: &str,
    properties: impl IntoIterator<Item = (&'a str, String)>,
    screen: Screen,
) -> String {
    let hang = " ".repeat(NAMES + 3);
    let mut text = screen.wrapped(&printable(head), "  ") + "\n";
    for (name, value) in properties {
        let line = format!("  {:<NAMES$} {}", printable(name), printable(&value));
        text += &(screen.wrapped(&line, &hang) + "\n");
    }
    text
}

/// Counts of the wanted reasons; `0` where nothing was left out for any.
fn left_out(unmatched: &BTreeMap<String, u64>, wanted: impl Fn(&str) -> bool) -> String {
    let mut wanted_counts = unmatched.clone();
    wanted_counts.retain(|reason, _| wanted(reason));
    if wanted_counts.is_empty() {
        "0".to_owned()
    } else {
        counts(&wanted_counts)
    }
}

fn counts<K: Display>(counts: &BTreeMap<K, u64>) -> String {
    const LISTED: usize = 8;
    let listed = counts.iter().take(LISTED);
    let mut labels: Vec<String> = listed.map(|(kind, n)| format!("{kind} ({n})")).collect();
    if counts.len() > LISTED {
        labels.push(format!("{} more kinds", counts.len() - LISTED));
    }
    labels.join(", ")
}

fn latency(latency: &TraceLatency) -> String {
    let TraceLatency {
        min_ns,
        mean_ns,
        p50_ns,
        p99_ns,
        max_ns,
        ..
    } = latency;
    let mean = Nanos(mean_ns.round() as u64);
    format!("min {min_ns}, median {p50_ns}, mean {mean}, p99 {p99_ns}, max {max_ns}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Bytes;

    fn info() -> TraceInfo {
        let reasons = [
            ("completion without queue", 17),
            ("in flight at the end", 4),
        ];
        TraceInfo {
            path: "/srv/recordings/of-last-week/database\u{1b}[2J.parquet".to_owned(),
            schema_version: 1,
            meta: TraceMeta {
                source: "blktrace".to_owned(),
                unmatched: reasons.map(|(reason, n)| (reason.to_owned(), n)).into(),
                facts: [("job".to_owned(), "word ".repeat(40))].into(),
                ..TraceMeta::default()
            },
            summary: TraceSummary {
                records: 1_000,
                ops: [("read".to_owned(), 750), ("write".to_owned(), 250)].into(),
                op_bytes: [
                    ("read".to_owned(), Bytes(3 << 20)),
                    ("write".to_owned(), Bytes(1 << 20)),
                ]
                .into(),
                sizes: (1..20).map(|n| (Bytes(n << 12), n)).collect(),
                span_ns: Nanos(500_000_000),
                q2c: Some(TraceLatency::default()),
                ..TraceSummary::default()
            },
        }
    }

    #[test]
    fn a_loss_of_a_recording_has_its_reason_and_remedy() {
        let screen = Screen::new(400, false);
        let mut info = info();
        (info.meta.lost, info.meta.facts) = (7, [("capture".to_owned(), "bpf".to_owned())].into());
        info.meta.unmatched.insert("lost: ring full".to_owned(), 7);
        let text = trace_info(&info, screen);
        assert!(
            text.contains(
                "7: 7 without room in the ring of their CPU. To do: record less with --op"
            ) && text.contains("left out               completion without queue (17), in flight"),
            "{text}"
        );
        // The reasons of another source are its own.
        info.meta.facts.clear();
        let text = trace_info(&info, screen);
        assert!(
            text.contains("lost: ring full (7)") && !text.contains("To do"),
            "{text}"
        );
    }

    #[test]
    fn sleeps_are_told_where_there_are_any() {
        let screen = Screen::new(400, false);
        let mut info = info();
        assert!(!trace_info(&info, screen).contains("slept"));
        (info.summary.slept, info.summary.missed) = (9, 2);
        let text = trace_info(&info, screen);
        assert!(text.contains("9, 2 of them too long"), "{text}");
    }

    #[test]
    fn every_line_fits_80_columns() {
        let screen = Screen::new(80, false);
        let text = trace_info(&info(), screen);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}\n{text}");
        }
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "database\\u{1b}[2J.parquet: 1000 records",
            "rate 2.00 K I/Os and 8.00 MiB per second, over the 500 ms from",
            "reads and writes of the I/Os 75.0 % are reads and 25.0 % writes",
            "of the bytes 75.0 % were read",
            "completion without queue (17), in flight at the end (4)",
            "11 more kinds",
        ] {
            assert!(flat.contains(part), "{part}: {text}");
        }
        // Further lines of a value stand below its first one.
        let below = text
            .lines()
            .filter(|line| line.starts_with(&" ".repeat(25)));
        assert!(below.count() > 4, "{text}");
    }
}
