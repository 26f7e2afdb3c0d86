//! Measures how fast binary blktrace becomes an analysis, on one core and on two:
//!
//! ```text
//! cargo run --release -p q2c-analyze --example blktrace_speed [MILLION EVENTS [FOLDER]]
//! ```
//!
//! With a folder, it only writes the files there as sda.blktrace.N, for other programs.
//!
//! The program makes the files of 8 CPUs in memory: Q, G, I, D, C of random 4 KiB reads and writes,
//! some hundred in flight, which complete on other CPUs. It times five rounds of four runs: reading
//! and merging; the same with matching; that with the statistics in one thread; and that with the
//! statistics in a second thread.

use q2c_analyze::{Analyzer, AnalyzerThread};
use q2c_model::{Fault, Layer};
use q2c_result::analyze::AnalyzeResult;
use q2c_trace::Span;
use q2c_trace::blktrace::{EventFile, EventSource, Matcher, Merge, match_events};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

const CPUS: usize = 8;
/// The events Q, G, I, D and C of an I/O: action, ns since Q, true if on the completing CPU.
const LIFE: [(u32, u64, bool); 5] = [
    (1, 0, false),
    (4, 400, false),
    (12, 900, false),
    (7, 1500, false),
    (8, 81_500, true),
];

fn main() -> Result<(), Fault> {
    let millions: Option<usize> = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let files = files(millions.unwrap_or(20) * 1_000_000 / LIFE.len());
    if let Some(folder) = std::env::args().nth(2) {
        for (cpu, file) in files.iter().enumerate() {
            let path = Path::new(&folder).join(format!("sda.blktrace.{cpu}"));
            std::fs::write(path, file).expect("the folder can be written");
        }
        return Ok(());
    }
    let events = files.iter().map(|file| file.len() / 48).sum::<usize>() as f64;
    for _ in 0..5 {
        let rates = [
            time_reading(&files)?,
            time_matching(&files)?,
            time_in_one_thread(&files)?,
            time_in_a_second_thread(&files)?,
        ];
        let [read, matched, analysed, second] = rates.map(|seconds| events / seconds / 1e6);
        report(&format!(
            "M events/s: read {read:.1}, and matched {matched:.1}, and analysed {analysed:.1}, in a second thread {second:.1}"
        ));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "its result")]
fn report(line: &str) {
    println!("{line}");
}

fn merge(files: &[Vec<u8>]) -> Result<Merge<&[u8]>, Fault> {
    Merge::new(
        files
            .iter()
            .map(|bytes| EventFile::new(Path::new("memory"), &bytes[..], 1 << 20, false)),
    )
}

fn time_reading(files: &[Vec<u8>]) -> Result<f64, Fault> {
    let start = Instant::now();
    let mut merge = merge(files)?;
    while let Some(event) = merge.next_event()? {
        black_box(&event);
    }
    Ok(start.elapsed().as_secs_f64())
}

fn time_matching(files: &[Vec<u8>]) -> Result<f64, Fault> {
    let start = Instant::now();
    let read = match_events(merge(files)?, Matcher::LIMIT, |spans, _| {
        black_box(spans);
        Ok::<(), Fault>(())
    })?;
    assert!(read.counts.unmatched.is_empty());
    Ok(start.elapsed().as_secs_f64())
}

fn time_analysis<A>(
    files: &[Vec<u8>],
    mut analyzer: A,
    add: fn(&mut A, &[Span]),
    finish: fn(A, &BTreeMap<u32, String>) -> AnalyzeResult,
) -> Result<f64, Fault> {
    let start = Instant::now();
    match_events(merge(files)?, Matcher::LIMIT, |spans, _| {
        add(&mut analyzer, spans);
        Ok::<(), Fault>(())
    })?;
    black_box(finish(analyzer, &BTreeMap::new()));
    Ok(start.elapsed().as_secs_f64())
}

fn time_in_one_thread(files: &[Vec<u8>]) -> Result<f64, Fault> {
    let analyzer = Analyzer::new(Layer::Block);
    time_analysis(files, analyzer, Analyzer::update, Analyzer::finish)
}

fn time_in_a_second_thread(files: &[Vec<u8>]) -> Result<f64, Fault> {
    let analyzer = AnalyzerThread::new(Analyzer::new(Layer::Block)).expect("a thread");
    time_analysis(
        files,
        analyzer,
        AnalyzerThread::update,
        AnalyzerThread::finish,
    )
}

fn files(ios: usize) -> Vec<Vec<u8>> {
    let mut events: Vec<Vec<(u64, u32, u64, u32)>> = vec![Vec::new(); CPUS];
    let mut random = 1u64;
    for io in 0..ios {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let (sector, direction) = ((random >> 34) * 8, 1 + (random >> 33 & 1) as u32);
        for (action, after_ns, completes) in LIFE {
            // Latencies vary by up to a fifth.
            let jitter = if completes { random >> 40 & 0x3fff } else { 0 };
            let cpu = if completes {
                (random >> 20) as usize % CPUS
            } else {
                io % CPUS
            };
            events[cpu].push((
                io as u64 * 200 + after_ns + jitter,
                direction << 16 | action,
                sector,
                io as u32 % 16,
            ));
        }
    }
    let file = |(cpu, mut events): (usize, Vec<(u64, u32, u64, u32)>)| {
        events.sort_unstable();
        let records = (1u32..).zip(events);
        records
            .flat_map(|(n, event)| record(cpu as u32, n, event))
            .collect()
    };
    events.into_iter().enumerate().map(file).collect()
}

fn record(cpu: u32, sequence: u32, (time, action, sector, pid): (u64, u32, u64, u32)) -> Vec<u8> {
    let mut record = Vec::with_capacity(48);
    record.extend(0x6561_7407_u32.to_le_bytes());
    record.extend(sequence.to_le_bytes());
    record.extend(time.to_le_bytes());
    record.extend(sector.to_le_bytes());
    // Bytes, action, pid, device 8:0, CPU, and error with the length of further data.
    for field in [4096, action, 1000 + pid, 8 << 20, cpu, 0] {
        record.extend(u32::to_le_bytes(field));
    }
    record
}
