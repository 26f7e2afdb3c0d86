//! Charts of the calibration: the measured points, and the model that was fitted to them.

use super::{Chart, View, axis, value};
use q2c_model::WakeDelay;
use q2c_result::tune::{Calibration, CalibrationPoint};
use q2c_stats::{percentile, sorted};
use serde_json::{Value, json};

const NS_TO_US: f64 = 1e-3;
/// Number of steps in which a fitted curve is drawn.
const STEPS: u32 = 60;

/// The charts of wake-up delay, CPU and latency over the sleep asked.
pub(crate) fn charts(calibration: &Calibration) -> Vec<Chart> {
    if calibration.points.is_empty() {
        return Vec::new();
    }
    vec![delay(calibration), cpu(calibration), latency(calibration)]
}

fn delay(calibration: &Calibration) -> Chart {
    let cost = &calibration.cost;
    let slept = |p: &&CalibrationPoint| p.asked_ns > 0.0;
    let sleeps: Vec<CalibrationPoint> = calibration.points.iter().filter(slept).copied().collect();
    let mut traces = vec![
        points("p50", &sleeps, "@a", |p| p.delay_p50_ns),
        points("p99", &sleeps, "@b", |p| p.delay_p99_ns),
    ];
    // The model of a hit's delay is over the sleep less the latency; it is drawn for the median
    // latency.
    let latency = polled_wait(calibration).unwrap_or(0.0);
    let fits = [
        ("clear", &cost.wake_clear, 0.0, "solid"),
        ("hit", &cost.wake_hit, latency, "dot"),
    ];
    for (what, wake, less, dash) in fits {
        for (name, quantile, colour) in [("p50", 0.5, "@a"), ("p99", 0.99, "@b")] {
            let name = format!("{name}, model, {what}");
            traces.push(curve(&name, calibration, (colour, dash), |s| {
                late(wake, s - less, quantile)
            }));
        }
    }
    chart(
        "wake-delay",
        "Calibration: wake-up delay",
        "How much later than asked a sleeper wakes. Dots: measured; lines: the fitted model, where the completion \
         comes after the wake-up (clear, solid) and where it came before (hit, dotted, for the median latency).",
        traces,
        "wake-up delay, us",
    )
}

fn cpu(calibration: &Calibration) -> Chart {
    let cost = &calibration.cost;
    let traces = vec![
        points("per I/O, measured", &calibration.points, "@poll", |p| {
            p.cpu_ns
        }),
        curve(
            "of a clear sleep alone, model",
            calibration,
            ("@poll", "solid"),
            |s| cost.sleep_cpu_clear_ns.at(s),
        ),
        curve(
            "of a hit sleep alone, model",
            calibration,
            ("@poll", "dot"),
            |s| cost.sleep_cpu_hit_ns.at(s),
        ),
    ];
    chart(
        "sleep-cpu",
        "Calibration: CPU",
        "Thread CPU of an I/O, and the part of it that arming, leaving and returning cost. At 0 the thread only polls.",
        traces,
        "CPU, us",
    )
}

fn latency(calibration: &Calibration) -> Chart {
    let cost = &calibration.cost;
    let polled = polled_wait(calibration);
    let mut traces = vec![points("p50, measured", &calibration.points, "@c", |p| {
        p.wait_p50_ns
    })];
    traces.extend(polled.map(|polled| {
        let name = "polled + added by sleeping, model";
        curve(name, calibration, ("@c", "solid"), |s| {
            polled + cost.added_latency_ns.at(s)
        })
    }));
    chart(
        "sleep-latency",
        "Calibration: latency",
        "Median wait from the submission's return. Where the dots leave the line, sleeps outlast the device.",
        traces,
        "wait, us",
    )
}

/// Median wait of polling without a sleep, ns; `None` when that point was not measured.
fn polled_wait(calibration: &Calibration) -> Option<f64> {
    let polled = calibration.points.iter().find(|p| p.asked_ns == 0.0);
    polled.map(|p| p.wait_p50_ns)
}

/// The model's wake-up delay after a sleep, ns, at one quantile of its deviation.
fn late(wake: &WakeDelay, sleep_ns: f64, quantile: f64) -> f64 {
    let z = match wake.z.is_empty() {
        true => 0.0,
        false => percentile(&sorted(&wake.z), quantile),
    };
    wake.base_ns.at(sleep_ns) + wake.spread_ns.at(sleep_ns) * z
}

fn chart(id: &str, title: &'static str, note: &str, traces: Vec<Value>, y: &str) -> Chart {
    Chart {
        id: id.into(),
        title: title.into(),
        note: note.into(),
        height: 340,
        wide: false,
        views: vec![View {
            label: title,
            traces,
            layout: axis::single(&axis::from_zero("sleep asked, us"), &axis::from_zero(y)),
        }],
    }
}

fn points(
    name: &str,
    points: &[CalibrationPoint],
    colour: &str,
    of: fn(&CalibrationPoint) -> f64,
) -> Value {
    let about = |p: &CalibrationPoint| {
        let ios = crate::quantity::count(p.ios);
        format!("{ios} I/Os, {:.1} % missed", p.miss_rate * 100.0)
    };
    json!({
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": points.iter().map(|p| value(p.asked_ns * NS_TO_US)).collect::<Vec<_>>(),
        "y": points.iter().map(|p| value(of(p) * NS_TO_US)).collect::<Vec<_>>(),
        "text": points.iter().map(about).collect::<Vec<_>>(),
        "marker": {"color": colour, "size": 7},
        "hovertemplate": "asked %{x} us: %{y} us<br>%{text}",
    })
}

fn curve(
    name: &str,
    calibration: &Calibration,
    (colour, dash): (&str, &str),
    at: impl Fn(f64) -> f64,
) -> Value {
    let longest = calibration
        .points
        .iter()
        .map(|p| p.asked_ns)
        .fold(0.0, f64::max);
    let sleeps: Vec<f64> = (0..=STEPS)
        .map(|i| longest * f64::from(i) / f64::from(STEPS))
        .collect();
    json!({
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": super::values(&sleeps, NS_TO_US),
        "y": sleeps.iter().map(|s| value(at(*s) * NS_TO_US)).collect::<Vec<_>>(),
        "line": {"color": colour, "dash": dash, "width": 1.5},
        "hovertemplate": "asked %{x} us: %{y} us",
    })
}
