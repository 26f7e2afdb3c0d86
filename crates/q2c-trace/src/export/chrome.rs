//! Chrome's trace JSON, which Perfetto and chrome://tracing open.
//!
//! A lane (a CPU, or a hardware queue of a device) is a process in the JSON, and its rows are the
//! threads. A lane has as many rows as it has requests in flight at most. A request takes the first
//! free row, so slices in a row never overlap. The slice of a request holds one slice per stage,
//! with the stage's name and colour. A request without an end is an instant event. Times are in
//! microseconds with three decimals.

use super::{Export, ExportCounts, ExportFormat, NO_START, TimelineLanes, start_of, write_fault};
use q2c_model::{DevId, Fault, IoRecord, Layer, Nanos};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, Write};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "chrome",
    help: "Chrome trace JSON, which ui.perfetto.dev opens: lanes by CPU or hardware queue (--lanes), a slice per stage",
    export,
};

fn export(mut export: Export<'_>) -> Result<ExportCounts, Fault> {
    let to_fault = write_fault(export.path);
    let mut timeline = ChromeTimeline {
        lanes: export.options.lanes,
        rows: ChromeRows::default(),
        has_events: false,
        counts: ExportCounts::default(),
    };
    let head = b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    export.out.write_all(head).map_err(&to_fault)?;
    export.write_each(|record, out| timeline.write_record(record, out))?;
    export.out.write_all(b"\n]}\n").map_err(&to_fault)?;
    Ok(timeline.counts)
}

struct ChromeTimeline {
    lanes: TimelineLanes,
    rows: ChromeRows,
    has_events: bool,
    counts: ExportCounts,
}

impl ChromeTimeline {
    fn write_record(&mut self, record: &IoRecord, out: &mut dyn Write) -> io::Result<()> {
        let Some(start) = start_of(record) else {
            self.counts.leave_out(NO_START);
            return Ok(());
        };
        let end = match record.layer {
            Layer::User => record.reap_ns,
            Layer::Block => record.complete_ns,
        };
        let lane = match self.lanes {
            TimelineLanes::Cpu => ChromeLane::Cpu(record.cpu_submit),
            TimelineLanes::Hctx => ChromeLane::Hctx(record.device, record.hctx),
        };
        let Some(row) = self.rows.assign(lane, start, end.unwrap_or(start)) else {
            self.counts.leave_out("more than 65536 lanes");
            return Ok(());
        };
        if row.new_lane {
            let (pid, name, order) = (row.lane, lane.name(), lane.order());
            self.begin_event(out)?;
            write!(
                out,
                "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"args\":{{\"name\":\"{name}\"}}}},\n{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{pid},\"args\":{{\"sort_index\":{order}}}}}"
            )?;
        }
        if row.new_row {
            let (pid, tid) = (row.lane, row.row);
            self.begin_event(out)?;
            write!(
                out,
                "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":\"row {tid}\"}}}}"
            )?;
        }
        self.begin_event(out)?;
        let request = ChromeRequest {
            record,
            start,
            end,
            row,
        };
        request.write(out)?;
        self.counts.written += 1;
        Ok(())
    }

    /// Writes the separator before an event: a comma, except before the first event.
    fn begin_event(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let is_first = !std::mem::replace(&mut self.has_events, true);
        out.write_all(if is_first { b"\n" } else { b",\n" })
    }
}

struct ChromeRequest<'a> {
    record: &'a IoRecord,
    start: Nanos,
    end: Option<Nanos>,
    row: ChromeRow,
}

/// Name of a stage, and its colour in chrome://tracing (Perfetto takes the colour from the name).
type ChromeStage = (&'static str, &'static str);

impl ChromeRequest<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let op = self.record.op.name();
        self.write_head(out, op, self.start, self.end)?;
        self.write_arguments(out)?;
        let Some(end) = self.end else { return Ok(()) };
        let mut from = self.start;
        for ((name, colour), to) in self.stages() {
            // A damaged trace may have an end before its start, or before a stage.
            let to = to.min(end).max(from);
            out.write_all(b",\n")?;
            self.write_head(out, name, from, Some(to))?;
            write!(out, ",\"cname\":\"{colour}\"}}")?;
            from = to;
        }
        Ok(())
    }

    /// The stages for which the record has times, in order, each with its end. A stage begins at
    /// the end of the stage before.
    fn stages(&self) -> Vec<(ChromeStage, Nanos)> {
        let r = self.record;
        let merged = r.merged_into.is_some();
        let is_queued = r.queue_ns.is_some();
        let before_issue = match (r.insert_ns, r.getrq_ns) {
            (Some(_), _) => ("I2D", "bad"),
            (None, Some(_)) if merged => ("M2D", "yellow"),
            (None, Some(_)) => ("G2D", "bad"),
            (None, None) => ("Q2D", "bad"),
        };
        let choose = |cond: bool, yes: ChromeStage, no: ChromeStage| if cond { yes } else { no };
        let request = choose(merged, ("Q2M", "olive"), ("Q2G", "terrible"));
        let insert = choose(r.getrq_ns.is_some(), ("G2I", "grey"), ("Q2I", "grey"));
        let driver = choose(r.issue_ns.is_some(), ("D2C", "good"), ("Q2C", "good"));
        let wait = choose(r.submit_end_ns.is_some(), ("wait", "good"), ("U2C", "good"));
        let issued = r.issue_ns.filter(|ns| *ns > self.start || is_queued);
        let stages = match r.layer {
            Layer::User => &[(("submit", "bad"), r.submit_end_ns), (wait, r.reap_ns)][..],
            Layer::Block => &[
                (request, r.getrq_ns.filter(|_| is_queued)),
                (insert, r.insert_ns),
                (before_issue, issued),
                (driver, r.complete_ns),
            ],
        };
        let stages = stages.iter();
        let timed = stages.filter_map(|(stage, end)| Some((*stage, (*end)?)));
        timed.collect()
    }

    /// Writes the members common to all events, without the closing brace.
    fn write_head(
        &self,
        out: &mut dyn Write,
        name: &str,
        from: Nanos,
        to: Option<Nanos>,
    ) -> io::Result<()> {
        let ChromeRow { lane, row, .. } = &self.row;
        let ph = if to.is_some() { 'X' } else { 'i' };
        write!(
            out,
            "{{\"ph\":\"{ph}\",\"name\":\"{name}\",\"pid\":{lane},\"tid\":{row},\"ts\":{}",
            Micros(from)
        )?;
        match to {
            Some(to) => write!(out, ",\"dur\":{}", Micros(to - from)),
            None => out.write_all(b",\"s\":\"t\""),
        }
    }

    /// Writes the record's properties other than its times, and closes the event.
    fn write_arguments(&self, out: &mut dyn Write) -> io::Result<()> {
        let r = self.record;
        let (id, device, sector, bytes) = (r.id, r.device, r.sector.0, r.bytes.0);
        write!(
            out,
            ",\"cat\":\"{}\",\"args\":{{\"id\":{id},\"device\":\"{device}\",\"sector\":{sector},\"bytes\":{bytes}",
            r.layer.name()
        )?;
        let numbers = [
            ("pid", r.pid.map(u64::from)),
            ("cpu_submit", r.cpu_submit.map(u64::from)),
            ("cpu_complete", r.cpu_complete.map(u64::from)),
            ("hctx", r.hctx.map(u64::from)),
            ("tag", r.tag.map(u64::from)),
            ("merged_into", r.merged_into),
        ];
        for (name, value) in numbers {
            value.map_or(Ok(()), |value| write!(out, ",\"{name}\":{value}"))?;
        }
        if let Some(error) = r.error.filter(|error| *error != 0) {
            write!(out, ",\"error\":{error}")?;
        }
        if let Some(comm) = &r.comm {
            write!(out, ",\"comm\":{}", serde_json::Value::from(comm.as_str()))?;
        }
        out.write_all(b"}}")
    }
}

/// Displays a time as microseconds with three decimals.
struct Micros(Nanos);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Nanos(ns) = self.0;
        write!(f, "{}.{:03}", ns / 1000, ns % 1000)
    }
}

/// The lane in which a request is drawn; the number is `None` if the trace lacks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ChromeLane {
    Cpu(Option<u32>),
    Hctx(DevId, Option<u32>),
}

impl ChromeLane {
    fn name(&self) -> String {
        match self {
            ChromeLane::Cpu(Some(cpu)) => format!("CPU {cpu}"),
            ChromeLane::Cpu(None) => "CPU not known".to_owned(),
            ChromeLane::Hctx(device, Some(queue)) => format!("{device} queue {queue}"),
            ChromeLane::Hctx(device, None) => format!("{device} queue not known"),
        }
    }

    /// Sort key among the lanes; a lane without a number is last.
    fn order(&self) -> u64 {
        let number = match self {
            ChromeLane::Cpu(number) | ChromeLane::Hctx(_, number) => number,
        };
        number.map_or(u64::from(u32::MAX), u64::from)
    }
}

struct ChromeRow {
    lane: usize,
    row: usize,
    new_lane: bool,
    new_row: bool,
}

#[derive(Default)]
struct ChromeRows {
    indices: HashMap<ChromeLane, usize>,
    lanes: Vec<LaneRows>,
}

#[derive(Default)]
struct LaneRows {
    /// Rows in use, each with the time at which it becomes free.
    busy: BinaryHeap<Reverse<(Nanos, usize)>>,
    free: BinaryHeap<Reverse<usize>>,
    rows: usize,
}

impl ChromeRows {
    /// Most lanes, which bounds the memory for a damaged trace.
    const MAX_LANES: usize = 65_536;

    /// Assigns the first row of the lane that is free at `start`, and keeps it busy until `end`.
    /// Returns `None` if there are too many lanes.
    fn assign(&mut self, lane: ChromeLane, start: Nanos, end: Nanos) -> Option<ChromeRow> {
        let next_index = self.lanes.len();
        if next_index == Self::MAX_LANES && !self.indices.contains_key(&lane) {
            return None;
        }
        let index = *self.indices.entry(lane).or_insert(next_index);
        let new_lane = index == next_index;
        if new_lane {
            self.lanes.push(LaneRows::default());
        }
        let lane = &mut self.lanes[index];
        while let Some(Reverse((until, row))) = lane.busy.peek().copied()
            && until <= start
        {
            lane.busy.pop();
            lane.free.push(Reverse(row));
        }
        let free = lane.free.pop().map(|Reverse(row)| row);
        let new_row = free.is_none();
        lane.rows += usize::from(new_row);
        let row = free.unwrap_or(lane.rows);
        lane.busy.push(Reverse((end, row)));
        Some(ChromeRow {
            lane: index + 1,
            row,
            new_lane,
            new_row,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_from_the_top() {
        let mut rows = ChromeRows::default();
        let mut assign = |cpu, start, end| {
            let row = rows.assign(ChromeLane::Cpu(Some(cpu)), Nanos(start), Nanos(end));
            let row = row.unwrap();
            (row.lane, row.row, row.new_lane, row.new_row)
        };
        assert_eq!(assign(4, 0, 10), (1, 1, true, true));
        assert_eq!(assign(4, 5, 30), (1, 2, false, true));
        assert_eq!(assign(0, 6, 7), (2, 1, true, true));
        // The first row is free again at the instant of its end.
        assert_eq!(assign(4, 10, 40), (1, 1, false, false));
        assert_eq!(assign(4, 11, 12), (1, 3, false, true));
        assert_eq!(assign(4, 35, 36), (1, 2, false, false));
    }
}
