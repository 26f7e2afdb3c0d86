//! Throughput over the settings of a device as heat maps.

use crate::heat::{ThroughputGrid, grids};
use crate::plot::{Colours, Plot, PlotAxis, PlotSeries, View};
use q2c_result::bench::BenchResult;

pub(crate) fn plots(result: &BenchResult) -> Vec<Plot> {
    const TITLE: &str = "Throughput over the settings of the device";
    let plot = |(id, grid): (usize, &ThroughputGrid)| {
        let note = format!(
            "KIOPS, {}. Crosses: collapse, throughput has fallen for sure. Gaps were not measured.",
            grid.title
        );
        let plot = Plot::new(format!("grid-{id}"), TITLE, 420);
        plot.note(note).view(view(grid))
    };
    grids(result).iter().enumerate().map(plot).collect()
}

fn view(grid: &ThroughputGrid) -> View {
    let [rows, columns] = grid.axes;
    let map = PlotSeries::heat_map(
        grid.columns.iter().map(u32::to_string).collect(),
        grid.rows.iter().map(|row| row.value.to_string()).collect(),
        grid.rows.iter().map(|row| row.kiops.clone()),
    );
    let fallen = grid.rows.iter();
    let fallen = fallen.filter_map(|row| Some((row.collapse?.to_string(), row.value.to_string())));
    let crosses = PlotSeries::dots("", fallen).unlisted().without_hover();
    View::new("IOPS", PlotAxis::names(columns), PlotAxis::names(rows))
        .colours(Colours::new("KIOPS"))
        .series([
            map.hover_alone(format!("{{x}} {columns}, {{y}} {rows}: {{z:.4g}} KIOPS")),
            crosses.symbol("x").size(10.0),
        ])
}
