//! The text that blkparse prints: one line per event, in the order of time.
//!
//! A request becomes the lines Q, G (or M or F if it joined another request), I, D and C, as far as
//! the trace has their times. I, D and C of a request cover all I/Os that were merged into it,
//! which have no such lines themselves. Times are relative to the trace's start. Lines of one
//! device and CPU are numbered from 1. An event waits until no later record can have an earlier
//! event; at most [`MOST_WAITING`] events wait.

use super::{Export, ExportFormat, Exported, NO_START, start, written};
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
const MOST_WAITING: usize = 4 << 20;
/// Most pairs of device and CPU whose lines are numbered. Lines of other pairs have the number 0,
/// as from a tracer that does not number them.
const MOST_NUMBERED: usize = 1 << 20;

fn export(of: Export<'_>) -> Result<Exported, Fault> {
    let (out, path) = (of.out, of.path);
    let failed = written(path);
    let unfit = |expected, found| {
        let (path, format) = (path.display(), FORMAT.name);
        let text = format!("export {path} as {format}: expected {expected}, found {found}");
        Fault::usage(text)
    };
    let mut pending = PendingEvents::default();
    for records in of.records {
        for record in records? {
            if record.layer != Layer::Block {
                let user_layer = "the user layer's, which has no Q, G, I, D and C";
                return Err(unfit("records of the block layer", user_layer));
            }
            let Some(Nanos(start)) = start(&record) else {
                pending.exported.leave_out(NO_START);
                continue;
            };
            pending.write_while(|at| at < start, out).map_err(&failed)?;
            if pending.waiting.len() >= MOST_WAITING {
                return Err(unfit("at most 4194304 events in flight", "more"));
            }
            pending.add(record);
        }
    }
    pending.write_while(|_| true, out).map_err(&failed)?;
    Ok(pending.exported)
}

/// Kind of an event, in the order of a request's life. Events of one instant are sorted by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BlkparseAction {
    Queue,
    Merge,
    Request,
    Insert,
    Issue,
    Complete,
}

/// The place of an event: its time, its kind, and its number, which keeps those of one instant in
/// order.
type EventOrder = (u64, BlkparseAction, u64);

#[derive(Default)]
struct PendingEvents {
    waiting: BTreeMap<EventOrder, Rc<IoRecord>>,
    events: u64,
    /// First sector, and the sector after the last, by id, for requests that will complete.
    extents: HashMap<u64, (u64, u64)>,
    /// Number of lines so far, by device and CPU.
    numbers: HashMap<(DevId, u32), u32>,
    exported: Exported,
}

impl PendingEvents {
    fn add(&mut self, record: IoRecord) {
        let merged = record.merged_into.is_some();
        let asks = if merged {
            BlkparseAction::Merge
        } else {
            BlkparseAction::Request
        };
        let unmerged = |time: Option<Nanos>| time.filter(|_| !merged);
        let times = [
            (record.queue_ns, BlkparseAction::Queue),
            (record.getrq_ns, asks),
            (unmerged(record.insert_ns), BlkparseAction::Insert),
            (unmerged(record.issue_ns), BlkparseAction::Issue),
            (unmerged(record.complete_ns), BlkparseAction::Complete),
        ];
        if unmerged(record.complete_ns).is_some() {
            self.extents.insert(record.id, extent(&record));
        }
        let record = Rc::new(record);
        for (time, kind) in times {
            let Some(Nanos(time)) = time else { continue };
            self.events += 1;
            let order = (time, kind, self.events);
            self.waiting.insert(order, record.clone());
        }
        self.exported.written += 1;
    }

    /// Writes the earliest events for as long as `wants` accepts their time in ns.
    fn write_while(&mut self, wants: impl Fn(u64) -> bool, out: &mut dyn Write) -> io::Result<()> {
        while let Some(next) = self.waiting.first_entry()
            && wants(next.key().0)
        {
            let ((time, kind, _), record) = next.remove_entry();
            self.write(time, kind, &record, out)?;
        }
        Ok(())
    }

    fn write(
        &mut self,
        time: u64,
        kind: BlkparseAction,
        record: &IoRecord,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (letter, (sector, end)) = self.letter_and_extent(kind, record);
        let is_complete = kind == BlkparseAction::Complete;
        let of_end = record.cpu_complete.filter(|_| is_complete);
        let cpu = of_end.or(record.cpu_submit).unwrap_or(0);
        // A completion interrupts any process, and a trace does not record which one.
        let pid = record.pid.filter(|_| !is_complete).unwrap_or(0);
        let DevId { major, minor } = record.device;
        let (s, ns) = (time / 1_000_000_000, time % 1_000_000_000);
        let (number, rwbs) = (self.number(record.device, cpu), rwbs(record));
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

    /// The letter of an event's line, and its sectors (first, after the last). A merge extends its
    /// carrier. I, D and C of a carrier have its whole extent.
    fn letter_and_extent(&mut self, kind: BlkparseAction, record: &IoRecord) -> (char, (u64, u64)) {
        let (first, end) = extent(record);
        let whole = match kind {
            BlkparseAction::Queue => return ('Q', (first, end)),
            BlkparseAction::Request => return ('G', (first, end)),
            BlkparseAction::Merge => {
                let carrier = record.merged_into.and_then(|id| self.extents.get_mut(&id));
                let letter = carrier.map_or('M', |(from, to)| {
                    let letter = if end == *from { 'F' } else { 'M' };
                    (*from, *to) = (first.min(*from), end.max(*to));
                    letter
                });
                return (letter, (first, end));
            }
            BlkparseAction::Insert => ('I', self.extents.get(&record.id).copied()),
            BlkparseAction::Issue => ('D', self.extents.get(&record.id).copied()),
            BlkparseAction::Complete => ('C', self.extents.remove(&record.id)),
        };
        (whole.0, whole.1.unwrap_or((first, end)))
    }

    fn number(&mut self, device: DevId, cpu: u32) -> u32 {
        let key = (device, cpu);
        if self.numbers.len() >= MOST_NUMBERED && !self.numbers.contains_key(&key) {
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
    let set = letters
        .iter()
        .filter(|(flag, _)| record.flags.contains(*flag));
    op.chars().chain(set.map(|(_, letter)| *letter)).collect()
}
