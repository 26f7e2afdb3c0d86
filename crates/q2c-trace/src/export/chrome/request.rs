use super::rows::ChromeRow;
use q2c_model::{IoRecord, Layer, Nanos};
use std::io::{self, Write};

pub(super) struct ChromeRequest<'a> {
    pub(super) record: &'a IoRecord,
    pub(super) start: Nanos,
    pub(super) end: Option<Nanos>,
    pub(super) row: &'a ChromeRow,
}

/// Name of a stage, and its colour in chrome://tracing (Perfetto takes the colour from the name).
type ChromeStage = (&'static str, &'static str);

const Q2G: ChromeStage = ("Q2G", "terrible");
const Q2M: ChromeStage = ("Q2M", "olive");
const G2I: ChromeStage = ("G2I", "grey");
const Q2I: ChromeStage = ("Q2I", "grey");
const I2D: ChromeStage = ("I2D", "bad");
const G2D: ChromeStage = ("G2D", "bad");
const M2D: ChromeStage = ("M2D", "yellow");
const Q2D: ChromeStage = ("Q2D", "bad");
const D2C: ChromeStage = ("D2C", "good");
const Q2C: ChromeStage = ("Q2C", "good");
const SUBMIT: ChromeStage = ("submit", "bad");
const WAIT: ChromeStage = ("wait", "good");
const U2C: ChromeStage = ("U2C", "good");

impl ChromeRequest<'_> {
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let op = self.record.op.name();
        self.head(out, op, self.start, self.end)?;
        self.arguments(out)?;
        let Some(end) = self.end else { return Ok(()) };
        let mut from = self.start;
        for (stage, to) in self.stages() {
            // A damaged trace may have an end before its start, or before a stage.
            let to = to.min(end).max(from);
            out.write_all(b",\n")?;
            self.head(out, stage.0, from, Some(to))?;
            write!(out, ",\"cname\":\"{}\"}}", stage.1)?;
            from = to;
        }
        Ok(())
    }

    /// The stages that the record has times for, each with its end, in order. A stage begins where
    /// the one before ends.
    fn stages(&self) -> Vec<(ChromeStage, Nanos)> {
        let r = self.record;
        if r.layer == Layer::User {
            let stages = match r.submit_end_ns {
                Some(_) => [(SUBMIT, r.submit_end_ns), (WAIT, r.reap_ns)],
                None => [(U2C, r.reap_ns), (WAIT, None)],
            };
            return stages
                .into_iter()
                .filter_map(|(s, at)| Some((s, at?)))
                .collect();
        }
        let merged = r.merged_into.is_some();
        let request = if merged { Q2M } else { Q2G };
        let before_issue = match (r.insert_ns, r.getrq_ns) {
            (Some(_), _) => I2D,
            (None, Some(_)) if merged => M2D,
            (None, Some(_)) => G2D,
            (None, None) => Q2D,
        };
        let insert = if r.getrq_ns.is_some() { G2I } else { Q2I };
        let last = if r.issue_ns.is_some() { D2C } else { Q2C };
        let stages = [
            (request, r.getrq_ns.filter(|_| r.queue_ns.is_some())),
            (insert, r.insert_ns),
            (
                before_issue,
                r.issue_ns
                    .filter(|at| *at > self.start || r.queue_ns.is_some()),
            ),
            (last, r.complete_ns),
        ];
        stages
            .into_iter()
            .filter_map(|(s, at)| Some((s, at?)))
            .collect()
    }

    /// Writes the members that all events have, without the closing brace.
    fn head(
        &self,
        out: &mut dyn Write,
        name: &str,
        from: Nanos,
        to: Option<Nanos>,
    ) -> io::Result<()> {
        let ChromeRow { lane, row, .. } = self.row;
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

    /// Writes the facts of the record beside its times, and closes the event.
    fn arguments(&self, out: &mut dyn Write) -> io::Result<()> {
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
            if let Some(value) = value {
                write!(out, ",\"{name}\":{value}")?;
            }
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
