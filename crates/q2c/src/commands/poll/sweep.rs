//! The command `q2c poll sweep`.

use super::cost::costs;
use super::source::trace;
use crate::args::{SimulatedArgs, SweepArgs};
use crate::output::{NewFile, say, show};
use crate::progress::Line;
use q2c_model::{Bytes, Fault, Nanos, OrFault};
use q2c_report::Reported;
use q2c_result::Exit;
use q2c_result::figures::Measures;
use q2c_result::sweep::SweepResult;
use q2c_sim::start_threads;
use q2c_study::{Study, Swept, Trace};
use q2c_trace::table::TableColumn;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Simulates the policies on all traces, writes the files asked for, and prints the result.
pub fn run(args: &SweepArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let files = Files::make(args)?;
    let begun = Instant::now();
    let SimulatedArgs { source, cost, .. } = &args.simulated;
    let read = |path| trace(path, source, &args.inputs, stop);
    let inputs = args.inputs.iter().map(|path| read(path.as_path()));
    let line = Line::reading(args.inputs.iter().map(|path| path.as_path()));
    let traces: Vec<Trace> = inputs.collect::<Result<_, _>>()?;
    drop(line);
    let reading_s = begun.elapsed().as_secs_f64();
    let sizes: BTreeSet<Bytes> = traces.iter().flat_map(|t| t.input.sizes.clone()).collect();
    let sizes: Vec<Bytes> = sizes.into_iter().collect();
    let costs = costs(cost, source.recording.bs, &sizes, &traces)?;
    let own = args.simulated.own.policies().or_exit(Exit::Usage)?;
    let mut study = Study {
        traces: &traces,
        reading_s,
        policies: &[],
        cost: &costs.cost,
        cost_in_words: costs.in_words,
        timing: args.timing.timing(),
        arrival: args.timing.arrival(),
        objective: args.goal.objective,
        limits: args.goal.limits(),
        follow: args.follow.clone(),
    };
    let p50 = Nanos(traces[0].input.latency_ns[2] as u64);
    let swept = Swept {
        families: &args.policy,
        own: &own,
        p50,
    };
    let line = Line::working("estimating the time of the sweep");
    swept.worth_it(&study, args.yes).or_exit(Exit::Usage)?;
    drop(line);
    let policies = swept.policies().or_exit(Exit::Usage)?;
    study.policies = &policies;
    let mut result = simulated(&study, stop)?;
    result.warnings.splice(0..0, costs.doubt);
    files.write(&result)?;
    show(&result, args.json)?;
    Ok(Exit::Done)
}

fn simulated(study: &Study<'_>, stop: &AtomicBool) -> Result<SweepResult, Fault> {
    let line = Line::of(study.cells() as u64, "configurations");
    study.run(stop, &mut |done| line.set(done as u64))
}

/// Writes one of the files that were asked for, and says so.
pub(super) fn write(file: NewFile, bytes: &[u8]) -> Result<(), Fault> {
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
    fn make(args: &SweepArgs) -> Result<Self, Fault> {
        Ok(Files {
            html: NewFile::if_named(args.html.as_ref())?,
            csv: NewFile::if_named(args.csv.as_ref())?,
            parquet: NewFile::if_named(args.parquet.as_ref())?,
        })
    }

    fn write(self, result: &SweepResult) -> Result<(), Fault> {
        if let Some(file) = self.html {
            let page = result.document().page().or_exit(Exit::Internal)?;
            write(file, page.as_bytes())?;
        }
        if let Some(file) = self.csv {
            let table = q2c_report::csv(&result.figures()).or_exit(Exit::Internal)?;
            write(file, table.as_bytes())?;
        }
        if let Some(file) = self.parquet {
            write(file, &parquet(result)?)?;
        }
        Ok(())
    }
}

/// The texts and the medians of a table of figures, as a Parquet file.
fn parquet(result: &SweepResult) -> Result<Vec<u8>, Fault> {
    let table = result.figures();
    let texts = table.keys.iter().enumerate().map(|(at, name)| {
        let cells = table.rows.iter().map(|row| row.keys[at].clone());
        TableColumn::Text(name.to_string(), cells.collect())
    });
    let numbers = table.figures.iter().enumerate().map(|(at, figure)| {
        let values = table.rows.iter().map(|row| row.values[at]);
        let cells = values.map(|of| if of.trials > 0 { of.median } else { f64::NAN });
        TableColumn::Number(figure.column(), cells.collect())
    });
    let columns: Vec<TableColumn> = texts.chain(numbers).collect();
    q2c_trace::table::parquet(&columns).or_exit(Exit::Internal)
}
