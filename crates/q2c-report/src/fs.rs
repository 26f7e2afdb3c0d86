//! Tables and sentences of `q2c fs bench` that terminal and page share.

mod watched;

pub(crate) use watched::{locks, profiles};

use crate::disturbed;
use crate::quantity::{NOTHING, iops, median, number, range, trials};
use crate::said::{Field, Said, Table, Weight};
use q2c_result::fs::{
    FileSystem, FsCell, FsPoint, FsProgram, FsResult, ProgramCell, ProgramPoint, SharedRatio,
    Sharing,
};
use q2c_stats::Ratio;
use std::collections::BTreeSet;

/// Requests in flight up to which one counts as alone: small ones of the file system itself lie
/// beside those of the jobs.
const ALONE: f64 = 1.1;
/// How many times as many requests jobs have in flight on files of their own, where they are
/// served one at a time on one file. In the time that a job spends outside the device, none of its
/// requests is in flight, so that one at a time is less than one on average.
const TOGETHER: f64 = 1.5;

/// The fewest trials with which jobs are said to be served one at a time.
const TRIALS: u32 = 3;

/// The ratio of throughput below which jobs that share are slower for sure.
const SLOWER: f64 = 0.9;

/// What the result is about.
pub(crate) fn title(result: &FsResult) -> String {
    let all = result.file_systems.iter().map(|made| made.fs.name());
    all.collect::<Vec<_>>().join(", ")
}

/// The run in a line.
pub(crate) fn about(result: &FsResult) -> String {
    let job = &result.job;
    let files = match result.program {
        Some(_) => String::new(),
        None => format!(
            " of {} s · files of {} for each job",
            number(job.trial_seconds),
            job.file
        ),
    };
    let cpus: Vec<String> = job.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
    let cells = result.cells.iter().map(|cell| cell.iops.trials);
    let program = result.program.iter().flat_map(|program| &program.cells);
    let run = cells.chain(program.map(|cell| cell.value.trials));
    format!(
        "{}{files} · CPUs {}",
        trials(job.trials, run),
        cpus.join(", ")
    )
}

/// What the points of a table have in common.
fn kind(point: &FsPoint) -> String {
    let ahead = point
        .readahead
        .map_or_else(String::new, |bytes| format!(", readahead {bytes}"));
    format!("{} {} of {}{ahead}", point.caching, point.access, point.bs)
}

fn jobs(result: &FsResult) -> BTreeSet<u32> {
    result.cells.iter().map(|cell| cell.point.jobs).collect()
}

/// A table of throughput for each kind of access, with its title: a row for each file system and
/// level of sharing, a column for each number of jobs.
pub(crate) fn throughput(result: &FsResult) -> Vec<(String, Table)> {
    let mut kinds: Vec<String> = Vec::new();
    for cell in &result.cells {
        let kind = kind(&cell.point);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let table = |of: String| {
        let own = |cell: &&FsCell| kind(&cell.point) == of;
        let table = grid(result, result.cells.iter().filter(own));
        (format!("IOPS, {of}"), table)
    };
    kinds.into_iter().map(table).collect()
}

fn grid<'a>(result: &FsResult, cells: impl Iterator<Item = &'a FsCell>) -> Table {
    let cells: Vec<&FsCell> = cells.collect();
    let jobs = jobs(result);
    let mut rows: Vec<Vec<Field>> = Vec::new();
    let mut seen = Vec::new();
    for cell in &cells {
        let row = (cell.point.fs, cell.point.sharing);
        if seen.contains(&row) {
            continue;
        }
        seen.push(row);
        let at = |&jobs: &u32| {
            let mut own = cells.iter();
            let own =
                own.find(|c| (c.point.fs, c.point.sharing, c.point.jobs) == (row.0, row.1, jobs));
            own.map_or_else(|| NOTHING.into(), |cell| field(cell))
        };
        let name = format!("{} {}", row.0, row.1);
        rows.push(
            std::iter::once(name.into())
                .chain(jobs.iter().map(at))
                .collect(),
        );
    }
    Table {
        head: head("file system", &jobs),
        rows,
        legend: "Median of the trials; below it the least and the largest one, and the device's requests in flight, \
                 averaged over time.",
    }
}

fn head(first: &str, jobs: &BTreeSet<u32>) -> Vec<String> {
    let of = |jobs: &u32| match jobs {
        1 => "1 job".to_owned(),
        n => format!("{n} jobs"),
    };
    std::iter::once(first.to_owned())
        .chain(jobs.iter().map(of))
        .collect()
}

fn field(cell: &FsCell) -> Field {
    if cell.iops.trials == 0 {
        return without(&cell.failures);
    }
    let in_flight = match cell.in_flight.trials {
        0 => String::new(),
        _ => format!(" · {} in flight", median(&cell.in_flight, 1.0)),
    };
    Field {
        text: iops(cell.iops.median),
        below: format!("{}{in_flight}", range(&cell.iops, 1.0)),
    }
}

/// Throughput with a shared file over that with private ones.
pub(crate) fn ratios(result: &FsResult) -> Table {
    let jobs = jobs(result);
    let mut seen: Vec<FsPoint> = Vec::new();
    for ratio in &result.ratios {
        let row = FsPoint {
            jobs: 0,
            ..ratio.point.clone()
        };
        if !seen.contains(&row) {
            seen.push(row);
        }
    }
    let row = |of: &FsPoint| -> Vec<Field> {
        let at = |&jobs: &u32| {
            let point = FsPoint { jobs, ..of.clone() };
            let own = result.ratios.iter().find(|ratio| ratio.point == point);
            own.map_or_else(|| NOTHING.into(), |own| ratio(result, own))
        };
        let name = format!("{} {}, {}", of.fs, of.sharing, kind(of));
        std::iter::once(name.into())
            .chain(jobs.iter().map(at))
            .collect()
    };
    Table {
        head: head("shared to private", &jobs),
        rows: seen.iter().map(row).collect(),
        legend: "Throughput of jobs on one file over that of as many with a file each, with its 95 % bootstrap interval. It takes two trials or more; \
                 below it the ratio of the control.",
    }
}

/// Whether a point, or the one beside it with private files, has a single trial, so that nothing is
/// known of the ratio's scatter.
fn tried_once(result: &FsResult, point: &FsPoint) -> bool {
    let private = FsPoint {
        sharing: Sharing::Private,
        ..point.clone()
    };
    let few = |cell: &&FsCell| cell.point == *point || cell.point == private;
    let mut cells = result.cells.iter().filter(few);
    cells.any(|cell| cell.iops.trials < 2)
}

fn ratio(result: &FsResult, of: &SharedRatio) -> Field {
    let once = tried_once(result, &of.point);
    let text = |ratio: Ratio| match once {
        true => format!("{:.2}", ratio.ratio),
        false => format!("{:.2} [{:.2}, {:.2}]", ratio.ratio, ratio.low, ratio.high),
    };
    Field {
        text: text(of.shared_to_private),
        below: of.of_control.map_or_else(String::new, |control| {
            format!("control {:.2}", control.ratio)
        }),
    }
}

/// The figures of a program: a row for each file system, a column for each number of CPUs.
pub(crate) fn program(of: &FsProgram) -> (String, Table) {
    let cpus: BTreeSet<u32> = of.cells.iter().map(|cell| cell.point.cpus).collect();
    let mut all: Vec<FileSystem> = Vec::new();
    for cell in &of.cells {
        if !all.contains(&cell.point.fs) {
            all.push(cell.point.fs);
        }
    }
    let row = |&fs: &FileSystem| -> Vec<Field> {
        let at = |&cpus: &u32| {
            let mut own = of.cells.iter();
            let own = own.find(|cell| cell.point == ProgramPoint { fs, cpus });
            own.map_or_else(|| NOTHING.into(), figure)
        };
        std::iter::once(fs.name().into())
            .chain(cpus.iter().map(at))
            .collect()
    };
    let head = cpus.iter().map(|&cpus| numbered(of, cpus));
    let table = Table {
        head: std::iter::once("file system".to_owned())
            .chain(head)
            .collect(),
        rows: all.iter().map(row).collect(),
        legend: "Median of the trials; below it the least and the largest one.",
    };
    let title = match &of.command {
        Some(command) => format!("{} of `{command}`", of.metric),
        None => format!("{} of the built-in mix", of.metric),
    };
    (title, table)
}

/// The CPUs of a program, or the tasks of the built-in mix.
fn numbered(of: &FsProgram, n: u32) -> String {
    let unit = if of.command.is_some() { "CPU" } else { "task" };
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {unit}{s}")
}

fn figure(cell: &ProgramCell) -> Field {
    match cell.value.trials {
        0 => without(&cell.failures),
        _ => Field {
            text: number(cell.value.median),
            below: range(&cell.value, 1.0),
        },
    }
}

/// The field of a point without a trial that went well.
fn without(failures: &[String]) -> Field {
    match failures.is_empty() {
        true => NOTHING.into(),
        false => "failed".into(),
    }
}

/// The file systems that were made.
pub(crate) fn file_systems(result: &FsResult) -> Vec<Said> {
    let said = |made: &q2c_result::fs::MadeFs| {
        let loops = match made.loop_direct {
            Some(true) => ", past the page cache of the file below",
            Some(false) => ", through the page cache of the file below",
            None => "",
        };
        let control = match result.control == Some(made.fs) {
            true => " · the control",
            false => "",
        };
        Said::plain(
            made.fs.name(),
            format!(
                "on {} of {}{loops} · {} · mounted {}{control}",
                made.device, made.size, made.made_by, made.options
            ),
        )
    };
    let mut all: Vec<Said> = result.file_systems.iter().map(said).collect();
    all.extend(result.left_out.iter().map(|left| {
        let what = left
            .what
            .as_ref()
            .map_or_else(String::new, |what| format!(" {what}"));
        Said::new(
            Weight::Caution,
            "left out",
            format!("{}{what}: {}", left.fs, left.reason),
        )
    }));
    all
}

/// What disturbed the trials; where jobs on one file were served one at a time while jobs with
/// files of their own were not; and the trials that failed.
pub(crate) fn findings(result: &FsResult) -> Vec<Said> {
    let caveats = disturbed::caveats(result.warnings.iter()).into_iter();
    let caveats = caveats.map(|words| Said::new(Weight::Caution, "caveat", words));
    caveats.chain(seen(result)).collect()
}

fn seen(result: &FsResult) -> Vec<Said> {
    let most = jobs(result).last().copied().unwrap_or(1);
    let shared = result.cells.iter().filter(|cell| {
        cell.point.jobs == most && most > 1 && cell.point.sharing != Sharing::Private
    });
    let witness = |cell: &FsCell| {
        let private = FsPoint {
            sharing: Sharing::Private,
            ..cell.point.clone()
        };
        let private = result.cells.iter().find(|cell| cell.point == private)?;
        // One or two trials have no interval to speak of.
        let known = cell.in_flight.trials.min(private.in_flight.trials) >= TRIALS;
        let slower = |ratio: &SharedRatio| {
            ratio.point == cell.point && ratio.shared_to_private.high <= SLOWER
        };
        let known = known && result.ratios.iter().any(slower);
        let serial =
            cell.in_flight.max <= ALONE && private.in_flight.min >= TOGETHER * cell.in_flight.max;
        (known && serial).then(|| {
            Said::new(
                Weight::Caution,
                "one at a time",
                format!(
                    "{} {} with {}: {most} jobs have {} requests in flight on one file, and {} on files of their own",
                    cell.point.fs,
                    kind(&cell.point),
                    sharing(cell.point.sharing),
                    median(&cell.in_flight, 1.0),
                    median(&private.in_flight, 1.0)
                ),
            )
        })
    };
    let failed = |cell: &FsCell| {
        let why = cell.failures.first()?;
        let FsPoint {
            fs, sharing, jobs, ..
        } = cell.point;
        let point = format!("{fs} {sharing}, {}, {jobs} jobs", kind(&cell.point));
        Some(Said::new(
            Weight::Bad,
            "failed",
            format!("{point}: failed to {why}"),
        ))
    };
    let failed = result.cells.iter().filter_map(failed);
    let of_program = |program: &FsProgram| -> Vec<Said> {
        let cells = program.cells.iter();
        let failed = cells.filter_map(|cell| {
            let why = cell.failures.first()?;
            let ProgramPoint { fs, cpus } = cell.point;
            let number = numbered(program, cpus);
            Some(Said::new(
                Weight::Bad,
                "failed",
                format!("{fs}, {number}: failed to {why}"),
            ))
        });
        failed.collect()
    };
    let of_program = result.program.iter().flat_map(of_program);
    shared
        .filter_map(witness)
        .chain(failed)
        .chain(of_program)
        .collect()
}

fn sharing(of: Sharing) -> &'static str {
    match of {
        Sharing::Private => "files of their own",
        Sharing::Blocks => "blocks of their own",
        Sharing::Same => "the same place",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Bytes;
    use q2c_result::fs::{Access, Caching, FsJob, SCHEMA};
    use q2c_stats::Interval;

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

    /// Four jobs whose private files have `private` in flight, and the shared one `shared`.
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
        let said = |result: &FsResult| findings(result).len();
        assert_eq!(said(&result(3.9, 1.0, 0.26, 5)), 1);
        let words = &findings(&result(3.9, 1.0, 0.26, 5))[0].words;
        assert!(
            words.contains("4 jobs have 1.00 requests in flight on one file, and 3.90"),
            "{words}"
        );
        // More than one is in flight; the throughput is the same; one trial says nothing.
        assert_eq!(said(&result(3.9, 1.5, 0.26, 5)), 0);
        assert_eq!(said(&result(3.9, 1.0, 0.99, 5)), 0);
        assert_eq!(said(&result(3.9, 1.0, 0.26, 1)), 0);
        // Private files have no more in flight: the device is too fast to show anything.
        assert_eq!(said(&result(1.0, 0.9, 0.5, 5)), 0);
    }

    #[test]
    fn tables_have_a_row_for_each_level_and_a_column_for_each_number_of_jobs() {
        let result = result(3.9, 1.0, 0.26, 5);
        let [(title, table)] = &throughput(&result)[..] else {
            panic!("one table");
        };
        assert_eq!(title, "IOPS, direct append of 4 KiB");
        assert_eq!(table.head, ["file system", "4 jobs"]);
        let names: Vec<&str> = table.rows.iter().map(|row| row[0].text.as_str()).collect();
        assert_eq!(names, ["ext4 private", "ext4 same"]);
        assert_eq!(ratios(&result).rows[0][1].text, "0.26 [0.25, 0.27]");
        // One trial says nothing of the scatter.
        let mut once = result.clone();
        once.cells[1].iops.trials = 1;
        assert_eq!(ratios(&once).rows[0][1].text, "0.26");
    }
}
