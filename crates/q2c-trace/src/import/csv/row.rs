//! The fields that a CSV column may hold, how each is parsed from a cell, and how rows become
//! records. The stamp of a row is the time by which rows are ordered: the start, or else the end.

use super::cells::CsvCells;
use super::clock::{ClockOrigin, FORMS, add_day, is_like_clock, midnights};
use super::plan::{self, CsvPlan, Unit};
use crate::Column;
use crate::import::decimal::{self, latency};
use crate::import::row::numbered_device;
use crate::import::{BadLine, Depths, Names, Origin, bad, fact};
use crate::process::cut_name;
use q2c_model::{Bytes, DevId, IoRecord, Nanos, Op, OpFlags, Sectors};
use std::borrow::Cow;
use std::collections::HashMap;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Column(Column),
    /// Offset in bytes, for sources without sector numbers.
    Offset,
    /// Time from the start to the end, for sources without the end.
    Latency,
}

impl Field {
    /// The field of this name; `None` as well for fields that the importer assigns itself.
    pub(super) fn by_name(name: &str) -> Option<Field> {
        match name {
            "offset" => Some(Field::Offset),
            "latency" => Some(Field::Latency),
            _ => match name.parse().ok()? {
                Column::Id | Column::Layer | Column::MergedInto => None,
                column => Some(Field::Column(column)),
            },
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Field::Column(column) => column.name(),
            Field::Offset => "offset",
            Field::Latency => "latency",
        }
    }

    /// True if its cells are times, which have a unit.
    pub(super) fn is_time(self) -> bool {
        match self {
            Field::Latency => true,
            Field::Offset => false,
            Field::Column(Column::SleepAskedNs | Column::SleptNs) => true,
            Field::Column(_) => self.is_instant(),
        }
    }

    pub(super) fn is_instant(self) -> bool {
        let mut instants = USER.iter().chain(BLOCK);
        instants.any(|column| Field::Column(*column) == self)
    }

    pub(super) fn is_position(self) -> bool {
        matches!(self, Field::Offset | Field::Column(Column::Sector))
    }

    /// True if its cells are lengths or positions, which have a unit.
    pub(super) fn is_size(self) -> bool {
        self.is_position() || self == LENGTH
    }

    /// All fields that a CSV column may hold, in the order of the trace's columns.
    pub(super) fn iter() -> impl Iterator<Item = Field> {
        let columns = Column::ALL.iter().map(|column| column.name());
        let names = columns.chain(["offset", "latency"]);
        names.filter_map(Field::by_name)
    }

    pub(super) fn names() -> String {
        Vec::from_iter(Field::iter().map(Field::name)).join(", ")
    }
}

pub(super) const LENGTH: Field = Field::Column(Column::Bytes);
/// Instants of the user layer, in the order of a request's life.
pub(super) const USER: &[Column] = &[Column::SubmitNs, Column::SubmitEndNs, Column::ReapNs];
/// Instants of the block layer, in the order of a request's life.
pub(super) const BLOCK: &[Column] = &[
    Column::QueueNs,
    Column::GetrqNs,
    Column::InsertNs,
    Column::IssueNs,
    Column::CompleteNs,
];

/// The record's field for an instant; `None` for other columns.
fn instant_mut(record: &mut IoRecord, column: Column) -> Option<&mut Option<Nanos>> {
    Some(match column {
        Column::SubmitNs => &mut record.submit_ns,
        Column::SubmitEndNs => &mut record.submit_end_ns,
        Column::ReapNs => &mut record.reap_ns,
        Column::QueueNs => &mut record.queue_ns,
        Column::GetrqNs => &mut record.getrq_ns,
        Column::InsertNs => &mut record.insert_ns,
        Column::IssueNs => &mut record.issue_ns,
        Column::CompleteNs => &mut record.complete_ns,
        _ => return None,
    })
}

/// Parses a cell that is not empty into the record. [`CsvRows`] handles lanes, operations, devices
/// and latencies.
fn set_cell(record: &mut IoRecord, field: Field, cell: &str, unit: Unit) -> Result<(), BadLine> {
    let Field::Column(column) = field else {
        if field == Field::Offset {
            record.sector = sector(field, cell, unit)?;
        }
        return Ok(());
    };
    if let Some(instant) = instant_mut(record, column) {
        *instant = Some(time(field, cell, unit)?);
        return Ok(());
    }
    match column {
        Column::Flags => record.flags = record.flags.union(flags(cell)?),
        Column::Sector => record.sector = sector(field, cell, unit)?,
        Column::Bytes => record.bytes = Bytes(bytes(field, cell, unit)?),
        Column::DepthAtSubmit => record.depth_at_submit = whole_number(field, cell)?,
        Column::SleepAskedNs => record.sleep_asked_ns = Some(time(field, cell, unit)?),
        Column::SleptNs => record.slept_ns = Some(time(field, cell, unit)?),
        Column::Missed => record.missed = Some(parse_bool(cell)?),
        Column::Pid => record.pid = Some(whole_number(field, cell)?),
        Column::Comm => record.comm = Some(cut_name(cell)),
        Column::CpuSubmit => record.cpu_submit = Some(whole_number(field, cell)?),
        Column::CpuComplete => record.cpu_complete = Some(whole_number(field, cell)?),
        Column::Hctx => record.hctx = Some(whole_number(field, cell)?),
        Column::Tag => record.tag = Some(whole_number(field, cell)?),
        Column::Cgroup => record.cgroup = Some(whole_number(field, cell)?),
        Column::Error => record.error = Some(parse(field, "0 or a negative errno", cell)?),
        _ => {}
    }
    Ok(())
}

fn parse<T: FromStr>(field: Field, expected: &'static str, cell: &str) -> Result<T, BadLine> {
    cell.parse().map_err(|_| bad(field.name(), expected, cell))
}

const EXPECTED_WHOLE: &str = "a whole number in the field's range";

fn whole_number<T: FromStr>(field: Field, cell: &str) -> Result<T, BadLine> {
    parse(field, EXPECTED_WHOLE, cell)
}

fn time(field: Field, cell: &str, unit: Unit) -> Result<Nanos, BadLine> {
    if let Unit::Clock(clock) = unit {
        let expected = "a date or a time of day as in the first row, from 1970 on";
        let ns = clock.nanos(cell).map(Nanos);
        return ns.ok_or_else(|| bad(field.name(), expected, cell));
    }
    let ns = decimal::nanos(cell, unit.time()).map(Nanos);
    ns.map_err(|reason| {
        let plain = "a time, zero or above";
        let expected = if is_like_clock(cell) { FORMS } else { plain };
        BadLine::new(reason, field.name(), expected, cell)
    })
}

fn bytes(field: Field, cell: &str, unit: Unit) -> Result<u64, BadLine> {
    let bytes = decimal::multiply(cell, unit.bytes());
    let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
    bytes.ok_or_else(|| bad(field.name(), EXPECTED_WHOLE, cell))
}

fn sector(field: Field, cell: &str, unit: Unit) -> Result<Sectors, BadLine> {
    let bytes = decimal::multiply(cell, unit.bytes());
    let bytes = bytes.filter(|bytes| bytes.is_multiple_of(512));
    let sector = bytes.and_then(|bytes| u64::try_from(bytes / 512).ok().map(Sectors));
    let expected = "a whole number in its range, a multiple of 512 bytes";
    sector.ok_or_else(|| bad(field.name(), expected, cell))
}

/// Parses an operation: its name or first letter, blktrace's letters (`WFS`), or 0 and 1, where
/// `read_flag` is the digit of a read.
pub(super) fn op(cell: &str, read_flag: Option<u8>) -> Result<(Op, OpFlags), BadLine> {
    if let ("0" | "1", Some(read)) = (cell, read_flag) {
        let is_read = cell == if read == 0 { "0" } else { "1" };
        let op = if is_read { Op::Read } else { Op::Write };
        return Ok((op, OpFlags::default()));
    }
    let expected =
        "read, write, flush, discard or other, letters as RS or WFS, or 0 and 1 with --read-flag";
    let named = cell.parse().ok().map(|op| (op, OpFlags::default()));
    let op = named.or_else(|| letters(cell));
    op.ok_or_else(|| bad("op", expected, cell))
}

/// Parses letters as the kernel's tracepoints print them: F for a preceding flush, one of R W D F
/// N, then F A S M E.
fn letters(cell: &str) -> Option<(Op, OpFlags)> {
    let letters = cell.as_bytes();
    let has_preflush = matches!(letters, [b'F', b'R' | b'W' | b'D' | b'F' | b'N', ..]);
    let (kind, flag_letters) = letters[usize::from(has_preflush)..].split_first()?;
    let op = match kind {
        b'R' => Op::Read,
        b'W' => Op::Write,
        b'D' => Op::Discard,
        b'F' => Op::Flush,
        b'N' => Op::Other,
        _ => return None,
    };
    let add = |flags: OpFlags, letter: &u8| {
        Some(flags.union(match letter {
            b'F' => OpFlags::FUA,
            b'A' => OpFlags::READAHEAD,
            b'S' => OpFlags::SYNC,
            b'M' => OpFlags::META,
            b'E' => OpFlags::default(),
            _ => return None,
        }))
    };
    Some((op, flag_letters.iter().try_fold(OpFlags::default(), add)?))
}

fn parse_bool(cell: &str) -> Result<bool, BadLine> {
    match cell.to_ascii_lowercase().as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(bad("missed", "true, false, 1 or 0", cell)),
    }
}

/// Parses words such as `sync|fua`, or the bits as a number.
fn flags(cell: &str) -> Result<OpFlags, BadLine> {
    if let Ok(bits) = cell.parse() {
        return Ok(OpFlags(bits));
    }
    let word = |word: &str| {
        Some(match word.trim() {
            "sync" => OpFlags::SYNC,
            "meta" => OpFlags::META,
            "fua" => OpFlags::FUA,
            "readahead" => OpFlags::READAHEAD,
            "polled" => OpFlags::POLLED,
            _ => return None,
        })
    };
    let expected = "sync, meta, fua, readahead, polled, joined by |, or their bits";
    let flags: Option<Vec<OpFlags>> = cell.split('|').map(word).collect();
    let flags = flags.ok_or_else(|| bad("flags", expected, cell))?;
    Ok(flags.into_iter().fold(OpFlags::default(), OpFlags::union))
}

const MAX_LANES: usize = 65_536;
/// No request takes as long, ns. A longer latency is a negative one printed as unsigned, or in
/// another unit. If rows have the end, all times are shifted by this much, so that none is
/// negative.
const DAY_NS: u64 = crate::import::row::DAY.0;
/// The most by which an end may precede the end above it. Beyond it, another recording begins.
const MAX_LATE_END_NS: u64 = 1_000_000_000;

/// Turns rows into records, with the state that depends on earlier rows.
pub(super) struct CsvRows<'a> {
    plan: &'a CsvPlan,
    /// The start of the first request, which is time zero of the trace.
    origin: Option<Nanos>,
    last_stamp: Nanos,
    /// The stamp of the last good row, if times are times of day.
    last_of_day: Option<Nanos>,
    /// True if rows may come in any order, because they are sorted later.
    pub(super) is_sorted_later: bool,
    lanes: HashMap<u64, u32>,
    /// Device names by number; a source has either names or numbers.
    devices: Names,
    has_device_numbers: bool,
    /// `None` if the source gives the depth, or has no ends to compute it from.
    depths: Option<Depths>,
}

impl<'a> CsvRows<'a> {
    pub(super) fn new(plan: &'a CsvPlan) -> Self {
        let has_depth = plan.has(Field::Column(Column::DepthAtSubmit));
        let has_ends = plan.has(Field::Latency) || plan.has(Field::Column(plan.end()));
        CsvRows {
            plan,
            origin: None,
            last_stamp: Nanos::ZERO,
            last_of_day: (plan.clock() == Some(ClockOrigin::Day)).then_some(Nanos::ZERO),
            is_sorted_later: false,
            lanes: HashMap::new(),
            devices: Names::default(),
            has_device_numbers: false,
            depths: (!has_depth && has_ends).then(Depths::default),
        }
    }

    /// The request of a row, with its start. Its times are on the source's clock, later by
    /// [`Self::shift`].
    pub(super) fn read(&mut self, cells: &CsvCells) -> Result<(Nanos, IoRecord), BadLine> {
        let mut record = self.plan.blank.clone();
        self.fill(&mut record, cells)?;
        let start = self.check_order(&mut record)?;
        check_length(&record, self.plan)?;
        record.lane = self.lane(cells)?;
        let stamp = instant(&mut record, self.plan.stamp).unwrap_or_default();
        if self.plan.has_computed_start() {
            self.last_stamp = self.last_stamp.max(stamp);
        }
        let unshifted = Nanos(stamp.0.saturating_sub(self.shift()));
        self.last_of_day = self.last_of_day.map(|_| unshifted);
        Ok((start, record))
    }

    /// Counts a request in flight and makes its times relative to time zero. Requests must come in
    /// the order of their starts. Only a good request changes the state.
    pub(super) fn add(&mut self, start: Nanos, record: &mut IoRecord) -> Result<(), BadLine> {
        let end = instant(record, self.plan.end());
        if let Some(depths) = &mut self.depths {
            record.depth_at_submit = depths.submit(record.lane, start, end)?;
        }
        if !self.plan.has_computed_start() {
            self.last_stamp = start;
        }
        let origin = *self.origin.get_or_insert(start);
        for column in self.plan.instants {
            if let Some(Some(time)) = instant_mut(record, *column) {
                *time = *time - origin;
            }
        }
        Ok(())
    }

    /// True if the importer numbered the devices.
    pub(super) fn numbers_devices(&self) -> bool {
        !self.devices.0.is_empty()
    }

    /// The device of a cell: `259:1`; `3` for `1:3`; or a name, which gets the next number with
    /// major 1.
    fn device(&mut self, cell: &str) -> Result<DevId, BadLine> {
        const MAX_NAME_BYTES: usize = 256;
        let number = cell.parse().ok();
        let number = number.or_else(|| cell.parse().ok().map(numbered_device));
        if number.map_or(self.has_device_numbers, |_| self.numbers_devices()) {
            let expected = "devices by names alone or by numbers alone, as in the rows above";
            return Err(bad("device", expected, cell));
        }
        self.has_device_numbers |= number.is_some();
        let expected = "at most 1024 devices, with names of at most 256 bytes";
        let mut named = || match cell.len() {
            ..=MAX_NAME_BYTES => self.devices.number(cell.as_bytes(), "device").ok(),
            _ => None,
        };
        let device = number.or_else(|| named().map(numbered_device));
        device.ok_or_else(|| bad("device", expected, cell))
    }

    fn shift(&self) -> u64 {
        u64::from(self.plan.has_computed_start()) * DAY_NS
    }

    /// Time zero of the records on the source's clock. Call it after the first request.
    pub(super) fn origin(&self) -> Origin {
        let clock = self.plan.clock();
        let name = clock.map_or(super::CLOCK, ClockOrigin::name);
        let (zero, shift) = (self.origin.unwrap_or_default().0, self.shift());
        let early_ns = shift.saturating_sub(zero);
        Origin {
            clock: match early_ns {
                0 => name.to_owned(),
                ns => format!("{name}, from {ns} ns before its zero"),
            },
            unix: clock == Some(ClockOrigin::Unix) && early_ns == 0,
            zero_ns: zero.saturating_sub(shift),
        }
    }

    pub(super) fn facts(&self) -> impl Iterator<Item = (String, String)> {
        let origin = self.origin().zero_ns.to_string();
        let unit = plan::time_units(&self.plan.fields);
        let mut facts = vec![("unit", unit), ("source_time_of_zero_ns", origin)];
        facts.extend(self.plan.stated.iter().cloned());
        if self.depths.is_none() && !self.plan.has(Field::Column(Column::DepthAtSubmit)) {
            facts.push(("stated.depth_at_submit", self.plan.no_ends.clone()));
        }
        let last = Nanos(self.last_stamp.0.saturating_sub(self.shift()));
        facts.extend(self.last_of_day.and_then(|_| midnights(last)));
        let start = format!("{} less latency", self.plan.stamp.name());
        facts.extend(self.plan.has_computed_start().then_some(("start", start)));
        let facts = facts.into_iter().map(|(name, value)| fact(name, value));
        let facts = facts.chain(plan::size_facts(&self.plan.fields));
        facts.chain(self.devices.facts())
    }

    fn fill(&mut self, record: &mut IoRecord, cells: &CsvCells) -> Result<(), BadLine> {
        let plan = self.plan;
        let ends_with_delimiter = cells.get(plan.width) == Some("");
        if cells.count > plan.width + usize::from(ends_with_delimiter) {
            let expected = "as many cells as the header has";
            return Err(BadLine::new("too many cells", "line", expected, "").found("more cells"));
        }
        let (mut duration, mut has_preflush) = (None, false);
        for column in &plan.fields {
            let (field, unit) = (column.field, column.unit);
            let cell = cells.get(column.at).unwrap_or("");
            match field {
                _ if cell.is_empty() && self.is_required(field) => {
                    return Err(BadLine::new("empty cell", field.name(), "a value", cell));
                }
                _ if cell.is_empty() => {}
                Field::Latency => {
                    let number = with_point(cell, unit, plan);
                    duration = Some((latency(&number, unit.time())?, cell));
                }
                Field::Column(Column::Op) => {
                    let (op, flags) = op(cell, plan.read_flag)?;
                    (record.op, record.flags) = (op, record.flags.union(flags));
                    has_preflush = cell.starts_with("FW");
                }
                Field::Column(Column::Device) => record.device = self.device(cell)?,
                field => set_cell(record, field, &with_point(cell, unit, plan), unit)?,
            }
        }
        if has_preflush && record.bytes == Bytes(0) {
            record.op = Op::Flush;
        }
        self.add_days(record);
        duration.map_or(Ok(()), |(ns, cell)| self.add_latency(record, ns, cell))
    }

    /// Adds the day to the times of a row if they are times of day.
    fn add_days(&self, record: &mut IoRecord) {
        let mut last = self.last_of_day;
        for column in self.plan.instants {
            if let (Some(last), Some(Some(time))) = (&mut last, instant_mut(record, *column)) {
                *last = add_day(*time, *last);
                *time = *last;
            }
        }
    }

    /// Computes the end from the start and the latency, or the start from the end.
    fn add_latency(&self, record: &mut IoRecord, ns: u64, cell: &str) -> Result<(), BadLine> {
        let plan = self.plan;
        let stamp = instant(record, plan.stamp).unwrap_or_default();
        let is_computed = plan.has_computed_start();
        let distance_ns = if is_computed { DAY_NS } else { ns };
        let end = stamp.0.checked_add(distance_ns);
        let too_large = || BadLine::new("too large", "latency", "an end below 2^64 ns", cell);
        let end = end.ok_or_else(too_large)?;
        put(record, plan.end(), Nanos(end));
        if is_computed {
            // A latency longer than the shift fails as impossible.
            put(record, plan.start, Nanos(end.saturating_sub(ns)));
        }
        Ok(())
    }

    fn is_required(&self, field: Field) -> bool {
        match field {
            Field::Column(column) => !column.is_optional() || column == self.plan.stamp,
            Field::Offset => true,
            Field::Latency => self.plan.has_computed_start(),
        }
    }

    /// Checks that times do not go back, neither within a request nor from row to row. Returns the
    /// start.
    fn check_order(&self, record: &mut IoRecord) -> Result<Nanos, BadLine> {
        let plan = self.plan;
        let shift = self.shift();
        let goes_back = |column: Column, expected, time: Nanos| {
            let time = format!("{} ns", time.0.saturating_sub(shift));
            BadLine::new("time goes back", column.name(), expected, &time)
        };
        let start = instant(record, plan.start).unwrap_or_default();
        let stamp = instant(record, plan.stamp).unwrap_or_default();
        let too_early = if plan.has_computed_start() {
            stamp.0.saturating_add(MAX_LATE_END_NS) < self.last_stamp.0
        } else {
            start < self.last_stamp
        };
        if too_early && !self.is_sorted_later {
            let expected = if plan.has_computed_start() {
                "an end at most a second before those above (another recording or day begins here)"
            } else {
                "a start not before the row above (sort the rows by it, or import with --sort)"
            };
            return Err(goes_back(plan.stamp, expected, stamp));
        }
        let mut last = start;
        for column in plan.instants {
            let time = instant(record, *column).unwrap_or(last);
            if time < last {
                let expected = "a time not before the stage before it";
                return Err(goes_back(*column, expected, time));
            }
            last = time;
        }
        check_latency(plan, start, instant(record, plan.end()))?;
        Ok(start)
    }

    /// The row's lane; lanes are numbered by appearance, from 0.
    fn lane(&mut self, cells: &CsvCells) -> Result<u32, BadLine> {
        let field = Field::Column(Column::Lane);
        let Some(column) = self.plan.fields.iter().find(|column| column.field == field) else {
            return Ok(0);
        };
        let cell = cells.get(column.at).unwrap_or("");
        let name: u64 = whole_number(field, cell)?;
        let lanes = self.lanes.len();
        if lanes == MAX_LANES && !self.lanes.contains_key(&name) {
            let expected = "at most 65536 lanes";
            return Err(BadLine::new("too many lanes", "lane", expected, cell));
        }
        // The bound on lanes keeps the number within 32 bits.
        Ok(*self.lanes.entry(name).or_insert(lanes as u32))
    }
}

/// The cell of a time with a decimal point, if a comma cannot separate cells.
fn with_point<'c>(cell: &'c str, unit: Unit, plan: &CsvPlan) -> Cow<'c, str> {
    if plan.decimal_comma && matches!(unit, Unit::Time(_)) && cell.contains(',') {
        return Cow::Owned(cell.replacen(',', ".", 1));
    }
    Cow::Borrowed(cell)
}

fn check_length(record: &IoRecord, plan: &CsvPlan) -> Result<(), BadLine> {
    let moves_data = matches!(record.op, Op::Read | Op::Write | Op::Discard);
    if record.bytes == Bytes(0) && moves_data && plan.has(LENGTH) {
        return Err(BadLine::zero_length("bytes"));
    }
    Ok(())
}

fn check_latency(plan: &CsvPlan, start: Nanos, end: Option<Nanos>) -> Result<(), BadLine> {
    let Some(end) = end.filter(|_| plan.start != plan.end()) else {
        return Ok(());
    };
    let field = plan.end().name();
    if end == start {
        let zero = BadLine::new("zero latency", field, "a latency above zero", "");
        return Err(zero.found("the time of the start"));
    }
    let latency = end.0 - start.0;
    if latency >= DAY_NS {
        let expected = "a latency below a day (a negative one may have been written unsigned)";
        let bad = BadLine::new("impossible latency", field, expected, "");
        return Err(bad.found(format!("{latency} ns")));
    }
    Ok(())
}

fn instant(record: &mut IoRecord, column: Column) -> Option<Nanos> {
    *instant_mut(record, column)?
}

fn put(record: &mut IoRecord, column: Column, time: Nanos) {
    if let Some(instant) = instant_mut(record, column) {
        *instant = Some(time);
    }
}
