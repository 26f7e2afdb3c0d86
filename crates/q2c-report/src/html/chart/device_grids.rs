//! Throughput over the settings of a device as heat maps.

use super::{Chart, View};
use crate::heat::{Grid, grids};
use crate::html::escape::chart_text;
use q2c_result::bench::BenchResult;
use serde_json::{Value, json};

/// A heat map for each grid of a result.
pub(crate) fn charts(result: &BenchResult) -> Vec<Chart> {
    let grids = grids(result);
    let chart = |(id, grid): (usize, &Grid)| Chart {
        id: format!("grid-{id}"),
        title: "Throughput over the settings of the device".into(),
        note: format!(
            "KIOPS, {}. Crosses: collapse, throughput has fallen for sure. Gaps were not measured.",
            grid.title
        ),
        height: 420,
        wide: true,
        views: vec![View {
            label: "IOPS",
            traces: traces(grid),
            layout: layout(grid),
        }],
    };
    grids.iter().enumerate().map(chart).collect()
}

fn traces(grid: &Grid) -> Vec<Value> {
    let name = |n: &u32| n.to_string();
    let x: Vec<String> = grid.columns.iter().map(name).collect();
    let y: Vec<String> = grid.rows.iter().map(|row| name(&row.value)).collect();
    let z: Vec<&Vec<Option<f64>>> = grid.rows.iter().map(|row| &row.kiops).collect();
    let fallen = grid.rows.iter();
    let fallen: Vec<(String, String)> = fallen
        .filter_map(|row| Some((name(&row.collapse?), name(&row.value))))
        .collect();
    let (at_x, at_y): (Vec<String>, Vec<String>) = fallen.into_iter().unzip();
    vec![
        json!({"type": "heatmap", "x": x, "y": y, "z": z, "coloraxis": "coloraxis",
            "hovertemplate": format!("%{{x}} {}, %{{y}} {}: %{{z:.4g}} KIOPS<extra></extra>",
                chart_text(grid.axes[1]), chart_text(grid.axes[0]))}),
        json!({"type": "scatter", "mode": "markers", "x": at_x, "y": at_y, "showlegend": false,
            "marker": {"symbol": "x", "size": 10}, "hoverinfo": "skip"}),
    ]
}

fn layout(grid: &Grid) -> Value {
    let axis = |name: &str| json!({"type": "category", "title": {"text": name}});
    json!({
        "xaxis": axis(grid.axes[1]),
        "yaxis": axis(grid.axes[0]),
        "coloraxis": {
            "colorscale": "@scale",
            "colorbar": {"title": {"text": "KIOPS"}, "thickness": 12, "outlinewidth": 0},
        },
    })
}
