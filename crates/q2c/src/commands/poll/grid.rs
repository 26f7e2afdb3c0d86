//! What the commands share that simulate many rules on many traces.

use super::{SimulatedArgs, TimingArgs};
use crate::output::NewFile;
use clap::Args;
use q2c_model::{Bytes, CostModel, Fault, OrFault};
use q2c_policy::PolicySpec;
use q2c_report::Reported;
use q2c_result::Exit;
use q2c_result::figures::{FigureTable, Measures};
use q2c_study::{SimTrace, Study};
use q2c_trace::table::TableColumn;
use q2c_workbench::settings::GoalArgs;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// How rules are simulated, what is best, and where the result goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct GridArgs {
    /// Own rules, the reading of the traces, and costs.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
    /// What is best.
    #[command(flatten)]
    pub goal: GoalArgs,
    /// Simulated time.
    #[command(flatten)]
    pub timing: TimingArgs,
    /// Go on even when it takes long
    #[arg(long)]
    pub yes: bool,
    /// Write a report with charts to this file, a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the cells as CSV to this file, a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

impl GridArgs {
    /// The study of `policies` on `traces`, with costs in numbers and in words.
    pub(crate) fn study<'a>(
        &self,
        traces: &'a [SimTrace],
        policies: &'a [PolicySpec],
        (cost, cost_in_words): (&'a CostModel, String),
        reading_s: f64,
    ) -> Study<'a> {
        Study {
            traces,
            reading_s,
            policies,
            cost,
            cost_in_words,
            timing: self.timing.timing(),
            arrival: self.timing.arrival(),
            objective: self.goal.objective,
            limits: self.goal.limits(),
            follow: None,
        }
    }
}

pub(super) struct Outputs {
    html: Option<NewFile>,
    csv: Option<NewFile>,
    parquet: Option<NewFile>,
}

impl Outputs {
    /// Makes the files before the work, so that a name that is taken does not cost the result.
    pub(crate) fn make(args: &GridArgs, parquet: Option<&PathBuf>) -> Result<Self, Fault> {
        Ok(Outputs {
            html: NewFile::if_named(args.html.as_ref())?,
            csv: NewFile::if_named(args.csv.as_ref())?,
            parquet: NewFile::if_named(parquet)?,
        })
    }

    pub(crate) fn write(self, result: &(impl Measures + Reported)) -> Result<(), Fault> {
        if let Some(file) = self.html {
            let page = result.document().page().or_exit(Exit::Internal)?;
            file.write_and_say("wrote", page.as_bytes())?;
        }
        if let Some(file) = self.csv {
            let table = q2c_report::csv(&result.figures()).or_exit(Exit::Internal)?;
            file.write_and_say("wrote", table.as_bytes())?;
        }
        if let Some(file) = self.parquet {
            file.write_and_say("wrote", &parquet(&result.figures())?)?;
        }
        Ok(())
    }
}

/// The texts and the medians of a table of figures, as a Parquet file.
fn parquet(table: &FigureTable) -> Result<Vec<u8>, Fault> {
    let texts = table.keys.iter().enumerate().map(|(at, name)| {
        let cells = table.rows.iter().map(|row| row.keys[at].clone());
        TableColumn::Text(name.to_string(), cells.collect())
    });
    let numbers = table.figures.iter().enumerate().map(|(at, figure)| {
        let values = table.rows.iter().map(|row| row.values[at]);
        let cells = values.map(|value| {
            if value.trials > 0 {
                value.median
            } else {
                f64::NAN
            }
        });
        TableColumn::Number(figure.column(), cells.collect())
    });
    let columns: Vec<TableColumn> = texts.chain(numbers).collect();
    q2c_trace::table::parquet(&columns).or_exit(Exit::Internal)
}

pub(super) fn sizes(traces: &[SimTrace]) -> Vec<Bytes> {
    let sizes: BTreeSet<Bytes> = traces.iter().flat_map(|t| t.input.sizes.clone()).collect();
    sizes.into_iter().collect()
}
