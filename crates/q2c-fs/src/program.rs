//! A program of the user's on the file systems, under several numbers of CPUs.

use crate::beside::{FsMeasurement, watched};
use crate::made::MountedFs;
use crate::spec::{FsSettings, ProgramSpec};
use q2c_host::Roots;
use q2c_host::program::{shell, start_on, wait};
use q2c_model::{CpuId, Exit, Fault};
use q2c_result::fs::{FsProgram, ProgramCell, ProgramPoint};
use q2c_run::runner::{CellError, CellPlan, CellRuns, Context, Plan};
use regex_lite::Regex;
use std::fs;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;

/// Length of a trial before one has been measured, seconds.
const EXPECTED_S: f64 = 10.0;
/// Lines of the program's output that an error shows.
const LAST: usize = 3;

/// The runner's plan. The metric is the program's own.
pub(crate) struct ProgramPlan<'a> {
    spec: &'a FsSettings,
    command: &'a str,
    metric: Regex,
    made: &'a [MountedFs],
    roots: &'a Roots,
}

impl<'a> ProgramPlan<'a> {
    pub(crate) fn new(
        spec: &'a FsSettings,
        program: &'a ProgramSpec,
        made: &'a [MountedFs],
        roots: &'a Roots,
    ) -> Result<Self, Fault> {
        Ok(ProgramPlan {
            spec,
            command: &program.command,
            metric: metric(&program.metric)?,
            made,
            roots,
        })
    }
}

/// The expression, which must have a group.
pub(crate) fn metric(text: &str) -> Result<Regex, Fault> {
    let wrong = |reason: String| {
        Fault::new(
            Exit::Usage,
            format!("understand --metric `{text}`: {reason}"),
        )
    };
    let regex = Regex::new(text).map_err(|error| wrong(error.to_string()))?;
    match regex.captures_len() {
        0 | 1 => Err(wrong(
            "expected a group in parentheses around the number, found none".to_owned(),
        )),
        _ => Ok(regex),
    }
}

impl Plan for ProgramPlan<'_> {
    type Cell = ProgramPoint;
    type Outcome = FsMeasurement<f64>;
    const UNIT: &'static str = "as printed";

    fn cells(&self) -> Vec<CellPlan<ProgramPoint>> {
        let points = self.made.iter().flat_map(|made| {
            let fs = made.facts.fs;
            self.spec
                .jobs()
                .iter()
                .map(move |&cpus| ProgramPoint { fs, cpus })
        });
        let cell = |point: ProgramPoint| {
            let cpus = if point.cpus == 1 { "CPU" } else { "CPUs" };
            let label = format!("{} on {} {cpus}", point.fs, point.cpus);
            CellPlan {
                key: label.clone(),
                label,
                seconds: EXPECTED_S,
                cell: point,
            }
        };
        points.map(cell).collect()
    }

    fn metric(&self, trial: &FsMeasurement<f64>) -> f64 {
        trial.figures
    }

    fn run(
        &mut self,
        cell: &CellPlan<ProgramPoint>,
        context: &mut Context<'_>,
    ) -> Result<FsMeasurement<f64>, CellError> {
        let point = &cell.cell;
        let made = self.made.iter().find(|made| made.facts.fs == point.fs);
        let made = made.ok_or_else(|| CellError::Cell(format!("find {}", point.fs)))?;
        let failed = |error: io::Error| CellError::Trial(format!("run the program: {error}"));
        let folder = made.path().join("program");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).map_err(failed)?;
        let cpus = &self.spec.cpus[..point.cpus as usize];
        let done = watched(self.roots, || {
            let ended = run(self.command, &folder, cpus, context.cancel).map_err(failed)?;
            let (status, output) = ended.ok_or(CellError::Cancelled)?;
            read(&self.metric, status, &output).map_err(CellError::Trial)
        });
        fs::remove_dir_all(&folder).map_err(failed)?;
        done
    }
}

/// The figure in the output of a program that ended with `status`: the last one that fits.
fn read(metric: &Regex, status: ExitStatus, output: &str) -> Result<f64, String> {
    let lines = output.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.collect();
    let last = if lines.is_empty() {
        "and it printed nothing".to_owned()
    } else {
        lines[lines.len().saturating_sub(LAST)..].join(" / ")
    };
    if !status.success() {
        return Err(format!("run the program: it ended with {status}: {last}"));
    }
    let last_match = metric.captures_iter(output).last();
    let number = last_match
        .and_then(|groups| groups.get(1))
        .map(|group| group.as_str());
    let number = number
        .ok_or_else(|| format!("find the metric `{metric}` in what the program printed: {last}"))?;
    let value: Option<f64> = number.replace(',', "").parse().ok();
    value
        .filter(|value| value.is_finite())
        .ok_or_else(|| format!("read the metric: expected a number, found `{number}`"))
}

/// Returns the status with all that was printed; `None` when it was stopped.
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

pub(crate) fn conclude(
    program: &ProgramSpec,
    runs: &[CellRuns<ProgramPoint, FsMeasurement<f64>>],
) -> FsProgram {
    FsProgram {
        command: Some(program.command.clone()),
        metric: program.metric.clone(),
        cells: cells(runs),
    }
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

    fn ended(command: &str) -> Result<f64, String> {
        let folder = tempfile::tempdir().unwrap();
        let cpus = q2c_sys::thread::allowed_cpus().unwrap();
        let go_on = AtomicBool::new(false);
        let ended = run(command, folder.path(), &[cpus[0].0], &go_on).unwrap();
        let (status, output) = ended.unwrap();
        read(&metric(r"Throughput ([0-9.,]+)").unwrap(), status, &output)
    }

    #[test]
    fn the_last_figure_that_fits_is_read() {
        let printed = ended("echo Throughput 1.5; echo 'Throughput 1,234.5 MB/sec'; echo done");
        assert_eq!(printed, Ok(1234.5));
    }

    #[test]
    fn a_program_runs_on_its_cpus_and_knows_their_number() {
        let printed = ended("echo Throughput $Q2C_CPUS; echo Throughput $(nproc)");
        assert_eq!(printed, Ok(1.0));
    }

    #[test]
    fn what_went_wrong_is_told_with_the_last_lines() {
        let failed = ended("echo no space left >&2; exit 3").unwrap_err();
        assert!(failed.contains("exit status: 3"), "{failed}");
        assert!(failed.ends_with("no space left"), "{failed}");
        let silent = ended("echo finished").unwrap_err();
        assert!(silent.starts_with("find the metric"), "{silent}");
        assert!(silent.ends_with("finished"), "{silent}");
        let none = ended("echo Throughput ...").unwrap_err();
        assert!(none.contains("expected a number"), "{none}");
        assert!(metric("Throughput").is_err() && metric("(").is_err());
    }
}
