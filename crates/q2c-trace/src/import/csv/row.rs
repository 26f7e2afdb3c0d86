//! Turns a row into a record.

use super::cells::Cells;
use super::field::{self, Field};
use super::plan::Plan;
use super::unit::{self, Mapped};
use crate::Column;
use crate::import::decimal::latency;
use crate::import::depth::Depths;
use crate::import::error::BadLine;
use crate::import::run::Origin;
use q2c_model::{IoRecord, Nanos};
use std::collections::HashMap;

/// Most lanes in a source; it bounds the map of lane names.
const MOST_LANES: usize = 65_536;

/// Turns rows into records, with the state that depends on the rows before.
pub(super) struct Rows<'a> {
    plan: &'a Plan,
    /// The start of the first row, which is time zero of the trace.
    origin: Option<Nanos>,
    last_start: Nanos,
    lanes: HashMap<u64, u32>,
    /// `None` when the source gives the depth, or when it has no end to compute the depth from.
    depths: Option<Depths>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let given = plan.has(Field::Column(Column::DepthAtSubmit));
        let ends = plan.has(Field::Latency) || plan.has(Field::Column(plan.end()));
        Rows {
            plan,
            origin: None,
            last_start: Nanos::ZERO,
            lanes: HashMap::new(),
            depths: (!given && ends).then(Depths::default),
        }
    }

    /// The record of a row. The state changes only when the row is good.
    pub(super) fn record(&mut self, cells: &Cells) -> Result<IoRecord, BadLine> {
        let mut record = self.plan.blank.clone();
        self.fill(&mut record, cells)?;
        let start = self.check_order(&mut record)?;
        let end = instant(&mut record, self.plan.end());
        let lane = self.lane(cells)?;
        if let Some(depths) = &mut self.depths {
            record.depth_at_submit = depths.submit(lane.number, start, end)?;
        }
        if let Some(name) = lane.name {
            self.lanes.insert(name, lane.number);
        }
        record.lane = lane.number;
        self.last_start = start;
        let origin = *self.origin.get_or_insert(start);
        for column in self.plan.instants {
            if let Some(Some(time)) = field::instant(&mut record, *column) {
                *time = *time - origin;
            }
        }
        Ok(record)
    }

    /// Time zero of the records on the source's clock; call it after the first row.
    pub(super) fn origin(&self) -> Origin {
        Origin {
            clock: super::CLOCK.to_owned(),
            unix: false,
            zero_ns: self.origin.unwrap_or_default().0,
        }
    }

    /// Facts on the source for the trace's description.
    pub(super) fn facts(&self) -> impl Iterator<Item = (String, String)> {
        let origin = self.origin.unwrap_or_default().0.to_string();
        let unit = unit::told(&self.plan.fields);
        let mut facts = vec![("unit", unit), ("source_time_of_zero_ns", origin)];
        facts.extend(self.plan.stated.iter().cloned());
        if self.depths.is_none() && !self.plan.has(Field::Column(Column::DepthAtSubmit)) {
            facts.push((
                "stated.depth_at_submit",
                "1 (the source has no ends)".to_owned(),
            ));
        }
        facts
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
    }

    fn fill(&self, record: &mut IoRecord, cells: &Cells) -> Result<(), BadLine> {
        let plan = self.plan;
        if cells.count() > plan.width {
            let expected = "as many cells as the header has";
            return Err(BadLine::new("too many cells", "line", expected, "").found("more cells"));
        }
        let mut duration = None;
        for Mapped { field, at, unit } in &plan.fields {
            let cell = cells.get(*at).unwrap_or("");
            if cell.is_empty() {
                if self.must_have(*field) {
                    return Err(BadLine::new("empty cell", field.name(), "a value", cell));
                }
            } else if *field == Field::Latency {
                duration = Some((latency(cell, *unit)?, cell));
            } else {
                field::set(record, *field, cell, *unit)?;
            }
        }
        if let (Some((ns, cell)), Some(start)) = (duration, instant(record, plan.start)) {
            let end = start.0.checked_add(ns).ok_or_else(|| {
                BadLine::new("too large", "latency", "an end below 2^64 ns", cell)
            })?;
            put(record, plan.end(), Nanos(end));
        }
        Ok(())
    }

    fn must_have(&self, field: Field) -> bool {
        match field {
            Field::Column(column) => !column.is_optional() || column == self.plan.start,
            Field::Offset => true,
            Field::Latency => false,
        }
    }

    /// Checks that times do not go back, neither within a request nor from row to row. Returns the
    /// start.
    fn check_order(&self, record: &mut IoRecord) -> Result<Nanos, BadLine> {
        let plan = self.plan;
        let back = |column: Column, expected, time: Nanos| {
            BadLine::new(
                "time goes back",
                column.name(),
                expected,
                &format!("{} ns", time.0),
            )
        };
        let start = instant(record, plan.start).unwrap_or_default();
        if start < self.last_start {
            let expected = "a start not before the row above (sort the rows by it)";
            return Err(back(plan.start, expected, start));
        }
        let mut before = start;
        for column in plan.instants {
            let time = instant(record, *column).unwrap_or(before);
            if time < before {
                return Err(back(*column, "a time not before the stage before it", time));
            }
            before = time;
        }
        if plan.start != plan.end() && instant(record, plan.end()) == Some(start) {
            let expected = "a latency above zero";
            let zero = BadLine::new("zero latency", plan.end().name(), expected, "");
            return Err(zero.found("the time of the start"));
        }
        Ok(start)
    }

    fn lane(&self, cells: &Cells) -> Result<Lane, BadLine> {
        let field = Field::Column(Column::Lane);
        let mapped = self.plan.fields.iter().find(|known| known.field == field);
        let Some(Mapped { at, .. }) = mapped else {
            return Ok(Lane {
                number: 0,
                name: None,
            });
        };
        let cell = cells.get(*at).unwrap_or("");
        let name: u64 = field::whole(field, cell)?;
        if let Some(number) = self.lanes.get(&name) {
            return Ok(Lane {
                number: *number,
                name: None,
            });
        }
        let number = u32::try_from(self.lanes.len()).ok();
        match number.filter(|_| self.lanes.len() < MOST_LANES) {
            Some(number) => Ok(Lane {
                number,
                name: Some(name),
            }),
            None => Err(BadLine::new(
                "too many lanes",
                "lane",
                "at most 65536 lanes",
                cell,
            )),
        }
    }
}

/// Number of a lane, and its name in the source when the lane is new.
struct Lane {
    number: u32,
    name: Option<u64>,
}

fn instant(record: &mut IoRecord, column: Column) -> Option<Nanos> {
    *field::instant(record, column)?
}

fn put(record: &mut IoRecord, column: Column, time: Nanos) {
    if let Some(place) = field::instant(record, column) {
        *place = Some(time);
    }
}
