//! The runner: it runs the trials of a plan in shuffled rounds, journals each of them, resumes
//! after a crash or a cancel, and keeps to a budget.
//!
//! An experiment is a [`Plan`]: a list of cells and a way to run one trial of one cell. The runner
//! knows nothing else about it.
//!
//! # Contract
//! *Keys.* [`CellPlan::key`] names a cell in the journal. Keys MUST be unique in a plan and the
//! same in every session; [`Plan::cells`] is asked once per session and MUST give the same cells in
//! the same order.
//!
//! *Several plans in one folder.* A study may run one plan after another, each made from the
//! results of the plans before. [`Plan::owns`] says which keys belong to a plan. The runner ignores
//! the entries of other plans.
//!
//! *Order.* Trials run in rounds. Every round runs each cell once, in an order shuffled by
//! [`Settings::seed`], so that a drifting device affects no cell more than another. The order of
//! round r depends only on the seed and the number of cells: the same seed gives the same order,
//! also after a resume. On resume the caller MUST pass the seed of the stored plan.
//!
//! *Trials.* [`Plan::run`] returns `Ok` only for a complete trial. It MUST look at
//! [`Context::cancelled`] at least every half second. Once that is true, it MUST return
//! [`CellError::Cancelled`], and nothing of the trial is kept. While a trial runs, the runner
//! writes nothing, draws nothing and has no thread, so that only the trial loads the machine.
//!
//! *Journal.* A trial is finished when its line is on the disk. A finished trial never runs again,
//! even if it failed; an unfinished one runs again from its start. An outcome MUST survive JSON.
//! One that does not (a NaN in place of a number) stops the run at once. Otherwise only a resume
//! would notice, perhaps days later.
//!
//! *Errors.* [`CellError`] says whether an error concerns one trial, its cell, or the whole run.
//!
//! *Budget.* If the requested trials do not fit [`Settings::budget`], whole rounds are left out,
//! but never the first. A round once begun is finished, so that all cells have the same number of
//! trials. The time of all sessions counts. The cut is announced before the start, decided anew
//! before each round from the times measured so far, and stated in the summary's warnings.
//!
//! *Giving up.* A cell whose first two trials failed or were invalid ([`Plan::invalid`]) for the
//! same reason gets no further ones, unless [`Settings::all_trials`] is set. This is announced, and
//! stated in the summary's warnings.
//!
//! *Precision.* [`Precision`] adds rounds for the cells whose median is not yet known well enough.
//!
//! *Ending.* [`Runner::run`] returns a [`Summary`] for complete, cancelled and aborted runs. A
//! cancelled or aborted run leaves its folder marked as interrupted. The caller writes its final
//! files and calls [`RunDir::finish`](crate::RunDir::finish) with [`Summary::state`].
//!
//! # Example
//! ```
//! use q2c_run::runner::{SystemClock, progress::SilentProgress};
//! use q2c_run::{CellError, CellPlan, Context, Identity, Plan, RunDir, Runner, Settings};
//! use std::sync::atomic::AtomicBool;
//!
//! /// Measures how long it takes to sum the numbers below the cell's.
//! struct Sums;
//!
//! impl Plan for Sums {
//!     type Cell = u64;
//!     type Outcome = f64;
//!     const UNIT: &'static str = "s";
//!
//!     fn cells(&self) -> Vec<CellPlan<u64>> {
//!         let cell = |n: u64| CellPlan {
//!             key: format!("sum-{n}"),
//!             label: format!("sum of {n}"),
//!             seconds: 0.01,
//!             cell: n,
//!         };
//!         vec![cell(1_000), cell(100_000)]
//!     }
//!
//!     fn metric(&self, seconds: &f64) -> f64 {
//!         *seconds
//!     }
//!
//!     fn run(&mut self, cell: &CellPlan<u64>, _: &mut Context<'_>) -> Result<f64, CellError> {
//!         let start = std::time::Instant::now();
//!         std::hint::black_box((0..cell.cell).sum::<u64>());
//!         Ok(start.elapsed().as_secs_f64())
//!     }
//! }
//!
//! # let root = tempfile::tempdir()?;
//! # let runs = root.path();
//! let settings = Settings::default();
//! let plan_as_run = std::collections::BTreeMap::from([("seed", settings.seed)]);
//! let identity = Identity::default().with("kernel", "6.12.1");
//! let mut folder = RunDir::create(runs, "sums", &plan_as_run, &identity)?;
//! let mut runner = Runner {
//!     settings: &settings,
//!     cancel: &AtomicBool::new(false),
//!     clock: &SystemClock::default(),
//!     progress: &mut SilentProgress,
//! };
//! let summary = runner.run(&mut Sums, &mut folder)?;
//! let medians: Vec<f64> = summary.cells.iter().map(|c| c.interval(|s| *s).median).collect();
//! folder.publish_json("result.json", &medians)?;
//! folder.finish(summary.state())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod budget;
mod entry;
mod event;
mod ledger;
mod plan;
mod precision;
pub mod progress;
mod session;
mod step;
mod warnings;

pub use budget::Forecast;
pub use entry::{CellRuns, End, Entry, Summary, Trial, TrialResult};
pub use event::{Event, Position, Subject, TrialFacts, time_text};
pub use plan::{CellError, CellPlan, Context, Plan, SessionClock, Settings, SystemClock};
pub use precision::Precision;
pub use progress::Progress;
pub use session::Runner;
pub use warnings::TRIALS_LEFT_OUT;
