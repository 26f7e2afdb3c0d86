use crate::program::pattern::{PatternCounter, UNNAMED, most_frequent};
use itertools::Itertools;
use q2c_model::facts::STATED_SECTOR;
use q2c_model::{Exit, Fault, IoRecord, TraceMeta};
use q2c_result::program::{ProgramPattern, Submitter};
use q2c_trace::import::{ImportOptions, Input};
use q2c_trace::{Scan, TraceError};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Fewest reads and writes that make a workload; with fewer there is no 99th percentile.
const LEAST: u64 = 100;
/// Largest accepted share of lost events.
const MOST_LOST: f64 = 0.1;

/// Which I/Os of a recording are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingSelection {
    /// Name of the recording in messages.
    pub named: String,
    /// Names of the processes whose I/Os are used; empty for all.
    pub processes: Vec<String>,
}

/// Reads the recording at `path`, a q2c trace or a file that can be imported without options.
/// Returns its pattern and its description. Stops with an error soon after `stop` is set.
pub fn read(
    path: &Path,
    taken: &RecordingSelection,
    stop: &AtomicBool,
) -> Result<(ProgramPattern, TraceMeta), Fault> {
    let mut counted = PatternCounter::new(&taken.processes);
    let mut sink = |records: &[IoRecord]| {
        TraceError::unless_stopped(stop, "read", path)?;
        records.iter().for_each(|record| counted.take(record));
        Ok(())
    };
    let input = Input::recognise(path, None)?;
    let meta = input.read(path, &ImportOptions::default(), &Scan::new(), &mut sink)?;
    enough(&counted, taken)?;
    check_lost(counted.pattern.ios, meta.lost, taken)?;
    let places = !meta.facts.contains_key(STATED_SECTOR);
    Ok((counted.finish(places), meta))
}

fn enough(counted: &PatternCounter<'_>, taken: &RecordingSelection) -> Result<(), Fault> {
    let left = counted.pattern.left_out;
    let reason = match counted.pattern.ios {
        0 if left.without_end > 0 => format!(
            "expected when they were complete, found {} without; a recording of `q2c trace \
             record`, or of blktrace with its events C, has that",
            left.without_end
        ),
        0 if left.other_processes > 0 => format!(
            "expected some of the processes {}, found those of {}",
            taken.processes.join(", "),
            names(&most_frequent(&counted.others))
        ),
        0 => format!(
            "expected reads or writes, found none ({} other operations); data may have \
             come from the page cache, or from another disk",
            left.other_operations
        ),
        ios if ios < LEAST => format!(
            "expected at least {LEAST} reads and writes, found {ios}; let the program run \
             longer, or see that its data are not in the page cache (sync; echo 3 > /proc/sys/vm/drop_caches)"
        ),
        _ => return Ok(()),
    };
    Err(no_workload(taken, &reason))
}

fn no_workload(taken: &RecordingSelection, reason: &str) -> Fault {
    let text = format!("copy the I/Os of {}: {reason}", taken.named);
    Fault::new(Exit::Input, text)
}

fn check_lost(ios: u64, lost: u64, taken: &RecordingSelection) -> Result<(), Fault> {
    if lost as f64 <= MOST_LOST * (ios as f64 + lost as f64) {
        return Ok(());
    }
    let reason = format!(
        "expected at most {} % of the events lost, found {lost} beside {ios} I/Os; \
         record a part of them: `q2c trace record DISK --op read --out TRACE -- COMMAND`, then `q2c tune --from \
         TRACE`",
        MOST_LOST * 100.0
    );
    Err(no_workload(taken, &reason))
}

fn names(submitters: &[Submitter]) -> String {
    let label = |submitter: &Submitter| match submitter.name.as_str() {
        UNNAMED => format!("no name ({})", submitter.ios),
        name => format!("{name} ({})", submitter.ios),
    };
    submitters.iter().map(label).join(", ")
}
