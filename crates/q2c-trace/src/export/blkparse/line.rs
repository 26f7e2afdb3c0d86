use q2c_model::{DevId, IoRecord, Op, OpFlags};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::io::{self, Write};
use std::rc::Rc;

/// Kind of an event. The order is that of a request's life, which sorts events of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BlkparseAction {
    Queue,
    Merge,
    Request,
    Insert,
    Issue,
    Complete,
}

pub(super) struct BlkparseEvent {
    pub(super) time: u64,
    pub(super) kind: BlkparseAction,
    order: u64,
    pub(super) id: u64,
    /// For a merge: the id of the request that the I/O joins.
    pub(super) carrier: u64,
    /// For a merge: whether the I/O ends where the request begins, so that the line is F instead of
    /// M.
    pub(super) in_front: bool,
    device: DevId,
    cpu: u32,
    pid: u32,
    op: Op,
    flags: OpFlags,
    pub(super) sector: u64,
    sectors: u64,
    error: i32,
    comm: Option<Rc<str>>,
}

impl BlkparseEvent {
    pub(super) fn new(
        record: &IoRecord,
        time: u64,
        kind: BlkparseAction,
        order: u64,
        comm: Option<Rc<str>>,
    ) -> BlkparseEvent {
        let complete = kind == BlkparseAction::Complete;
        let cpu = if complete {
            record.cpu_complete.or(record.cpu_submit)
        } else {
            record.cpu_submit
        };
        BlkparseEvent {
            time,
            kind,
            order,
            id: record.id,
            carrier: record.merged_into.unwrap_or(u64::MAX),
            in_front: false,
            device: record.device,
            cpu: cpu.unwrap_or(0),
            // The process of a completion is whatever process was interrupted; a trace does not
            // know it.
            pid: record.pid.filter(|_| !complete).unwrap_or(0),
            op: record.op,
            flags: record.flags,
            sector: record.sector.0,
            sectors: record.bytes.0.div_ceil(512),
            error: record.error.unwrap_or(0),
            comm,
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.sector.saturating_add(self.sectors)
    }

    /// Replaces the event's range by the whole extent of a request that carries others.
    pub(super) fn cover(&mut self, extent: Option<(u64, u64)>) {
        if let Some((from, to)) = extent {
            (self.sector, self.sectors) = (from, to - from);
        }
    }

    fn letter(&self) -> char {
        match self.kind {
            BlkparseAction::Queue => 'Q',
            BlkparseAction::Merge if self.in_front => 'F',
            BlkparseAction::Merge => 'M',
            BlkparseAction::Request => 'G',
            BlkparseAction::Insert => 'I',
            BlkparseAction::Issue => 'D',
            BlkparseAction::Complete => 'C',
        }
    }

    fn rwbs(&self) -> String {
        let op = match self.op {
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
            .into_iter()
            .filter(|(flag, _)| self.flags.contains(*flag));
        op.chars().chain(set.map(|(_, letter)| letter)).collect()
    }

    pub(super) fn write(&self, number: u32, out: &mut dyn Write) -> io::Result<()> {
        let DevId { major, minor } = self.device;
        let (s, ns) = (self.time / 1_000_000_000, self.time % 1_000_000_000);
        let (cpu, pid, letter, rwbs) = (self.cpu, self.pid, self.letter(), self.rwbs());
        write!(
            out,
            "{major:3},{minor:<3} {cpu:2} {number:8} {s:5}.{ns:09} {pid:5} {letter:>2} {rwbs:>3} "
        )?;
        let (sector, sectors) = (self.sector, self.sectors);
        let some = sectors > 0;
        if self.kind == BlkparseAction::Complete {
            let error = self.error.unsigned_abs();
            return if some {
                writeln!(out, "{sector} + {sectors} [{error}]")
            } else {
                writeln!(out, "{sector} [{error}]")
            };
        }
        if some {
            write!(out, "{sector} + {sectors} ")?;
        }
        match &self.comm {
            None => writeln!(out, "[(null)]"),
            Some(comm) if comm.contains(char::is_control) => {
                writeln!(out, "[{}]", comm.replace(char::is_control, "?"))
            }
            Some(comm) => writeln!(out, "[{comm}]"),
        }
    }

    fn key(&self) -> (u64, BlkparseAction, u64) {
        (self.time, self.kind, self.order)
    }
}

impl PartialEq for BlkparseEvent {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for BlkparseEvent {}

impl PartialOrd for BlkparseEvent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BlkparseEvent {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[derive(Default)]
pub(super) struct LineNumbers(HashMap<(DevId, u32), u32>);

impl LineNumbers {
    /// Most pairs of device and CPU that are numbered. Lines of further pairs get the number 0, as
    /// from a tracer that does not count.
    const MOST: usize = 1 << 20;

    pub(super) fn next(&mut self, event: &BlkparseEvent) -> u32 {
        let key = (event.device, event.cpu);
        if self.0.len() >= Self::MOST && !self.0.contains_key(&key) {
            return 0;
        }
        let number = self.0.entry(key).or_default();
        *number = number.wrapping_add(1);
        *number
    }
}
