//! Run time of computing tasks by policy, one chart for each set-up.

use super::{Chart, View, axis, values};
use crate::place;
use q2c_result::place::{PlaceSimResult, PolicyFigures, Setup};
use serde_json::{Value, json};

/// The charts of all set-ups.
pub(crate) fn charts(result: &PlaceSimResult) -> Vec<Chart> {
    let setups = result.setups.iter().enumerate();
    setups.map(|(nth, setup)| chart(nth, setup)).collect()
}

fn chart(nth: usize, setup: &Setup) -> Chart {
    let views = vec![
        View {
            label: "run time of C",
            traces: vec![times(setup)],
            layout: axis::single(&axis::titled(""), &axis::from_zero("times alone")),
        },
        View {
            label: "where P is",
            traces: states(setup),
            layout: stacked(),
        },
    ];
    Chart {
        id: format!("place-{nth}"),
        title: "By policy".into(),
        note: format!(
            "{}. Bars: mean over the starts, with 95 % of them; shares of time.",
            place::title(setup)
        ),
        height: 420,
        wide: true,
        views,
    }
}

fn stacked() -> Value {
    let mut layout = axis::single(&axis::titled(""), &axis::from_zero("% of time"));
    layout["barmode"] = json!("stack");
    layout
}

fn names(setup: &Setup) -> Vec<&'static str> {
    setup
        .policies
        .iter()
        .map(|of| place::policy(of.policy))
        .collect()
}

fn over(setup: &Setup, of: fn(&PolicyFigures) -> f64, scale: f64) -> Value {
    let all: Vec<f64> = setup.policies.iter().map(of).collect();
    values(&all, scale)
}

fn times(setup: &Setup) -> Value {
    json!({
        "type": "bar",
        "name": "run time of C",
        "x": names(setup),
        "y": over(setup, |of| of.c_slowdown, 1.0),
        "marker": {"color": "@chosen"},
        "error_y": {
            "type": "data",
            "color": "@ink",
            "symmetric": false,
            "array": over(setup, |of| of.c_slowdown_high - of.c_slowdown, 1.0),
            "arrayminus": over(setup, |of| of.c_slowdown - of.c_slowdown_low, 1.0),
        },
        "hovertemplate": "%{y:.3f} times alone",
    })
}

fn states(setup: &Setup) -> Vec<Value> {
    let state = |name: &str, colour: &str, of: fn(&PolicyFigures) -> f64| {
        json!({
            "type": "bar",
            "name": name,
            "x": names(setup),
            "y": over(setup, of, 100.0),
            "marker": {"color": colour},
            "hovertemplate": "%{y:.1f} %",
        })
    };
    vec![
        state("colocate", "@chosen", |of| of.states.colocate),
        state("spread", "@a", |of| of.states.spread),
        state("bunch", "@poll", |of| of.states.bunch),
        state("heap", "@d", |of| of.states.heap),
    ]
}
