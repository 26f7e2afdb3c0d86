//! Reads traces for simulation: q2c traces, and recordings that can be imported. Also reads the
//! service times of simulated devices.

use super::lanes::{LaneStorage, RecordedLanes};
use q2c_model::facts::{STATED_BYTES, STATED_OP};
use q2c_model::stats::{Histogram, percentile};
use q2c_model::{
    AssumedValues, Bytes, DevId, Exit, Fault, Interpretation, IoRecord, Layer, Nanos, Op, TraceMeta,
};
use q2c_result::sweep::SweepInput;
use q2c_service::{Empirical, EmpiricalBuilder, RecordedTimes};
use q2c_sim::{LaneRecording, RecordingError, TraceOptions};
use q2c_trace::import::{ImportError, ImportOptions, Input, RecordSink};
use q2c_trace::{Column, Scan, TraceError};
use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// How to read a source that is not a q2c trace.
#[derive(Clone, Debug)]
pub struct SourceOptions {
    /// Format of the source; `None` recognises it by its first bytes.
    pub format: Option<String>,
    /// How to import the source. If it states no operation or length, I/Os are reads or 4 KiB long.
    pub import: ImportOptions,
    /// The part of the trace to take, and how to interpret it.
    pub trace: TraceOptions,
    /// The memory for the trace, and the folder for a trace that needs more.
    pub storage: LaneStorage,
}

impl SourceOptions {
    /// Options that interpret a trace as it describes itself.
    pub fn as_stated(storage: LaneStorage) -> Self {
        SourceOptions {
            format: None,
            import: ImportOptions::default(),
            trace: TraceOptions::default(),
            storage,
        }
    }
}

/// A trace that is ready for simulation.
#[derive(Clone, Debug)]
pub struct SimTrace {
    /// Description of the trace for the result.
    pub input: SweepInput,
    /// The recorded requests of each lane.
    pub lanes: Vec<LaneRecording>,
    /// The facts in the trace's description, by name.
    pub facts: BTreeMap<String, String>,
}

/// Largest number of latencies that are sorted for exact percentiles: 4 Mi.
const MAX_EXACT: usize = 1 << 22;
/// Operation and length of requests if neither the source nor the user states them.
pub(super) const ASSUMED: (Op, Bytes) = (Op::Read, Bytes(4096));
const COLUMNS: [Column; 11] = [
    Column::QueueNs,
    Column::GetrqNs,
    Column::InsertNs,
    Column::IssueNs,
    Column::CompleteNs,
    Column::MergedInto,
    Column::SubmitNs,
    Column::SubmitEndNs,
    Column::ReapNs,
    Column::SleptNs,
    Column::Error,
];

/// Reads a trace into lanes. Setting `stop` ends the reading early.
///
/// # Errors
/// Returns a fault if the trace cannot be read, imported or simulated, or if `stop` was set.
pub fn read(path: &Path, options: &SourceOptions, stop: &AtomicBool) -> Result<SimTrace, Fault> {
    let import = import_options(options);
    let input = Input::with_options(path, options.format.as_deref(), &import)?;
    read_input(path, input, options, stop)
}

/// The import's options. A length may be given for any recording, as it also selects a calibration.
fn import_options(options: &SourceOptions) -> ImportOptions {
    let (op, bytes) = ASSUMED;
    ImportOptions {
        bytes: None,
        assumed: Some((op, options.import.bytes.unwrap_or(bytes))),
        ..options.import.clone()
    }
}

/// As [`read`], for an open input, which messages call `path`.
///
/// # Errors
/// As [`read`].
pub fn read_input(
    path: &Path,
    input: Input,
    options: &SourceOptions,
    stop: &AtomicBool,
) -> Result<SimTrace, Fault> {
    let format = input.format();
    let import = import_options(options);
    let scan = Scan::new().columns(&COLUMNS);
    collect(path, options, stop, format, |sink| {
        input.read(path, &import, &scan, sink)
    })
}

/// As [`read`], for records that `feed` supplies in order before it returns their description.
/// Messages call them `path`.
///
/// # Errors
/// As [`read`].
pub fn read_records(
    path: &Path,
    options: &SourceOptions,
    stop: &AtomicBool,
    feed: impl FnOnce(&mut dyn RecordSink) -> Result<TraceMeta, TraceError>,
) -> Result<SimTrace, Fault> {
    collect(path, options, stop, None, |sink| {
        feed(sink).map_err(ImportError::BadTrace)
    })
}

fn collect(
    path: &Path,
    options: &SourceOptions,
    stop: &AtomicBool,
    format: Option<&str>,
    feed: impl FnOnce(&mut dyn RecordSink) -> Result<TraceMeta, ImportError>,
) -> Result<SimTrace, Fault> {
    let spill_fault = |source: io::Error| {
        let text = format!(
            "put what --memory leaves no room for of {} into a file in {}: {source}; name another folder with --spill",
            path.display(),
            options.storage.folder.display()
        );
        Fault::new(Exit::from_spill_error(&source), text).with_source(source)
    };
    let mut lanes = RecordedLanes::new(&options.storage, options.trace);
    let mut spill_error = None;
    let mut sink = |records: &[IoRecord]| {
        TraceError::unless_stopped(stop, "read trace", path)?;
        lanes.take(records).map_err(|error| {
            spill_error = Some(error);
            TraceError::Io {
                doing: "read trace",
                path: path.to_owned(),
                source: io::Error::other("no room"),
            }
        })
    };
    let read = feed(&mut sink);
    if let Some(spill_error) = spill_error {
        return Err(spill_fault(spill_error));
    }
    if stop.load(Ordering::Relaxed) {
        let path = path.display();
        return Err(Fault::stopped(format_args!(
            "read {path}: stopped by a signal"
        )));
    }
    let meta = read?;
    let lanes = lanes.finish().map_err(spill_fault)?;
    let (mut lanes, selection) = lanes.map_err(|source| unfit_fault(path, &source))?;
    let imported = format.map(|_| &options.import);
    let is_imported = imported.is_some() || meta.facts.contains_key("imported_from");
    if let Some(cpu) = think_cpu(&meta).filter(|_| selection.interpretation.layer == Layer::User) {
        lanes.iter_mut().for_each(|lane| lane.gap_cpu = Some(cpu));
    }
    let mean_think_ns = is_imported.then(|| mean_think_ns(&lanes));
    let interpretation = selection.interpretation;
    let taken_as = Interpretation {
        polled: interpretation.polled.filter(|_| records_polling(&meta)),
        kernel_slept: kernel_slept(&meta, &interpretation),
        think_as_cpu_ns: mean_think_ns.unwrap_or_default(),
        format: format.map(str::to_owned),
        assumed: imported.and_then(|stated| assumed(stated, &meta)),
        unmatched: meta.unmatched,
        lost: meta.lost,
        ..interpretation
    };
    Ok(SimTrace {
        input: SweepInput {
            path: path.display().to_string(),
            taken_as,
            lanes: lanes.len(),
            ios: lanes.iter().map(|lane| lane.len() as u64).sum(),
            sizes: selection.sizes,
            span_ns: Nanos(lanes.iter().map(span_of).fold(0.0, f64::max) as u64),
            latency_ns: latencies(&lanes),
        },
        lanes,
        facts: meta.facts,
    })
}

fn unfit_fault(path: &Path, error: &RecordingError) -> Fault {
    let path = path.display().to_string();
    let text = error.to_string().replacen("this trace", &path, 1);
    Fault::new(Exit::Input, text)
}

fn assumed(stated: &ImportOptions, meta: &TraceMeta) -> Option<AssumedValues> {
    let (op, bytes) = ASSUMED;
    let has_fact = |fact| meta.facts.contains_key(fact);
    let assumed = AssumedValues {
        op: (stated.op.is_none() && has_fact(STATED_OP)).then_some(op),
        bytes: (stated.bytes.is_none() && has_fact(STATED_BYTES)).then_some(bytes),
    };
    (assumed != AssumedValues::default()).then_some(assumed)
}

/// CPU time of think times, if the trace states it, as recordings of `q2c tune` do.
fn think_cpu(meta: &TraceMeta) -> Option<Nanos> {
    let fact = meta.facts.get(q2c_model::facts::THINK_CPU)?;
    fact.parse().ok().map(Nanos)
}

/// True if the trace says which requests were completed by polling, as q2c's BPF recordings do.
fn records_polling(meta: &TraceMeta) -> bool {
    meta.facts.get("capture").is_some_and(|by| by == "bpf")
}

/// True if block-layer times contain sleeps of the kernel's hybrid polling: there are polled
/// requests, and `io_poll_delay` is 0 (half the mean) or more (a fixed sleep).
fn kernel_slept(meta: &TraceMeta, taken_as: &Interpretation) -> Option<bool> {
    let polled = taken_as.polled.filter(|_| records_polling(meta))?;
    if polled == 0 {
        return Some(false);
    }
    let delay = |device: &String| {
        let device: DevId = device.parse().ok()?;
        let fact = meta.facts.get(&q2c_model::facts::poll_delay(device))?;
        fact.parse::<i64>().ok()
    };
    let delays: Option<Vec<i64>> = taken_as.devices.keys().map(delay).collect();
    delays.map(|delays| delays.iter().any(|delay| *delay >= 0))
}

/// Time from the trace's start to the lane's end, ns: the length of a turn if the lane is repeated.
pub(super) fn span_of(lane: &LaneRecording) -> f64 {
    let sum = |times: &[f32]| times.iter().map(|&t| f64::from(t)).sum::<f64>();
    lane.first_at + sum(&lane.submit) + sum(&lane.wait) + sum(&lane.gap)
}

fn mean_think_ns(lanes: &[LaneRecording]) -> f64 {
    let lanes = lanes.iter().filter(|lane| lane.gap_cpu.is_none());
    let think = lanes.flat_map(|lane| lane.gap.iter());
    let add = |(sum, ios), &ns: &f32| (sum + f64::from(ns), ios + 1.0);
    let (sum, ios) = think.fold((0.0, 0.0), add);
    sum / f64::max(ios, 1.0)
}

/// Minimum, p10, p50, p99 and maximum, ns; with more than [`MAX_EXACT`] latencies within 1.6 %.
fn latencies(lanes: &[LaneRecording]) -> [f64; 5] {
    let lane_waits = || lanes.iter().flat_map(|lane| lane.wait.iter().copied());
    if lane_waits().count() <= MAX_EXACT {
        let mut waits: Vec<f32> = lane_waits().collect();
        waits.sort_unstable_by(f32::total_cmp);
        return [0.0, 0.1, 0.5, 0.99, 1.0].map(|q| f64::from(percentile(&waits, q)));
    }
    let mut classes = Histogram::default();
    lane_waits().for_each(|wait| classes.record(wait as u64));
    let [min, max] =
        [f32::min as fn(f32, f32) -> f32, f32::max].map(|extreme| lane_waits().reduce(extreme));
    let [p10, p50, p99] = [0.1, 0.5, 0.99].map(|q| classes.percentile(q));
    let exact = |value: Option<f32>| f64::from(value.unwrap_or_default());
    [exact(min), p10, p50, p99, exact(max)]
}

/// The columns from which service times are computed.
const SERVICE_COLUMNS: [Column; 6] = [
    Column::IssueNs,
    Column::CompleteNs,
    Column::SubmitNs,
    Column::ReapNs,
    Column::Error,
    Column::MergedInto,
];

/// Reads the times of `wanted` from a q2c trace or an importable recording. If it states neither
/// operation nor length, requests count as reads of 4 KiB, and all requests get its times.
///
/// # Errors
/// Returns an error if the recording cannot be read, or has no times of the wanted kind.
pub fn service_times(wanted: &RecordedTimes) -> Result<Empirical, Box<dyn Error + Send + Sync>> {
    let unit = wanted.unit.as_deref().map(str::parse).transpose()?;
    let mut builder = EmpiricalBuilder::new(wanted.measure);
    let input = Input::recognise(&wanted.path, None)?;
    let options = ImportOptions {
        unit,
        assumed: Some(ASSUMED),
        ..ImportOptions::default()
    };
    let scan = Scan::new().columns(&SERVICE_COLUMNS);
    let mut sink = |records: &[IoRecord]| {
        builder.take(records);
        Ok(())
    };
    input.read(&wanted.path, &options, &scan, &mut sink)?;
    Ok(builder.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Direction, Sectors, facts::THINK_CPU};
    use q2c_service::{EmpiricalClass, Measure};
    use q2c_trace::TraceWriter;

    fn gap_cpu(layer: Layer, fact: Option<&str>) -> Option<Nanos> {
        let record = |n: u64| {
            let at = |us: u64| Some(Nanos((n * 300 + us) * 1_000));
            let (device, bytes) = (DevId::default(), ASSUMED.1);
            let mut record = IoRecord::new(n, layer, device, Op::Read, Sectors(0), bytes);
            match layer {
                Layer::User => {
                    (record.submit_ns, record.submit_end_ns) = (at(0), at(1));
                    record.reap_ns = at(100);
                }
                Layer::Block => (record.queue_ns, record.complete_ns) = (at(0), at(100)),
            }
            record
        };
        let records: Vec<IoRecord> = (0..10).map(record).collect();
        let mut meta = TraceMeta::default();
        let facts = fact.map(|fact| (THINK_CPU.to_owned(), fact.to_owned()));
        meta.facts.extend(facts);
        let options = SourceOptions::as_stated(LaneStorage {
            memory: Bytes(1 << 20),
            folder: std::path::PathBuf::new(),
            new_file: |_| Err(io::ErrorKind::NotFound.into()),
        });
        let feed = |sink: &mut dyn RecordSink| sink.push(&records).map(|()| meta);
        let read = read_records(Path::new("t"), &options, &AtomicBool::new(false), feed);
        read.expect("a trace").lanes[0].gap_cpu
    }

    /// `q2c tune` records the cost of its think times; the block layer knows nothing of them.
    #[test]
    fn think_times_cost_what_the_trace_says() {
        assert_eq!(gap_cpu(Layer::User, None), None);
        assert_eq!(gap_cpu(Layer::User, Some("5300")), Some(Nanos(5_300)));
        assert_eq!(gap_cpu(Layer::Block, Some("5300")), Some(Nanos::ZERO));
    }

    /// Every error is a continuation of "failed to", and names the trace.
    #[test]
    fn a_trace_that_cannot_be_simulated_is_told_in_a_sentence() {
        use RecordingError::{NoCompletions, NoLanesByDevice, Slept};
        for (source, begins) in [
            (NoCompletions(3), "simulate o.pq: none of its 3"),
            (Slept(2), "simulate o.pq: 2 of its I/Os slept"),
            (NoLanesByDevice, "simulate o.pq with lanes by"),
        ] {
            let fault = unfit_fault(Path::new("o.pq"), &source);
            assert!(fault.message().starts_with(begins), "{fault}");
        }
    }

    fn wanted(path: &Path, measure: Option<Measure>, unit: Option<&str>) -> RecordedTimes {
        RecordedTimes {
            path: path.to_owned(),
            measure,
            unit: unit.map(str::to_owned),
        }
    }

    fn class(direction: Direction, from: u64, recorded: u64, median: u64) -> EmpiricalClass {
        EmpiricalClass {
            direction,
            from: Sectors(from),
            recorded,
            kept: recorded as usize,
            median: Nanos(median),
        }
    }

    /// Reads of 4 KiB with a D2C of 30 us, and one write of 64 KiB with 90 us. Each was queued 5 us
    /// before its hand-over.
    #[test]
    fn a_trace_gives_the_time_from_hand_over_to_completion() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("block.parquet");
        let mut writer = TraceWriter::create(&path, TraceMeta::default()).unwrap();
        for (id, op, bytes, d2c) in [
            (0, Op::Read, 4096, 30_000),
            (1, Op::Write, 65_536, 90_000),
            (2, Op::Read, 4096, 30_000),
        ] {
            let device = DevId::default();
            let mut record = IoRecord::new(id, Layer::Block, device, op, Sectors(0), Bytes(bytes));
            record.queue_ns = Some(Nanos(1_000_000 * id));
            record.issue_ns = Some(Nanos(1_000_000 * id + 5_000));
            record.complete_ns = Some(Nanos(1_000_000 * id + 5_000 + d2c));
            writer.push(&[record]).unwrap();
        }
        writer.finish().unwrap();
        let times = service_times(&wanted(&path, None, None)).unwrap();
        assert_eq!(times.facts().measure, Measure::D2c);
        let classes = [
            class(Direction::Read, 8, 2, 30_000),
            class(Direction::Write, 128, 1, 90_000),
        ];
        assert_eq!(times.facts().classes, classes);
        let none = service_times(&wanted(&path, Some(Measure::U2c), None)).unwrap_err();
        assert!(none.to_string().contains("U2C"), "{none}");
    }

    #[test]
    fn a_list_of_latencies_needs_its_unit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.txt");
        std::fs::write(&path, "31.2\n30.4\n40\n").unwrap();
        let times = service_times(&wanted(&path, None, Some("us"))).unwrap();
        assert_eq!(times.facts().measure, Measure::U2c);
        let classes = [class(Direction::Read, 8, 3, 31_200)];
        assert_eq!(times.facts().classes, classes);
        let none = service_times(&wanted(&path, None, None)).unwrap_err();
        assert!(none.to_string().contains("unit"), "{none}");
        let absent = service_times(&wanted(&folder.path().join("x"), None, None)).unwrap_err();
        assert!(absent.to_string().contains("No such file"), "{absent}");
    }
}
