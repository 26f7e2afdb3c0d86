//! Facts about a trace, collected in one pass before it is replayed.

use crate::{ReplayError, ReplaySelection};
use q2c_model::{Bytes, DevId, Layer, Nanos, Op};
use q2c_trace::span::{NONE, NONE_32};
use q2c_trace::{Span, TraceReader};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Largest share of requests without completion (in flight at the end, or lost), of all requests,
/// with which a trace still counts as one with completions.
const MAX_PENDING_SHARE: f64 = 0.02;

/// Largest offset, bytes. No device is larger, so larger offsets of a broken trace are cut to it.
pub(crate) const MAX_OFFSET_BYTES: u64 = 1 << 60;

/// One device of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceDevice {
    /// Major and minor number.
    pub dev: DevId,
    /// Number of requests for this device.
    pub requests: u64,
    /// Byte offset after the last byte that any request touches.
    pub span: u64,
    /// Time in which the device has nothing in flight, within `whole`.
    pub idle: Nanos,
    /// Time from its first request to the last completion that a figure may use.
    pub whole: Nanos,
}

/// Facts about a trace, or about the selected range of its time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayFacts {
    /// Path of the trace.
    pub path: PathBuf,
    /// Number of requests that have a time.
    pub requests: u64,
    /// Number of requests by the name of their operation.
    pub ops: BTreeMap<String, u64>,
    /// Devices, sorted by their numbers. The whole crate names a device by its index here.
    pub devices: Vec<TraceDevice>,
    /// Sum of the bytes of all requests.
    pub bytes: u64,
    /// Bytes of the largest read or write.
    pub largest: Bytes,
    /// Time of the first request.
    pub first: Nanos,
    /// Time of the last request.
    pub last: Nanos,
    /// Time of the last completion.
    pub last_end: Nanos,
    /// Number of requests with a completion.
    pub completed: u64,
    /// Time in which nothing is in flight, between the first request and the last completion.
    pub idle: Nanos,
    /// Sum of latencies, ns.
    pub latency_sum_ns: u128,
    /// The layer in which all times were recorded; `None` if both layers occur.
    pub layer: Option<Layer>,
    /// Number of requests whose time is earlier than that of the previous request.
    pub back_in_time: u64,
    /// Number of writes and discards.
    pub writes: u64,
    /// Number of requests that name their process.
    pub with_pid: u64,
    /// Number of requests that name the CPU that submitted them.
    pub with_cpu: u64,
    /// Number of requests that name their hardware queue.
    pub with_hctx: u64,
    /// Requests whose times are out of order: they are replayed, but their latency is in no figure.
    pub untimed: u64,
    /// Number of requests without any time, which are not replayed.
    pub no_times: u64,
    /// Number of records with the id of an earlier record, which are not replayed.
    pub duplicates: u64,
}

impl ReplayFacts {
    /// True if enough requests have a completion to know what was in flight.
    pub fn has_completions(&self) -> bool {
        self.completed > 0
            && (self.requests - self.completed) as f64 <= MAX_PENDING_SHARE * self.requests as f64
    }

    /// Share of time in which a device has nothing in flight: the mean of the devices, weighted by
    /// their requests. `None` without completions.
    pub fn idle_share_of_devices(&self) -> Option<f64> {
        let share = |device: &TraceDevice| match device.whole.0 {
            0 => 0.0,
            whole_ns => device.idle.0 as f64 / whole_ns as f64 * device.requests as f64,
        };
        let sum: f64 = self.devices.iter().map(share).sum();
        self.has_completions().then(|| sum / self.requests as f64)
    }

    /// Time from the first request to the last.
    pub fn length(&self) -> Nanos {
        self.last - self.first
    }

    /// Time from the first request to the last completion.
    pub fn time_to_last_end(&self) -> Nanos {
        self.last_end.max(self.last) - self.first
    }

    /// Share of time with nothing in flight, 0 to 1; `None` without completions.
    pub fn idle_share(&self) -> Option<f64> {
        let total_ns = self.time_to_last_end().0;
        (self.has_completions() && total_ns > 0).then(|| self.idle.0 as f64 / total_ns as f64)
    }
}

/// Reads the trace once and returns the facts of the selected requests. `progress` is called with
/// the number of records read so far. Raising `stop` ends the pass as if the trace ended there.
///
/// # Errors
/// Fails if the trace cannot be read, lacks the process, or no selected request has a time.
pub fn prepare(
    path: &Path,
    selection: &ReplaySelection,
    stop: &AtomicBool,
    mut progress: impl FnMut(u64),
) -> Result<ReplayFacts, ReplayError> {
    let trace = TraceReader::open(path)?;
    let mut counter = FactsCounter::default();
    let mut filter = selection.filter();
    let mut read = 0;
    for records in trace.records(&selection.scan())? {
        let records = records?;
        read += records.len() as u64;
        for record in &records {
            if let Some(span) = filter.select(record) {
                counter.add(&span);
            }
        }
        progress(read);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    (counter.facts.no_times, counter.facts.duplicates) = (filter.no_times, filter.duplicates);
    let facts = counter.finish(path);
    filter.check_process(path)?;
    if facts.requests == 0 {
        let path = path.to_owned();
        return Err(ReplayError::Empty { path });
    }
    Ok(facts)
}

#[derive(Default)]
struct FactsCounter {
    facts: ReplayFacts,
    devices: HashMap<DevId, DeviceActivity>,
    ops: [u64; 5],
    previous_ns: u64,
    busy_until_ns: u64,
}

/// A device while the trace is read: idle times grow, and its whole time is known only at the end.
struct DeviceActivity {
    device: TraceDevice,
    first_ns: u64,
    busy_until_ns: u64,
}

impl FactsCounter {
    fn add(&mut self, span: &Span) {
        let start_ns = span.first_ns();
        let facts = &mut self.facts;
        if facts.requests == 0 {
            (facts.first, self.previous_ns, self.busy_until_ns) =
                (Nanos(start_ns), start_ns, start_ns);
            facts.layer = Some(span.layer);
        } else if facts.layer != Some(span.layer) {
            facts.layer = None;
        }
        facts.requests += 1;
        facts.back_in_time += u64::from(start_ns < self.previous_ns);
        // In a replay time never goes back.
        let start_ns = start_ns.max(self.previous_ns);
        self.previous_ns = start_ns;
        facts.last = Nanos(start_ns);
        let untimed = span.is_untimed();
        facts.untimed += u64::from(untimed);
        let end_ns = (span.end_ns != NONE && !untimed).then(|| span.end_ns.max(start_ns));
        if let Some(end_ns) = end_ns {
            facts.completed += 1;
            facts.latency_sum_ns += u128::from(end_ns - start_ns);
            facts.last_end = facts.last_end.max(Nanos(end_ns));
            facts.idle += Nanos(start_ns.saturating_sub(self.busy_until_ns));
            self.busy_until_ns = self.busy_until_ns.max(end_ns);
        }
        facts.with_pid += u64::from(span.pid != NONE_32);
        facts.with_cpu += u64::from(span.cpu_submit != NONE_32);
        facts.with_hctx += u64::from(span.hctx != NONE_32);
        self.ops[span.op as usize] += 1;
        facts.bytes = facts.bytes.saturating_add(span.bytes);
        facts.writes += u64::from(matches!(span.op, Op::Write | Op::Discard));
        if matches!(span.op, Op::Read | Op::Write) {
            facts.largest = facts.largest.max(Bytes(span.bytes));
        }
        let activity = self.devices.entry(span.device).or_insert(DeviceActivity {
            device: TraceDevice {
                dev: span.device,
                ..TraceDevice::default()
            },
            first_ns: start_ns,
            busy_until_ns: start_ns,
        });
        let device = &mut activity.device;
        device.requests += 1;
        let end = span.sector.saturating_mul(512).saturating_add(span.bytes);
        device.span = device.span.max(end.min(MAX_OFFSET_BYTES));
        if let Some(end_ns) = end_ns {
            device.idle += Nanos(start_ns.saturating_sub(activity.busy_until_ns));
            activity.busy_until_ns = activity.busy_until_ns.max(end_ns);
        }
    }

    fn finish(self, path: &Path) -> ReplayFacts {
        let device = |activity: DeviceActivity| TraceDevice {
            whole: Nanos(activity.busy_until_ns - activity.first_ns),
            ..activity.device
        };
        let mut devices: Vec<TraceDevice> = self.devices.into_values().map(device).collect();
        devices.sort_by_key(|device| (device.dev.major, device.dev.minor));
        let ops = Op::ALL.into_iter().zip(self.ops).filter(|(_, n)| *n > 0);
        ReplayFacts {
            path: path.to_owned(),
            ops: ops.map(|(op, n)| (op.name().to_owned(), n)).collect(),
            devices,
            ..self.facts
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{IoRecord, Layer, OpFlags, Sectors};

    fn span(layer: Layer) -> Span {
        let device = DevId::default();
        Span::from_record(&IoRecord {
            queue_ns: Some(Nanos(1)),
            submit_ns: Some(Nanos(1)),
            ..IoRecord::new(0, layer, device, Op::Read, Sectors(0), Bytes(512))
        })
    }

    #[test]
    fn the_layer_is_that_of_all_requests() {
        let layer_of = |layers: &[Layer]| {
            let mut counter = FactsCounter::default();
            for layer in layers {
                counter.add(&span(*layer));
            }
            counter.finish(Path::new("t")).layer
        };
        let (user, block) = (Layer::User, Layer::Block);
        assert_eq!(layer_of(&[user, user]), Some(user));
        assert_eq!(layer_of(&[block]), Some(block));
        assert_eq!(layer_of(&[block, user, user]), None);
    }

    #[test]
    fn an_io_whose_times_no_figure_may_use_leaves_the_device_idle() {
        let mut counter = FactsCounter::default();
        for (start_ns, end_ns, flags) in [
            (0, 10, OpFlags::default()),
            (20, 1000, OpFlags::UNTIMED),
            (2000, 2010, OpFlags::default()),
        ] {
            let (dev, start, bytes) = (DevId::default(), Sectors(0), Bytes(512));
            counter.add(&Span::from_record(&IoRecord {
                queue_ns: Some(Nanos(start_ns)),
                complete_ns: Some(Nanos(end_ns)),
                flags,
                ..IoRecord::new(0, Layer::Block, dev, Op::Read, start, bytes)
            }));
        }
        let facts = counter.finish(Path::new("t"));
        assert_eq!((facts.untimed, facts.idle), (1, Nanos(1990)));
        assert_eq!(facts.devices[0].idle, facts.idle);
    }
}
