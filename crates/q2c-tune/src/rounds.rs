//! Runs rounds of trials until every block size has its answer or the budget is spent.

use super::cells::{self, KernelProposal};
use super::plan::{RoundPlan, SizePlan};
use super::record::{self, RecordingSpec};
use super::simulated::median_wait_ns;
use super::think;
use crate::{CellSpec, Runs, Tune, doing, note};
use itertools::Itertools;
use q2c_advice::{Order, Outlook, Referee, RefereeQuestion, SimulationInputs};
use q2c_model::{Bytes, Exit, Fault, Nanos};
use q2c_policy::Method;
use q2c_result::Warning;
use q2c_result::tune::Calibration;
use q2c_run::run_dir::RunDir;
use q2c_run::runner::{End, Progress, Runner, Settings, Trial, time_text};
use q2c_sim::LaneRecording;
use q2c_watch::steer::Steering;
use q2c_workbench::RunnerClock;

/// Most trials of a block size, for each trial that an answer needs.
pub(super) const MAX_TRIALS_PER_REQUESTED: u32 = 6;
/// Length of the recordings between rounds, as a share of the first recording.
const LATER_SHARE: f64 = 0.25;

pub(super) struct SizeSearch {
    pub bs: Bytes,
    pub referee: Referee,
    /// The first recording of each lane.
    pub first_recordings: Vec<LaneRecording>,
    pub lane_iops: f64,
    /// The largest CPU time of a think time, from the calibrated costs; `None` without think time.
    pub gap_cpu: Option<Nanos>,
    /// What simulation first predicted for the rules, from which the kernel's own polling is set.
    pub kernel: KernelProposal,
    /// True if the answer is clear, or no trial is left for this block size.
    pub done: bool,
}

pub(super) struct TrialRounds {
    pub searches: Vec<SizeSearch>,
    /// One cell for each method at each block size, with its trials of all rounds.
    pub cells: Vec<Runs>,
    pub warnings: Vec<Warning>,
    pub end: End,
}

/// Runs the rounds, with trials of the kernel's own hybrid polling if `try_kernel`.
pub(super) fn run(
    tune: &Tune<'_>,
    folder: &mut RunDir,
    calibration: &[Calibration],
    try_kernel: bool,
    progress: &mut dyn Progress,
) -> Result<TrialRounds, Fault> {
    let mut searches = Vec::new();
    for calibration in calibration {
        let (bs, seconds) = (calibration.bs, tune.spec.record_seconds());
        let length = time_text(seconds + record::WARM_UP.as_secs_f64());
        let text = format!("recording {bs} by classic polling, {length}");
        progress.event(&doing(&text));
        searches.push(begin(tune, folder, calibration)?);
    }
    let mut rounds = TrialRounds {
        searches,
        cells: Vec::new(),
        warnings: Vec::new(),
        end: End::Complete,
    };
    let mut spent_s = 0.0;
    loop {
        progress.event(&doing("simulating sleep rules"));
        let cells = &rounds.cells;
        let hopeless = |cell: &CellSpec| !tune.spec.all_trials && is_hopeless(cells, cell);
        let sizes = next_round(tune, &mut rounds.searches, spent_s, (try_kernel, &hopeless));
        let Some(sizes) = sizes else { break };
        let round = sizes.first().map_or(0, |size| size.cells[0].round);
        progress.event(&note(&round_text(round, &sizes)));
        let mut plan = RoundPlan {
            tune,
            round,
            repeats: allowed_repeats(tune, &sizes, spent_s),
            sizes,
        };
        let settings = Settings {
            trials: 1,
            seed: tune.spec.workload.run.seed.wrapping_add(u64::from(round)),
            ..Settings::default()
        };
        let mut runner = Runner {
            settings: &settings,
            cancel: tune.stop,
            clock: &RunnerClock::new(&tune.workload.site.time),
            progress: &mut *progress,
        };
        let summary = runner.run(&mut plan, folder)?;
        spent_s += summary.seconds;
        rounds.add_round(summary.cells);
        rounds.warnings.extend(summary.warnings);
        rounds.end = summary.end;
        if !matches!(rounds.end, End::Complete) {
            break;
        }
        progress.event(&doing("recording classic polling again"));
        if let Err(fault) = rounds.rerecord(tune, folder, round) {
            if fault.exit() != Exit::Interrupted {
                return Err(fault);
            }
            // The rounds so far make a result, although the recording was stopped.
            rounds.end = End::Cancelled;
            break;
        }
    }
    Ok(rounds)
}

fn begin(tune: &Tune<'_>, folder: &RunDir, calibration: &Calibration) -> Result<SizeSearch, Fault> {
    let bs = calibration.bs;
    let name = format!("trace-{}.parquet", bs.0);
    let gap_cpu = think::think_cpu(tune.workload.think, &calibration.cost);
    let wanted = RecordingSpec {
        bs,
        seconds: tune.spec.record_seconds(),
        gap_cpu,
    };
    let lanes = record::recording(tune, folder, &name, &wanted)?;
    let ios: usize = lanes.iter().map(LaneRecording::len).sum();
    let lane_iops = ios as f64 / lanes.len().max(1) as f64 / tune.spec.record_seconds();
    let inputs = SimulationInputs {
        cost: calibration.cost.clone(),
        latency_ns: median_wait_ns(&lanes),
        recordings: vec![lanes.clone()],
        extra_rules: tune.spec.policy.clone(),
        seed: tune.spec.workload.run.seed,
    };
    Ok(SizeSearch {
        bs,
        referee: Referee::new(RefereeQuestion {
            goal: tune.spec.goal(),
            inputs,
            cpus: tune.workload.cpus.clone(),
            wanted_trials: tune.spec.trials,
        }),
        first_recordings: lanes,
        lane_iops,
        gap_cpu,
        kernel: KernelProposal::default(),
        done: false,
    })
}

/// Plans a round for every block size that is not done; `None` if no trial is left to run.
fn next_round(
    tune: &Tune<'_>,
    searches: &mut [SizeSearch],
    spent_s: f64,
    kernel: (bool, &dyn Fn(&CellSpec) -> bool),
) -> Option<Vec<SizePlan>> {
    let spent_trials: u32 = searches
        .iter()
        .map(|search| search.referee.trials_spent())
        .sum();
    let allowed = tune.spec.trials * MAX_TRIALS_PER_REQUESTED * searches.len() as u32;
    let sizes_left = searches.iter().filter(|search| !search.done).count().max(1) as u32;
    let trials_left = allowed.saturating_sub(spent_trials) / sizes_left;
    let mut sizes = Vec::new();
    for search in searches.iter_mut().filter(|search| !search.done) {
        // The first round is never cut, whatever the budget.
        let trial_s = spent_s / f64::from(spent_trials);
        let max_trials = match spent_trials {
            0 => u32::MAX,
            _ => trials_left.min(affordable_trials(tune, search, trial_s, spent_s) / sizes_left),
        };
        let orders = search.referee.next(max_trials);
        search.done = orders.is_empty();
        if !search.done {
            sizes.push(size_plan(search, &orders, kernel));
        }
    }
    (!sizes.is_empty()).then_some(sizes)
}

/// How many disturbed trials may run again within the remaining budget: none if other work runs all
/// the time, since no trial would be quiet.
fn allowed_repeats(tune: &Tune<'_>, sizes: &[SizePlan], spent_s: f64) -> u32 {
    if tune.workload.others().uses_idle_time {
        return 0;
    }
    let trials = sizes.iter().flat_map(|size| {
        let cells = size.cells.iter();
        cells.map(|cell| tune.trial_seconds(&cell.method, size.lane_iops))
    });
    let (count, sum) = (trials.clone().count() as f64, trials.sum::<f64>());
    let budget = tune.spec.budget_s;
    let left_s = budget.map_or(f64::MAX, |budget| budget - spent_s - sum);
    (left_s / (sum / count)).clamp(0.0, count) as u32
}

fn affordable_trials(tune: &Tune<'_>, search: &SizeSearch, trial_s: f64, spent_s: f64) -> u32 {
    let planned = tune.trial_seconds(&Method::POLL, search.lane_iops);
    tune.spec.budget_s.map_or(u32::MAX, |budget| {
        ((budget - spent_s) / trial_s.max(planned)).max(0.0) as u32
    })
}

/// Plans one block size's round, with `try_kernel` also kernel cells that are not `hopeless`.
fn size_plan(
    search: &mut SizeSearch,
    orders: &[Order],
    (try_kernel, hopeless): (bool, &dyn Fn(&CellSpec) -> bool),
) -> SizePlan {
    let round = search.referee.round();
    let mut cells = cells::cells(search.bs, round, orders);
    if try_kernel {
        if round == 0 {
            search.kernel = kernel_proposal(search);
        }
        let kernel_cells = cells::kernel_cells(search.bs, round, &search.kernel);
        cells.extend(kernel_cells.into_iter().filter(|cell| !hopeless(cell)));
    }
    SizePlan {
        bs: search.bs,
        cost: search.referee.cost(),
        cells,
        gap_cpu: search.gap_cpu,
        lane_iops: search.lane_iops,
    }
}

fn is_hopeless(ran: &[Runs], cell: &CellSpec) -> bool {
    let of_method = ran.iter().find(|runs| runs.plan.cell.is_like(cell));
    of_method.is_some_and(|runs| runs.hopeless_reason().is_some())
}

fn kernel_proposal(search: &SizeSearch) -> KernelProposal {
    let sleeping = || {
        let outlooks = search.referee.outlooks().iter();
        outlooks.filter(|o| o.follows_device && o.sleep_ns > 0.0)
    };
    let by_robust = |a: &&Outlook, b: &&Outlook| a.robust.total_cmp(&b.robust);
    let steerable = sleeping().filter(|o| Steering::new(&o.policy).is_ok());
    KernelProposal {
        sleep_ns: sleeping().max_by(by_robust).map(|o| o.sleep_ns),
        rule: steerable.max_by(by_robust).map(|o| o.policy.clone()),
    }
}

fn round_text(round: u32, sizes: &[SizePlan]) -> String {
    let trials = |size: &SizePlan| format!("{} of {}", size.cells.len(), size.bs);
    let trials = sizes.iter().map(trials).join(", ");
    format!("round {} of trials: {trials}", round + 1)
}

impl TrialRounds {
    fn rerecord(&mut self, tune: &Tune<'_>, folder: &RunDir, round: u32) -> Result<(), Fault> {
        let seconds = tune.spec.record_seconds() * LATER_SHARE;
        for search in self.searches.iter_mut().filter(|search| !search.done) {
            let name = format!("polled-{}-{}.parquet", search.bs.0, round + 1);
            let wanted = RecordingSpec {
                bs: search.bs,
                seconds,
                gap_cpu: search.gap_cpu,
            };
            let lanes = record::recording(tune, folder, &name, &wanted)?;
            search.referee.add_recording(lanes);
        }
        Ok(())
    }

    fn add_round(&mut self, round: Vec<Runs>) {
        for runs in round {
            let spec = &runs.plan.cell;
            let search = self.searches.iter_mut().find(|search| search.bs == spec.bs);
            if let (Some(search), Some(method)) = (search, spec.method.lane()) {
                for outcome in runs.outcomes() {
                    search.referee.add_trial(method, outcome.evidence());
                }
            }
            let mut cells = self.cells.iter_mut();
            match cells.find(|cell| cell.plan.cell.is_like(spec)) {
                None => self.cells.push(runs),
                Some(cell) => {
                    let numbered = runs.trials.into_iter().zip(cell.trials.len() as u32..);
                    let numbered = numbered.map(|(ran, trial)| Trial { trial, ..ran });
                    cell.trials.extend(numbered);
                }
            }
        }
    }
}
