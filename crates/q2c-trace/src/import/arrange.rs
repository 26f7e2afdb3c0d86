//! Turns rows in the order of the source into records in the order of time.
//!
//! Rows wait in a window, which sorts a source that is out of order by less than the window. The
//! first start becomes time zero. Requests in flight are counted if the source has ends. With the
//! option to sort, rows may come in any order: all of them wait in a [`Sorter`].

use super::error::{BadLine, ImportError, fall_error};
use super::options::ImportOptions;
use super::row::{Name, Row};
use super::run::{Intake, Origin, RecordSink, fact, refusal};
use super::text::ParsedBlock;
use crate::sorter::Sorter;
use q2c_model::{Exit, Fault, IoRecord, Layer, Nanos, TraceMeta};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

/// Properties that all sources of a format share.
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) layer: Layer,
    pub(super) clock: &'static str,
    pub(super) is_unix: bool,
    pub(super) ends: bool,
    /// True if a row without a waiting time starts when the driver got the request.
    pub(super) starts_at_issue: bool,
    /// True if the names in rows are hosts. Each host then becomes a major number.
    pub(super) has_hosts: bool,
    /// True if the importer numbers devices by their appearance. Equal numbers in two sources then
    /// mean different devices.
    pub(super) numbers_devices: bool,
    /// True if positions are bytes of a binary source, not lines.
    pub(super) is_binary: bool,
}

impl Spec {
    /// The usual properties of a block trace: one request per line, its own clock, no ends.
    pub(super) const fn lines(name: &'static str, clock: &'static str) -> Spec {
        Spec {
            name,
            layer: Layer::Block,
            clock,
            is_unix: false,
            ends: false,
            starts_at_issue: false,
            has_hosts: false,
            numbers_devices: false,
            is_binary: false,
        }
    }
}

/// Number of rows that wait in the window, because later rows may start earlier.
pub(super) const WINDOW_ROWS: usize = 64 * 1024;
/// Most hosts in a source, because they are searched linearly.
const MAX_HOSTS: usize = 1024;

/// Most successive rows that may be bad only because of their time.
const MAX_EARLY_IN_A_ROW: u32 = 64;

/// How far the rows of a source are out of order: number of rows, largest distance.
#[derive(Debug, Default)]
struct Disorder {
    last_start: Nanos,
    rows: u64,
    max_fall: Nanos,
}

impl Disorder {
    fn add(&mut self, start: Nanos) {
        if start < self.last_start {
            self.rows += 1;
            self.max_fall = self.max_fall.max(self.last_start - start);
        }
        self.last_start = start;
    }

    fn facts(&self) -> impl Iterator<Item = (String, String)> {
        let facts = [("rows", self.rows), ("most_ns", self.max_fall.0)].into_iter();
        let nonzero = facts.filter(|(_, value)| *value > 0);
        nonzero.map(|(name, value)| (format!("reordered.{name}"), value.to_string()))
    }
}

/// Rows that are sorted in memory at once, about 150 MB.
const RUN_ROWS: usize = 1 << 20;

/// Takes the rows of a source and passes them on as sorted records: call `push` for each row, then
/// `finish`.
pub(super) struct RowSorter<'a> {
    spec: &'a Spec,
    pub(super) intake: Intake<'a>,
    /// Number of lines or records that were read.
    pub(super) lines: u64,
    window: Vec<Row>,
    /// Replaces the window if the option to sort is given. The folder is that of the sorter's file.
    sorter: Option<(Sorter<Row>, PathBuf)>,
    window_is_sorted: bool,
    origin: Option<Nanos>,
    /// The start of the last row that was passed on.
    horizon: Nanos,
    disorder: Disorder,
    /// Successive rows that are earlier than records already passed on.
    early_in_a_row: u32,
    depths: Depths,
    hosts: Vec<Name>,
}

impl<'a> RowSorter<'a> {
    pub(super) fn new(
        path: &'a Path,
        options: &ImportOptions,
        sink: &'a mut dyn RecordSink,
        spec: &'a Spec,
    ) -> Self {
        let mut intake = Intake::new(path, options.skip_bad, sink);
        intake.is_binary = spec.is_binary;
        let sorter = |folder: &PathBuf| (Sorter::new(folder, RUN_ROWS), folder.clone());
        RowSorter {
            spec,
            intake,
            lines: 0,
            window: Vec::new(),
            sorter: options.sort.as_ref().map(sorter),
            window_is_sorted: true,
            origin: None,
            horizon: Nanos::ZERO,
            disorder: Disorder::default(),
            early_in_a_row: 0,
            depths: Depths::default(),
            hosts: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, mut row: Row) -> Result<(), ImportError> {
        if row.start < self.horizon {
            return self.refuse_early(&row);
        }
        self.disorder.add(row.start);
        self.early_in_a_row = 0;
        if self.spec.has_hosts
            && let Err(bad) = self.number_host(&mut row)
        {
            return self.intake.bad(row.position, bad);
        }
        if let Some((rows, folder)) = &mut self.sorter {
            let pushed = rows.push(row);
            return pushed.map_err(|error| sort_error(self.intake.path, folder, error));
        }
        self.window_is_sorted &= self
            .window
            .last()
            .is_none_or(|last| last.start <= row.start);
        self.window.push(row);
        if self.window.len() == 2 * WINDOW_ROWS {
            self.emit_first(WINDOW_ROWS)
        } else {
            Ok(())
        }
    }

    /// Counts a row as bad that is earlier than records already passed on. Refuses the source if
    /// too many such rows follow each other.
    fn refuse_early(&mut self, row: &Row) -> Result<(), ImportError> {
        self.early_in_a_row += 1;
        if self.early_in_a_row > MAX_EARLY_IN_A_ROW {
            let unit = if self.spec.is_binary {
                "record at byte"
            } else {
                "line"
            };
            let (place, fall) = (format!("{unit} {}", row.position), self.horizon - row.start);
            let todo = "import with --sort, or import the recordings in it as files of their own";
            return Err(fall_error(self.intake.path, place, fall.0, todo));
        }
        let expected =
            "a start not before the requests more than 65536 rows above (or import with --sort)";
        let start = format!("{} ns", row.start.0);
        let bad = BadLine::new("time goes back", "time", expected, &start);
        self.intake.bad(row.position, bad)
    }

    /// Takes a block's rows. Returns its memory for the next block.
    pub(super) fn push_block(&mut self, parsed: ParsedBlock) -> Result<Vec<u8>, ImportError> {
        self.intake.skipped.append(&parsed.skipped, self.lines);
        for mut row in parsed.rows {
            row.position += self.lines;
            self.push(row)?;
        }
        if let Some((line, bad)) = parsed.stopped {
            let line = self.lines + line;
            return Err(refusal(self.intake.path, self.spec.is_binary, line, bad));
        }
        self.lines += parsed.lines;
        Ok(parsed.memory)
    }

    pub(super) fn finish(mut self) -> Result<TraceMeta, ImportError> {
        self.emit_first(self.window.len())?;
        if let Some((rows, folder)) = self.sorter.take() {
            let path = self.intake.path;
            let to_error = |error| sort_error(path, &folder, error);
            rows.finish(to_error, |row| self.emit(&row))?;
        }
        let spec = self.spec;
        let mut meta = self.intake.finish(spec.name, spec.clock, self.lines)?;
        let origin = self.origin.unwrap_or_default().0;
        meta.start_unix_ns = spec.is_unix.then_some(origin);
        for (index, host) in self.hosts.iter().enumerate() {
            let name = host.text().unwrap_or_default();
            let major = format!("device.major.{}", index + 1);
            meta.facts.insert(major, format!("host {name}"));
        }
        meta.facts.extend(self.disorder.facts());
        meta.facts.extend([fact("source_time_of_zero_ns", origin)]);
        let depth = fact("stated.depth_at_submit", "1 (the source has no ends)");
        meta.facts.extend((!spec.ends).then_some(depth));
        Ok(meta)
    }

    fn emit_first(&mut self, count: usize) -> Result<(), ImportError> {
        if !self.window_is_sorted {
            // The sort is stable: requests of one instant keep the source's order.
            self.window.sort_by_key(|row| row.start);
            self.window_is_sorted = true;
        }
        let mut window = std::mem::take(&mut self.window);
        for row in &window[..count] {
            self.emit(row)?;
        }
        window.drain(..count);
        self.window = window;
        Ok(())
    }

    fn emit(&mut self, row: &Row) -> Result<(), ImportError> {
        let origin = match self.origin {
            Some(origin) => origin,
            None => self.set_origin(row.start),
        };
        self.horizon = row.start;
        match self.end_and_depth(row, origin) {
            Ok((end, depth)) => self.emit_record(row, origin, end, depth),
            Err(bad) => self.intake.bad(row.position, bad),
        }
    }

    fn set_origin(&mut self, origin: Nanos) -> Nanos {
        if self.spec.numbers_devices {
            self.intake.number_devices();
        }
        self.intake.origin = Origin {
            clock: self.spec.clock.to_owned(),
            unix: self.spec.is_unix,
            zero_ns: origin.0,
        };
        *self.origin.insert(origin)
    }

    /// The end of a row's request, and its lane's requests in flight.
    #[inline]
    fn end_and_depth(&mut self, row: &Row, origin: Nanos) -> Result<(Option<Nanos>, u32), BadLine> {
        let start = Nanos(row.start.0 - origin.0);
        let latency = row.latency.get();
        let end = latency.map(|latency| end_of(start, latency)).transpose()?;
        let depth = if self.spec.ends {
            self.depths.submit(row.lane, start, end)?
        } else {
            1
        };
        Ok((end, depth))
    }

    /// The record is built where it is passed on, because it is large.
    #[inline]
    fn emit_record(
        &mut self,
        row: &Row,
        origin: Nanos,
        end: Option<Nanos>,
        depth_at_submit: u32,
    ) -> Result<(), ImportError> {
        let (start, layer) = (Nanos(row.start.0 - origin.0), self.spec.layer);
        let waited = row.waited.get();
        let is_block = layer == Layer::Block;
        let start_is_issue = is_block && self.spec.starts_at_issue && waited.is_none();
        let only_if = |is_of_layer: bool, time: Option<Nanos>| time.filter(|_| is_of_layer);
        let issue_after_wait = waited.map(|waited| Nanos(start.0.saturating_add(waited.0)));
        self.intake.take(IoRecord {
            flags: row.flags,
            lane: row.lane,
            depth_at_submit,
            queue_ns: only_if(is_block && !start_is_issue, Some(start)),
            issue_ns: issue_after_wait.or(only_if(start_is_issue, Some(start))),
            complete_ns: only_if(is_block, end),
            submit_ns: only_if(!is_block, Some(start)),
            reap_ns: only_if(!is_block, end),
            pid: row.pid,
            comm: (!self.spec.has_hosts).then(|| row.name.text()).flatten(),
            ..IoRecord::new(0, layer, row.device, row.op, row.sector, row.bytes)
        })
    }

    /// Replaces the row's major number by its host's number, counted from 1 by appearance.
    fn number_host(&mut self, row: &mut Row) -> Result<(), BadLine> {
        let index = match self.hosts.iter().rposition(|host| *host == row.name) {
            Some(index) => index,
            None if self.hosts.len() == MAX_HOSTS => {
                let host_name = row.name.text().unwrap_or_default();
                let expected = "at most 1024 hosts";
                return Err(BadLine::new("too many hosts", "host", expected, &host_name));
            }
            None => {
                self.hosts.push(row.name);
                self.hosts.len() - 1
            }
        };
        // The bound on hosts keeps the number within 32 bits.
        row.device.major = index as u32 + 1;
        Ok(())
    }
}

fn end_of(start: Nanos, latency: Nanos) -> Result<Nanos, BadLine> {
    let end = start.0.checked_add(latency.0).map(Nanos);
    end.ok_or_else(|| {
        let latency = format!("{} ns", latency.0);
        BadLine::new("too large", "latency", "an end below 2^64 ns", &latency)
    })
}

fn sort_error(path: &Path, folder: &Path, error: io::Error) -> ImportError {
    let (path, folder) = (path.display(), folder.display());
    let message = format!("sort {path} in {folder}: {error}; name another folder with TMPDIR");
    let fault = Fault::new(Exit::from_spill_error(&error), message);
    fault.with_source(error).into()
}

/// Most requests in flight over all lanes: bounds memory, and no device takes as many.
const MAX_IN_FLIGHT: usize = 1 << 20;

/// The ends of the requests in flight, by lane. Successive starts must not fall.
#[derive(Default)]
pub(crate) struct Depths {
    lanes: HashMap<u32, BinaryHeap<Reverse<Nanos>>>,
    in_flight: usize,
}

impl Depths {
    /// Counts a request. Returns the number in flight in its lane, itself included. A request that
    /// ends when another starts is no longer in flight. A request without an end counts only at its
    /// own start.
    pub(crate) fn submit(
        &mut self,
        lane: u32,
        start: Nanos,
        end: Option<Nanos>,
    ) -> Result<u32, BadLine> {
        let ends = self.lanes.entry(lane).or_default();
        while ends.peek().is_some_and(|Reverse(end)| *end <= start) {
            ends.pop();
            self.in_flight -= 1;
        }
        if self.in_flight == MAX_IN_FLIGHT {
            let expected = "at most 1048576 requests in flight (is the unit right?)";
            return Err(BadLine::new("too many in flight", "latency", expected, "").found("more"));
        }
        // The bound on requests in flight keeps the number within 32 bits.
        let depth = ends.len() as u32 + 1;
        if let Some(end) = end {
            ends.push(Reverse(end));
            self.in_flight += 1;
        }
        Ok(depth)
    }
}
