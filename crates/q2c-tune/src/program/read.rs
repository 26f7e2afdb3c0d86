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
const MIN_IOS: u64 = 100;
/// Largest accepted share of lost events.
const MAX_LOST_SHARE: f64 = 0.1;

/// Which I/Os of a recording are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingSelection {
    /// Name of the recording in messages.
    pub name: String,
    /// Names of the processes whose I/Os are used; empty for all.
    pub processes: Vec<String>,
}

/// Reads the recording at `path`, a q2c trace or a file that can be imported without options.
/// Returns its pattern and its description. Stops with an error soon after `stop` is set.
pub fn read(
    path: &Path,
    selection: &RecordingSelection,
    stop: &AtomicBool,
) -> Result<(ProgramPattern, TraceMeta), Fault> {
    let mut counter = PatternCounter::new(&selection.processes);
    let mut sink = |records: &[IoRecord]| {
        TraceError::unless_stopped(stop, "read", path)?;
        records.iter().for_each(|record| counter.count(record));
        Ok(())
    };
    let input = Input::recognise(path, None)?;
    let meta = input.read(path, &ImportOptions::default(), &Scan::new(), &mut sink)?;
    check_enough(&counter, selection)?;
    check_lost(counter.pattern.ios, meta.lost, selection)?;
    let has_offsets = !meta.facts.contains_key(STATED_SECTOR);
    Ok((counter.finish(has_offsets), meta))
}

fn check_enough(counter: &PatternCounter<'_>, selection: &RecordingSelection) -> Result<(), Fault> {
    let left = counter.pattern.left_out;
    let reason = match counter.pattern.ios {
        0 if left.without_end > 0 => format!(
            "expected when they were complete, found {} without; a recording of `q2c trace \
             record`, or of blktrace with its events C, has that",
            left.without_end
        ),
        0 if left.other_processes > 0 => format!(
            "expected some of the processes {}, found those of {}",
            selection.processes.join(", "),
            names_text(&most_frequent(&counter.unrequested))
        ),
        0 => format!(
            "expected reads or writes, found none ({} other operations); data may have \
             come from the page cache, or from another disk",
            left.other_operations
        ),
        ios if ios < MIN_IOS => format!(
            "expected at least {MIN_IOS} reads and writes, found {ios}; let the program run \
             longer, or see that its data are not in the page cache (sync; echo 3 > /proc/sys/vm/drop_caches)"
        ),
        _ => return Ok(()),
    };
    Err(no_workload(selection, &reason))
}

fn no_workload(selection: &RecordingSelection, reason: &str) -> Fault {
    let text = format!("copy the I/Os of {}: {reason}", selection.name);
    Fault::new(Exit::Input, text)
}

fn check_lost(ios: u64, lost: u64, selection: &RecordingSelection) -> Result<(), Fault> {
    if lost as f64 <= MAX_LOST_SHARE * (ios as f64 + lost as f64) {
        return Ok(());
    }
    let reason = format!(
        "expected at most {} % of the events lost, found {lost} beside {ios} I/Os; \
         record a part of them: `q2c trace record DISK --op read --out TRACE -- COMMAND`, then `q2c tune --from \
         TRACE`",
        MAX_LOST_SHARE * 100.0
    );
    Err(no_workload(selection, &reason))
}

fn names_text(submitters: &[Submitter]) -> String {
    let label = |submitter: &Submitter| match submitter.name.as_str() {
        UNNAMED => format!("no name ({})", submitter.ios),
        name => format!("{name} ({})", submitter.ios),
    };
    submitters.iter().map(label).join(", ")
}
