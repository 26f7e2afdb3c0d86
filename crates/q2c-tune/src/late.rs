//! Late time of the cells that the answer names. After the trials, each gets a run with the block
//! layer's capture and the background.
//!
//! The capture costs CPU time at each I/O, so it never runs in a trial. The cells are the
//! recommended method, the method of a trade-off, Linux's rule, the published rules, and classic
//! polling for comparison. A run is as long as a trial, within limits. Interrupts get a run if they
//! are the answer. They never sleep, but the interrupt and the wake-up delay the reaping.

use super::kernel;
use crate::{CellSpec, SizeSearch, TrialRounds, Tune, TuneSettings, doing, read_json};
use q2c_advice::settle_time;
use q2c_model::{Bytes, Exit, Fault, Nanos, OrFault};
use q2c_policy::{LaneMethod, Method};
use q2c_result::late::{LateTime, UnseenReason};
use q2c_result::role::Role;
use q2c_result::tune::MethodName;
use q2c_run::run_dir::RunDir;
use q2c_run::runner::{CellError, End, Progress};
use q2c_workbench::late::{begin_late_capture, late_time};
use q2c_workbench::workload::{Stages, Step};
use serde::{Deserialize, Serialize};

/// File in the run folder with the late time of all cells, so that a resumed run has the same.
const LATE_FILE: &str = "late-time.json";
/// Limits on the length of a run.
const MIN_LENGTH: Nanos = Nanos::from_millis(500);
const MAX_LENGTH: Nanos = Nanos::from_millis(2_000);
/// Time before the run counts, for methods that learn nothing.
const SETTLE: Nanos = Nanos::from_millis(100);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LateCell {
    pub bs: Bytes,
    #[serde(flatten)]
    method: MethodName,
    pub late: LateTime,
}

impl LateCell {
    pub(crate) fn is_for(&self, cell: &CellSpec) -> bool {
        self.bs == cell.bs && self.method.0 == cell.method
    }
}

/// The late time of each cell. A stopped run returns none and stores nothing.
pub(super) fn late_cells(
    tune: &Tune<'_>,
    folder: &RunDir,
    rounds: &TrialRounds,
    progress: &mut dyn Progress,
) -> Result<Vec<LateCell>, Fault> {
    if let Some(stored) = read_json(folder, LATE_FILE)? {
        return Ok(stored);
    }
    let mut stopped = !matches!(rounds.end, End::Complete);
    let mut late_cells = Vec::new();
    let chosen = chosen_cells(tune, rounds);
    let count = chosen.len();
    for (nth, (search, method)) in chosen.into_iter().enumerate() {
        if !stopped && tune.workload.site.target_disk.is_some() {
            let (bs, nth) = (search.bs, nth + 1);
            progress.event(&doing(&format!(
                "late time of {bs} {method}, run {nth} of {count} with the block layer captured"
            )));
        }
        let mut late = LateTime::Unseen(UnseenReason::Stopped);
        if !stopped {
            late = run(tune, search, &method)?;
        }
        stopped |= late == LateTime::Unseen(UnseenReason::Stopped);
        late_cells.push(LateCell {
            bs: search.bs,
            method: MethodName(method.into()),
            late,
        });
    }
    if !stopped {
        folder.publish_json(LATE_FILE, &late_cells)?;
    }
    Ok(late_cells)
}

fn chosen_cells<'a>(tune: &Tune<'_>, rounds: &'a TrialRounds) -> Vec<(&'a SizeSearch, LaneMethod)> {
    let floor_asked = tune.spec.floor();
    let mut chosen = Vec::new();
    for search in &rounds.searches {
        let answer = search.referee.recommendation(search.bs, &floor_asked);
        let nearest = answer.nearest.map(|name| name.0);
        let specs = rounds.cells.iter().map(|runs| &runs.plan.cell);
        let wanted = specs.filter(|cell| {
            let named = cell.method == answer.method || Some(&cell.method) == nearest.as_ref();
            cell.bs == search.bs && is_wanted(cell, named)
        });
        chosen.extend(wanted.filter_map(|cell| Some((search, cell.method.lane()?.clone()))));
    }
    chosen
}

/// True if a cell gets a run. `named`: the answer names its method.
fn is_wanted(cell: &CellSpec, named: bool) -> bool {
    let standard = matches!(cell.role, Role::Linux | Role::Published);
    cell.method == Method::POLL || named || cell.method.sleeps() && standard
}

pub(super) fn length(spec: &TuneSettings) -> Nanos {
    Nanos::from_secs_f64(spec.seconds).clamp(MIN_LENGTH, MAX_LENGTH)
}

fn run(tune: &Tune<'_>, search: &SizeSearch, method: &LaneMethod) -> Result<LateTime, Fault> {
    let workload = tune.workload.with_kernel_clock();
    let capture = match begin_late_capture(&workload.site, workload.sampler_cpu) {
        Ok(capture) => capture,
        Err(unseen) => return Ok(LateTime::Unseen(unseen)),
    };
    let mut stages = Stages::default();
    let settle = method.policy().map_or(SETTLE, settle_time);
    stages.push(Step::By(method.with_new_counts()), settle);
    let stage = stages.push(Step::Same, length(tune.spec));
    let (seed, hint) = (tune.spec.workload.run.seed, Some(search.lane_iops));
    let ran = workload.run(search.bs, &stages, seed, hint, tune.stop);
    match kernel::require_complete(ran, tune.stop) {
        Ok(watched) => Ok(late_time(capture, &workload, &watched, stage)),
        Err(CellError::Cancelled) => Ok(LateTime::Unseen(UnseenReason::Stopped)),
        Err(error) => Err(error).or_exit(Exit::Device),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(method: &str, role: Role) -> CellSpec {
        crate::cells::cell(Bytes(4096), 0, method.parse().unwrap(), role)
    }

    #[test]
    fn the_answers_cells_and_polling_get_a_run() {
        for (method, role, named, wanted) in [
            ("poll", Role::Baseline, false, true),
            ("interrupt", Role::Baseline, false, false),
            ("interrupt", Role::Baseline, true, true),
            ("hybrid:mean", Role::Linux, false, true),
            ("hybrid:min:70%,10ms", Role::Published, false, true),
            ("hybrid:min:80%,10ms", Role::Front, false, false),
            ("hybrid:min:80%,10ms", Role::Front, true, true),
        ] {
            assert_eq!(is_wanted(&cell(method, role), named), wanted, "{method}");
        }
    }

    #[test]
    fn what_is_kept_comes_back() {
        let stored = LateCell {
            bs: Bytes(4096),
            method: MethodName("hybrid:min:70%,10ms".parse().unwrap()),
            late: LateTime::Unseen(UnseenReason::Refused("attach".to_owned())),
        };
        let text = serde_json::to_string(&stored).unwrap();
        assert_eq!(serde_json::from_str::<LateCell>(&text).unwrap(), stored);
        assert!(stored.is_for(&cell("hybrid:min:70%,10ms", Role::Front)));
        assert!(!stored.is_for(&cell("poll", Role::Baseline)));
    }
}
