//! A trace and the text that the real blkparse prints for it give equal records.
//!
//! `PROPTEST_CASES` sets the number of streams (`make test-long` takes 10,000).

use super::encode::{DISCARD, E, FLUSH, LITTLE_7, READ, WRITE, e, file, split};
use crate::support::{self, stating};
use proptest::prelude::*;
use q2c_model::IoRecord;
use q2c_trace::blktrace::FileSet;
use q2c_trace::import::{ImportOptions, blktrace_files};
use std::fs;
use std::path::Path;
use std::process::Command;

const SYNC: u32 = 8;
const META: u32 = 1 << 12;
const FUA: u32 = 1 << 15;
const AHEAD: u32 = 1 << 11;
const CPUS: u32 = 3;

/// A randomly drawn I/O.
#[derive(Clone, Debug)]
struct RandomIo {
    kind: u8,
    sector: u64,
    sectors: u32,
    start: u64,
    steps: Vec<u64>,
    cpu: u32,
    pid: u32,
    flags: u32,
}

fn random_io() -> impl Strategy<Value = RandomIo> {
    let flags = prop::sample::select(vec![0, SYNC, META, SYNC | META, AHEAD]);
    (
        (
            0..9u8,
            0..40u64,
            prop::sample::select(vec![8u32, 16, 64]),
            0..3000u64,
        ),
        prop::collection::vec(1..50u64, 8),
        (0..CPUS, 100..104u32, flags),
    )
        .prop_map(
            |((kind, block, sectors, start), steps, (cpu, pid, flags))| RandomIo {
                kind,
                sector: block * 8,
                sectors,
                start,
                steps,
                cpu,
                pid,
                flags,
            },
        )
}

/// The events of an I/O, in the order of time. The kernel's flushes are FN at sector 0.
fn events(io: &RandomIo) -> Vec<E> {
    let (at, n) = (io.sector, io.sectors);
    let (read, write) = (READ | io.flags, WRITE | io.flags);
    let series = |category: u32, letters: &[&str]| -> Vec<E> {
        let event = |letter: &&str| e(0, letter, at, n).cat(category);
        letters.iter().map(event).collect()
    };
    let without_data = |letter: &str, category| e(0, letter, 0, 0).cat(category);
    let kernel_flushes = || [without_data("D", FLUSH), without_data("C", FLUSH)];
    let last_end = |moved: u32| e(0, "C", at + u64::from(moved), 0).cat(write);
    let with_fua = |event: E| event.cat(write | FUA);
    let mut life = match io.kind {
        0 => series(read, &["Q", "G", "I", "D", "C"]),
        1 => series(write, &["A", "Q", "G", "P", "I", "U", "D", "C"]),
        2 => series(WRITE | DISCARD, &["Q", "G", "D", "C"]),
        // Without data: Q and G with PREFLUSH, the kernel's flush, and an end without PREFLUSH.
        3 => {
            let asked = ["Q", "G"].map(|letter| without_data(letter, write | FLUSH));
            let end = without_data("C", write);
            asked
                .into_iter()
                .chain(kernel_flushes())
                .chain([end])
                .collect()
        }
        // A flush before the data, on a device that can do FUA.
        4 => {
            let asked = series(write | FLUSH | FUA, &["Q", "G"]);
            let data = series(write | FUA, &["D", "C"]);
            let end = with_fua(last_end(0));
            [asked, kernel_flushes().to_vec(), data, vec![end]].concat()
        }
        // FUA on a device that lacks it: a flush after the data.
        5 => {
            let asked = series(write | FUA, &["Q", "G"]);
            let data = series(write, &["D", "C"]);
            [asked, data, kernel_flushes().to_vec(), vec![last_end(n)]].concat()
        }
        6 => series(read, &["Q", "G", "I", "D", "R", "I", "D", "C"]),
        7 => {
            let half = n / 2;
            let back = |letter| e(0, letter, at + u64::from(half), n - half).cat(read);
            let front = |letter| e(0, letter, at, half).cat(read);
            let queued = e(0, "Q", at, n).cat(read);
            let cut = split(0, at, half, at + u64::from(half)).cat(read);
            let steps = ["G", "D", "C"].into_iter();
            let steps = steps.flat_map(|letter| [front(letter), back(letter)]);
            [queued, cut].into_iter().chain(steps).collect()
        }
        _ => series(write, &["Q", "M"]),
    };
    let mut us = io.start;
    for (event, step) in life.iter_mut().zip(&io.steps) {
        (event.us, event.cpu, event.pid) = (us, io.cpu, io.pid);
        us += step;
    }
    life
}

/// Writes the files of a trace. Each event has a different time.
fn write(base: &Path, ios: &[RandomIo]) {
    let mut trace_events: Vec<E> = ios.iter().flat_map(events).collect();
    trace_events.sort_by_key(|event| event.us);
    let trace_events = (0..).zip(trace_events).map(|(at, event)| E {
        us: event.us * 512 + at % 512,
        ..event
    });
    let mut trace_events: Vec<E> = trace_events.collect();
    trace_events.sort_by_key(|event| event.us);
    for cpu in 0..CPUS {
        let names = (100..104).filter(|_| cpu == 0);
        let names = names.map(|pid| E::note(0, 0, pid, format!("job {pid}\0").as_bytes()));
        let of_cpu = trace_events
            .iter()
            .filter(|event| event.cpu == cpu)
            .cloned();
        let events: Vec<E> = names.chain(of_cpu).collect();
        let path = format!("{}.blktrace.{cpu}", base.display());
        fs::write(path, file(LITTLE_7, &events)).unwrap();
    }
}

fn print(base: &Path, format: Option<&str>) -> Vec<u8> {
    let mut command = Command::new("blkparse");
    command.arg("-q").arg("-i").arg(base);
    if let Some(format) = format {
        command.arg("-f").arg(format!("{format}\\n"));
    }
    command.output().unwrap().stdout
}

fn by_text(text: &[u8], format: Option<&str>) -> Vec<IoRecord> {
    let options = stating(|o| o.blkparse_format = format.map(str::to_owned));
    let imported = support::import("blkparse", "text", text, &options);
    imported.unwrap().0
}

fn by_files(base: &Path) -> Vec<IoRecord> {
    let mut records = Vec::new();
    let files = FileSet::find(base).unwrap().unwrap();
    blktrace_files(&files, &ImportOptions::default(), &mut records).unwrap();
    records
}

/// Formats as users write them. They lack the sector of a split.
const FORMATS: [&str; 2] = [
    "%M,%m %c %s %T.%t %p %a %d %S %n %e [%C]",
    "%D|%5T.%9t|%-6a|%d|%c|%S|%N|%e|%-8p|%C",
];

proptest! {
    #[test]
    fn text_and_binary_give_equal_records(ios in prop::collection::vec(random_io(), 1..40)) {
        if Command::new("blkparse").arg("-V").output().is_err() {
            q2c_testkit::skip("text_and_binary_give_equal_records", "blkparse is not installed");
            return Ok(());
        }
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("t");
        write(&base, &ios);
        let wanted = by_files(&base);
        prop_assert_eq!(by_text(&print(&base, None), None), wanted.clone());
        if ios.iter().all(|io| io.kind != 7) {
            for format in FORMATS {
                prop_assert_eq!(by_text(&print(&base, Some(format)), Some(format)), wanted.clone(), "{}", format);
            }
        }
    }
}
