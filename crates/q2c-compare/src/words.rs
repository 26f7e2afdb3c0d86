//! Facts of the replayed trace, and of a recording of the replay, for results and files.

use super::Variant;
use q2c_model::{Bytes, TraceMeta};
use q2c_replay::ReplayFacts;
use q2c_result::replay::TraceFacts;
use q2c_sys::Clock;
use std::collections::BTreeMap;

/// `path` is the name that the user gave, `source` the tool that made the trace.
pub(super) fn trace(facts: &ReplayFacts, path: &str, source: &str) -> TraceFacts {
    let known = facts.has_completions();
    let devices = facts.devices.iter();
    let spans = devices.clone().map(|device| device.span);
    TraceFacts {
        path: path.to_owned(),
        source: source.to_owned(),
        requests: facts.requests,
        ops: facts.ops.clone(),
        devices: devices
            .map(|device| (device.dev.to_string(), device.requests))
            .collect(),
        bytes: facts.bytes,
        largest: facts.largest,
        span: Bytes(spans.max().unwrap_or(0)),
        length_s: facts.length().as_secs_f64(),
        completed: facts.completed,
        idle_share: facts.idle_share(),
        back_in_time: facts.back_in_time,
        sum_latency_s: known.then_some(facts.latency_sum_ns as f64 / 1e9),
        layer: facts.layer,
    }
}

pub(super) fn recording(variant: &Variant<'_>, clock: &Clock) -> TraceMeta {
    let sites = variant.sites.iter();
    let targets: Vec<&str> = sites.map(|site| site.name.as_str()).collect();
    let name = variant.facts.path.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    TraceMeta {
        clock: clock.source().to_owned(),
        source: "q2c replay".to_owned(),
        source_version: env!("CARGO_PKG_VERSION").to_owned(),
        file: Some(targets.join(", ")),
        facts: BTreeMap::from([("replayed".to_owned(), name.into_owned())]),
        ..TraceMeta::default()
    }
}
