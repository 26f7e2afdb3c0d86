//! The commands of `q2c trace`.

mod copy;
mod export;
mod import;

use crate::args::{TraceArgs, TraceCommand};
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json};
use crate::progress::Line;
use q2c_model::{Nanos, TraceLatency, TraceMeta, TraceSummary};
use q2c_result::Exit;
use q2c_result::trace::TraceInfo;
use q2c_trace::{Counting, SCHEMA_VERSION, Scan, TraceReader};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs the command that was asked for.
pub fn run(args: &TraceArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    match &args.command {
        TraceCommand::Import(args) => import::run(args, stop),
        TraceCommand::Record(args) => super::record::run(args, stop),
        TraceCommand::Copy(args) => copy::run(args, stop),
        TraceCommand::Export(args) => export::run(args, stop),
        TraceCommand::Info(args) => info_of(&args.trace, args.json, stop),
    }
}

/// Prints what the trace at `path` holds.
pub(super) fn info_of(path: &Path, json: bool, stop: &AtomicBool) -> Result<Exit, Failure> {
    let trace = TraceReader::open(path).or_exit(Exit::Input)?;
    let mut counting = Counting::default();
    let line = Line::reading([path]);
    for records in trace.records(&Scan::new()).or_exit(Exit::Input)? {
        if stop.load(Ordering::Relaxed) {
            let why = format!("read trace {}: stopped by a signal", path.display());
            return Err(Failure::new(Exit::Interrupted, why));
        }
        counting.add(&records.or_exit(Exit::Input)?);
    }
    drop(line);
    tell(path, trace.meta(), counting.finish(), json)
}

fn tell(path: &Path, meta: &TraceMeta, summary: TraceSummary, json: bool) -> Result<Exit, Failure> {
    let info = TraceInfo {
        path: path.display().to_string(),
        schema_version: SCHEMA_VERSION,
        meta: meta.clone(),
        summary,
    };
    match json {
        true => print_json(&info)?,
        false => print(&in_words(&info))?,
    }
    Ok(Exit::Done)
}

fn in_words(info: &TraceInfo) -> String {
    let (meta, summary) = (&info.meta, &info.summary);
    let source = format!("{} {}", meta.source, meta.source_version);
    let mut lines = vec![
        format!("{}: {} records", info.path.escape_debug(), summary.records),
        line("source", source.trim_end()),
        line("clock", &meta.clock),
        line("layer", &counts(&summary.layers)),
        line("device", &counts(&summary.devices)),
        line("operation", &counts(&summary.ops)),
        line("size", &counts(&summary.sizes)),
        line(
            "lanes",
            &format!(
                "{}, at most {} in flight each",
                summary.lanes, summary.deepest
            ),
        ),
        line("from first to last", &summary.span_ns.to_string()),
    ];
    lines.extend(summary.u2c.iter().map(|l| line("U2C", &latency(l))));
    lines.extend(summary.q2c.iter().map(|l| line("Q2C", &latency(l))));
    let slept = format!("{}, {} of them too long", summary.slept, summary.missed);
    lines.push(line("slept", &slept));
    lines.push(line("failed", &summary.failed.to_string()));
    lines.push(line("lost by the source", &meta.lost.to_string()));
    lines.push(left_out(&meta.unmatched));
    lines.extend(meta.file.iter().map(|file| line("file", file)));
    lines.extend(meta.facts.iter().map(|(name, value)| line(name, value)));
    lines.join("\n")
}

fn left_out(unmatched: &BTreeMap<String, u64>) -> String {
    let left_out = match unmatched.is_empty() {
        true => "0".to_owned(),
        false => counts(unmatched),
    };
    line("left out", &left_out)
}

/// A line of the description. Names and values come from files, so control characters are shown and
/// not sent to the terminal.
fn line(name: &str, value: &str) -> String {
    let name = name.escape_debug().to_string();
    format!("  {name:<22} {}", value.escape_debug())
}

fn counts<K: std::fmt::Display>(counts: &BTreeMap<K, u64>) -> String {
    /// Kinds that are listed one by one at most.
    const LISTED: usize = 8;
    let listed = counts.iter().take(LISTED);
    let mut words: Vec<String> = listed.map(|(kind, n)| format!("{kind} ({n})")).collect();
    if counts.len() > LISTED {
        words.push(format!("{} more kinds", counts.len() - LISTED));
    }
    words.join(", ")
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
