//! The command `q2c poll sweep`.

use super::cost::costs;
use super::source::trace;
use crate::args::{SimulatedArgs, SweepArgs};
use crate::failure::{Fails, Failure};
use crate::output::{NewFile, print, print_json, say, screen};
use crate::requests::LONG_S;
use crate::requests::poll::{arrival, or_standard, sweep_policies, timing};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use q2c_model::{Bytes, Nanos};
use q2c_policy::{Family, MOST_CONFIGURATIONS, PolicySpec};
use q2c_report::columns::Column;
use q2c_result::Exit;
use q2c_result::sweep::SweepResult;
use q2c_sim::start_threads;
use q2c_study::{Study, StudyError, Trace};
use q2c_trace::table::TableColumn;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Policies of each family that are simulated beforehand to estimate the time of a sweep.
const SAMPLE: u64 = 64;

/// Simulates the policies on all traces, writes the files asked for, and prints the result.
pub fn run(args: &SweepArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    start_threads().or_exit(Exit::Environment)?;
    let files = Files::make(args)?;
    let begun = Instant::now();
    let SimulatedArgs { source, cost, .. } = &args.simulated;
    let read = |path| trace(path, source, args.inputs.len(), stop);
    let inputs = args.inputs.iter().map(|path| read(path.as_path()));
    let traces: Vec<Trace> = inputs.collect::<Result<_, _>>()?;
    let reading_s = begun.elapsed().as_secs_f64();
    let sizes: BTreeSet<Bytes> = traces.iter().flat_map(|t| t.input.sizes.clone()).collect();
    let sizes: Vec<Bytes> = sizes.into_iter().collect();
    let (cost, cost_in_words) = costs(cost, source.recording.bs, &sizes)?;
    let own = args.simulated.own.policies().or_exit(Exit::Usage)?;
    let mut study = Study {
        traces: &traces,
        reading_s,
        policies: &[],
        cost: &cost,
        cost_in_words,
        timing: timing(&args.timing),
        arrival: arrival(args.timing.open),
        objective: args.goal.objective,
        limits: args.goal.limits(),
        follow: args.follow.clone(),
    };
    let p50 = Nanos(traces[0].input.latency_ns[2] as u64);
    worth_it(args, &study, &own, p50)?;
    let policies = sweep_policies(&args.policy, own, p50).or_exit(Exit::Usage)?;
    study.policies = &policies;
    let result = simulated(&study, stop)?;
    files.write(&result)?;
    match args.json {
        true => print_json(&result)?,
        false => print(&q2c_report::terminal::sweep(&result, screen()))?,
    }
    Ok(Exit::Done)
}

/// Refuses a sweep whose result would not fit into memory, and without `--yes` one that would take
/// longer than [`LONG_S`], told by a sample of its policies. Families are not spelled out here.
fn worth_it(
    args: &SweepArgs,
    study: &Study<'_>,
    own: &[PolicySpec],
    p50: Nanos,
) -> Result<(), Failure> {
    let refused = |why: String| Err(Failure::new(Exit::Usage, format!("sweep: {why}")));
    let each = args.policy.iter().map(|family| family.sample(SAMPLE));
    let sample = each.collect::<Result<Vec<_>, _>>().or_exit(Exit::Usage)?;
    let sample = or_standard([&sample.concat(), own].concat(), p50);
    let spelled: u64 = args.policy.iter().map(Family::count).sum();
    let count = match spelled + own.len() as u64 {
        0 => sample.len() as u64,
        count => count,
    };
    let cells = count.saturating_mul(study.traces.len() as u64);
    if cells > MOST_CONFIGURATIONS {
        return refused(format!(
            "expected at most {MOST_CONFIGURATIONS} configurations over all traces, found {cells}; \
             sweep fewer, for instance with a wider step"
        ));
    }
    let takes = study.expected_s(&sample, count).filter(|s| *s > LONG_S);
    match takes.filter(|_| !args.yes) {
        None => Ok(()),
        Some(takes) => refused(format!(
            "{cells} cells would take about {}; sweep fewer, give a shorter --measure, or say --yes",
            Nanos::from_secs_f64(takes)
        )),
    }
}

fn simulated(study: &Study<'_>, stop: &AtomicBool) -> Result<SweepResult, Failure> {
    let bar = progress(study.cells());
    let result = study.run(stop, &mut |done| bar.set_position(done as u64));
    bar.finish_and_clear();
    result.or_exit_of(StudyError::exit)
}

/// A bar on stderr for so many cells.
pub(in crate::commands) fn progress(cells: usize) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(4);
    let bar = ProgressBar::with_draw_target(Some(cells as u64), target);
    let style =
        ProgressStyle::with_template("{wide_bar} {pos} of {len} configurations, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Writes one of the files that were asked for, and says so.
pub(super) fn write(file: NewFile, bytes: &[u8]) -> Result<(), Failure> {
    let path = file.path().to_owned();
    file.write(bytes)?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}

/// The files that the result is to be written to.
struct Files {
    html: Option<NewFile>,
    csv: Option<NewFile>,
    parquet: Option<NewFile>,
}

impl Files {
    fn make(args: &SweepArgs) -> Result<Self, Failure> {
        Ok(Files {
            html: NewFile::if_named(args.html.as_ref())?,
            csv: NewFile::if_named(args.csv.as_ref())?,
            parquet: NewFile::if_named(args.parquet.as_ref())?,
        })
    }

    fn write(self, result: &SweepResult) -> Result<(), Failure> {
        if let Some(file) = self.html {
            let page = q2c_report::html::sweep(result).or_exit(Exit::Internal)?;
            write(file, page.as_bytes())?;
        }
        if let Some(file) = self.csv {
            let table = q2c_report::csv::sweep(result).or_exit(Exit::Internal)?;
            write(file, table.as_bytes())?;
        }
        if let Some(file) = self.parquet {
            write(file, &parquet(result)?)?;
        }
        Ok(())
    }
}

fn parquet(result: &SweepResult) -> Result<Vec<u8>, Failure> {
    let columns = q2c_report::columns::sweep(result).into_iter();
    let columns: Vec<TableColumn> = columns
        .map(|column| match column {
            Column::Text(name, texts) => TableColumn::Text(name, texts),
            Column::Number(name, numbers) => TableColumn::Number(name, numbers),
        })
        .collect();
    q2c_trace::table::parquet(&columns).or_exit(Exit::Internal)
}
