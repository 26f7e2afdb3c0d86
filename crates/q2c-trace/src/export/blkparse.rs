//! The text that blkparse prints: one line per event, in the order of time.
//!
//! A request becomes the lines Q, G (or M or F if it joined another request), I, D and C, as far as
//! the trace has their times. I, D and C of a request cover all I/Os that were merged into it,
//! which have no such lines themselves. Times are relative to the trace's start. Lines of one
//! device and CPU are numbered from 1. An event waits until no later record can have an earlier
//! event; at most [`MAX_PENDING_EVENTS`] events wait.

use super::{Export, ExportCounts, ExportFormat, NO_START, start_of, write_fault};
use q2c_model::{DevId, Fault, IoRecord, Layer, Nanos, Op, OpFlags};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::rc::Rc;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "blkparse",
    help: "text as blkparse prints it: Q, G or M, I, D and C lines in the order of time (block layer only)",
    export,
};

/// Most events that wait for their turn; far more than the requests in flight of any device.
const MAX_PENDING_EVENTS: usize = 4 << 20;
/// Most pairs of device and CPU whose lines are numbered. Lines of other pairs have the number 0,
/// as from a tracer that does not number them.
const MAX_NUMBERED_PAIRS: usize = 1 << 20;

fn export(export: Export<'_>) -> Result<ExportCounts, Fault> {
    let (out, path) = (export.out, export.path.display());
    let to_fault = write_fault(export.path);
    let refuse = |expected, found| {
        let text = format!("export {path} as blkparse: expected {expected}, found {found}");
        Err(Fault::usage(text))
    };
    let mut pending = PendingEvents::default();
    for records in export.records {
        for record in records? {
            if record.layer != Layer::Block {
                let user_layer = "the user layer's, which has no Q, G, I, D and C";
                return refuse("records of the block layer", user_layer);
            }
            let Some(Nanos(start)) = start_of(&record) else {
                pending.counts.leave_out(NO_START);
                continue;
            };
            let written = pending.write_while(|ns| ns < start, out);
            written.map_err(&to_fault)?;
            if pending.waiting.len() >= MAX_PENDING_EVENTS {
                return refuse("at most 4194304 events in flight", "more");
            }
            pending.add(record);
        }
    }
    pending.write_while(|_ns| true, out).map_err(&to_fault)?;
    Ok(pending.counts)
}

/// Action of an event, in the order of a request's life. Events of one instant are sorted by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BlkparseAction {
    Queue,
    Merge,
    Request,
    Insert,
    Issue,
    Complete,
}

/// Time (ns), action and number of an event. The number keeps events of one instant in order.
type EventKey = (u64, BlkparseAction, u64);

#[derive(Default)]
struct PendingEvents {
    waiting: BTreeMap<EventKey, Rc<IoRecord>>,
    event_count: u64,
    /// By id, for requests that will complete: the first sector, and the sector after the last.
    extents: HashMap<u64, (u64, u64)>,
    /// Number of lines so far, by device and CPU.
    numbers: HashMap<(DevId, u32), u32>,
    counts: ExportCounts,
}

impl PendingEvents {
    fn add(&mut self, record: IoRecord) {
        use BlkparseAction::{Complete, Insert, Issue, Merge, Queue, Request};
        let merged = record.merged_into.is_some();
        let action = if merged { Merge } else { Request };
        let unmerged = |time: Option<Nanos>| time.filter(|_| !merged);
        let times = [
            (record.queue_ns, Queue),
            (record.getrq_ns, action),
            (unmerged(record.insert_ns), Insert),
            (unmerged(record.issue_ns), Issue),
            (unmerged(record.complete_ns), Complete),
        ];
        if unmerged(record.complete_ns).is_some() {
            self.extents.insert(record.id, extent(&record));
        }
        let record = Rc::new(record);
        for (time, action) in times {
            if let Some(Nanos(time)) = time {
                self.event_count += 1;
                let key = (time, action, self.event_count);
                self.waiting.insert(key, record.clone());
            }
        }
        self.counts.written += 1;
    }

    /// Writes the earliest events for as long as `is_due` is true of their time (ns).
    fn write_while(&mut self, is_due: impl Fn(u64) -> bool, out: &mut dyn Write) -> io::Result<()> {
        while let Some(first) = self.waiting.first_entry()
            && is_due(first.key().0)
        {
            let (key, record) = first.remove_entry();
            self.write(key, &record, out)?;
        }
        Ok(())
    }

    fn write(&mut self, key: EventKey, record: &IoRecord, out: &mut dyn Write) -> io::Result<()> {
        let (time, action, _) = key;
        let (letter, (sector, end)) = self.apply(action, record);
        let is_complete = action == BlkparseAction::Complete;
        let end_cpu = record.cpu_complete.filter(|_| is_complete);
        let cpu = end_cpu.or(record.cpu_submit).unwrap_or(0);
        // A completion interrupts any process, and a trace does not record which one.
        let pid = record.pid.filter(|_| !is_complete).unwrap_or(0);
        let DevId { major, minor } = record.device;
        let (s, ns) = (time / 1_000_000_000, time % 1_000_000_000);
        let (number, rwbs) = (self.next_number(record.device, cpu), rwbs(record));
        write!(
            out,
            "{major:3},{minor:<3} {cpu:2} {number:8} {s:5}.{ns:09} {pid:5} {letter:>2} {rwbs:>3} "
        )?;
        let sectors = end - sector;
        if is_complete || sectors > 0 {
            write!(out, "{sector} ")?;
        }
        if sectors > 0 {
            write!(out, "+ {sectors} ")?;
        }
        if is_complete {
            return writeln!(out, "[{}]", record.error.unwrap_or(0).unsigned_abs());
        }
        match &record.comm {
            None => writeln!(out, "[(null)]"),
            Some(comm) if comm.contains(char::is_control) => {
                writeln!(out, "[{}]", comm.replace(char::is_control, "?"))
            }
            Some(comm) => writeln!(out, "[{comm}]"),
        }
    }

    /// Returns the letter of an event's line, and its sectors (first, after the last). A merge
    /// extends its carrier. I, D and C of a carrier have its whole extent.
    fn apply(&mut self, action: BlkparseAction, record: &IoRecord) -> (char, (u64, u64)) {
        let (first, end) = extent(record);
        let (letter, merged_extent) = match action {
            BlkparseAction::Queue => ('Q', None),
            BlkparseAction::Request => ('G', None),
            BlkparseAction::Merge => {
                let carrier = record.merged_into.and_then(|id| self.extents.get_mut(&id));
                let letter = carrier.map_or('M', |(from, to)| {
                    let letter = if end == *from { 'F' } else { 'M' };
                    (*from, *to) = (first.min(*from), end.max(*to));
                    letter
                });
                (letter, None)
            }
            BlkparseAction::Insert => ('I', self.extents.get(&record.id).copied()),
            BlkparseAction::Issue => ('D', self.extents.get(&record.id).copied()),
            BlkparseAction::Complete => ('C', self.extents.remove(&record.id)),
        };
        (letter, merged_extent.unwrap_or((first, end)))
    }

    fn next_number(&mut self, device: DevId, cpu: u32) -> u32 {
        let key = (device, cpu);
        if self.numbers.len() >= MAX_NUMBERED_PAIRS && !self.numbers.contains_key(&key) {
            return 0;
        }
        let number = self.numbers.entry(key).or_default();
        *number = number.wrapping_add(1);
        *number
    }
}

/// First sector of a request, and the sector after its last.
fn extent(record: &IoRecord) -> (u64, u64) {
    let sectors = record.bytes.0.div_ceil(512);
    (record.sector.0, record.sector.0.saturating_add(sectors))
}

fn rwbs(record: &IoRecord) -> String {
    let op = match record.op {
        Op::Read => "R",
        Op::Write => "W",
        Op::Discard => "D",
        Op::Flush => "FW",
        Op::Other => "N",
    };
    let letters = [
        (OpFlags::FUA, 'F'),
        (OpFlags::READAHEAD, 'A'),
        (OpFlags::SYNC, 'S'),
        (OpFlags::META, 'M'),
    ];
    let letters = letters.into_iter();
    let set = letters.filter(|(flag, _)| record.flags.contains(*flag));
    op.chars().chain(set.map(|(_, letter)| letter)).collect()
}
