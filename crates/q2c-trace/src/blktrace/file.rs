use super::context::{BlktraceLosses, EventContext, Notes};
use super::event::{BlktraceEvent, action, category};
use super::layout::BlktraceLayout;
use crate::import::unreadable;
use q2c_model::Fault;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Most bytes of a record with its payload, whose length has 16 bits.
const MAX_RECORD_BYTES: usize = 64 + u16::MAX as usize;

/// Reads the events of one file through a buffer, without an allocation per event.
pub struct EventFile<R> {
    pub(super) path: PathBuf,
    input: R,
    buffer: Box<[u8]>,
    /// The bytes `from..to` of the buffer are read but not used yet.
    from: usize,
    to: usize,
    /// Offset of `from` in the file, for messages, bytes.
    offset: u64,
    ended: bool,
    skip_bad: bool,
    /// The layout of the records; `None` before the first record is read.
    pub(super) layout: Option<BlktraceLayout>,
    last_time: u64,
}

impl<R: Read> EventFile<R> {
    /// Wraps an open file; `path` names it in messages. The buffer has `buffer` bytes, at least
    /// those of the longest record (65 KiB). With `skip_bad`, bytes that are no record are skipped
    /// and counted instead of reported.
    pub fn new(path: &Path, input: R, buffer: usize, skip_bad: bool) -> Self {
        EventFile {
            path: path.to_owned(),
            input,
            buffer: vec![0; buffer.max(MAX_RECORD_BYTES)].into_boxed_slice(),
            from: 0,
            to: 0,
            offset: 0,
            ended: false,
            skip_bad,
            layout: None,
            last_time: 0,
        }
    }

    /// The next event; `None` at the end.
    ///
    /// Adds notes and losses to `context`. Times never fall: an event earlier than its predecessor
    /// gets the predecessor's time and is counted. A record that the end of the file cuts off is
    /// counted too. Anything else in the place of a record is an error, unless bad records are
    /// skipped.
    #[inline]
    fn next_event(&mut self, context: &mut EventContext) -> Result<Option<BlktraceEvent>, Fault> {
        loop {
            let Some((mut event, len, payload_len)) = self.decode(&mut context.losses)? else {
                return Ok(None);
            };
            let start = self.from + len - payload_len;
            self.from += len;
            self.offset += len as u64;
            if payload_len > 0 || event.category & category::NOTIFY != 0 {
                self.take_payload(&mut event, start, payload_len, &mut context.notes);
            }
            if event.category & category::NOTIFY != 0 {
                continue;
            }
            event.raise_time(self.last_time, &mut context.losses);
            self.last_time = event.time;
            return Ok(Some(event));
        }
    }

    /// As [`EventFile::next_event`], but also takes the following events, up to a record that needs
    /// more than decoding. The events replace those in `events`, which is empty at the end of the
    /// file. A note is left for the next call, so that it is read after earlier events are used.
    pub(super) fn next_events(
        &mut self,
        events: &mut Vec<BlktraceEvent>,
        context: &mut EventContext,
    ) -> Result<(), Fault> {
        events.clear();
        let Some(first) = self.next_event(context)? else {
            return Ok(());
        };
        events.push(first);
        let Some(layout) = self.layout else {
            return Ok(());
        };
        match (layout.version_8, layout.big_endian) {
            (false, false) => self.read_plain_events::<false, false>(events),
            (true, false) => self.read_plain_events::<true, false>(events),
            (false, true) => self.read_plain_events::<false, true>(events),
            (true, true) => self.read_plain_events::<true, true>(events),
        }
        Ok(())
    }

    /// Appends the next events as long as their records are completely in the buffer, have no
    /// payload, are no notes and are not earlier than the event before.
    ///
    /// The layout is a compile-time constant, so that an event is decoded directly into its place.
    /// Moving it would take longer than decoding it.
    fn read_plain_events<const VERSION_8: bool, const BIG: bool>(
        &mut self,
        events: &mut Vec<BlktraceEvent>,
    ) {
        /// Most events at once. So many events of several files fit into a core's first cache.
        const MAX_EVENTS: usize = 32;
        let layout = BlktraceLayout {
            version_8: VERSION_8,
            big_endian: BIG,
        };
        let (len, magic) = (layout.record_len(), layout.magic_bytes());
        let records = self.buffer[self.from..self.to].chunks_exact(len);
        for record in records.take(MAX_EVENTS - events.len()) {
            if record[..4] != magic {
                break;
            }
            let (event, payload) = BlktraceLayout::event_of::<VERSION_8, BIG>(record);
            let is_note = event.category & category::NOTIFY != 0;
            if payload > 0 || is_note || event.time < self.last_time {
                break;
            }
            self.from += len;
            self.offset += len as u64;
            self.last_time = event.time;
            events.push(event);
        }
    }

    /// Returns the event at `from`, the length of its record with payload, and that of the payload,
    /// bytes; `None` at the end.
    #[inline]
    fn decode(
        &mut self,
        losses: &mut BlktraceLosses,
    ) -> Result<Option<(BlktraceEvent, usize, usize)>, Fault> {
        loop {
            let bytes = &self.buffer[self.from..self.to];
            if let Some(layout) = self.layout
                && bytes.len() >= layout.record_len()
                && bytes[..4] == layout.magic_bytes()
            {
                let (event, payload) = layout.event(bytes);
                let len = layout.record_len() + payload;
                if len <= bytes.len() {
                    return Ok(Some((event, len, payload)));
                }
            }
            if !self.handle_unusual(losses)? {
                return Ok(None);
            }
        }
    }

    /// Handles the end of the buffer, start and end of the file, and bytes that are no record.
    /// Returns false if no record follows.
    #[cold]
    fn handle_unusual(&mut self, losses: &mut BlktraceLosses) -> Result<bool, Fault> {
        if self.to - self.from < MAX_RECORD_BYTES && !self.ended {
            self.fill()?;
            return Ok(true);
        }
        let bytes = &self.buffer[self.from..self.to];
        if bytes.is_empty() {
            return Ok(false);
        }
        let next_layout = BlktraceLayout::at_start(bytes);
        match (self.layout, next_layout) {
            (None, Some(next_layout)) => {
                self.layout = Some(next_layout);
                Ok(true)
            }
            (Some(layout), Some(next_layout)) if layout == next_layout => self.skip_cut_off(losses),
            _ if bytes.len() < 4 && self.layout.is_some() => self.skip_cut_off(losses),
            _ if self.skip_bad => self.skip_to_record(losses),
            _ => Err(self.no_record_fault(next_layout)),
        }
    }

    fn skip_cut_off(&mut self, losses: &mut BlktraceLosses) -> Result<bool, Fault> {
        losses.count("record cut off by the file's end", 1);
        self.from = self.to;
        Ok(false)
    }

    /// Skips bytes up to the next magic number. Returns false if there is none before the end.
    fn skip_to_record(&mut self, losses: &mut BlktraceLosses) -> Result<bool, Fault> {
        losses.count("no record", 1);
        loop {
            let bytes = &self.buffer[self.from..self.to];
            let fits = |head: &[u8]| {
                let layout = BlktraceLayout::at_start(head);
                layout.is_some() && self.layout.is_none_or(|expected| layout == Some(expected))
            };
            let at = bytes.windows(4).skip(1).position(fits).map(|at| at + 1);
            let step = at.unwrap_or(bytes.len().saturating_sub(3));
            self.from += step;
            self.offset += step as u64;
            if at.is_some() {
                return Ok(true);
            }
            if self.ended {
                self.from = self.to;
                return Ok(false);
            }
            self.fill()?;
        }
    }

    fn no_record_fault(&self, found: Option<BlktraceLayout>) -> Fault {
        let bytes = &self.buffer[self.from..self.to];
        let head: Vec<String> = bytes.iter().take(4).map(|b| format!("{b:02x}")).collect();
        let expected = match self.layout {
            Some(layout) => format!("a record of {layout} as before"),
            None => "a blktrace record (magic 0x656174, version 7 or 8)".to_owned(),
        };
        let head = found.map_or_else(|| format!("bytes {}", head.join(" ")), |l| l.to_string());
        let (path, offset) = (self.path.display(), self.offset);
        Fault::input(format_args!(
            "read {path}, offset {offset}: expected {expected}, found {head}; copy or record it again, or skip and count what is bad with --skip-bad"
        ))
    }

    fn take_payload(&self, event: &mut BlktraceEvent, start: usize, len: usize, notes: &mut Notes) {
        let Some(layout) = self.layout else { return };
        let mut payload = &self.buffer[start..start + len];
        if event.cgroup != 0 {
            event.cgroup = layout.number::<8>(payload);
            payload = payload.get(8..).unwrap_or_default();
        }
        if event.category & category::NOTIFY != 0 {
            notes.read(event, payload, layout);
        } else if event.action == action::SPLIT {
            // The kernel writes this field as big-endian on all machines.
            event.split_at = payload.first_chunk().map_or(0, |b| u64::from_be_bytes(*b));
        }
    }

    fn fill(&mut self) -> Result<(), Fault> {
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        while self.to < self.buffer.len() && !self.ended {
            match self.input.read(&mut self.buffer[self.to..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.to += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(unreadable(&self.path)(source)),
            }
        }
        Ok(())
    }
}
