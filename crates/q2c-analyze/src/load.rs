//! Latencies and I/Os in flight over time.

use crate::windows::{GrowingWindows, Mergeable};
use q2c_result::analyze::Load;
use q2c_trace::span::NONE;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Number of latency classes: four for each doubling of the latency in ns.
const CLASSES: usize = 64 * 4;

/// The class of a latency: its highest binary digit and the two digits after it.
fn class(ns: u64) -> usize {
    let octave = ns.max(1).ilog2();
    let quarter = octave.checked_sub(2).map_or(0, |shift| ns >> shift & 3);
    octave as usize * 4 + quarter as usize
}

fn lower_end(class: usize) -> u64 {
    let (octave, quarter) = (class / 4, (class % 4) as u64);
    if octave < 2 {
        1 << octave
    } else {
        (4 + quarter) << (octave - 2)
    }
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct LoadWindow {
    requests: u64,
    in_flight_ns: u64,
    #[serde(serialize_with = "store_classes", deserialize_with = "read_classes")]
    classes: Box<[u32; CLASSES]>,
}

/// Serialises the classes that are not empty, as (class, count).
fn store_classes<S: Serializer>(classes: &[u32; CLASSES], to: S) -> Result<S::Ok, S::Error> {
    let counts = (0_u32..).zip(classes).filter(|(_, n)| **n > 0);
    counts.collect::<Vec<(u32, &u32)>>().serialize(to)
}

fn read_classes<'de, D: Deserializer<'de>>(from: D) -> Result<Box<[u32; CLASSES]>, D::Error> {
    let mut classes = Box::new([0; CLASSES]);
    for (class, n) in Vec::<(u32, u32)>::deserialize(from)? {
        let count = classes.get_mut(class as usize);
        *count.ok_or_else(|| D::Error::custom("a class of latencies that there is not"))? = n;
    }
    Ok(classes)
}

impl Default for LoadWindow {
    fn default() -> Self {
        LoadWindow {
            requests: 0,
            in_flight_ns: 0,
            classes: Box::new([0; CLASSES]),
        }
    }
}

impl Mergeable for LoadWindow {
    fn join(&mut self, other: Self) {
        self.requests.join(other.requests);
        self.in_flight_ns.join(other.in_flight_ns);
        for (sum, n) in self.classes.iter_mut().zip(other.classes.iter()) {
            *sum = sum.saturating_add(*n);
        }
    }
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Loads(pub(crate) GrowingWindows<LoadWindow>);

impl Loads {
    /// Takes an I/O by its queueing and completion times, ns; `to` is [`NONE`] if it never
    /// completes.
    pub(crate) fn add(&mut self, from: u64, to: u64) {
        let window = self.0.window_mut(from);
        window.requests += 1;
        if to == NONE {
            return;
        }
        let to = to.max(from);
        let count = &mut window.classes[class(to - from)];
        *count = count.saturating_add(1);
        self.0.add_between(from, to, |window, part| {
            window.in_flight_ns.join(part);
        });
    }

    pub(crate) fn loads(&self, origin: u64) -> Vec<Load> {
        let load = |(start_ns, length_ns, window): (u64, u64, &LoadWindow)| {
            let classes = window.classes.iter().enumerate().filter(|(_, n)| **n > 0);
            let latencies = classes.map(|(class, n)| (lower_end(class), u64::from(*n)));
            Load {
                start_ns,
                length_ns,
                requests: window.requests,
                in_flight: window.in_flight_ns as f64 / length_ns as f64,
                latencies: latencies.collect(),
            }
        };
        self.0.iter(origin).map(load).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_begins_at_its_lower_end_and_ends_before_the_next() {
        let ends = [1, 2, 3, 4, 5, 9, 1000, 80_000, 81_920].map(|ns| lower_end(class(ns)));
        assert_eq!(ends, [1, 2, 2, 4, 5, 8, 896, 65_536, 81_920]);
        assert_eq!(lower_end(class(u64::MAX)), 7 << 61);
        assert_eq!(class(0), 0);
    }

    #[test]
    fn time_in_flight_is_spread_over_the_windows_it_lies_in() {
        let mut loads = Loads::default();
        let window = 1 << 20;
        loads.add(window / 4, window / 2);
        loads.add(window / 2, 2 * window);
        let in_windows = loads.loads(window / 4);
        let in_flight: Vec<f64> = in_windows.iter().map(|load| load.in_flight).collect();
        assert_eq!(in_flight, [1.0, 1.0, 0.0]);
        // The first window begins with the trace.
        let times: Vec<(u64, u64)> = in_windows
            .iter()
            .map(|l| (l.start_ns, l.length_ns))
            .collect();
        let (first, second) = (window / 4 * 3, window / 4 * 7);
        assert_eq!(times, [(0, first), (first, window), (second, window)]);
        assert_eq!(in_windows[0].requests, 2);
        assert_eq!(in_windows[1].requests, 0);
    }

    #[test]
    fn windows_are_joined_when_the_trace_is_long() {
        let mut loads = Loads::default();
        let second = 1_000_000_000;
        for at in 0..600 {
            loads.add(at * second, at * second + second / 2);
        }
        let in_windows = loads.loads(0);
        assert!(in_windows.len() <= 512, "{} windows", in_windows.len());
        assert_eq!(
            in_windows.iter().map(|load| load.requests).sum::<u64>(),
            600
        );
        let busy = in_windows.iter().map(|l| l.in_flight * l.length_ns as f64);
        let busy: f64 = busy.sum();
        assert!((busy - 300e9).abs() < 1.0, "{busy} ns");
    }
}
