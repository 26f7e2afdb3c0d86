//! fio's log of I/Os, version 3: `time name action offset length`, times in microseconds.
//!
//! `fio --read_iolog` replays such a log. A request is written at its start (submission, or Q).
//! Times are relative to the start of the window, so that fio does not wait for it. A file keeps
//! its name from the trace. A device is called `device-MAJOR-MINOR`, never a path, so that a replay
//! touches only what the user names (`--replay_redirect`).

use super::{Export, ExportCounts, ExportFormat, NO_START, start_of, write_fault};
use q2c_model::{DevId, Fault, IoRecord, Nanos, Op, TraceMeta};
use std::io::{self, Write};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "fio-iolog",
    help: "fio iolog version 3, for fio --read_iolog (offsets and starts; it has no completions)",
    export,
};

/// Length of the longest name that fio reads, bytes.
const MAX_NAME_BYTES: usize = 255;
/// Most files in a log, because each request searches them linearly.
const MAX_FILES: usize = 1024;

fn export(mut export: Export<'_>) -> Result<ExportCounts, Fault> {
    let to_fault = write_fault(export.path);
    let window = export.options.window.as_ref();
    let mut log = IologWriter {
        meta: export.meta,
        window_start: window.map_or(Nanos::ZERO, |window| window.start),
        last_us: 0,
        files: Vec::new(),
        counts: ExportCounts::default(),
    };
    writeln!(export.out, "fio version 3 iolog").map_err(&to_fault)?;
    export.write_each(|record, out| log.write_record(record, out))?;
    for (_, name) in &log.files {
        writeln!(export.out, "{} {name} close", log.last_us).map_err(&to_fault)?;
    }
    Ok(log.counts)
}

struct IologWriter<'a> {
    meta: &'a TraceMeta,
    window_start: Nanos,
    /// Time of the last line.
    last_us: u64,
    files: Vec<(DevId, String)>,
    counts: ExportCounts,
}

impl IologWriter<'_> {
    fn write_record(&mut self, record: &IoRecord, out: &mut dyn Write) -> io::Result<()> {
        let action = match record.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Discard => "trim",
            Op::Flush => "sync",
            Op::Other => return self.leave_out("operation without a word in fio"),
        };
        let Some(start) = start_of(record) else {
            return self.leave_out(NO_START);
        };
        if record.bytes.0 == 0 && record.op != Op::Flush {
            return self.leave_out("zero length");
        }
        // fio waits for the difference to the previous line, and an earlier time would wrap around.
        self.last_us = ((start - self.window_start).0 / 1000).max(self.last_us);
        let Some(index) = self.open_file(record.device, out)? else {
            return self.leave_out("more than 1024 devices");
        };
        let name = &self.files[index].1;
        let (offset, bytes) = (record.sector.0.saturating_mul(512), record.bytes.0);
        self.counts.written += 1;
        writeln!(out, "{} {name} {action} {offset} {bytes}", self.last_us)
    }

    fn leave_out(&mut self, reason: &'static str) -> io::Result<()> {
        self.counts.leave_out(reason);
        Ok(())
    }

    /// The index of the device's file, which is opened if it is new; `None` for too many files.
    fn open_file(&mut self, device: DevId, out: &mut dyn Write) -> io::Result<Option<usize>> {
        let index = self.files.iter().rposition(|(known, _)| *known == device);
        if index.is_some() {
            return Ok(index);
        }
        if self.files.len() == MAX_FILES {
            return Ok(None);
        }
        let name = file_name(self.meta, device);
        writeln!(out, "{0} {name} add\n{0} {name} open", self.last_us)?;
        self.files.push((device, name));
        Ok(Some(self.files.len() - 1))
    }
}

/// The file name for a device: the trace's file or device name with blanks replaced, else a name
/// from the device number.
fn file_name(meta: &TraceMeta, device: DevId) -> String {
    let fact = meta.facts.get(&format!("device.{device}"));
    let by_number = || format!("device-{}-{}", device.major, device.minor);
    let name = meta.file.as_ref().or(fact).map_or_else(by_number, |name| {
        name.replace(|c: char| c.is_whitespace() || c.is_control(), "_")
    });
    match name.len() {
        1..=MAX_NAME_BYTES => name,
        _ => by_number(),
    }
}
