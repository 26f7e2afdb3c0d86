//! The report of `q2c fs bench`.

mod watched;

use crate::document::{Document, Reported, Section};
use crate::phrase::{counted, distinct, listed, some_listed, when};
use crate::quantity::{NOTHING, iops, median, number, range, trials};
use crate::said::{Note, ReportField, ReportTable};
use crate::{course, invalid};
use q2c_result::fs::{
    FileSystem, FsCell, FsPoint, FsProgram, FsResult, MadeFs, ProgramCell, ProgramPoint,
    SharedRatio, Sharing,
};
use std::collections::BTreeSet;
use watched::{locks, profiles};

/// The mean number of requests in flight up to which a point counts as one at a time. It exceeds 1
/// because the file system adds small requests of its own to those of the jobs.
const ALONE: f64 = 1.1;
/// The factor by which private files must raise the number in flight, for jobs on one file to count
/// as served one at a time. While a job works outside the device, none of its requests is in
/// flight; so even one at a time has a mean below one.
const TOGETHER: f64 = 1.5;

/// The smallest number of trials whose interval says something about jobs served one at a time.
const TRIALS: u32 = 3;

/// If the ratio's interval lies at or below this, jobs on a shared file are surely slower.
const SLOWER: f64 = 0.9;

impl Reported for FsResult {
    fn document(&self) -> Document<'_> {
        let names = listed(self.file_systems.iter().map(|made| made.fs.name()));
        let titled = |(title, table): (String, ReportTable)| Section::new(title).table(table);
        Document::new("fs bench", &self.version, &self.schema)
            .titled(names, about(self))
            .run(self.seed, self.started_unix_s)
            .complete(self.complete)
            .notices(findings(self))
            .sections(throughput(self).map(titled))
            .sections(self.program.iter().map(program_table).map(titled))
            .section(Section::new("Shared to private").table(ratios(self)))
            .section(Section::new("Locks").notes(locks(self)))
            .section(Section::new("CPU time").notes(profiles(self)))
            .section(Section::new("File systems").notes(file_systems(self)))
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
    let run = cells.chain(program.map(|cell| cell.value.trials));
    let trials = trials(job.trials, run);
    let cpus = listed(job.cpus.iter().map(|cpu| cpu.0));
    let devices = some_listed(result.file_systems.iter().map(|made| &made.device));
    let devices = devices.map(|devices| format!(" · on {devices}"));
    format!("{trials}{files} · CPUs {cpus}") + &devices.unwrap_or_default()
}

/// What the points of a table have in common.
fn kind(point: &FsPoint) -> String {
    let ahead = point.readahead.map(|bytes| format!(", readahead {bytes}"));
    let ahead = ahead.unwrap_or_default();
    format!("{} {} of {}{ahead}", point.caching, point.access, point.bs)
}

fn place(point: &FsPoint) -> String {
    let (fs, sharing, jobs) = (point.fs, point.sharing, point.jobs);
    format!("{fs} {sharing}, {}, {jobs} jobs", kind(point))
}

fn jobs(result: &FsResult) -> BTreeSet<u32> {
    result.cells.iter().map(|cell| cell.point.jobs).collect()
}

fn most_jobs(result: &FsResult) -> u32 {
    jobs(result).last().copied().unwrap_or(1)
}

/// The columns of a table over numbers of jobs.
fn jobs_columns(result: &FsResult) -> impl Iterator<Item = (String, u32)> {
    jobs(result).into_iter().map(|n| (course::jobs(n), n))
}

/// Tables of throughput with their titles, one for each kind of access: a row for each file system
/// and level of sharing, a column for each number of jobs.
fn throughput(result: &FsResult) -> impl Iterator<Item = (String, ReportTable)> {
    let kinds = distinct(result.cells.iter().map(|cell| kind(&cell.point)));
    kinds.into_iter().map(move |access| {
        let kind_cells = || result.cells.iter().filter(|cell| kind(&cell.point) == access);
        let rows = distinct(kind_cells().map(|cell| (cell.point.fs, cell.point.sharing)));
        let rows = rows.into_iter().map(|row| (format!("{} {}", row.0, row.1).into(), row));
        let at = |(fs, sharing): &(FileSystem, Sharing), jobs: &u32| {
            let point = (*fs, *sharing, *jobs);
            kind_cells().find(|c| (c.point.fs, c.point.sharing, c.point.jobs) == point).map(field)
        };
        let legend = "Median of the trials; below it the least and the largest one, and the device's requests in flight, \
             averaged over time.";
        let table = ReportTable::grid("file system", jobs_columns(result), rows, at).legend(legend);
        (format!("IOPS, {access}"), table)
    })
}

fn field(cell: &FsCell) -> ReportField {
    if cell.iops.trials == 0 {
        return without(&cell.failures);
    }
    let in_flight = format!(" · {} in flight", median(&cell.in_flight, 1.0));
    let in_flight = when(cell.in_flight.trials > 0, &in_flight);
    ReportField::over(iops(cell.iops.median), range(&cell.iops, 1.0) + in_flight)
}

fn ratios(result: &FsResult) -> ReportTable {
    let with_jobs = |point: &FsPoint, jobs| FsPoint {
        jobs,
        ..point.clone()
    };
    let rows = distinct(result.ratios.iter().map(|ratio| with_jobs(&ratio.point, 0)));
    let name = |point: &FsPoint| format!("{} {}, {}", point.fs, point.sharing, kind(point));
    let rows = rows.into_iter().map(|point| (name(&point).into(), point));
    let at = |row: &FsPoint, jobs: &u32| {
        let point = with_jobs(row, *jobs);
        let measured = result.ratios.iter().find(|ratio| ratio.point == point)?;
        Some(ratio(result, measured))
    };
    let legend = "Throughput of jobs on one file over that of as many with a file each, with its 95 % bootstrap interval. It takes two trials or more; \
         below it the ratio of the control.";
    ReportTable::grid("shared to private", jobs_columns(result), rows, at).legend(legend)
}

/// The same point with private files.
fn private(point: &FsPoint) -> FsPoint {
    FsPoint {
        sharing: Sharing::Private,
        ..point.clone()
    }
}

/// True if a point, or the same point with private files, has a single trial, so that the ratio's
/// scatter is unknown.
fn tried_once(result: &FsResult, point: &FsPoint) -> bool {
    let few = |cell: &&FsCell| cell.point == *point || cell.point == private(point);
    let mut cells = result.cells.iter().filter(few);
    cells.any(|cell| cell.iops.trials < 2)
}

fn ratio(result: &FsResult, shared_ratio: &SharedRatio) -> ReportField {
    let ratio = shared_ratio.shared_to_private;
    let interval = format!(" [{:.2}, {:.2}]", ratio.low, ratio.high);
    let interval = when(!tried_once(result, &shared_ratio.point), &interval);
    let control = shared_ratio.of_control;
    let control = control.map(|control| format!("control {:.2}", control.ratio));
    let times = format!("{:.2}{interval}", ratio.ratio);
    ReportField::over(times, control.unwrap_or_default())
}

fn program_table(program: &FsProgram) -> (String, ReportTable) {
    let cpus: BTreeSet<u32> = program.cells.iter().map(|cell| cell.point.cpus).collect();
    let columns = cpus.iter().map(|&cpus| (numbered(program, cpus), cpus));
    let rows = distinct(program.cells.iter().map(|cell| cell.point.fs)).into_iter();
    let at = |&fs: &FileSystem, &cpus: &u32| {
        let point = ProgramPoint { fs, cpus };
        let cell = program.cells.iter().find(|cell| cell.point == point);
        cell.map(figure)
    };
    let legend = "Median of the trials; below it the least and the largest one.";
    let rows = rows.map(|fs| (fs.name().into(), fs));
    let table = ReportTable::grid("file system", columns, rows, at).legend(legend);
    let command = program.command.as_ref().map(|c| format!("`{c}`"));
    let command = command.unwrap_or_else(|| "the built-in mix".to_owned());
    (format!("{} of {command}", program.metric), table)
}

/// A number of CPUs for a program, or of tasks for the built-in mix.
fn numbered(program: &FsProgram, n: u32) -> String {
    let is_command = program.command.is_some();
    counted(n, if is_command { "CPU" } else { "task" })
}

fn figure(cell: &ProgramCell) -> ReportField {
    if cell.value.trials == 0 {
        return without(&cell.failures);
    }
    ReportField::over(number(cell.value.median), range(&cell.value, 1.0))
}

/// The field of a point without a successful trial.
fn without(failures: &[String]) -> ReportField {
    let is_untried = failures.is_empty();
    ReportField::from(if is_untried { NOTHING } else { "failed" })
}

fn file_systems(result: &FsResult) -> impl Iterator<Item = Note> {
    let made = result.file_systems.iter().map(|made: &MadeFs| {
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
    let caveats = invalid::caveats(&result.warnings);
    let mut said: Vec<Note> = Note::cautions("caveat", caveats).collect();
    said.extend(result.cells.iter().filter_map(|cell| serial(result, cell)));
    let failed = |point: String, failures: &[String]| {
        let failure = failures.first()?;
        Some(Note::bad("failed", format!("{point}: failed to {failure}")))
    };
    let cells = result.cells.iter();
    said.extend(cells.filter_map(|cell| failed(place(&cell.point), &cell.failures)));
    if let Some(program) = &result.program {
        said.extend(program.cells.iter().filter_map(|cell| {
            let ProgramPoint { fs, cpus } = cell.point;
            failed(format!("{fs}, {}", numbered(program, cpus)), &cell.failures)
        }));
    }
    said
}

/// A note if the largest number of jobs was served one at a time on one file, and faster on
/// private files.
fn serial(result: &FsResult, cell: &FsCell) -> Option<Note> {
    let most = most_jobs(result);
    if cell.point.jobs != most || most < 2 || cell.point.sharing == Sharing::Private {
        return None;
    }
    let alone = private(&cell.point);
    let alone = result.cells.iter().find(|cell| cell.point == alone)?;
    // One or two trials give no useful interval.
    let is_known = cell.in_flight.trials.min(alone.in_flight.trials) >= TRIALS;
    let is_slower = |r: &SharedRatio| r.point == cell.point && r.shared_to_private.high <= SLOWER;
    let is_serial = is_known
        && result.ratios.iter().any(is_slower)
        && cell.in_flight.max <= ALONE
        && alone.in_flight.min >= TOGETHER * cell.in_flight.max;
    is_serial.then(|| {
        let message = format!(
            "{} {} with {}: {most} jobs have {} requests in flight on one file, and {} on files of their own",
            cell.point.fs,
            kind(&cell.point),
            sharing(cell.point.sharing),
            median(&cell.in_flight, 1.0),
            median(&alone.in_flight, 1.0)
        );
        Note::caution("one at a time", message)
    })
}

fn sharing(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::Private => "files of their own",
        Sharing::Blocks => "blocks of their own",
        Sharing::Same => "the same place",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Bytes;
    use q2c_model::stats::{Interval, Ratio};
    use q2c_result::fs::{Access, Caching, FsJob, SCHEMA};

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
    pub(super) fn result(private: f64, shared: f64, ratio: f64, trials: u32) -> FsResult {
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
        let said = |private, shared, ratio, trials| {
            let findings = findings(&result(private, shared, ratio, trials));
            findings.iter().any(|said| said.what == "one at a time")
        };
        assert!(said(3.9, 1.0, 0.26, 5));
        // Each line breaks one witness: more in flight, equal throughput, or a single trial.
        assert!(!said(3.9, 1.5, 0.26, 5));
        assert!(!said(3.9, 1.0, 0.99, 5));
        assert!(!said(3.9, 1.0, 0.26, 1));
        // Private files have no more in flight, as the device is too fast to show a difference.
        assert!(!said(1.0, 0.9, 0.5, 5));
    }

    #[test]
    fn one_trial_says_nothing_of_the_scatter() {
        let mut result = result(3.9, 1.0, 0.26, 5);
        assert_eq!(ratios(&result).rows[0][1].text, "0.26 [0.25, 0.27]");
        result.cells[1].iops.trials = 1;
        assert_eq!(ratios(&result).rows[0][1].text, "0.26");
    }
}
