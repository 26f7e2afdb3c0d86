use super::start;
use crate::import::run::{RecordBuffer, no_thread};
use crate::import::{ImportError, ImportOptions, Input, Origin, RecordSink};
use crate::{Scan, TraceError};
use q2c_model::{IoRecord, TraceMeta};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Batches by which a reading thread may be ahead of the merge.
const WAITING: usize = 2;

enum Sent {
    /// Time zero; true if the importer numbers the devices.
    Begin(Origin, bool),
    Records(Vec<IoRecord>),
}

/// The merging side of a recording: call `begin` first, `peek` and `next` in turns, then `finish`.
pub(super) struct RecordingFeed<'scope> {
    pub(super) path: &'scope Path,
    thread: Option<ScopedJoinHandle<'scope, Result<TraceMeta, ImportError>>>,
    sent: Receiver<Sent>,
    records: std::vec::IntoIter<IoRecord>,
    next: Option<IoRecord>,
    /// Start of the last record, on the merged trace's clock, ns.
    last: u64,
    /// Time zero of the recording on its clock, ns.
    pub(super) zero_ns: u64,
    /// Added to all times of the recording, ns.
    pub(super) shift: u64,
    /// True if the importer numbers devices by their appearance. Equal numbers in two recordings
    /// then mean different devices.
    pub(super) numbers_devices: bool,
    ended: Option<TraceMeta>,
}

impl<'scope> RecordingFeed<'scope> {
    pub(super) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        path: &'env PathBuf,
        format: Option<&'env str>,
        options: &'env ImportOptions,
    ) -> Result<Self, ImportError>
    where
        'env: 'scope,
    {
        let (sender, sent) = sync_channel(WAITING);
        let body = move || {
            let mut sending = Sending {
                sender,
                numbers_devices: false,
            };
            let input = Input::with_options(path, format, options)?;
            let scan = Scan::new().batch_rows(RecordBuffer::LEN);
            input.read(path, options, &scan, &mut sending)
        };
        let thread = Builder::new().spawn_scoped(scope, body);
        let thread = thread.map_err(no_thread(path))?;
        Ok(RecordingFeed {
            path,
            thread: Some(thread),
            sent,
            records: Vec::new().into_iter(),
            next: None,
            last: 0,
            zero_ns: 0,
            shift: 0,
            numbers_devices: false,
            ended: None,
        })
    }

    /// Waits for the recording's time zero; `None` if the recording is empty.
    pub(super) fn begin(&mut self) -> Result<Option<Origin>, ImportError> {
        match self.sent.recv() {
            Ok(Sent::Begin(origin, numbers_devices)) => {
                (self.zero_ns, self.numbers_devices) = (origin.zero_ns, numbers_devices);
                Ok(Some(origin))
            }
            Ok(Sent::Records(_)) | Err(_) => self.end().map(|()| None),
        }
    }

    /// The start of the next record on the merged trace's clock, ns; `None` at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u64>, ImportError> {
        while self.next.is_none() {
            self.next = self.records.next();
            if self.next.is_some() || self.ended.is_some() {
                break;
            }
            match self.sent.recv() {
                Ok(Sent::Records(records)) => self.records = records.into_iter(),
                Ok(Sent::Begin(..)) => {}
                Err(_) => self.end()?,
            }
        }
        Ok(self.next.as_ref().map(|record| self.start_of(record)))
    }

    /// A recording that is out of order stays so, but must not delay the others.
    fn start_of(&self, record: &IoRecord) -> u64 {
        let start = start(record).map_or(0, |start| start.saturating_add(self.shift));
        start.max(self.last)
    }

    pub(super) fn next(&mut self) -> Option<IoRecord> {
        let record = self.next.take()?;
        self.last = self.start_of(&record);
        Some(record)
    }

    fn end(&mut self) -> Result<(), ImportError> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        match thread.join() {
            Ok(meta) => self.ended = Some(meta?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<TraceMeta, ImportError> {
        self.end()?;
        Ok(self.ended.unwrap_or_default())
    }
}

/// The reading side of a recording, in its own thread.
struct Sending {
    sender: SyncSender<Sent>,
    numbers_devices: bool,
}

impl Sending {
    fn send(&self, sent: Sent) -> Result<(), TraceError> {
        // Nobody receives after an error elsewhere, and that error is the one to report.
        self.sender.send(sent).map_err(|_| TraceError::Io {
            doing: "merge into",
            path: PathBuf::from("the trace"),
            source: io::Error::other("stopped"),
        })
    }
}

impl RecordSink for Sending {
    fn number_devices(&mut self) {
        self.numbers_devices = true;
    }

    fn begin(&mut self, origin: &Origin) -> Result<(), TraceError> {
        self.send(Sent::Begin(origin.clone(), self.numbers_devices))
    }

    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        self.take(&mut records.to_vec())
    }

    fn take(&mut self, records: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        let room = Vec::with_capacity(records.len());
        self.send(Sent::Records(std::mem::replace(records, room)))
    }
}
