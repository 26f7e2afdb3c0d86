//! The losses of what was opened, on the searched patterns against those held out.

use super::{Chart, View, axis, values};
use crate::html::escape::chart_text;
use q2c_result::poll_search::{Contender, ContenderRole, PollSearchResult};
use serde_json::{Value, json};

/// The chart of a search: a rule on the dashed line is worth on what was held out what the search
/// promised.
pub(crate) fn chart(result: &PollSearchResult) -> Chart {
    let of = |role, name, colour| points(result, role, name, colour);
    let mut traces: Vec<Value> = [
        of(ContenderRole::Finalist, "finalists", "@chosen"),
        of(ContenderRole::Reference, "references", "@interrupt"),
        of(ContenderRole::Other, "other families", "@muted"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !traces.is_empty() {
        traces.push(json!({
            "type": "scatter",
            "mode": "lines",
            "x": [0, 100], "y": [0, 100],
            "showlegend": false,
            "hoverinfo": "skip",
            "line": {"color": "@muted", "width": 1, "dash": "dash"},
        }));
    }
    Chart {
        id: "poll-search".into(),
        title: "Searched and held out".into(),
        note: "Mean loss in percent. Above the dashed line a rule is worse on what was held out than on what it was searched on.".into(),
        height: 460,
        wide: true,
        views: vec![View {
            label: "loss",
            traces,
            layout: axis::single(
                &axis::from_zero("loss on the searched patterns, %"),
                &axis::from_zero("loss on the patterns held out, %"),
            ),
        }],
    }
}

fn points(
    result: &PollSearchResult,
    role: ContenderRole,
    name: &str,
    colour: &str,
) -> Option<Value> {
    let both = |contender: &&Contender| contender.role == role && contender.searched.is_some();
    let some: Vec<&Contender> = result.contenders.iter().filter(both).collect();
    let losses = |of: &dyn Fn(&Contender) -> f64| -> Value {
        let all: Vec<f64> = some.iter().map(|contender| of(contender)).collect();
        values(&all, 100.0)
    };
    let names: Vec<String> = some.iter().map(|c| chart_text(&c.policy)).collect();
    (!some.is_empty()).then(|| {
        json!({
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": losses(&|c| c.searched.as_ref().map_or(f64::NAN, |s| s.mean_loss)),
            "y": losses(&|c| c.held_out.mean_loss),
            "text": names,
            "marker": {"size": 9, "color": colour},
            "hovertemplate": "%{text}<br>searched %{x} %, held out %{y} %<extra></extra>",
        })
    })
}
