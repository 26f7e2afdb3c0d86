//! Plots of how well a block size is known: the calibration with the model that was fitted to it,
//! and predicted values against measured ones, where a correct prediction lies on the diagonal.

use super::NS_TO_US;
use super::tune::CellLine;
use crate::plot::{Plot, PlotAxis, PlotSeries, Quantity, View};
use crate::quantity::count;
use q2c_model::WakeDelay;
use q2c_model::stats::{Interval, percentile, sorted};
use q2c_result::tune::{Calibration, CalibrationPoint, Cell, Measured, Prediction};

/// Number of straight pieces that a curve of the model is drawn with.
const CURVE_PIECES: u32 = 60;

pub(crate) fn plots(calibration: &Calibration) -> Vec<Plot> {
    if calibration.points.is_empty() {
        return Vec::new();
    }
    vec![delay(calibration), cpu(calibration), latency(calibration)]
}

fn delay(calibration: &Calibration) -> Plot {
    let cost = &calibration.cost;
    let slept = |p: &&CalibrationPoint| p.asked_ns > 0.0;
    let sleeps: Vec<CalibrationPoint> = calibration.points.iter().filter(slept).copied().collect();
    let mut series = vec![
        points("p50", &sleeps, |p| p.delay_p50_ns).colour("@a"),
        points("p99", &sleeps, |p| p.delay_p99_ns).colour("@b"),
    ];
    // The model of a hit's delay takes the sleep minus the wait; the curve uses the median wait.
    let wait = polled_wait(calibration).unwrap_or(0.0);
    let (clear, hit) = (&cost.wake_clear, &cost.wake_hit);
    for (kind, wake, minus, dash) in [("clear", clear, 0.0, "solid"), ("hit", hit, wait, "dot")] {
        for (name, quantile, colour) in [("p50", 0.5, "@a"), ("p99", 0.99, "@b")] {
            let name = format!("{name}, model, {kind}");
            let delay = |sleep| wake_delay_ns(wake, sleep - minus, quantile);
            series.push(curve(&name, calibration, delay).colour(colour).dash(dash));
        }
    }
    plot("wake-delay", "Calibration: wake-up delay", "wake-up delay, us", series).note(
        "How much later than asked a sleeper wakes. Dots: measured; lines: the fitted model, where the completion \
         comes after the wake-up (clear, solid) and where it came before (hit, dotted, for the median latency).",
    )
}

fn cpu(calibration: &Calibration) -> Plot {
    let cost = &calibration.cost;
    let clear = |sleep| cost.sleep_cpu_clear_ns.value_at(sleep);
    let hit = |sleep| cost.sleep_cpu_hit_ns.value_at(sleep);
    let measured = &calibration.points;
    let series = vec![
        points("per I/O, measured", measured, |p| p.cpu_ns).colour("@poll"),
        curve("of a clear sleep alone, model", calibration, clear).colour("@poll"),
        curve("of a hit sleep alone, model", calibration, hit)
            .colour("@poll")
            .dash("dot"),
    ];
    plot("sleep-cpu", "Calibration: CPU", "CPU, us", series).note(
        "Thread CPU of an I/O, and the part of it that arming, leaving and returning cost. At 0 the thread only polls.",
    )
}

fn latency(calibration: &Calibration) -> Plot {
    let added = &calibration.cost.added_latency_ns;
    let measured = &calibration.points;
    let mut series = vec![points("p50, measured", measured, |p| p.wait_p50_ns).colour("@c")];
    series.extend(polled_wait(calibration).map(|polled| {
        let wait = |sleep| polled + added.value_at(sleep);
        curve("polled + added by sleeping, model", calibration, wait).colour("@c")
    }));
    plot("sleep-latency", "Calibration: latency", "wait, us", series).note(
        "Median wait from the submission's return. Where the dots leave the line, sleeps outlast the device.",
    )
}

/// The median wait of polling without a sleep, ns; `None` if that point was not measured.
fn polled_wait(calibration: &Calibration) -> Option<f64> {
    let polled = calibration.points.iter().find(|p| p.asked_ns == 0.0);
    polled.map(|p| p.wait_p50_ns)
}

/// The model's wake-up delay after a sleep, ns, at one quantile of its random part.
fn wake_delay_ns(wake: &WakeDelay, sleep_ns: f64, quantile: f64) -> f64 {
    let z = (!wake.z.is_empty()).then(|| percentile(&sorted(&wake.z), quantile));
    wake.base_ns.value_at(sleep_ns) + wake.spread_ns.value_at(sleep_ns) * z.unwrap_or(0.0)
}

fn plot(id: &str, title: &'static str, y: &str, series: Vec<PlotSeries>) -> Plot {
    let [x, y] = ["sleep asked, us", y].map(PlotAxis::from_zero);
    let view = View::new(title, x, y).series(series);
    Plot::new(id, title, 340).narrow().view(view)
}

const HOVER: &str = "asked {x} us: {y} us";

fn points(
    name: &str,
    points: &[CalibrationPoint],
    get: fn(&CalibrationPoint) -> f64,
) -> PlotSeries {
    let us = |p: &CalibrationPoint| (p.asked_ns * NS_TO_US, get(p) * NS_TO_US);
    let dots = PlotSeries::dots(name, points.iter().map(us)).size(7.0);
    let dots = dots.texts(points.iter().map(|p: &CalibrationPoint| {
        format!("{} I/Os, {:.1} % missed", count(p.ios), p.miss_rate * 100.0)
    }));
    dots.hover(format!("{HOVER}\n{{text}}"))
}

fn curve(name: &str, calibration: &Calibration, get: impl Fn(f64) -> f64) -> PlotSeries {
    let asked = calibration.points.iter().map(|p| p.asked_ns);
    let longest = asked.fold(0.0, f64::max);
    let sleeps = (0..=CURVE_PIECES).map(|step| longest * f64::from(step) / f64::from(CURVE_PIECES));
    let us = |sleep: f64| (sleep * NS_TO_US, get(sleep) * NS_TO_US);
    let line = PlotSeries::line(name, sleeps.map(us));
    line.width(1.5).hover(HOVER)
}

/// A quantity whose prediction is compared with its measurement.
type FidelityQuantity = (Quantity<Prediction>, fn(&Measured) -> Interval);

pub(crate) fn fidelity_plots(lines: &[CellLine<'_>]) -> [Plot; 3] {
    type PredictionQuantity = Quantity<Prediction>;
    let iops = PredictionQuantity::new("Prediction: IOPS", "KIOPS", 1e-3, |p| p.rates.iops);
    let cpu = PredictionQuantity::new("Prediction: CPU", "%", 1.0, |p| p.rates.cpu_pct);
    let miss = PredictionQuantity::new("Prediction: miss rate", "%", 100.0, |p| p.rates.miss_rate);
    [
        fidelity_plot(lines, "fidelity-iops", &(iops, |m| m.rates.iops)),
        fidelity_plot(lines, "fidelity-cpu", &(cpu, |m| m.rates.cpu_pct)),
        fidelity_plot(lines, "fidelity-miss", &(miss, |m| m.rates.miss_rate)),
    ]
}

fn fidelity_plot(lines: &[CellLine<'_>], id: &str, quantity: &FidelityQuantity) -> Plot {
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
        let numbers = predictions(cell).map(move |p| (predicted.value)(&p));
        numbers.chain([measured.min, measured.max])
    }));
    let ends = [low, high].map(|end| (end * predicted.scale, end * predicted.scale));
    let line = PlotSeries::line("", ends);
    line.pen("@muted", 1.0).without_hover()
}
