//! Predicted values against measured ones. A correct prediction lies on the diagonal.

use super::tune::CellLine;
use crate::plot::{Plot, PlotAxis, PlotSeries, Quantity, View};
use q2c_model::stats::Interval;
use q2c_result::tune::{Cell, Measured, Prediction};

/// A quantity whose prediction is compared with its measurement.
type FidelityQuantity = (Quantity<Prediction>, fn(&Measured) -> Interval);

pub(crate) fn plots(lines: &[CellLine<'_>]) -> [Plot; 3] {
    type PredictionQuantity = Quantity<Prediction>;
    let iops = PredictionQuantity::new("Prediction: IOPS", "KIOPS", 1e-3, |p| p.rates.iops);
    let cpu = PredictionQuantity::new("Prediction: CPU", "%", 1.0, |p| p.rates.cpu_pct);
    let miss = PredictionQuantity::new("Prediction: miss rate", "%", 100.0, |p| p.rates.miss_rate);
    [
        plot(lines, "fidelity-iops", &(iops, |m| m.rates.iops)),
        plot(lines, "fidelity-cpu", &(cpu, |m| m.rates.cpu_pct)),
        plot(lines, "fidelity-miss", &(miss, |m| m.rates.miss_rate)),
    ]
}

fn plot(lines: &[CellLine<'_>], id: &str, quantity: &FidelityQuantity) -> Plot {
    let &(Quantity { label, axis, .. }, _) = quantity;
    let compared = lines.iter().filter_map(|line| compared(line, quantity));
    let compared: Vec<PlotSeries> = compared.collect();
    let diagonal = (!compared.is_empty()).then(|| diagonal(lines, quantity));
    let axis = |side: &str| PlotAxis::new(format!("{side}, {axis}"));
    let view = View::new(label, axis("predicted"), axis("measured")).legend(false);
    let view = view.series(diagonal).series(compared);
    Plot::new(id, label, 320)
        .note(
            "Sleeping cells. Full: predicted from the polled slices around each trial; hollow: from the first \
             recording, so with the device's drift.",
        )
        .narrow()
        .view(view)
}

/// The predictions of a cell, the paired one first.
fn predictions(cell: &Cell) -> impl Iterator<Item = Prediction> {
    [cell.predicted, cell.predicted_first].into_iter().flatten()
}

/// A cell's measured value over its prediction and, if there is one, over its first prediction,
/// joined by a line.
fn compared(line: &CellLine<'_>, quantity: &FidelityQuantity) -> Option<PlotSeries> {
    let (cell, (predicted, measured)) = (line.cell, quantity);
    let measured = measured(&cell.measured);
    let points = predictions(cell).map(|p| (predicted.figure(&p), measured));
    let series = PlotSeries::medians(&line.name, points, predicted.scale)
        .pen(line.colour, 1.0)
        .dash("dot")
        .size(9.0)
        .symbols(["circle", "circle-open"])
        .hover("predicted {x}, measured {y} ".to_owned() + predicted.axis);
    let is_compared = cell.predicted.is_some() && cell.sleeping && measured.trials > 0;
    is_compared.then_some(series)
}

/// The diagonal, from the smallest to the largest number of the plot.
fn diagonal(lines: &[CellLine<'_>], (predicted, measured): &FidelityQuantity) -> PlotSeries {
    let cells = lines.iter().map(|line| line.cell);
    let (low, high) = super::span(cells.filter(|cell| cell.sleeping).flat_map(|cell| {
        let measured = measured(&cell.measured);
        let numbers = predictions(cell).map(move |p| (predicted.of)(&p));
        numbers.chain([measured.min, measured.max])
    }));
    let ends = [low, high].map(|end| (end * predicted.scale, end * predicted.scale));
    let line = PlotSeries::line("", ends);
    line.pen("@muted", 1.0).without_hover()
}
