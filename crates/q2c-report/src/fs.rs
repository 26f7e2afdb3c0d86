//! The report of `q2c fs bench`.

use crate::document::{Document, Reported, Section};
use crate::note::{Note, ReportField, ReportTable};
use crate::phrase::{counted, distinct, jobs, listed, listed_if_any, variant_words, when};
use crate::quantity::{DASH, iops, median, number, range, trials};
use crate::validity;
use q2c_result::fs::{
    CreatedFs, FileSystem, FsCell, FsLocks, FsPoint, FsProfile, FsProgram, FsResult, KernelLayer,
    LockKind, LockSite, ProfiledBy, ProgramCell, ProgramPoint, SeenLocks, SeenProfile, SharedRatio,
    Sharing,
};
use std::collections::BTreeSet;

/// Requests count as served one at a time if at most this many are in flight on average. The number
/// exceeds 1 because the file system adds small requests of its own to those of the jobs.
const MAX_SERIAL_IN_FLIGHT: f64 = 1.1;
/// Jobs on one file count as served one at a time only if private files multiply the number of
/// requests in flight by this or more. On one file, that number can be below 1, because a job that
/// works outside the device has no request in flight.
const MIN_PRIVATE_IN_FLIGHT_RATIO: f64 = 1.5;

/// The smallest number of trials whose interval says something about jobs served one at a time.
const MIN_TRIALS: u32 = 3;

/// If the ratio's interval lies at or below this, jobs on a shared file are surely slower.
const SLOWER_RATIO: f64 = 0.9;

impl Reported for FsResult {
    fn document(&self) -> Document<'_> {
        let names = listed(self.file_systems.iter().map(|made| made.fs.name()));
        let titled = |(title, table): (String, ReportTable)| Section::new(title).table(table);
        Document::new("fs bench", &self.version, &self.schema)
            .titled(names, about(self))
            .run(self.seed, self.started_unix_s)
            .complete(self.complete)
            .notices(findings(self))
            .sections(throughput_tables(self).map(titled))
            .sections(self.program.iter().map(program_table).map(titled))
            .section(Section::new("Shared to private").table(ratio_table(self)))
            .section(Section::new("Locks").notes(locks(self)))
            .section(Section::new("CPU time").notes(profile_notes(self)))
            .section(Section::new("File systems").notes(file_system_notes(self)))
            .warnings(&self.warnings)
            .machine(&self.machine)
    }
}

fn about(result: &FsResult) -> String {
    let job = &result.job;
    let (seconds, file) = (number(job.trial_seconds), job.file);
    let files = format!(" of {seconds} s · files of {file} for each job");
    let files = when(result.program.is_none(), &files);
    let cells = result.cells.iter().map(|cell| cell.iops.trials);
    let program = result.program.iter().flat_map(|program| &program.cells);
    let trial_counts = cells.chain(program.map(|cell| cell.value.trials));
    let trials = trials(job.trials, trial_counts);
    let cpus = listed(job.cpus.iter().map(|cpu| cpu.0));
    let devices = listed_if_any(result.file_systems.iter().map(|made| &made.device));
    let devices = devices.map(|devices| format!(" · on {devices}"));
    format!("{trials}{files} · CPUs {cpus}") + &devices.unwrap_or_default()
}

/// The kind of access, which the points of a table have in common.
fn access_label(point: &FsPoint) -> String {
    let ahead = point.readahead.map(|bytes| format!(", readahead {bytes}"));
    let ahead = ahead.unwrap_or_default();
    format!("{} {} of {}{ahead}", point.caching, point.access, point.bs)
}

fn point_label(point: &FsPoint) -> String {
    let (fs, sharing, jobs) = (point.fs, point.sharing, point.jobs);
    format!("{fs} {sharing}, {}, {jobs} jobs", access_label(point))
}

fn job_counts(result: &FsResult) -> BTreeSet<u32> {
    result.cells.iter().map(|cell| cell.point.jobs).collect()
}

fn max_jobs(result: &FsResult) -> u32 {
    job_counts(result).last().copied().unwrap_or(1)
}

fn jobs_columns(result: &FsResult) -> impl Iterator<Item = (String, u32)> {
    job_counts(result).into_iter().map(|n| (jobs(n), n))
}

/// Tables of throughput with their titles, one for each kind of access: a row for each file system
/// and level of sharing, a column for each number of jobs.
fn throughput_tables(result: &FsResult) -> impl Iterator<Item = (String, ReportTable)> {
    let kinds = distinct(result.cells.iter().map(|cell| access_label(&cell.point)));
    kinds.into_iter().map(move |access| {
        let kind_cells = || result.cells.iter().filter(|cell| access_label(&cell.point) == access);
        let rows = distinct(kind_cells().map(|cell| (cell.point.fs, cell.point.sharing)));
        let rows = rows.into_iter().map(|row| (format!("{} {}", row.0, row.1).into(), row));
        let at = |(fs, sharing): &(FileSystem, Sharing), jobs: &u32| {
            let point = (*fs, *sharing, *jobs);
            kind_cells().find(|c| (c.point.fs, c.point.sharing, c.point.jobs) == point).map(point_field)
        };
        let legend = "Median of the trials; below it the least and the largest one, and the device's requests in flight, \
             averaged over time.";
        let table = ReportTable::grid("file system", jobs_columns(result), rows, at).legend(legend);
        (format!("IOPS, {access}"), table)
    })
}

fn point_field(cell: &FsCell) -> ReportField {
    if cell.iops.trials == 0 {
        return missing_field(&cell.failures);
    }
    let in_flight = format!(" · {} in flight", median(&cell.in_flight, 1.0));
    let in_flight = when(cell.in_flight.trials > 0, &in_flight);
    ReportField::stacked(iops(cell.iops.median), range(&cell.iops, 1.0) + in_flight)
}

fn ratio_table(result: &FsResult) -> ReportTable {
    let with_jobs = |point: &FsPoint, jobs| FsPoint {
        jobs,
        ..point.clone()
    };
    let rows = distinct(result.ratios.iter().map(|ratio| with_jobs(&ratio.point, 0)));
    let name = |point: &FsPoint| format!("{} {}, {}", point.fs, point.sharing, access_label(point));
    let rows = rows.into_iter().map(|point| (name(&point).into(), point));
    let at = |row: &FsPoint, jobs: &u32| {
        let point = with_jobs(row, *jobs);
        let measured = result.ratios.iter().find(|ratio| ratio.point == point)?;
        Some(ratio_field(result, measured))
    };
    let legend = "Throughput of jobs on one file over that of as many with a file each, with its 95 % bootstrap interval. It takes two trials or more; \
         below it the ratio of the control.";
    ReportTable::grid("shared to private", jobs_columns(result), rows, at).legend(legend)
}

/// The same point with private files.
fn with_private(point: &FsPoint) -> FsPoint {
    FsPoint {
        sharing: Sharing::Private,
        ..point.clone()
    }
}

/// True if a point, or the same point with private files, has a single trial, so that the ratio's
/// scatter is unknown.
fn has_single_trial(result: &FsResult, point: &FsPoint) -> bool {
    let is_of_ratio = |cell: &&FsCell| cell.point == *point || cell.point == with_private(point);
    let mut cells = result.cells.iter().filter(is_of_ratio);
    cells.any(|cell| cell.iops.trials < 2)
}

fn ratio_field(result: &FsResult, shared_ratio: &SharedRatio) -> ReportField {
    let ratio = shared_ratio.shared_to_private;
    let interval = format!(" [{:.2}, {:.2}]", ratio.low, ratio.high);
    let interval = when(!has_single_trial(result, &shared_ratio.point), &interval);
    let control = shared_ratio.of_control;
    let control = control.map(|control| format!("control {:.2}", control.ratio));
    let times = format!("{:.2}{interval}", ratio.ratio);
    ReportField::stacked(times, control.unwrap_or_default())
}

fn program_table(program: &FsProgram) -> (String, ReportTable) {
    let cpus: BTreeSet<u32> = program.cells.iter().map(|cell| cell.point.cpus).collect();
    let columns = cpus.iter().map(|&cpus| (tasks(program, cpus), cpus));
    let rows = distinct(program.cells.iter().map(|cell| cell.point.fs)).into_iter();
    let at = |&fs: &FileSystem, &cpus: &u32| {
        let point = ProgramPoint { fs, cpus };
        let cell = program.cells.iter().find(|cell| cell.point == point);
        cell.map(program_field)
    };
    let legend = "Median of the trials; below it the least and the largest one.";
    let rows = rows.map(|fs| (fs.name().into(), fs));
    let table = ReportTable::grid("file system", columns, rows, at).legend(legend);
    let command = program.command.as_ref().map(|c| format!("`{c}`"));
    let command = command.unwrap_or_else(|| "the built-in mix".to_owned());
    (format!("{} of {command}", program.metric), table)
}

/// A number of CPUs for a program, or of tasks for the built-in mix.
fn tasks(program: &FsProgram, n: u32) -> String {
    let is_command = program.command.is_some();
    counted(n, if is_command { "CPU" } else { "task" })
}

fn program_field(cell: &ProgramCell) -> ReportField {
    if cell.value.trials == 0 {
        return missing_field(&cell.failures);
    }
    ReportField::stacked(number(cell.value.median), range(&cell.value, 1.0))
}

/// The field of a point without a successful trial.
fn missing_field(failures: &[String]) -> ReportField {
    let is_untried = failures.is_empty();
    ReportField::from(if is_untried { DASH } else { "failed" })
}

fn file_system_notes(result: &FsResult) -> impl Iterator<Item = Note> {
    let made = result.file_systems.iter().map(|made: &CreatedFs| {
        let loops = match made.loop_direct {
            Some(true) => ", past the page cache of the file below",
            Some(false) => ", through the page cache of the file below",
            None => "",
        };
        let description = format!(
            "on {} of {}{loops} · {} · mounted {}{}",
            made.device,
            made.size,
            made.made_by,
            made.options,
            when(result.control == Some(made.fs), " · the control")
        );
        Note::plain(made.fs.name(), description)
    });
    made.chain(result.left_out.iter().map(|left| {
        let what = left.what.as_ref().map(|what| format!(" {what}"));
        let message = format!("{}{}: {}", left.fs, what.unwrap_or_default(), left.reason);
        Note::caution("left out", message)
    }))
}

/// Notes on what disturbed the trials, on jobs that one file served one at a time while private
/// files did not, and on trials that failed.
fn findings(result: &FsResult) -> Vec<Note> {
    let caveats = validity::caveats(&result.warnings);
    let mut notes: Vec<Note> = Note::cautions("caveat", caveats).collect();
    notes.extend(result.cells.iter().filter_map(|cell| serial(result, cell)));
    let failed = |point: String, failures: &[String]| {
        let failure = failures.first()?;
        Some(Note::bad("failed", format!("{point}: failed to {failure}")))
    };
    let cells = result.cells.iter();
    notes.extend(cells.filter_map(|cell| failed(point_label(&cell.point), &cell.failures)));
    if let Some(program) = &result.program {
        notes.extend(program.cells.iter().filter_map(|cell| {
            let ProgramPoint { fs, cpus } = cell.point;
            failed(format!("{fs}, {}", tasks(program, cpus)), &cell.failures)
        }));
    }
    notes
}

/// A note if the largest number of jobs was served one at a time on one file, and faster on
/// private files.
fn serial(result: &FsResult, cell: &FsCell) -> Option<Note> {
    let most = max_jobs(result);
    if cell.point.jobs != most || most < 2 || cell.point.sharing == Sharing::Private {
        return None;
    }
    let private = with_private(&cell.point);
    let private = result.cells.iter().find(|cell| cell.point == private)?;
    // One or two trials give no useful interval.
    let has_intervals = cell.in_flight.trials.min(private.in_flight.trials) >= MIN_TRIALS;
    let is_slower =
        |r: &SharedRatio| r.point == cell.point && r.shared_to_private.high <= SLOWER_RATIO;
    let is_serial = has_intervals
        && result.ratios.iter().any(is_slower)
        && cell.in_flight.max <= MAX_SERIAL_IN_FLIGHT
        && private.in_flight.min >= MIN_PRIVATE_IN_FLIGHT_RATIO * cell.in_flight.max;
    is_serial.then(|| {
        let message = format!(
            "{} {} with {}: {most} jobs have {} requests in flight on one file, and {} on files of their own",
            cell.point.fs,
            access_label(&cell.point),
            sharing_text(cell.point.sharing),
            median(&cell.in_flight, 1.0),
            median(&private.in_flight, 1.0)
        );
        Note::caution("one at a time", message)
    })
}

fn sharing_text(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::Private => "files of their own",
        Sharing::Blocks => "blocks of their own",
        Sharing::Same => "the same place",
    }
}

/// The largest numbers of functions and of lock sites that a note names.
const MAX_FUNCTIONS: usize = 3;
const MAX_SITES: usize = 3;
/// The smallest share of the jobs' time at which a wait for a lock is named.
const MIN_NAMED_LOCK_SHARE: f64 = 0.005;

const NOT_SEEN: &str = "locks that were free, those that a writer got while it spun for a rwsem, and the cost of cache \
     lines that readers share";
const BY_CLOCK: &str = "by a clock of each CPU, as this machine has no counter of cycles; code that keeps interrupts off \
     is counted where they are let in again";

/// The locks that jobs waited for at the largest number of jobs, one note per point.
fn locks(result: &FsResult) -> Vec<Note> {
    let max = max_jobs(result);
    let mut notes: Vec<Note> = Vec::new();
    let mut quiet_points = 0;
    for cell in result.cells.iter().filter(|cell| cell.point.jobs == max) {
        let sentence = match &cell.locks {
            None => continue,
            Some(FsLocks::Seen(seen)) => lock_waits(seen),
            Some(FsLocks::Unseen(error)) => Some(format!("not seen: failed to {error}")),
        };
        quiet_points += u32::from(sentence.is_none());
        let waits = sentence.map(|waits| format!("{}: {waits}", point_label(&cell.point)));
        notes.extend(Note::plains("locks", waits));
    }
    if quiet_points > 0 {
        let other_prefix = when(!notes.is_empty(), "other ");
        let points = counted(quiet_points, &format!("{other_prefix}point"));
        let message = format!("{points}, {max} jobs: no wait of 0.5 % of the jobs' time");
        notes.push(Note::plain("locks", message));
    }
    if !notes.is_empty() {
        notes.push(Note::plain("not seen", NOT_SEEN));
    }
    notes
}

/// The longest waits; `None` if no wait was long enough to name and none was lost.
fn lock_waits(seen: &SeenLocks) -> Option<String> {
    let long = |site: &&LockSite| seen.share(site) >= MIN_NAMED_LOCK_SHARE;
    let label = |site: &LockSite| {
        let share = number(100.0 * seen.share(site));
        let (layer, lock) = (layer_label(site.layer), lock_label(site.kind));
        let name = &site.site;
        format!("{share} % of the jobs' time in {name} ({layer}, {lock})")
    };
    let waits = listed_if_any(seen.sites.iter().filter(long).take(MAX_SITES).map(label));
    let lost_text = match seen.lost {
        0 => return waits,
        1 => "; a wait was lost".to_owned(),
        n => format!("; {n} waits were lost"),
    };
    Some(waits.unwrap_or_else(|| "no wait of 0.5 % of the jobs' time".to_owned()) + &lost_text)
}

fn layer_label(layer: KernelLayer) -> String {
    match layer {
        KernelLayer::Block => "block layer".to_owned(),
        other => variant_words(other),
    }
}

fn lock_label(lock: LockKind) -> &'static str {
    match lock {
        LockKind::Spinlock => "spin lock",
        LockKind::RwlockRead => "rwlock, read",
        LockKind::RwlockWrite => "rwlock, write",
        LockKind::Mutex => "mutex",
        LockKind::RwsemRead => "rwsem, read",
        LockKind::RwsemWrite => "rwsem, write",
        LockKind::PercpuRwsem => "percpu rwsem",
        LockKind::RtMutex => "rt mutex",
        LockKind::Sleeping => "sleeping lock",
    }
}

/// Notes on the use of CPU time at the largest number of jobs, one per point.
fn profile_notes(result: &FsResult) -> Vec<Note> {
    let max = max_jobs(result);
    let cells = result.cells.iter().filter(|cell| cell.point.jobs == max);
    let sentences = cells.filter_map(|cell| {
        let sentence = match cell.profile.as_ref()? {
            FsProfile::Seen(seen) => cpu_time_text(seen),
            FsProfile::Unseen(error) => format!("not seen: failed to {error}"),
        };
        Some(format!("{}: {sentence}", point_label(&cell.point)))
    });
    let mut notes: Vec<Note> = Note::plains("CPU time", sentences).collect();
    let by_clock = |cell: &FsCell| match &cell.profile {
        Some(FsProfile::Seen(seen)) => seen.by == ProfiledBy::CpuClock,
        _ => false,
    };
    if result.cells.iter().any(by_clock) {
        notes.push(Note::plain("sampled", BY_CLOCK));
    }
    notes
}

fn cpu_time_text(seen: &SeenProfile) -> String {
    let total = seen.samples();
    let pct = |samples: u64| number(100.0 * samples as f64 / total.max(1) as f64);
    let functions = seen.functions.iter().take(MAX_FUNCTIONS).map(|function| {
        let (pct, layer) = (pct(function.samples), layer_label(function.layer));
        format!("{pct} % in {} ({layer})", function.function)
    });
    let (user, functions) = (pct(seen.user), listed(functions));
    format!("of {total} samples {user} % outside the kernel, {functions}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Bytes;
    use q2c_model::stats::{Interval, Ratio};
    use q2c_result::fs::{Access, Caching, FsJob, ProfiledFunction, SCHEMA};

    fn cell(sharing: Sharing, iops: f64, in_flight: f64, trials: u32) -> FsCell {
        let interval = |median: f64| Interval {
            median,
            min: 0.98 * median,
            max: 1.02 * median,
            trials,
        };
        FsCell {
            point: FsPoint {
                fs: FileSystem::Ext4,
                sharing,
                access: Access::Append,
                caching: Caching::Direct,
                jobs: 4,
                bs: Bytes(4096),
                readahead: None,
            },
            iops: interval(iops),
            in_flight: interval(in_flight),
            from_device: None,
            locks: None,
            profile: None,
            failures: Vec::new(),
        }
    }

    /// Four jobs, with `private` requests in flight on private files and `shared` on one file.
    fn result(private: f64, shared: f64, ratio: f64, trials: u32) -> FsResult {
        let cells = vec![
            cell(Sharing::Private, 1000.0, private, trials),
            cell(Sharing::Same, 1000.0 * ratio, shared, trials),
        ];
        let shared_to_private = Ratio {
            ratio,
            low: 0.97 * ratio,
            high: 1.03 * ratio,
        };
        FsResult {
            schema: SCHEMA.to_owned(),
            version: "0".to_owned(),
            started_unix_s: 0,
            seconds: 1.0,
            complete: true,
            seed: 1,
            machine: serde_json::from_value(machine()).expect("a machine"),
            file_systems: Vec::new(),
            control: None,
            job: FsJob {
                trial_seconds: 1.0,
                warm_up_seconds: 0.3,
                trials,
                file: Bytes(1 << 20),
                cpus: Vec::new(),
            },
            ratios: vec![SharedRatio {
                point: cells[1].point.clone(),
                shared_to_private,
                of_control: None,
            }],
            cells,
            program: None,
            left_out: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn machine() -> serde_json::Value {
        let kept = include_str!("../../q2c/tests/kept/bench-5.json");
        let kept: serde_json::Value = serde_json::from_str(kept).expect("a result");
        kept["machine"].clone()
    }

    #[test]
    fn one_at_a_time_is_said_where_all_three_witnesses_agree() {
        let says_serial = |private, shared, ratio, trials| {
            let findings = findings(&result(private, shared, ratio, trials));
            findings.iter().any(|note| note.heading == "one at a time")
        };
        assert!(says_serial(3.9, 1.0, 0.26, 5));
        // Each line breaks one witness: more in flight, equal throughput, or a single trial.
        assert!(!says_serial(3.9, 1.5, 0.26, 5));
        assert!(!says_serial(3.9, 1.0, 0.99, 5));
        assert!(!says_serial(3.9, 1.0, 0.26, 1));
        // Private files have no more in flight, as the device is too fast to show a difference.
        assert!(!says_serial(1.0, 0.9, 0.5, 5));
    }

    #[test]
    fn one_trial_says_nothing_of_the_scatter() {
        let mut result = result(3.9, 1.0, 0.26, 5);
        assert_eq!(ratio_table(&result).rows[0][1].text, "0.26 [0.25, 0.27]");
        result.cells[1].iops.trials = 1;
        assert_eq!(ratio_table(&result).rows[0][1].text, "0.26");
    }

    #[test]
    fn functions_are_named_with_their_share_of_the_samples() {
        let mut result = result(3.9, 1.0, 0.26, 5);
        let function = |function: &str, samples| ProfiledFunction {
            function: function.to_owned(),
            layer: KernelLayer::Ext4,
            samples,
        };
        result.cells[0].profile = Some(FsProfile::Seen(SeenProfile {
            by: ProfiledBy::Cycles,
            user: 50,
            functions: vec![function("down_read", 120), function("up_read", 30)],
            lost: 0,
        }));
        result.cells[1].profile = Some(FsProfile::Unseen("load a program".to_owned()));
        let notes = profile_notes(&result);
        assert_eq!(notes.len(), 2, "nothing is said of counters that are there");
        let shares = "of 200 samples 25.0 % outside the kernel, 60.0 % in down_read (ext4), 15.0 % in up_read (ext4)";
        assert!(notes[0].text.ends_with(shares), "{notes:?}");
        assert!(notes[1].text.ends_with("failed to load a program"));
    }

    #[test]
    fn locks_are_named_with_their_share_of_the_time() {
        let seen = |sites: &[(&str, u64)], lost| {
            let site = |(site, ms): &(&str, u64)| LockSite {
                site: (*site).to_owned(),
                layer: KernelLayer::Ext4,
                kind: LockKind::RwsemWrite,
                waits: 7,
                wait_ns: ms * 1_000_000,
            };
            Some(FsLocks::Seen(SeenLocks {
                thread_seconds: 4.0,
                sites: sites.iter().map(site).collect(),
                lost,
            }))
        };
        let mut result = result(3.9, 1.0, 0.26, 5);
        result.cells[1].locks = seen(&[("ext4_file_write_iter", 2_000), ("small", 19)], 2);
        let notes = locks(&result);
        assert_eq!(notes.len(), 2, "the point, and what is not seen");
        let wait = "50.0 % of the jobs' time in ext4_file_write_iter (ext4, rwsem, write); 2 waits were lost";
        assert!(notes[0].text.ends_with(wait), "{notes:?}");
        result.cells[0].locks = seen(&[("small", 19)], 0);
        assert!(locks(&result)[1].text.starts_with("1 other point, 4 jobs"));
    }
}
