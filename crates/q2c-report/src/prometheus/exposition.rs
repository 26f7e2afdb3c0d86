//! A page of metrics in the text format 0.0.4.

use q2c_result::live::LatencyCounts;
use std::fmt::Write;

/// log2 (ns) of the starts of the octaves whose starts and middles bound the latency buckets: 512
/// ns to 17 s.
const OCTAVES: std::ops::RangeInclusive<u32> = 9..=34;

/// A page that is being written. Each metric is written once, with all its samples.
pub(super) struct Exposition {
    /// The value of the label `device`, which every sample has.
    device: String,
    text: String,
}

impl Exposition {
    pub(crate) fn new(device: &str) -> Self {
        Exposition {
            device: format!("device=\"{}\"", escaped(device)),
            text: String::new(),
        }
    }

    /// A count that only grows, by its name without the prefix `q2c_` and the suffix `_total`.
    pub(crate) fn count(&mut self, name: &str, value: u64, help: &str) {
        self.counter(name, help, value as f64);
    }

    /// A value that only grows, by its name without the prefix `q2c_` and the suffix `_total`.
    pub(crate) fn counter(&mut self, name: &str, help: &str, value: f64) {
        let name = format!("q2c_{name}_total");
        self.head(&name, help, "counter");
        self.sample(&name, "", value);
    }

    /// A value that rises and falls.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, help, "gauge");
        self.sample(name, "", value);
    }

    /// Values that only grow, one for each stage.
    pub(crate) fn by_stage(&mut self, name: &str, help: &str, values: &[(&String, f64)]) {
        self.head(name, help, "counter");
        for (stage, value) in values {
            self.sample(name, &labelled("stage", stage), *value);
        }
    }

    /// The method in force as a label of a gauge that is 1.
    pub(crate) fn method(&mut self, method: &str) {
        self.head("q2c_method_info", "The method in force.", "gauge");
        self.sample("q2c_method_info", &labelled("method", method), 1.0);
    }

    /// Latencies in buckets. Latencies are whole ns, so each bound is 1 ns below a power of two or
    /// below the middle between two.
    pub(crate) fn histogram(&mut self, name: &str, help: &str, latency: &LatencyCounts) {
        self.head(name, help, "histogram");
        let bucket = format!("{name}_bucket");
        for octave in OCTAVES {
            for bound_ns in [1_u64 << octave, 3 << (octave - 1)] {
                let le = ((bound_ns - 1) as f64 / 1e9).to_string();
                let below = latency.below(bound_ns) as f64;
                self.sample(&bucket, &labelled("le", &le), below);
            }
        }
        self.sample(&bucket, ",le=\"+Inf\"", latency.ios as f64);
        self.sample(&format!("{name}_sum"), "", latency.sum_ns as f64 / 1e9);
        self.sample(&format!("{name}_count"), "", latency.ios as f64);
    }

    pub fn text(self) -> String {
        self.text
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        // Writing to a string cannot fail.
        writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}").ok();
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        writeln!(self.text, "{name}{{{}{labels}}} {value}", self.device).ok();
    }
}

fn labelled(label: &str, value: &str) -> String {
    format!(",{label}=\"{}\"", escaped(value))
}

/// Escapes the value of a label for its place between quotes.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', r"\\").replace('"', r#"\""#);
    value.replace('\n', r"\n")
}
