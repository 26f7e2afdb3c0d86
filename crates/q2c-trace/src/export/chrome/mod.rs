//! Chrome's trace JSON, which Perfetto and chrome://tracing open.
//!
//! A lane (a CPU, or a hardware queue of a device) is a process of the JSON. Its threads are rows,
//! as many as the lane ever has requests in flight. A request takes the first row that is free, so
//! that the slices of one row never overlap. The slice of a request holds one slice for each stage,
//! with the name and the colour of the stage. A request without an end is an instant event. Times
//! are microseconds with three decimals.

mod request;
mod rows;

use super::run::{Exported, NO_START, start, written};
use super::{Export, ExportFormat, TimelineLanes};
use q2c_model::{Fault, IoRecord, Layer};
use request::ChromeRequest;
use rows::{ChromeLane, ChromeRows};
use std::io::{self, Write};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "chrome",
    help: "Chrome trace JSON, which ui.perfetto.dev opens: lanes by CPU or hardware queue (--lanes), a slice per stage",
    export,
};

fn export(of: Export<'_>) -> Result<Exported, Fault> {
    let out = of.out;
    let failed = written(of.path);
    let mut timeline = ChromeTimeline {
        lanes: of.options.lanes,
        rows: ChromeRows::default(),
        first: true,
        exported: Exported::default(),
    };
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")
        .map_err(&failed)?;
    for records in of.records {
        for record in &records? {
            timeline.record(record, out).map_err(&failed)?;
        }
    }
    out.write_all(b"\n]}\n").map_err(&failed)?;
    Ok(timeline.exported)
}

struct ChromeTimeline {
    lanes: TimelineLanes,
    rows: ChromeRows,
    first: bool,
    exported: Exported,
}

impl ChromeTimeline {
    fn record(&mut self, record: &IoRecord, out: &mut dyn Write) -> io::Result<()> {
        let Some(start) = start(record) else {
            self.exported.leave_out(NO_START);
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
        let Some(row) = self.rows.take(lane, start, end.unwrap_or(start)) else {
            self.exported.leave_out("more than 65536 lanes");
            return Ok(());
        };
        if row.new_lane {
            let (pid, name) = (row.lane, lane.name());
            let event = |out: &mut dyn Write| {
                write!(
                    out,
                    "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"args\":{{\"name\":\"{name}\"}}}},\n{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{pid},\"args\":{{\"sort_index\":{}}}}}",
                    lane.order()
                )
            };
            self.event(out, event)?;
        }
        if row.new_row {
            let (pid, tid) = (row.lane, row.row);
            let event = |out: &mut dyn Write| {
                write!(
                    out,
                    "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":\"row {tid}\"}}}}"
                )
            };
            self.event(out, event)?;
        }
        let request = ChromeRequest {
            record,
            start,
            end,
            row: &row,
        };
        self.event(out, |out| request.write(out))?;
        self.exported.written += 1;
        Ok(())
    }

    /// Writes an event, or several, with a comma before unless it is the first.
    fn event(
        &mut self,
        out: &mut dyn Write,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let before: &[u8] = if std::mem::take(&mut self.first) {
            b"\n"
        } else {
            b",\n"
        };
        out.write_all(before)?;
        write(out)
    }
}
