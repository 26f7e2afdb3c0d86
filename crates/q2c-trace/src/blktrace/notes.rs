//! Notes between events: names of processes, the start of the trace, and messages.

use super::IntMap;
use super::layout::BlktraceLayout;
use std::rc::Rc;

/// Contents of the notes read so far.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    names: IntMap<u32, Rc<str>>,
    /// Earlier names of processes, each with the time (ns) from which the next name counts. A name
    /// changes when a program is started (exec), or when the id is reused.
    earlier: IntMap<u32, Vec<(u64, Rc<str>)>>,
    replaced: usize,
    /// Unix time of the start, ns; `None` without a timestamp note.
    pub start_unix_ns: Option<u64>,
    /// Time of that note on the monotonic clock, ns.
    pub start_ns: Option<u64>,
    /// Number of messages written into the trace.
    pub messages: u64,
}

/// Numbers of the notes that are read; other notes are ignored.
const PROCESS: u16 = 0;
const TIMESTAMP: u16 = 1;
const MESSAGE: u16 = 2;

impl Notes {
    /// Most processes whose names are kept. The kernel has at most as many process ids.
    const MOST: usize = 4 << 20;

    /// The name of a process at `time` (ns), if known.
    pub fn name(&self, pid: u32, time: u64) -> Option<&Rc<str>> {
        let earlier = self.earlier.get(&pid).into_iter().flatten();
        let then = earlier
            .filter(|(until, _)| time < *until)
            .map(|(_, name)| name);
        then.chain(self.names.get(&pid)).next()
    }

    /// True if a process had more than one name.
    pub fn are_renamed(&self) -> bool {
        self.replaced > 0
    }

    /// All process ids with their last names, unordered.
    pub fn names(&self) -> impl Iterator<Item = (u32, &Rc<str>)> {
        self.names.iter().map(|(pid, name)| (*pid, name))
    }

    /// Stores the name that a process has from `time` (ns) on.
    pub(crate) fn name_process(&mut self, pid: u32, time: u64, name: &[u8]) {
        let known = self.names.get(&pid);
        if known.is_some_and(|known| known.as_bytes() == name)
            || known.is_none() && self.names.len() >= Self::MOST
        {
            return;
        }
        let name = String::from_utf8_lossy(name);
        let before = self.names.insert(pid, Rc::from(name.as_ref()));
        if let Some(before) = before.filter(|_| self.replaced < Self::MOST) {
            self.replaced += 1;
            self.earlier.entry(pid).or_default().push((time, before));
        }
    }

    /// Reads a note. A cgroup id was removed from `payload` before.
    pub(super) fn take(
        &mut self,
        number: u16,
        pid: u32,
        time: u64,
        payload: &[u8],
        layout: BlktraceLayout,
    ) {
        match number {
            PROCESS => {
                let end = payload.iter().position(|byte| *byte == 0);
                let name = &payload[..end.unwrap_or(payload.len()).min(16)];
                self.name_process(pid, time, name);
            }
            TIMESTAMP if payload.len() >= 8 => {
                let s = layout.number::<4>(payload);
                let ns = layout.number::<4>(&payload[4..]);
                self.start_unix_ns = Some(s * 1_000_000_000 + ns);
                self.start_ns = Some(time);
            }
            MESSAGE => self.messages += 1,
            _ => {}
        }
    }
}
