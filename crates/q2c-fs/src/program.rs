//! The user's program on the file systems, on several numbers of CPUs.

use crate::BenchTarget;
use crate::disturbance::{FsMeasurement, measure};
use q2c_host::program::{shell, start_on, wait};
use q2c_model::{CpuId, Exit, Fault, OrFault};
use q2c_result::fs::{FileSystem, ProgramCell, ProgramPoint};
use q2c_run::runner::{CellError, CellPlan, CellRuns, Context, Plan};
use regex_lite::Regex;
use std::fs;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;

/// Expected length of a trial before the first one has been measured, seconds.
const EXPECTED_TRIAL_S: f64 = 10.0;
/// Number of the last output lines that an error shows.
const SHOWN_LINES: usize = 3;

/// The runner's plan. Its metric is the figure that the program prints.
pub(crate) struct ProgramPlan<'a> {
    target: BenchTarget<'a>,
    command: &'a str,
    metric: Regex,
}

impl<'a> ProgramPlan<'a> {
    pub(crate) fn new(target: BenchTarget<'a>, command: &'a str) -> Result<Self, Fault> {
        Ok(ProgramPlan {
            target,
            command,
            metric: metric(target.bench.spec.metric())?,
        })
    }
}

/// The cells of a plan: each file system with each number of CPUs.
pub(crate) fn cell_plans(
    target: BenchTarget<'_>,
    seconds: f64,
    label: impl Fn(&ProgramPoint) -> String,
) -> Vec<CellPlan<ProgramPoint>> {
    let counts = target.bench.spec.jobs();
    let points = target.made.iter().flat_map(|made| {
        let fs = made.facts.fs;
        counts.iter().map(move |&cpus| ProgramPoint { fs, cpus })
    });
    let cell = |cell: ProgramPoint| CellPlan {
        key: label(&cell),
        label: label(&cell),
        seconds,
        cell,
    };
    points.map(cell).collect()
}

/// Runs `work` in an empty folder of a file system, and then removes the folder.
pub(crate) fn run_in_folder(
    target: BenchTarget<'_>,
    fs: FileSystem,
    name: &str,
    failed: impl Fn(io::Error) -> CellError,
    work: impl FnOnce(&Path) -> Result<f64, CellError>,
) -> Result<FsMeasurement<f64>, CellError> {
    let folder = target.find(fs)?.path().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).map_err(&failed)?;
    let measured = measure(target.bench.roots, || work(&folder));
    fs::remove_dir_all(&folder).map_err(failed)?;
    measured
}

/// Compiles the regular expression of the metric. Its first group holds the number.
pub(crate) fn metric(text: &str) -> Result<Regex, Fault> {
    let tried = format_args!("understand --metric `{text}`");
    let regex = Regex::new(text).or_fault(Exit::Usage, tried)?;
    let grouped = (regex.captures_len() > 1).then_some(regex);
    let no_group = "expected a group in parentheses around the number, found none";
    grouped.ok_or(no_group).or_fault(Exit::Usage, tried)
}

impl Plan for ProgramPlan<'_> {
    type Cell = ProgramPoint;
    type Outcome = FsMeasurement<f64>;
    const UNIT: &'static str = "as printed";

    fn cells(&self) -> Vec<CellPlan<ProgramPoint>> {
        cell_plans(self.target, EXPECTED_TRIAL_S, |point| {
            let cpus = if point.cpus == 1 { "CPU" } else { "CPUs" };
            format!("{} on {} {cpus}", point.fs, point.cpus)
        })
    }

    fn metric(&self, trial: &FsMeasurement<f64>) -> f64 {
        trial.figures
    }

    fn run(
        &mut self,
        cell: &CellPlan<ProgramPoint>,
        context: &mut Context<'_>,
    ) -> Result<FsMeasurement<f64>, CellError> {
        let failed = |error: io::Error| CellError::Trial(format!("run the program: {error}"));
        run_in_folder(self.target, cell.cell.fs, "program", failed, |folder| {
            let cpus = &self.target.bench.spec.cpus[..cell.cell.cpus as usize];
            let ended = run(self.command, folder, cpus, context.cancel).map_err(failed)?;
            let (status, output) = ended.ok_or(CellError::Cancelled)?;
            read_figure(&self.metric, status, &output).map_err(CellError::Trial)
        })
    }
}

/// The figure in the output of a program that ended with `status`: the last match.
fn read_figure(metric: &Regex, status: ExitStatus, output: &str) -> Result<f64, String> {
    let lines = output.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.collect();
    let tail = match lines.len() {
        0 => "and it printed nothing".to_owned(),
        count => lines[count.saturating_sub(SHOWN_LINES)..].join(" / "),
    };
    if !status.success() {
        return Err(format!("run the program: it ended with {status}: {tail}"));
    }
    let last_match = metric.captures_iter(output).last();
    let number = last_match.and_then(|groups| Some(groups.get(1)?.as_str()));
    let no_match = || format!("find the metric `{metric}` in what the program printed: {tail}");
    let number = number.ok_or_else(no_match)?;
    let value: Option<f64> = number.replace(',', "").parse().ok();
    value
        .filter(|value| value.is_finite())
        .ok_or_else(|| format!("read the metric: expected a number, found `{number}`"))
}

/// Runs the command. Returns its status and its whole output; `None` if it was stopped.
fn run(
    command: &str,
    folder: &Path,
    cpus: &[u32],
    stop: &AtomicBool,
) -> io::Result<Option<(ExitStatus, String)>> {
    let mut output = tempfile::tempfile()?;
    let cpu_ids: Vec<CpuId> = cpus.iter().copied().map(CpuId).collect();
    let mut shell = shell(command);
    shell
        .current_dir(folder)
        .env("Q2C_CPUS", cpus.len().to_string())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    let child = start_on(&cpu_ids, &mut shell)?;
    let Some(status) = wait(child, stop)? else {
        return Ok(None);
    };
    let mut text = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut text)?;
    Ok(Some((status, String::from_utf8_lossy(&text).into_owned())))
}

pub(crate) fn cells(runs: &[CellRuns<ProgramPoint, FsMeasurement<f64>>]) -> Vec<ProgramCell> {
    let cell = |runs: &CellRuns<ProgramPoint, FsMeasurement<f64>>| ProgramCell {
        point: runs.plan.cell.clone(),
        value: runs.interval(|trial| trial.figures),
        failures: runs.failures().map(str::to_owned).collect(),
    };
    runs.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure_of(command: &str) -> Result<f64, String> {
        let folder = tempfile::tempdir().unwrap();
        let cpus = q2c_sys::thread::allowed_cpus().unwrap();
        let go_on = AtomicBool::new(false);
        let ended = run(command, folder.path(), &[cpus[0].0], &go_on).unwrap();
        let (status, output) = ended.unwrap();
        read_figure(&metric(r"Throughput ([0-9.,]+)").unwrap(), status, &output)
    }

    #[test]
    fn the_last_figure_that_fits_is_read() {
        let printed = figure_of("echo Throughput 1.5; echo 'Throughput 1,234.5 MB/sec'; echo done");
        assert_eq!(printed, Ok(1234.5));
    }

    #[test]
    fn a_program_runs_on_its_cpus_and_knows_their_number() {
        let printed = figure_of("echo Throughput $Q2C_CPUS; echo Throughput $(nproc)");
        assert_eq!(printed, Ok(1.0));
    }

    #[test]
    fn what_went_wrong_is_told_with_the_tail() {
        let failed = figure_of("echo no space left >&2; exit 3").unwrap_err();
        assert!(failed.contains("exit status: 3"), "{failed}");
        assert!(failed.ends_with("no space left"), "{failed}");
        let silent = figure_of("echo finished").unwrap_err();
        assert!(silent.starts_with("find the metric"), "{silent}");
        assert!(silent.ends_with("finished"), "{silent}");
        let none = figure_of("echo Throughput ...").unwrap_err();
        assert!(none.contains("expected a number"), "{none}");
        assert!(metric("Throughput").is_err() && metric("(").is_err());
    }
}
