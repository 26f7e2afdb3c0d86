//! The text that blkparse prints: one line per event, in the order of time.
//!
//! A request becomes the lines Q, G (or M or F where it joined the request of another), I, D and C,
//! as far as the trace has their times. When a request carries others, its I, D and C cover those
//! that joined it before, and the others have no I, D and C of their own.
//! Times count from the trace's start. Lines of one device and CPU are numbered from 1. An event
//! waits until no later record can bring an earlier one; at most [`MOST_WAITING`] events wait.

mod line;

use super::run::{Exported, NO_START, start, written};
use super::{Export, ExportFormat};
use line::{BlkparseAction, BlkparseEvent, LineNumbers};
use q2c_model::{Exit, Fault, IoRecord, Layer, Nanos};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, Write};
use std::rc::Rc;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "blkparse",
    help: "text as blkparse prints it: Q, G or M, I, D and C lines in the order of time (block layer only)",
    export,
};

/// Most events that wait; far above the requests in flight of any device.
const MOST_WAITING: usize = 4 << 20;

fn export(of: Export<'_>) -> Result<Exported, Fault> {
    let out = of.out;
    let path = of.path;
    let failed = written(path);
    let unfit = |expected, found| {
        let (path, format) = (path.display(), FORMAT.name);
        let text = format!("export {path} as {format}: expected {expected}, found {found}");
        Fault::new(Exit::Usage, text)
    };
    let mut pending = PendingEvents::default();
    for records in of.records {
        for record in records? {
            if record.layer != Layer::Block {
                let user_layer = "the user layer's, which has no Q, G, I, D and C";
                return Err(unfit("records of the block layer", user_layer));
            }
            let Some(start) = start(&record) else {
                pending.exported.leave_out(NO_START);
                continue;
            };
            pending.write_before(start, out).map_err(&failed)?;
            if pending.waiting.len() >= MOST_WAITING {
                return Err(unfit("at most 4194304 events in flight", "more"));
            }
            pending.add(record);
        }
    }
    pending
        .write_before(Nanos(u64::MAX), out)
        .map_err(&failed)?;
    Ok(pending.exported)
}

#[derive(Default)]
struct PendingEvents {
    waiting: BinaryHeap<Reverse<BlkparseEvent>>,
    /// Number of events so far; it keeps the events of one instant in order.
    events: u64,
    /// First sector, and first sector behind the last, of requests under way that will complete, by
    /// id.
    extents: HashMap<u64, (u64, u64)>,
    numbers: LineNumbers,
    exported: Exported,
}

impl PendingEvents {
    fn add(&mut self, mut record: IoRecord) {
        let comm: Option<Rc<str>> = record.comm.take().map(Rc::from);
        let merged = record.merged_into.is_some();
        let asks = if merged {
            BlkparseAction::Merge
        } else {
            BlkparseAction::Request
        };
        let (issue, complete) = if merged {
            (None, None)
        } else {
            (record.issue_ns, record.complete_ns)
        };
        let times = [
            (record.queue_ns, BlkparseAction::Queue),
            (record.getrq_ns, asks),
            (record.insert_ns.filter(|_| !merged), BlkparseAction::Insert),
            (issue, BlkparseAction::Issue),
            (complete, BlkparseAction::Complete),
        ];
        for (time, kind) in times {
            let Some(Nanos(time)) = time else { continue };
            self.events += 1;
            let event = BlkparseEvent::new(&record, time, kind, self.events, comm.clone());
            self.waiting.push(Reverse(event));
        }
        if complete.is_some() {
            let from = record.sector.0;
            let to = from.saturating_add(record.bytes.0.div_ceil(512));
            self.extents.insert(record.id, (from, to));
        }
        self.exported.written += 1;
    }

    /// Writes the events before `time`; for the largest time, all events.
    fn write_before(&mut self, Nanos(time): Nanos, out: &mut dyn Write) -> io::Result<()> {
        while let Some(Reverse(next)) = self.waiting.peek() {
            if next.time >= time && time != u64::MAX {
                break;
            }
            if let Some(Reverse(mut event)) = self.waiting.pop() {
                self.cover_merged(&mut event);
                let number = self.numbers.next(&event);
                event.write(number, out)?;
            }
        }
        Ok(())
    }

    /// Extends the carrier's extent by a merge, and gives I, D and C of a carrier the whole extent.
    fn cover_merged(&mut self, event: &mut BlkparseEvent) {
        match event.kind {
            BlkparseAction::Merge => {
                let Some((from, to)) = self.extents.get_mut(&event.carrier) else {
                    return;
                };
                event.in_front = event.end() == *from;
                *from = event.sector.min(*from);
                *to = event.end().max(*to);
            }
            BlkparseAction::Insert | BlkparseAction::Issue => {
                let extent = self.extents.get(&event.id).copied();
                event.cover(extent);
            }
            BlkparseAction::Complete => {
                let extent = self.extents.remove(&event.id);
                event.cover(extent);
            }
            BlkparseAction::Queue | BlkparseAction::Request => {}
        }
    }
}
