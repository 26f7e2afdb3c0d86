//! Turns rows in the order of the source into records in the order of time.
//!
//! Rows wait in a window, so that a source that is out of order by less than the window comes out
//! sorted. The first start becomes time zero, and requests in flight are counted where the source
//! has ends. With the option to sort, rows may come in any order: they wait in a [`Sorter`] until
//! all are there.

use super::depth::Depths;
use super::error::{BadLine, ImportError};
use super::options::ImportOptions;
use super::row::{Name, Row};
use super::run::{Intake, Origin, RecordSink, Skipped, SourcePosition};
use crate::sorter::Sorter;
use q2c_model::{IoRecord, Layer, Nanos, TraceMeta};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) layer: Layer,
    pub(super) clock: &'static str,
    pub(super) unix: bool,
    pub(super) ends: bool,
    /// Whether rows that do not tell how long they waited start when the driver got them.
    pub(super) issued: bool,
    /// Whether the names of rows are hosts. Each host then becomes a major number.
    pub(super) hosts: bool,
    /// Turns the number of a row's position into the position that messages name: a line or an
    /// offset.
    pub(super) position: fn(u64) -> SourcePosition,
}

impl Spec {
    /// The properties of a block trace with one request per line, on a clock of its own, without
    /// ends.
    pub(super) const fn lines(name: &'static str, clock: &'static str) -> Spec {
        Spec {
            name,
            layer: Layer::Block,
            clock,
            unix: false,
            ends: false,
            issued: false,
            hosts: false,
            position: SourcePosition::Line,
        }
    }
}

/// Rows that wait in the window because later ones may be earlier.
pub(super) const WINDOW: usize = 64 * 1024;
/// Most hosts in a source; they are searched one by one.
const MOST_HOSTS: usize = 1024;

/// Most rows in a row that are bad for their time alone.
const FEW: u32 = 64;

/// How far the rows of a source are out of order.
#[derive(Debug, Default)]
struct Falls {
    last: Nanos,
    rows: u64,
    most: Nanos,
}

impl Falls {
    fn add(&mut self, start: Nanos) {
        if start < self.last {
            self.rows += 1;
            self.most = self.most.max(self.last - start);
        }
        self.last = start;
    }

    fn facts(&self) -> impl Iterator<Item = (String, String)> {
        let facts = [
            ("reordered.rows", self.rows),
            ("reordered.most_ns", self.most.0),
        ];
        let some = facts.into_iter().filter(|(_, value)| *value > 0);
        some.map(|(name, value)| (name.to_owned(), value.to_string()))
    }
}

/// Rows sorted at once in memory, about 90 MB.
const RUN: usize = 1 << 20;

struct Sorting {
    rows: Sorter<Row>,
    path: PathBuf,
    folder: PathBuf,
}

impl Sorting {
    fn new(path: &Path, folder: &Path) -> Sorting {
        Sorting {
            rows: Sorter::new(folder, RUN),
            path: path.to_owned(),
            folder: folder.to_owned(),
        }
    }

    fn failed(&self) -> impl Fn(io::Error) -> ImportError + use<> {
        let (path, folder) = (self.path.clone(), self.folder.clone());
        move |source| ImportError::Sort {
            path: path.clone(),
            folder: folder.clone(),
            source,
        }
    }
}

/// Takes the rows of a source and hands them on as sorted records: `push` for each row, then
/// `finish`.
pub(super) struct Arranged<'a> {
    spec: &'a Spec,
    intake: Intake<'a>,
    window: Vec<Row>,
    /// Takes the rows instead of the window when the option to sort is given.
    sorter: Option<Sorting>,
    sorted: bool,
    origin: Option<Nanos>,
    left: Nanos,
    falls: Falls,
    /// Rows in a row that lie before those that were handed on.
    in_a_row: u32,
    depths: Depths,
    hosts: Vec<Name>,
    facts: BTreeMap<String, String>,
}

impl<'a> Arranged<'a> {
    pub(super) fn new(
        path: &'a Path,
        options: &ImportOptions,
        sink: &'a mut dyn RecordSink,
        spec: &'a Spec,
    ) -> Self {
        Arranged {
            spec,
            intake: Intake::new(path, options.skip_bad, sink),
            window: Vec::new(),
            sorter: options
                .sort
                .as_deref()
                .map(|folder| Sorting::new(path, folder)),
            sorted: true,
            origin: None,
            left: Nanos::ZERO,
            falls: Falls::default(),
            in_a_row: 0,
            depths: Depths::default(),
            hosts: Vec::new(),
            facts: BTreeMap::new(),
        }
    }

    pub(super) fn push(&mut self, mut row: Row) -> Result<(), ImportError> {
        if row.start < self.left {
            return self.too_early(&row);
        }
        self.falls.add(row.start);
        self.in_a_row = 0;
        if self.spec.hosts
            && let Err(bad) = self.host(&mut row)
        {
            return self.bad(row.position, bad);
        }
        if let Some(sorter) = &mut self.sorter {
            let failed = sorter.failed();
            return sorter.rows.push(row).map_err(failed);
        }
        self.sorted &= self
            .window
            .last()
            .is_none_or(|last| last.start <= row.start);
        self.window.push(row);
        if self.window.len() == 2 * WINDOW {
            self.leave(WINDOW)
        } else {
            Ok(())
        }
    }

    /// Takes a row that lies before those that were handed on. It is bad, unless those behind it do
    /// so, too.
    fn too_early(&mut self, row: &Row) -> Result<(), ImportError> {
        self.in_a_row += 1;
        if self.in_a_row > FEW {
            return Err(ImportError::Falls {
                path: self.intake.path().to_owned(),
                place: (self.spec.position)(row.position).to_string(),
                fall: self.left - row.start,
                todo: "import with --sort, or import the recordings in it as files of their own",
            });
        }
        let expected =
            "a start not before the requests more than 65536 rows above (or import with --sort)";
        let start = format!("{} ns", row.start.0);
        let bad = BadLine::new("time goes back", "time", expected, &start);
        self.bad(row.position, bad)
    }

    /// Takes the lines of a part that were left out before they became rows. Its lines count from
    /// `before`.
    pub(super) fn skipped(&mut self, skipped: &BTreeMap<&'static str, Skipped>, before: u64) {
        for (reason, lines) in skipped {
            self.intake.skipped(reason, lines, before);
        }
    }

    pub(super) fn refused(&self, position: u64, bad: BadLine) -> ImportError {
        self.intake.refused((self.spec.position)(position), bad)
    }

    pub(super) fn bad(&mut self, position: u64, bad: BadLine) -> Result<(), ImportError> {
        self.intake.bad((self.spec.position)(position), bad)
    }

    pub(super) fn fact(&mut self, name: &str, value: String) {
        self.facts.insert(name.to_owned(), value);
    }

    pub(super) fn finish(mut self, lines: u64) -> Result<TraceMeta, ImportError> {
        self.leave(self.window.len())?;
        if let Some(sorter) = self.sorter.take() {
            let failed = sorter.failed();
            sorter.rows.finish(failed, |row| self.emit(&row))?;
        }
        for (at, host) in self.hosts.iter().enumerate() {
            let name = format!("device.major.{}", at + 1);
            self.facts
                .insert(name, format!("host {}", host.text().unwrap_or_default()));
        }
        let spec = self.spec;
        let mut meta = self.intake.finish(spec.name, spec.clock, lines)?;
        let origin = self.origin.unwrap_or_default().0;
        meta.start_unix_ns = spec.unix.then_some(origin);
        meta.facts.extend(self.facts);
        meta.facts.extend(self.falls.facts());
        meta.facts
            .insert("source_time_of_zero_ns".to_owned(), origin.to_string());
        if !spec.ends {
            let depth = "1 (the source has no ends)".to_owned();
            meta.facts
                .insert("stated.depth_at_submit".to_owned(), depth);
        }
        Ok(meta)
    }

    fn leave(&mut self, count: usize) -> Result<(), ImportError> {
        if !self.sorted {
            // The sort is stable: requests of one instant keep the order of the source.
            self.window.sort_by_key(|row| row.start);
            self.sorted = true;
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
            None => self.begin(row.start),
        };
        self.left = row.start;
        match self.end_and_depth(row, origin) {
            Ok((end, depth)) => self.record(row, origin, end, depth),
            Err(bad) => self.bad(row.position, bad),
        }
    }

    fn begin(&mut self, origin: Nanos) -> Nanos {
        self.origin = Some(origin);
        self.intake.begin(Origin {
            clock: self.spec.clock.to_owned(),
            unix: self.spec.unix,
            zero_ns: origin.0,
        });
        origin
    }

    /// The end of a row's request, and the requests in flight with it.
    #[inline]
    fn end_and_depth(&mut self, row: &Row, origin: Nanos) -> Result<(Option<Nanos>, u32), BadLine> {
        let start = Nanos(row.start.0 - origin.0);
        let end = row
            .latency
            .get()
            .map(|latency| end(start, latency))
            .transpose()?;
        let depth = if self.spec.ends {
            self.depths.submit(row.lane, start, end)?
        } else {
            1
        };
        Ok((end, depth))
    }

    /// The record is made where it is handed on, because it is large.
    #[inline]
    fn record(
        &mut self,
        row: &Row,
        origin: Nanos,
        end: Option<Nanos>,
        depth_at_submit: u32,
    ) -> Result<(), ImportError> {
        let (start, layer) = (Nanos(row.start.0 - origin.0), self.spec.layer);
        let waited = row.waited.get();
        let is_block = layer == Layer::Block;
        let is_issue = is_block && self.spec.issued && waited.is_none();
        let only_if = |is_of_layer: bool, time: Option<Nanos>| time.filter(|_| is_of_layer);
        let issued = waited.map(|waited| Nanos(start.0.saturating_add(waited.0)));
        self.intake.take(IoRecord {
            flags: row.flags,
            lane: row.lane,
            depth_at_submit,
            queue_ns: only_if(is_block && !is_issue, Some(start)),
            issue_ns: issued.or(only_if(is_issue, Some(start))),
            complete_ns: only_if(is_block, end),
            submit_ns: only_if(!is_block, Some(start)),
            reap_ns: only_if(!is_block, end),
            pid: row.pid,
            comm: if self.spec.hosts {
                None
            } else {
                row.name.text()
            },
            ..IoRecord::new(0, layer, row.device, row.op, row.sector, row.bytes)
        })
    }

    /// Replaces the row's major number by the number of its host, counted from 1 by appearance.
    fn host(&mut self, row: &mut Row) -> Result<(), BadLine> {
        let at = match self.hosts.iter().rposition(|host| *host == row.name) {
            Some(at) => at,
            None if self.hosts.len() == MOST_HOSTS => {
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
        row.device.major = at as u32 + 1;
        Ok(())
    }
}

fn end(start: Nanos, latency: Nanos) -> Result<Nanos, BadLine> {
    let end = start.0.checked_add(latency.0).map(Nanos);
    end.ok_or_else(|| {
        let latency = format!("{} ns", latency.0);
        BadLine::new("too large", "latency", "an end below 2^64 ns", &latency)
    })
}
