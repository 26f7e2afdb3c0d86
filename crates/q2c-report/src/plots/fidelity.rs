//! Predicted against measured values. A point on the diagonal is a prediction that was right.

use super::cell_lines::CellLine;
use crate::plot::{Axis, Plot, Series, View};
use q2c_result::tune::{Measured, Prediction};
use q2c_stats::Interval;

/// A quantity whose prediction is compared with its measurement.
struct Compared {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    scale: f64,
    predicted: fn(&Prediction) -> f64,
    measured: fn(&Measured) -> &Interval,
}

const QUANTITIES: [Compared; 3] = [
    Compared {
        id: "fidelity-iops",
        title: "Prediction: IOPS",
        unit: "KIOPS",
        scale: 1e-3,
        predicted: |p| p.rates.iops,
        measured: |m| &m.rates.iops,
    },
    Compared {
        id: "fidelity-cpu",
        title: "Prediction: CPU",
        unit: "%",
        scale: 1.0,
        predicted: |p| p.rates.cpu_pct,
        measured: |m| &m.rates.cpu_pct,
    },
    Compared {
        id: "fidelity-miss",
        title: "Prediction: miss rate",
        unit: "%",
        scale: 100.0,
        predicted: |p| p.rates.miss_rate,
        measured: |m| &m.rates.miss_rate,
    },
];

/// A plot for each quantity, over the sleeping cells.
pub(crate) fn plots(lines: &[CellLine<'_>]) -> Vec<Plot> {
    let plots = QUANTITIES.iter();
    plots.map(|quantity| plot(lines, quantity)).collect()
}

fn plot(lines: &[CellLine<'_>], quantity: &Compared) -> Plot {
    let compared = lines.iter().filter_map(|line| compared(line, quantity));
    let compared: Vec<Series> = compared.collect();
    let diagonal = (!compared.is_empty()).then(|| diagonal(lines, quantity));
    let axis = |side: &str| Axis::new(format!("{side}, {}", quantity.unit));
    let view = View::new(quantity.title, axis("predicted"), axis("measured"))
        .legend(false)
        .series(diagonal)
        .series(compared);
    Plot::new(quantity.id, quantity.title, 320)
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
    let measured = *(quantity.measured)(&line.cell.measured);
    let paired = line.cell.predicted;
    let paired = paired.filter(|_| line.cell.sleeping && measured.trials > 0)?;
    let points = [Some(paired), line.cell.predicted_first]
        .into_iter()
        .flatten();
    let points = points.map(|p| ((quantity.predicted)(&p) * quantity.scale, measured));
    Some(
        Series::medians(&line.name, points, quantity.scale)
            .colour(line.colour)
            .width(1.0)
            .dash("dot")
            .size(9.0)
            .symbols(["circle", "circle-open"])
            .hover(format!("predicted {{x}}, measured {{y}} {}", quantity.unit)),
    )
}

/// The diagonal, from the smallest to the largest number in the plot.
fn diagonal(lines: &[CellLine<'_>], quantity: &Compared) -> Series {
    let cells = lines.iter().map(|line| line.cell);
    let numbers = cells.filter(|cell| cell.sleeping).flat_map(|cell| {
        let measured = (quantity.measured)(&cell.measured);
        let predicted = [cell.predicted, cell.predicted_first].into_iter().flatten();
        let predicted = predicted.map(|p| (quantity.predicted)(&p));
        predicted.chain([measured.min, measured.max])
    });
    let (low, high) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
        (low.min(number), high.max(number))
    });
    let ends = [low, high].map(|end| (end * quantity.scale, end * quantity.scale));
    Series::line("", ends)
        .colour("@muted")
        .width(1.0)
        .without_hover()
}
