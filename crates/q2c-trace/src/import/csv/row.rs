use super::cells::CsvCells;
use super::clock::{ClockOrigin, midnights, on_day};
use super::field::{self, Field, LENGTH};
use super::plan::CsvPlan;
use super::unit::{self, Mapped, Unit};
use crate::Column;
use crate::import::decimal::latency;
use crate::import::row::numbered;
use crate::import::{BadLine, Depths, Names, Origin, bad, fact};
use q2c_model::{Bytes, DevId, IoRecord, Nanos, Op};
use std::borrow::Cow;
use std::collections::HashMap;

const MOST_LANES: usize = 65_536;
/// No request takes as long, ns. A longer latency is a negative one printed as unsigned, or in
/// another unit. If rows have the end, all times are shifted by this much, so that none is
/// negative.
const DAY: u64 = crate::import::row::DAY.0;
/// The most by which an end may precede the end above it, ns. Beyond it, another recording begins.
const LATE_END: u64 = 1_000_000_000;

/// Turns rows into records, with the state that depends on earlier rows.
pub(super) struct Rows<'a> {
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
    any_device_numbers: bool,
    /// `None` if the source gives the depth, or has no ends to compute it from.
    depths: Option<Depths>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(plan: &'a CsvPlan) -> Self {
        let given = plan.has(Field::Column(Column::DepthAtSubmit));
        let ends = plan.has(Field::Latency) || plan.has(Field::Column(plan.end()));
        Rows {
            plan,
            origin: None,
            last_stamp: Nanos::ZERO,
            last_of_day: (plan.clock() == Some(ClockOrigin::Day)).then_some(Nanos::ZERO),
            is_sorted_later: false,
            lanes: HashMap::new(),
            devices: Names::default(),
            any_device_numbers: false,
            depths: (!given && ends).then(Depths::default),
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
        if self.plan.by_end() {
            self.last_stamp = self.last_stamp.max(stamp);
        }
        let unshifted = Nanos(stamp.0.saturating_sub(self.shift()));
        self.last_of_day = self.last_of_day.map(|_| unshifted);
        Ok((start, record))
    }

    /// Counts a request in flight and makes its times relative to time zero. Requests must come in
    /// the order of their starts. Only a good request changes the state.
    pub(super) fn place(&mut self, start: Nanos, record: &mut IoRecord) -> Result<(), BadLine> {
        let end = instant(record, self.plan.end());
        if let Some(depths) = &mut self.depths {
            record.depth_at_submit = depths.submit(record.lane, start, end)?;
        }
        if !self.plan.by_end() {
            self.last_stamp = start;
        }
        let origin = *self.origin.get_or_insert(start);
        for column in self.plan.instants {
            if let Some(Some(time)) = field::instant(record, *column) {
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
        const LONGEST: usize = 256;
        let number = cell.parse().ok();
        let number = number.or_else(|| cell.parse().ok().map(numbered));
        if number.map_or(self.any_device_numbers, |_| self.numbers_devices()) {
            let expected = "devices by names alone or by numbers alone, as in the rows above";
            return Err(bad("device", expected, cell));
        }
        self.any_device_numbers |= number.is_some();
        let expected = "at most 1024 devices, with names of at most 256 bytes";
        let mut named = || match cell.len() {
            ..=LONGEST => self.devices.number(cell.as_bytes(), "device").ok(),
            _ => None,
        };
        let device = number.or_else(|| named().map(numbered));
        device.ok_or_else(|| bad("device", expected, cell))
    }

    fn shift(&self) -> u64 {
        if self.plan.by_end() { DAY } else { 0 }
    }

    /// Time zero of the records on the source's clock. Call it after the first request.
    pub(super) fn origin(&self) -> Origin {
        let clock = self.plan.clock();
        let name = clock.map_or(super::CLOCK, ClockOrigin::name);
        let (zero, shift) = (self.origin.unwrap_or_default().0, self.shift());
        let before = shift.saturating_sub(zero);
        Origin {
            clock: match before {
                0 => name.to_owned(),
                ns => format!("{name}, from {ns} ns before its zero"),
            },
            unix: clock == Some(ClockOrigin::Unix) && before == 0,
            zero_ns: zero.saturating_sub(shift),
        }
    }

    pub(super) fn facts(&self) -> impl Iterator<Item = (String, String)> {
        let origin = self.origin().zero_ns.to_string();
        let unit = unit::time_units(&self.plan.fields);
        let mut facts = vec![("unit", unit), ("source_time_of_zero_ns", origin)];
        facts.extend(self.plan.stated.iter().cloned());
        if self.depths.is_none() && !self.plan.has(Field::Column(Column::DepthAtSubmit)) {
            facts.push(("stated.depth_at_submit", self.plan.no_ends.clone()));
        }
        let last = Nanos(self.last_stamp.0.saturating_sub(self.shift()));
        facts.extend(self.last_of_day.and_then(|_| midnights(last)));
        let start = format!("{} less latency", self.plan.stamp.name());
        facts.extend(self.plan.by_end().then_some(("start", start)));
        let facts = facts.into_iter().map(|(name, value)| fact(name, value));
        let facts = facts.chain(unit::size_facts(&self.plan.fields));
        facts.chain(self.devices.facts())
    }

    fn fill(&mut self, record: &mut IoRecord, cells: &CsvCells) -> Result<(), BadLine> {
        let plan = self.plan;
        let ends_with_delimiter = cells.get(plan.width) == Some("");
        if cells.count > plan.width + usize::from(ends_with_delimiter) {
            let expected = "as many cells as the header has";
            return Err(BadLine::new("too many cells", "line", expected, "").found("more cells"));
        }
        let (mut duration, mut flushes_first) = (None, false);
        for Mapped {
            field, at, unit, ..
        } in &plan.fields
        {
            let cell = cells.get(*at).unwrap_or("");
            if cell.is_empty() {
                if self.must_have(*field) {
                    return Err(BadLine::new("empty cell", field.name(), "a value", cell));
                }
                continue;
            }
            match field {
                Field::Latency => {
                    let number = with_point(cell, *unit, plan);
                    duration = Some((latency(&number, unit.time())?, cell));
                }
                Field::Column(Column::Op) => {
                    let (op, flags) = field::op(cell, plan.read_flag)?;
                    (record.op, record.flags) = (op, record.flags.union(flags));
                    flushes_first = cell.starts_with("FW");
                }
                Field::Column(Column::Device) => record.device = self.device(cell)?,
                field => field::set(record, *field, &with_point(cell, *unit, plan), *unit)?,
            }
        }
        if flushes_first && record.bytes == Bytes(0) {
            record.op = Op::Flush;
        }
        self.put_on_days(record);
        self.add_instant(record, duration)
    }

    /// Adds the day to the times of a row if they are times of day.
    fn put_on_days(&self, record: &mut IoRecord) {
        let Some(mut near) = self.last_of_day else {
            return;
        };
        for column in self.plan.instants {
            if let Some(Some(time)) = field::instant(record, *column) {
                near = on_day(*time, near);
                *time = near;
            }
        }
    }

    /// Computes the end from the start and the latency, or the start from the end.
    fn add_instant(
        &self,
        record: &mut IoRecord,
        duration: Option<(u64, &str)>,
    ) -> Result<(), BadLine> {
        let (plan, Some((ns, cell))) = (self.plan, duration) else {
            return Ok(());
        };
        let stamp = instant(record, plan.stamp).unwrap_or_default();
        let end = stamp.0.checked_add(if plan.by_end() { DAY } else { ns });
        let too_large = || BadLine::new("too large", "latency", "an end below 2^64 ns", cell);
        let end = end.ok_or_else(too_large)?;
        put(record, plan.end(), Nanos(end));
        if plan.by_end() {
            // A latency longer than the shift fails as impossible.
            put(record, plan.start, Nanos(end.saturating_sub(ns)));
        }
        Ok(())
    }

    fn must_have(&self, field: Field) -> bool {
        match field {
            Field::Column(column) => !column.is_optional() || column == self.plan.stamp,
            Field::Offset => true,
            Field::Latency => self.plan.by_end(),
        }
    }

    /// Checks that times do not go back, neither within a request nor from row to row. Returns the
    /// start.
    fn check_order(&self, record: &mut IoRecord) -> Result<Nanos, BadLine> {
        let plan = self.plan;
        let shift = self.shift();
        let back = |column: Column, expected, time: Nanos| {
            let time = format!("{} ns", time.0.saturating_sub(shift));
            BadLine::new("time goes back", column.name(), expected, &time)
        };
        let start = instant(record, plan.start).unwrap_or_default();
        let stamp = instant(record, plan.stamp).unwrap_or_default();
        let too_early = if plan.by_end() {
            stamp.0.saturating_add(LATE_END) < self.last_stamp.0
        } else {
            start < self.last_stamp
        };
        if too_early && !self.is_sorted_later {
            let expected = if plan.by_end() {
                "an end at most a second before those above (another recording or day begins here)"
            } else {
                "a start not before the row above (sort the rows by it, or import with --sort)"
            };
            return Err(back(plan.stamp, expected, stamp));
        }
        let mut before = start;
        for column in plan.instants {
            let time = instant(record, *column).unwrap_or(before);
            if time < before {
                return Err(back(*column, "a time not before the stage before it", time));
            }
            before = time;
        }
        check_latency(plan, start, instant(record, plan.end()))?;
        Ok(start)
    }

    /// The row's lane; lanes are numbered by appearance, from 0.
    fn lane(&mut self, cells: &CsvCells) -> Result<u32, BadLine> {
        let field = Field::Column(Column::Lane);
        let mapped = self.plan.fields.iter().find(|known| known.field == field);
        let Some(Mapped { at, .. }) = mapped else {
            return Ok(0);
        };
        let cell = cells.get(*at).unwrap_or("");
        let name: u64 = field::whole_number(field, cell)?;
        if let Some(number) = self.lanes.get(&name) {
            return Ok(*number);
        }
        if self.lanes.len() == MOST_LANES {
            let expected = "at most 65536 lanes";
            return Err(BadLine::new("too many lanes", "lane", expected, cell));
        }
        // The bound on lanes keeps the number within 32 bits.
        let number = self.lanes.len() as u32;
        self.lanes.insert(name, number);
        Ok(number)
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
    let moves = matches!(record.op, Op::Read | Op::Write | Op::Discard);
    if record.bytes == Bytes(0) && moves && plan.has(LENGTH) {
        let expected = "a length above zero";
        return Err(BadLine::new("zero length", "bytes", expected, "0"));
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
    if latency >= DAY {
        let expected = "a latency below a day (a negative one may have been written unsigned)";
        let bad = BadLine::new("impossible latency", field, expected, "");
        return Err(bad.found(format!("{latency} ns")));
    }
    Ok(())
}

fn instant(record: &mut IoRecord, column: Column) -> Option<Nanos> {
    *field::instant(record, column)?
}

fn put(record: &mut IoRecord, column: Column, time: Nanos) {
    if let Some(place) = field::instant(record, column) {
        *place = Some(time);
    }
}
