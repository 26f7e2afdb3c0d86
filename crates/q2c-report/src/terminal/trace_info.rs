//! `q2c trace info` in a terminal, which the commands that make a trace print too, and `q2c trace
//! columns`.

use super::screen::{Screen, Tone, printable};
use super::table::{TerminalColumn, TerminalTable};
use crate::phrase::{counted, listed};
use crate::rates::TrafficRates;
use q2c_model::facts::LOST;
use q2c_model::lost::Losses;
use q2c_model::{FleetMeta, Nanos, TraceLatency, TraceMeta, TraceSummary};
use q2c_result::trace::{CsvColumn, TraceColumn, TraceColumns, TraceInfo};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Width of the names, in columns, so that all values start in one column.
const NAME_COLUMNS: usize = 22;

/// Describes a trace: a line for each property, and more lines for a long one.
#[must_use]
pub fn trace_info(info: &TraceInfo, screen: Screen) -> String {
    let head = format!("{}: {}", info.path, counted(info.summary.records, "record"));
    let facts = info.meta.facts.iter().filter(|(name, _)| *name != LOST);
    let facts = facts.map(|(name, value)| (name.as_str(), value.clone()));
    let properties = record_facts(info).chain(latencies_and_losses(info));
    property_lines(&head, properties.chain(facts), screen)
}

/// Describes a folder that has a trace for each device, in the form of [`trace_info`].
#[must_use]
pub fn fleet_info(path: &str, fleet: &FleetMeta, screen: Screen) -> String {
    let (rows, volumes, traces) = (fleet.rows, fleet.volumes, fleet.traces);
    let head = format!("{path}: {rows} records of {volumes} devices in {traces} traces");
    let facts = [
        ("source", fleet.source.clone()),
        ("clock", fleet.clock.clone()),
        ("lost by the source", fleet.lost.to_string()),
        ("left out", left_out_counts(&fleet.unmatched, |_| true)),
    ];
    property_lines(&head, facts, screen)
}

/// The counts of the records, and the source of the recording.
fn record_facts(info: &TraceInfo) -> impl Iterator<Item = (&str, String)> {
    let (meta, summary) = (&info.meta, &info.summary);
    let source = format!("{} {}", meta.source, meta.source_version);
    let queued = summary.q2c.is_some() || summary.u2c.is_some();
    let (lanes, deepest) = (summary.lanes, summary.deepest);
    let lanes = match summary.d2c {
        Some(_) if !queued => format!("{lanes}; how many in flight each is not told"),
        _ => format!("{lanes}, at most {deepest} in flight each"),
    };
    let facts = [
        ("source", source.trim_end().to_owned()),
        ("clock", meta.clock.clone()),
        ("layer", counts_text(&summary.layers)),
        ("device", counts_text(&summary.devices)),
        ("operation", counts_text(&summary.ops)),
        ("size", counts_text(&summary.sizes)),
        ("lanes", lanes),
        ("from first to last", summary.span_ns.to_string()),
    ];
    let facts = facts.into_iter();
    facts.chain(traffic_rates(summary).sentences(&meta.facts))
}

fn traffic_rates(summary: &TraceSummary) -> TrafficRates {
    let bytes = |op: &String| summary.op_bytes.get(op).map_or(0, |bytes| bytes.0);
    let ops = summary.ops.iter();
    let ops = ops.map(|(op, ios)| (op.as_str(), *ios, bytes(op)));
    TrafficRates::from_ops(ops, summary.records, summary.span_ns.0)
}

/// Latencies, and the numbers of failed, lost and left-out requests.
fn latencies_and_losses(info: &TraceInfo) -> impl Iterator<Item = (&str, String)> {
    let (meta, summary) = (&info.meta, &info.summary);
    let slept = format!("{}, {} of them too long", summary.slept, summary.missed);
    let slept = (summary.slept > 0).then_some(("slept", slept));
    let latencies = ["U2C", "Q2C", "D2C"].into_iter();
    let latencies = latencies.zip([&summary.u2c, &summary.q2c, &summary.d2c]);
    let latencies =
        latencies.filter_map(|(name, stats)| Some((name, latency_text(stats.as_ref()?))));
    // The line of lost events has their reasons already.
    let has_losses = losses(meta).is_some();
    let is_not_listed = |reason: &str| !has_losses || !Losses::is_loss(reason);
    let counts = [
        ("failed", summary.failed.to_string()),
        ("lost by the source", lost_text(meta)),
        ("left out", left_out_counts(&meta.unmatched, is_not_listed)),
    ];
    let file = meta.file.iter().map(|file| ("file", file.clone()));
    latencies.chain(slept).chain(counts).chain(file)
}

/// Why a recording by q2c lost I/Os or events; `None` if nothing was lost, or if another program
/// recorded the trace.
fn losses(meta: &TraceMeta) -> Option<Losses> {
    let is_own_loss = meta.lost > 0 && meta.facts.contains_key("capture");
    Losses::from_counts(&meta.unmatched).filter(|_| is_own_loss)
}

fn lost_text(meta: &TraceMeta) -> String {
    let reasons = losses(meta).map(|it| format!(": {}. To do: {}", it.causes, it.remedies));
    let count = || format!("{}{}", meta.lost, reasons.unwrap_or_default());
    meta.facts.get(LOST).cloned().unwrap_or_else(count)
}

/// A head, then a line for each property. Further lines start below the value.
fn property_lines<'a>(
    head: &str,
    properties: impl IntoIterator<Item = (&'a str, String)>,
    screen: Screen,
) -> String {
    let hang = " ".repeat(NAME_COLUMNS + 3);
    let mut text = screen.wrap(&printable(head), "  ") + "\n";
    for (name, value) in properties {
        let line = format!("  {:<NAME_COLUMNS$} {}", printable(name), printable(&value));
        text += &(screen.wrap(&line, &hang) + "\n");
    }
    text
}

/// Counts of the reasons that `is_wanted` accepts; `0` if there are none.
fn left_out_counts(unmatched: &BTreeMap<String, u64>, is_wanted: impl Fn(&str) -> bool) -> String {
    let wanted = unmatched.iter().filter(|(reason, _)| is_wanted(reason));
    let text = Some(counts_text(wanted)).filter(|text| !text.is_empty());
    text.unwrap_or_else(|| "0".to_owned())
}

fn counts_text<'a, K: Display + 'a>(counts: impl IntoIterator<Item = (&'a K, &'a u64)>) -> String {
    const MAX_KINDS: usize = 8;
    let labels = counts.into_iter().map(|(kind, n)| format!("{kind} ({n})"));
    let mut labels: Vec<String> = labels.collect();
    if labels.len() > MAX_KINDS {
        let more = labels.split_off(MAX_KINDS).len();
        labels.push(format!("{more} more kinds"));
    }
    labels.join(", ")
}

fn latency_text(latency: &TraceLatency) -> String {
    let (min, median, max) = (latency.min_ns, latency.p50_ns, latency.max_ns);
    let (mean, p99) = (Nanos(latency.mean_ns.round() as u64), latency.p99_ns);
    format!("min {min}, median {median}, mean {mean}, p99 {p99}, max {max}")
}

/// Describes the columns of a trace, and the fields that a CSV file may have.
#[must_use]
pub fn trace_columns(list: &TraceColumns, screen: Screen) -> String {
    let help = "a Parquet file with one row for each request. Times are from the trace's start. \
                Cells are null where the source does not tell the value; columns with * always \
                have one.";
    let mut text = screen.note(Tone::Strong, "columns of a trace:", help);
    text += &(column_table(&list.columns).text(screen) + "\n");
    let title = "fields of trace import --format csv:";
    text += &screen.note(Tone::Strong, title, &field_help(list));
    for field in &list.csv_fields {
        if let Some(meaning) = &field.meaning {
            text += &screen.note(Tone::Strong, &format!("{}:", field.name), meaning);
        }
    }
    text + &header_table(&list.csv_fields).text(screen)
}

fn column_table(list: &[TraceColumn]) -> TerminalTable {
    let head = ["column", "type", "unit"].map(|head| TerminalColumn::numbers(head).left());
    let mut table = TerminalTable::new(head.into_iter().chain([TerminalColumn::words("meaning")]));
    for column in list {
        let mark = if column.optional { "" } else { " *" };
        let name = format!("{}{mark}", column.name);
        table.add([&name, &column.kind, &column.unit, &column.meaning]);
    }
    table
}

fn field_help(list: &TraceColumns) -> String {
    let has_field = |name: &String| list.csv_fields.iter().any(|field| field.name == *name);
    let names = list.columns.iter().map(|column| &column.name);
    let without_field = listed(names.filter(|name| !has_field(name)));
    format!(
        "--columns FIELD=HEADER,... says which header holds which field: any column above but {without_field}, \
         and the two below. Times are in --unit. For fields that it does not name, these \
         names are taken as headers, and those below in any case, with a unit at their end or without (latency_us):"
    )
}

fn header_table(fields: &[CsvColumn]) -> TerminalTable {
    let mut table = TerminalTable::new([
        TerminalColumn::numbers("field").left(),
        TerminalColumn::words("headers taken as it"),
    ]);
    for field in fields.iter().filter(|field| !field.headers.is_empty()) {
        table.add([field.name.clone(), field.headers.join(", ")]);
    }
    table
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
        for part in [
            "7: 7 without room in the ring of their CPU. To do: record less with --op",
            "left out               completion without queue (17), in flight",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // The reasons of another source are not q2c's, so no advice is given.
        info.meta.facts.clear();
        let text = trace_info(&info, screen);
        assert!(text.contains("lost: ring full (7)") && !text.contains("To do"));
        assert!(!text.contains("slept"), "{text}");
        (info.summary.slept, info.summary.missed) = (9, 2);
        let text = trace_info(&info, screen);
        assert!(text.contains("9, 2 of them too long"), "{text}");
    }

    #[test]
    fn every_line_fits_80_columns() {
        let text = trace_info(&info(), Screen::new(80, false));
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
        // Further lines of a value start below its first line.
        let hang = " ".repeat(25);
        let below = text.lines().filter(|line| line.starts_with(&hang));
        assert!(below.count() > 4, "{text}");
    }
}
