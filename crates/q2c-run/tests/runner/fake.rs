//! A plan whose trials only advance a clock, and helpers that run it.

use q2c_model::Fault;
use q2c_run::run_dir::{Identity, RunDir};
use q2c_run::runner::progress::Progress;
use q2c_run::runner::{Event, Precision, SessionClock};
use q2c_run::{CellError, CellPlan, Context, Plan, Runner, Settings, Summary};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

/// A clock that only [`FakeClock::pass`] advances.
#[derive(Clone, Default)]
pub(crate) struct FakeClock(Rc<Cell<f64>>);

impl FakeClock {
    pub(crate) fn pass(&self, seconds: f64) {
        self.0.set(self.0.get() + seconds);
    }
}

impl SessionClock for FakeClock {
    fn monotonic(&self) -> Duration {
        Duration::from_secs_f64(self.0.get())
    }
    fn unix(&self) -> Duration {
        Duration::from_secs(1_700_000_000) + self.monotonic()
    }
}

type Script = Box<dyn FnMut(&str, &mut Context<'_>) -> Result<f64, CellError>>;

/// A plan of `cells` cells named c0, c1, ...
pub(crate) struct FakePlan {
    pub clock: FakeClock,
    pub cells: u32,
    /// Prefix of the plan's keys. With the default "c" the plan owns every entry, else only those
    /// whose key begins with the prefix.
    pub keys: &'static str,
    /// The length of a trial by the plan's estimate, and its real length, both in seconds.
    pub planned_s: f64,
    pub real_s: f64,
    /// The kind of reason for which an outcome is invalid; by default every outcome is valid.
    pub invalid: fn(&f64) -> Option<String>,
    /// Makes the outcome of a trial; by default a third of the trial's seed.
    pub script: Script,
    /// Every started trial, such as `c0/0`, in order.
    pub ran: Vec<String>,
}

impl FakePlan {
    pub(crate) fn new(cells: u32) -> Self {
        FakePlan {
            clock: FakeClock::default(),
            cells,
            keys: "c",
            planned_s: 10.0,
            real_s: 10.0,
            invalid: |_| None,
            script: Box::new(|_, context| Ok(context.seed as f64 / 3.0)),
            ran: Vec::new(),
        }
    }

    pub(crate) fn script(
        mut self,
        script: impl FnMut(&str, &mut Context<'_>) -> Result<f64, CellError> + 'static,
    ) -> Self {
        self.script = Box::new(script);
        self
    }

    fn cell(&self, key: String, cell: u32) -> CellPlan<u32> {
        CellPlan {
            label: format!("cell {key}"),
            key,
            seconds: self.planned_s,
            cell,
        }
    }
}

impl Plan for FakePlan {
    type Cell = u32;
    type Outcome = f64;
    const UNIT: &'static str = "s";

    fn cells(&self) -> Vec<CellPlan<u32>> {
        let named = |cell| self.cell(format!("{}{cell}", self.keys), cell);
        (0..self.cells).map(named).collect()
    }

    fn owns(&self, key: &str) -> bool {
        self.keys == "c" || key.starts_with(self.keys)
    }

    fn metric(&self, outcome: &f64) -> f64 {
        *outcome
    }

    fn invalid(&self, outcome: &f64) -> Option<String> {
        (self.invalid)(outcome)
    }

    fn run(&mut self, cell: &CellPlan<u32>, context: &mut Context<'_>) -> Result<f64, CellError> {
        self.ran.push(format!("{}/{}", cell.key, context.trial));
        self.clock.pass(self.real_s);
        (self.script)(&cell.key, context)
    }
}

/// Keeps the events of a session as text.
#[derive(Default)]
pub(crate) struct ProgressLog(pub Vec<String>);

impl Progress for ProgressLog {
    fn event(&mut self, event: &Event) {
        self.0.push(event.to_string());
    }
}

/// Settings with this number of trials of each cell.
pub(crate) fn trials(trials: u32) -> Settings {
    Settings {
        trials,
        ..Settings::default()
    }
}

/// Precision of medians as a share of their value, with at most `max_trials` trials.
pub(crate) fn precision(relative_width: f64, max_trials: u32) -> Option<Precision> {
    Some(Precision {
        relative_width,
        max_trials,
    })
}

pub(crate) type FakeRunResult = Result<Summary<u32, f64>, Fault>;

pub(crate) fn run(plan: &mut FakePlan, settings: &Settings, folder: &mut RunDir) -> FakeRunResult {
    hear(plan, settings, folder, &AtomicBool::new(false)).0
}

/// Runs a session with a cancel flag. Also returns the text of its events.
pub(crate) fn hear(
    plan: &mut FakePlan,
    settings: &Settings,
    folder: &mut RunDir,
    cancel: &AtomicBool,
) -> (FakeRunResult, Vec<String>) {
    let mut progress = ProgressLog::default();
    let clock = plan.clock.clone();
    let mut runner = Runner {
        settings,
        cancel,
        clock: &clock,
        progress: &mut progress,
    };
    let result = runner.run(plan, folder);
    (result, progress.0)
}

/// A folder for the runs of a test. It lies in memory if possible, since some tests make thousands
/// of folders.
pub(crate) fn root() -> TempDir {
    if Path::new("/dev/shm").is_dir() {
        tempfile::tempdir_in("/dev/shm").unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

pub(crate) fn folder(root: &TempDir) -> RunDir {
    let plan = BTreeMap::from([("seed", 1)]);
    RunDir::create(root.path(), "fake", &plan, &identity()).unwrap()
}

/// A new run, and the folder in which it lies.
pub(crate) fn new_run() -> (TempDir, RunDir) {
    let root = root();
    let run = folder(&root);
    (root, run)
}

pub(crate) fn identity() -> Identity {
    Identity::default().with("kernel", "6.12")
}

pub(crate) fn reopen(path: &Path) -> RunDir {
    RunDir::resume(path, &identity()).unwrap().0
}

pub(crate) fn warned(summary: &Summary<u32, f64>) -> Vec<&str> {
    summary.warnings.iter().map(|w| w.id.as_str()).collect()
}
