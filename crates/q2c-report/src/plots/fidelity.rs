//! Predicted against measured values. A point on the diagonal is a prediction that was right.

use super::cell_lines::CellLine;
use crate::plot::{Axis, Plot, Quantity, Series, View};
use q2c_result::tune::{Measured, Prediction};
use q2c_stats::Interval;

/// A quantity whose prediction is compared with its measurement.
struct Compared {
    id: &'static str,
    predicted: Quantity<Prediction>,
    measured: fn(&Measured) -> Interval,
}

const QUANTITIES: [Compared; 3] = [
    Compared {
        id: "fidelity-iops",
        predicted: Quantity::new("Prediction: IOPS", "KIOPS", 1e-3, |p| p.rates.iops),
        measured: |m| m.rates.iops,
    },
    Compared {
        id: "fidelity-cpu",
        predicted: Quantity::new("Prediction: CPU", "%", 1.0, |p| p.rates.cpu_pct),
        measured: |m| m.rates.cpu_pct,
    },
    Compared {
        id: "fidelity-miss",
        predicted: Quantity::new("Prediction: miss rate", "%", 100.0, |p| p.rates.miss_rate),
        measured: |m| m.rates.miss_rate,
    },
];

/// A plot for each quantity, over the sleeping cells.
pub(crate) fn plots(lines: &[CellLine<'_>]) -> Vec<Plot> {
    let plots = QUANTITIES.iter();
    plots.map(|quantity| plot(lines, quantity)).collect()
}

fn plot(lines: &[CellLine<'_>], quantity: &Compared) -> Plot {
    let Quantity {
        label, axis: unit, ..
    } = quantity.predicted;
    let compared = lines.iter().filter_map(|line| compared(line, quantity));
    let compared: Vec<Series> = compared.collect();
    let diagonal = (!compared.is_empty()).then(|| diagonal(lines, quantity));
    let axis = |side: &str| Axis::new(format!("{side}, {}", unit));
    let view = View::new(label, axis("predicted"), axis("measured"))
        .legend(false)
        .series(diagonal)
        .series(compared);
    Plot::new(quantity.id, label, 320)
        .note(
            "Sleeping cells. Full: predicted from the polled slices around each trial; hollow: from the first \
             recording, so with the device's drift.",
        )
        .narrow()
        .view(view)
}

/// A cell's measured value over its prediction, and over its first prediction if there is one,
/// joined by a line.
fn compared(line: &CellLine<'_>, quantity: &Compared) -> Option<Series> {
    let Quantity {
        axis: unit,
        scale,
        of: predicted,
        ..
    } = quantity.predicted;
    let measured = (quantity.measured)(&line.cell.measured);
    let paired = line.cell.predicted;
    let paired = paired.filter(|_| line.cell.sleeping && measured.trials > 0)?;
    let points = [Some(paired), line.cell.predicted_first]
        .into_iter()
        .flatten();
    let points = points.map(|p| (predicted(&p) * scale, measured));
    Some(
        Series::medians(&line.name, points, scale)
            .pen(line.colour, 1.0)
            .dash("dot")
            .size(9.0)
            .symbols(["circle", "circle-open"])
            .hover(format!("predicted {{x}}, measured {{y}} {}", unit)),
    )
}

/// The diagonal, from the smallest to the largest number in the plot.
fn diagonal(lines: &[CellLine<'_>], quantity: &Compared) -> Series {
    let Quantity {
        scale,
        of: predicted,
        ..
    } = quantity.predicted;
    let cells = lines.iter().map(|line| line.cell);
    let numbers = cells.filter(|cell| cell.sleeping).flat_map(|cell| {
        let measured = (quantity.measured)(&cell.measured);
        let predictions = [cell.predicted, cell.predicted_first].into_iter().flatten();
        let numbers = predictions.map(|p| predicted(&p));
        numbers.chain([measured.min, measured.max])
    });
    let (low, high) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
        (low.min(number), high.max(number))
    });
    let ends = [low, high].map(|end| (end * scale, end * scale));
    Series::line("", ends).pen("@muted", 1.0).without_hover()
}
