//! The costs of a simulated machine that a recording of the user layer shows.

use crate::source::ASSUMED;
use q2c_model::facts::THINK_CPU;
use q2c_model::stats::Histogram;
use q2c_model::{Exit, Fault, IoRecord, Nanos, TraceMeta};
use q2c_trace::import::{ImportOptions, Input};
use q2c_trace::{Column, Scan, TraceError};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The columns that show a cost.
const COLUMNS: [Column; 6] = [
    Column::SubmitNs,
    Column::SubmitEndNs,
    Column::ReapNs,
    Column::SleepAskedNs,
    Column::SleptNs,
    Column::Missed,
];

/// A cost that a recording shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedCost {
    /// Name of the field of [`SimMachine`](q2c_service::SimMachine).
    pub key: &'static str,
    /// Median, ns; within 0.8 %.
    pub ns: u64,
    /// Number of I/Os that showed it.
    pub ios: u64,
}

/// Reads the costs that the recording `path` shows; raising `stop` ends the reading early.
///
/// # Errors
/// Returns a fault if the recording cannot be read, or shows no cost.
pub fn recorded_costs(path: &Path, stop: &AtomicBool) -> Result<Vec<RecordedCost>, Fault> {
    let options = ImportOptions {
        assumed: Some(ASSUMED),
        ..ImportOptions::default()
    };
    let mut costs = CostCounter::default();
    let mut sink = |records: &[IoRecord]| {
        TraceError::unless_stopped(stop, "read trace", path)?;
        records.iter().for_each(|io| costs.take(io));
        Ok(())
    };
    let input = Input::with_options(path, None, &options)?;
    let meta = input.read(path, &options, &Scan::new().columns(&COLUMNS), &mut sink)?;
    let medians = costs.medians(&meta);
    if medians.is_empty() {
        let path = path.display();
        let text = format!(
            "fit a machine to {path}: expected times of the user layer, found none; name a run of q2c tune, or a \
             recording in its folder"
        );
        return Err(Fault::new(Exit::Input, text));
    }
    Ok(medians)
}

/// Gathers the costs of a recording. Memory does not grow with the number of I/Os.
#[derive(Debug, Default)]
struct CostCounter {
    submissions: Histogram,
    turnarounds: Histogram,
    wake_delays: Histogram,
    /// Time of the last reaping of each lane.
    last_reaps: HashMap<u32, Nanos>,
}

impl CostCounter {
    /// Takes the next record in the order of submissions.
    fn take(&mut self, io: &IoRecord) {
        let (Some(submit), Some(reap)) = (io.submit_ns, io.reap_ns) else {
            return;
        };
        if let Some(end) = io.submit_end_ns {
            record_between(&mut self.submissions, submit, end);
        }
        let last_reap = self.last_reaps.insert(io.lane, reap);
        if let Some(last_reap) = last_reap.filter(|_| io.depth_at_submit == 1) {
            record_between(&mut self.turnarounds, last_reap, submit);
        }
        // A completion's interrupt disturbs the wake-up of an I/O that was missed.
        if let (Some(asked), Some(slept), Some(false)) = (io.sleep_asked_ns, io.slept_ns, io.missed)
        {
            record_between(&mut self.wake_delays, asked, slept);
        }
    }

    /// The costs. A think time or another program's work is no turnaround, so only recordings that
    /// `q2c tune` made without think times show one.
    fn medians(&self, meta: &TraceMeta) -> Vec<RecordedCost> {
        let is_bare = meta.source == "q2c" && !meta.facts.contains_key(THINK_CPU);
        let costs = [
            ("submission_ns", &self.submissions, true),
            ("turnaround_ns", &self.turnarounds, is_bare),
            ("wake_delay_ns", &self.wake_delays, true),
        ];
        let shown = costs
            .into_iter()
            .filter(|(_, times, is_cost)| *is_cost && times.count() > 0);
        let cost = |(key, times, _): (&'static str, &Histogram, bool)| RecordedCost {
            key,
            ns: times.percentile(0.5).round() as u64,
            ios: times.count(),
        };
        shown.map(cost).collect()
    }
}

fn record_between(times: &mut Histogram, from: Nanos, to: Nanos) {
    // A time that falls is none that a machine has.
    if let Some(ns) = to.0.checked_sub(from.0) {
        times.record(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Bytes, DevId, Layer, Op, Sectors};

    /// The I/O `n` of a lane that needs 700 ns to submit, sleeps 10 us, which last 12.5 us, and
    /// turns round within 300 ns.
    fn io(n: u64) -> IoRecord {
        let (layer, device) = (Layer::User, DevId::default());
        let mut io = IoRecord::new(n, layer, device, Op::Read, Sectors(0), Bytes(4096));
        let submit = n * 30_300;
        io.submit_ns = Some(Nanos(submit));
        io.submit_end_ns = Some(Nanos(submit + 700));
        io.sleep_asked_ns = Some(Nanos(10_000));
        io.slept_ns = Some(Nanos(12_500));
        io.missed = Some(false);
        io.reap_ns = Some(Nanos(submit + 30_000));
        io
    }

    fn costs(ios: &[IoRecord], source: &str, fact: Option<&str>) -> Vec<(&'static str, u64, u64)> {
        let mut costs = CostCounter::default();
        ios.iter().for_each(|io| costs.take(io));
        let mut meta = TraceMeta {
            source: source.to_owned(),
            ..TraceMeta::default()
        };
        let facts = fact.map(|fact| (fact.to_owned(), "1".to_owned()));
        meta.facts.extend(facts);
        let medians = costs.medians(&meta).into_iter();
        medians.map(|cost| (cost.key, cost.ns, cost.ios)).collect()
    }

    fn is_near(ns: u64, expected_ns: u64) -> bool {
        ns.abs_diff(expected_ns) as f64 <= 0.01 * expected_ns as f64
    }

    #[test]
    fn medians_are_those_of_the_recording() {
        let ios: Vec<IoRecord> = (0..9).map(io).collect();
        let medians = costs(&ios, "q2c", None);
        let expected = [
            ("submission_ns", 700, 9),
            ("turnaround_ns", 300, 8),
            ("wake_delay_ns", 2_500, 9),
        ];
        assert_eq!(medians.len(), expected.len());
        for ((key, ns, count), (key_there, ns_there, count_there)) in medians.iter().zip(expected) {
            assert_eq!((*key, *count), (key_there, count_there));
            assert!(is_near(*ns, ns_there), "{key}: {ns}");
        }
    }

    #[test]
    fn what_is_no_cost_of_the_machine_is_left_out() {
        let missed = IoRecord {
            missed: Some(true),
            ..io(0)
        };
        let keys = |ios: &[IoRecord], source, fact| {
            let costs = costs(ios, source, fact).into_iter();
            costs.map(|(key, ..)| key).collect::<Vec<_>>()
        };
        assert_eq!(keys(&[missed], "q2c", None), ["submission_ns"]);
        for (source, fact) in [("q2c", Some(THINK_CPU)), ("q2c replay", None), ("", None)] {
            let shown = keys(&[io(0), io(1)], source, fact);
            assert_eq!(shown, ["submission_ns", "wake_delay_ns"], "{source}");
        }
        // Times that fall, and the block layer's alone, show nothing.
        let falls = IoRecord {
            submit_end_ns: Some(Nanos(0)),
            missed: None,
            ..io(1)
        };
        let block = IoRecord {
            submit_ns: None,
            ..io(0)
        };
        assert_eq!(keys(&[falls, block], "q2c", None), [""; 0]);
    }
}
