//! The commands of `q2c trace`.

mod columns;
mod copy;
mod export;
mod import;

use crate::args::{TraceArgs, TraceCommand};
use crate::output::{print, print_json, screen};
use crate::progress::Line;
use q2c_model::{Fault, OrFault, TraceMeta, TraceSummary};
use q2c_result::Exit;
use q2c_result::trace::TraceInfo;
use q2c_trace::import::{DOUBLED, Ids};
use q2c_trace::{Counting, SCHEMA_VERSION, Scan, TraceReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

pub fn run(args: &TraceArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    match &args.command {
        TraceCommand::Import(args) => import::run(args, stop),
        TraceCommand::Record(args) => super::record::run(args, stop),
        TraceCommand::Copy(args) => copy::run(args, stop),
        TraceCommand::Export(args) => export::run(args, stop),
        TraceCommand::Columns(args) => columns::run(args),
        TraceCommand::Info(args) => info_of(&args.trace, args.json, stop),
    }
}

pub(super) fn info_of(path: &Path, json: bool, stop: &AtomicBool) -> Result<Exit, Fault> {
    let trace = TraceReader::open(path).or_exit(Exit::Input)?;
    let (mut counting, mut ids, mut doubled) = (Counting::default(), Ids::default(), 0);
    let line = Line::reading([path]);
    for records in trace.records(&Scan::new()).or_exit(Exit::Input)? {
        if stop.load(Ordering::Relaxed) {
            let why = format!("read trace {}: stopped by a signal", path.display());
            return Err(Fault::new(Exit::Interrupted, why));
        }
        let mut records = records.or_exit(Exit::Input)?;
        let all = records.len();
        records.retain(|record| ids.insert(record.id));
        doubled += (all - records.len()) as u64;
        counting.add(&records);
    }
    drop(line);
    let mut meta = trace.meta().clone();
    if doubled > 0 {
        *meta.unmatched.entry(DOUBLED.to_owned()).or_default() += doubled;
    }
    tell(path, &meta, counting.finish(), json)
}

fn tell(path: &Path, meta: &TraceMeta, summary: TraceSummary, json: bool) -> Result<Exit, Fault> {
    let info = TraceInfo {
        path: path.display().to_string(),
        schema_version: SCHEMA_VERSION,
        meta: meta.clone(),
        summary,
    };
    match json {
        true => print_json(&info)?,
        false => print(&q2c_report::terminal::trace_info(&info, screen()))?,
    }
    Ok(Exit::Done)
}
