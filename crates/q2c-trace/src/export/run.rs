use super::{Export, ExportFormat, ExportOptions};
use crate::container::Temporary;
use crate::{Scan, TraceReader};
use q2c_model::{Exit, Fault, IoRecord, Nanos, OrFault};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Counts of what an export wrote and left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Requests that were written.
    pub written: u64,
    /// Requests that were left out, by reason.
    pub left_out: BTreeMap<&'static str, u64>,
}

impl Exported {
    pub(super) fn leave_out(&mut self, reason: &'static str) {
        *self.left_out.entry(reason).or_default() += 1;
    }
}

/// Exports a trace. Row groups outside of the window are not read. `go_on` is asked once for each
/// batch of records; false stops the export with an error. To write no request at all is an error,
/// too.
pub fn trace(
    format: &ExportFormat,
    path: &Path,
    reader: &TraceReader,
    options: &ExportOptions,
    go_on: &dyn Fn() -> bool,
    out: &mut dyn Write,
) -> Result<Exported, Fault> {
    let mut scan = Scan::new();
    if let Some(window) = &options.window {
        scan = scan.starting_in(window.clone());
    }
    let records = reader.records(&scan).or_exit(Exit::Input)?;
    let records = records.map(|records| {
        if !go_on() {
            let text = format!("export trace {}: stopped by a signal", path.display());
            return Err(Fault::stopped(text));
        }
        records.or_exit(Exit::Input)
    });
    // An empty selection must not write even a header.
    let mut records = records.peekable();
    if records.peek().is_none() {
        return Err(nothing(path, 0));
    }
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let exported = (format.export)(Export {
        path,
        meta: reader.meta(),
        records: &mut records,
        options,
        out: &mut out,
    })?;
    out.flush().map_err(written(path))?;
    match exported.written {
        0 => Err(nothing(path, exported.left_out.values().sum())),
        _ => Ok(exported),
    }
}

/// Exports a trace into a new file. The file gets its name only when it is whole.
pub fn file(
    format: &ExportFormat,
    path: &Path,
    reader: &TraceReader,
    options: &ExportOptions,
    go_on: &dyn Fn() -> bool,
    to: &Path,
) -> Result<Exported, Fault> {
    let failed = |source: io::Error| {
        let text = format!("export to {}: {source}", to.display());
        Fault::new(Exit::of_output(&source), text).with_source(source)
    };
    let taken = || {
        let text = format!(
            "export to {}: expected a new name, found an existing file; remove it or name another",
            to.display()
        );
        Fault::new(Exit::Usage, text)
    };
    if to.symlink_metadata().is_ok() {
        return Err(taken());
    }
    let mut file = Temporary::create_for(to).map_err(failed)?;
    let exported = trace(format, path, reader, options, go_on, &mut file)?;
    file.as_file().sync_all().map_err(failed)?;
    file.name_finished(to)
        .map_err(|refused| match refused.kind() {
            io::ErrorKind::AlreadyExists => taken(),
            _ => failed(refused),
        })?;
    Ok(exported)
}

fn nothing(path: &Path, left_out: u64) -> Fault {
    let text = format!(
        "export {}: expected at least one request that can be exported, found none ({left_out} left out); widen --from and --to",
        path.display()
    );
    Fault::new(Exit::Input, text)
}

pub(super) fn written(path: &Path) -> impl Fn(io::Error) -> Fault + use<> {
    let tried = format!("write the export of {}", path.display());
    move |source| Fault::new(Exit::Device, format!("{tried}: {source}")).with_source(source)
}

/// Reason for leaving out requests without any time.
pub(super) const NO_START: &str = "no start";

/// The start of a record, by the rule of [`Scan::starting_in`].
pub(super) fn start(record: &IoRecord) -> Option<Nanos> {
    let times = [
        record.submit_ns,
        record.queue_ns,
        record.getrq_ns,
        record.issue_ns,
    ];
    times.into_iter().flatten().next()
}
