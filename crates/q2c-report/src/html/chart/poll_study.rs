//! The losses of each rule on each pattern as a map.

use super::{Chart, View, value};
use crate::html::escape::chart_text;
use q2c_result::poll_study::{LeftOut, PollStudyResult, RuleScore, ScoredPolicy};
use serde_json::{Value, json};

/// The chart of a study: what each rule loses on each pattern when its parameters are chosen
/// without the pattern's source, and when they are chosen on all patterns.
pub(crate) fn chart(result: &PollStudyResult) -> Chart {
    let mut views = vec![
        view(result, "source left out", losses_left_out),
        view(result, "chosen on all", |_, rule| {
            of_policy(&rule.on_average)
        }),
    ];
    views.retain(|view| !view.traces.is_empty());
    Chart {
        id: "poll-study".into(),
        title: "Loss of each rule on each pattern".into(),
        note: "Percent of the objective of the pattern's own best. 100 stands for a broken limit. A gap is a pattern that does not count.".into(),
        height: (260 + 24 * result.rules.len() as u32).min(900),
        wide: true,
        views,
    }
}

/// The loss on one pattern; `None` where a limit is broken, and where the pattern does not count.
#[derive(Default)]
struct Loss<'a> {
    loss: Option<f64>,
    policy: &'a str,
}

/// The losses of one rule by pattern.
type Losses<'a> = Vec<Loss<'a>>;

fn of_policy(scored: &ScoredPolicy) -> Losses<'_> {
    let of = |loss: &Option<f64>| Loss {
        loss: *loss,
        policy: &scored.policy,
    };
    scored.losses.iter().map(of).collect()
}

fn losses_left_out<'a>(result: &PollStudyResult, rule: &'a RuleScore) -> Losses<'a> {
    let left_out: &LeftOut = rule
        .sources_left_out
        .as_ref()
        .unwrap_or(&rule.patterns_left_out);
    let of = |pattern: usize| {
        let found = left_out.each.iter().find(|each| each.pattern == pattern);
        found.map_or_else(Loss::default, |each| Loss {
            loss: each.loss,
            policy: &each.policy,
        })
    };
    (0..result.patterns.len()).map(of).collect()
}

fn view(
    result: &PollStudyResult,
    label: &'static str,
    losses: for<'a> fn(&PollStudyResult, &'a RuleScore) -> Losses<'a>,
) -> View {
    let counts = |pattern: usize| result.patterns[pattern].own_best.is_some();
    let (mut z, mut text) = (Vec::new(), Vec::new());
    for rule in &result.rules {
        let row = losses(result, rule).into_iter().enumerate();
        let (numbers, about): (Vec<Value>, Vec<Value>) = row
            .map(|(pattern, Loss { loss, policy })| match counts(pattern) {
                false => (Value::Null, json!("")),
                true => (
                    value(loss.unwrap_or(1.0) * 100.0),
                    json!(hover(result, pattern, loss, policy)),
                ),
            })
            .unzip();
        z.push(numbers);
        text.push(about);
    }
    let names =
        |all: &mut dyn Iterator<Item = &str>| -> Vec<String> { all.map(chart_text).collect() };
    let traces = match result.rules.is_empty() {
        true => Vec::new(),
        false => vec![json!({
            "type": "heatmap",
            "x": names(&mut result.patterns.iter().map(|p| p.name.as_str())),
            "y": names(&mut result.rules.iter().map(|r| r.rule.as_str())),
            "z": z,
            "text": text,
            "zmin": 0, "zmax": 100,
            "coloraxis": "coloraxis",
            "xgap": 1, "ygap": 1,
            "hovertemplate": "%{text}<extra></extra>",
        })],
    };
    View {
        label,
        traces,
        layout: json!({
            "xaxis": {"type": "category", "showgrid": false, "automargin": true},
            "yaxis": {"type": "category", "showgrid": false, "autorange": "reversed", "automargin": true},
            "coloraxis": {
                "colorscale": "@scale",
                "colorbar": {"title": {"text": "loss, %"}, "thickness": 12, "outlinewidth": 0},
            },
        }),
    }
}

fn hover(result: &PollStudyResult, pattern: usize, loss: Option<f64>, policy: &str) -> String {
    let told = match loss {
        None => "breaks a limit".to_owned(),
        Some(loss) => format!("loses {:.1} %", loss * 100.0),
    };
    format!(
        "{} on {}<br>{told}",
        chart_text(policy),
        chart_text(&result.patterns[pattern].name)
    )
}
