//! Every file of the library can be simulated, states its origin, and differs from all others.

use q2c_model::Bytes;
use q2c_study::{LaneStorage, SimTrace, SourceOptions, read_library};
use q2c_trace::samples::PATTERNS;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const MAX_LIBRARY_BYTES: usize = 3 << 20;
const FACTS: [&str; 5] = ["source", "device", "how", "date", "terms"];
/// The Kolmogorov-Smirnov distance of latencies below which two patterns count as the same.
const MIN_DISTANCE: f64 = 0.05;

fn library() -> Vec<SimTrace> {
    let folder = tempfile::tempdir().expect("a folder");
    let options = SourceOptions::as_stated(LaneStorage {
        memory: Bytes(1 << 30),
        folder: folder.path().to_owned(),
        new_file: |_| Err(io::ErrorKind::Unsupported.into()),
    });
    let read = read_library(&options, &AtomicBool::new(false));
    read.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_library_is_the_folder_and_small() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../q2c-trace/patterns");
    let files = fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let names: BTreeSet<String> = names.filter(|name| name.ends_with(".parquet")).collect();
    let library_files = PATTERNS
        .iter()
        .map(|pattern| format!("{}.parquet", pattern.name));
    let library_files: Vec<String> = library_files.collect();
    assert!(library_files.is_sorted());
    assert!(names.iter().eq(&library_files), "{names:?}");
    let bytes: usize = PATTERNS.iter().map(|pattern| pattern.bytes.len()).sum();
    assert!(bytes <= MAX_LIBRARY_BYTES, "{bytes} bytes");
}

#[test]
fn every_pattern_says_how_it_was_made() {
    for trace in library() {
        let path = &trace.input.path;
        assert!(trace.input.ios >= 1_000, "{path}: {}", trace.input.ios);
        for fact in FACTS {
            let value = trace.facts.get(&format!("pattern.{fact}"));
            assert!(value.is_some_and(|v| !v.is_empty()), "{path}: {fact}");
        }
        // A recording of a sleeping method would contain its own oversleep.
        assert_ne!(trace.input.taken_as.kernel_slept, Some(true), "{path}");
    }
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    let below =
        |values: &[f32], x: f32| values.partition_point(|&v| v <= x) as f64 / values.len() as f64;
    let apart = |&x: &f32| (below(a, x) - below(b, x)).abs();
    a.iter().chain(b).map(apart).fold(0.0, f64::max)
}

#[test]
fn no_two_patterns_are_the_same() {
    let waits = |trace: &SimTrace| -> Vec<f32> {
        let lanes = trace.lanes.iter().flat_map(|lane| lane.wait.iter());
        let mut sorted: Vec<f32> = lanes.copied().collect();
        sorted.sort_unstable_by(f32::total_cmp);
        sorted
    };
    let traces = library();
    let named = traces
        .iter()
        .map(|trace| (trace.input.path.as_str(), waits(trace)));
    let named_waits: Vec<(&str, Vec<f32>)> = named.collect();
    for (n, (name, a)) in named_waits.iter().enumerate() {
        for (other, b) in &named_waits[n + 1..] {
            let apart = distance(a, b);
            assert!(apart > MIN_DISTANCE, "{name} and {other}: {apart}");
        }
    }
}
