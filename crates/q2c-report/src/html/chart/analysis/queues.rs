//! The chart of requests by hardware queue.

use crate::html::chart::{Chart, View, axis};
use q2c_result::analyze::AnalyzeResult;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The requests of each queue, and the CPUs that they came from.
pub(crate) fn chart(result: &AnalyzeResult) -> Chart {
    let mut traces = Vec::new();
    let mut map = Vec::new();
    if result.hctx.len() > 1 {
        traces = bars(result);
        map.push(cpus(result));
    }
    let balance = result.balance.as_ref();
    let note = balance.map_or_else(String::new, |b| {
        format!(
            "{} over {} queues: standard deviation {:.1} % of the mean, chi-square p = {:.2e}. Line: the mean.",
            b.verdict,
            b.queues,
            b.cv * 100.0,
            b.p
        )
    });
    Chart {
        id: "queues".into(),
        title: "Are the hardware queues used evenly?".into(),
        note,
        height: 420,
        wide: true,
        views: vec![
            View {
                label: "requests",
                traces,
                layout: axis::single(&whole("hardware queue"), &axis::from_zero("requests")),
            },
            View {
                label: "from CPUs",
                traces: map,
                layout: axis::single(&whole("submitting CPU"), &whole("hardware queue")),
            },
        ],
    }
}

fn whole(title: &str) -> Value {
    let mut axis = axis::titled(title);
    axis["type"] = json!("category");
    axis
}

fn bars(result: &AnalyzeResult) -> Vec<Value> {
    let names: Vec<String> = result.hctx.iter().map(|q| q.hctx.to_string()).collect();
    let mean =
        result.hctx.iter().map(|q| q.requests).sum::<u64>() as f64 / result.hctx.len() as f64;
    vec![
        json!({
            "type": "bar", "name": "requests", "x": names,
            "y": result.hctx.iter().map(|q| q.requests).collect::<Vec<_>>(),
            "marker": {"color": "@a"}, "hovertemplate": "%{y} requests of queue %{x}<extra></extra>",
        }),
        json!({
            "type": "scatter", "mode": "lines", "name": "mean", "x": names,
            "y": vec![mean; result.hctx.len()],
            "line": {"color": "@ink", "width": 1.5, "dash": "dot"}, "hoverinfo": "skip",
        }),
    ]
}

/// The heat map of each queue's requests by submitting CPU.
fn cpus(result: &AnalyzeResult) -> Value {
    let cpus: BTreeSet<u32> = result
        .hctx
        .iter()
        .flat_map(|q| q.cpus.keys().copied())
        .collect();
    let row = |queue: &q2c_result::analyze::Hctx| -> Vec<Option<u64>> {
        cpus.iter()
            .map(|cpu| queue.cpus.get(cpu).copied())
            .collect()
    };
    json!({
        "type": "heatmap",
        "x": cpus.iter().map(u32::to_string).collect::<Vec<_>>(),
        "y": result.hctx.iter().map(|q| q.hctx.to_string()).collect::<Vec<_>>(),
        "z": result.hctx.iter().map(row).collect::<Vec<_>>(),
        "colorscale": "@scale", "xgap": 1, "ygap": 1, "hoverongaps": false,
        "colorbar": {"title": {"text": "requests"}, "thickness": 12, "outlinewidth": 0},
        "hovertemplate": "%{z} requests from CPU %{x} to queue %{y}<extra></extra>",
    })
}
