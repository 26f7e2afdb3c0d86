//! The trials of one round, as a plan of the runner.

use super::kernel;
use super::outcome::{RuleWindowCounts, flags, stages_outcome};
use super::record::collect;
use super::simulated::wait_quantiles;
use super::think::{PolledCpu, with_gap};
use super::timetable::{StageLengths, StageTimetable};
use crate::{CellSpec, TrialOutcome, Tune, TuneSettings};
use q2c_advice::predict;
use q2c_model::{Bytes, CostModel, Nanos};
use q2c_policy::{LaneMethod, Method};
use q2c_result::tune::Prediction;
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use q2c_sim::LaneRecording;
use q2c_workbench::workload::WorkloadRun;

/// Time to set up and end a trial or a run, seconds.
pub(super) const OVERHEAD_S: f64 = 0.1;

pub(super) struct RoundPlan<'a> {
    pub tune: &'a Tune<'a>,
    pub round: u32,
    pub sizes: Vec<SizePlan>,
    /// Number of trials that may run again because other programs disturbed them.
    pub repeats: u32,
}

pub(super) struct SizePlan {
    pub bs: Bytes,
    pub cost: CostModel,
    pub cells: Vec<CellSpec>,
    /// CPU time of a think time; `None` without think time.
    pub gap_cpu: Option<Nanos>,
    /// IOPS of polling in one lane.
    pub lane_iops: f64,
}

impl TuneSettings {
    pub(super) fn timetable(&self, method: &LaneMethod, lane_iops: f64) -> StageTimetable {
        let lengths = StageLengths {
            measured: self.seconds,
            part: self.part_seconds,
            slice: self.slice_seconds,
        };
        StageTimetable::new(method, &lengths.stretch_for(lane_iops))
    }
}

impl Tune<'_> {
    pub(super) fn trial_seconds(&self, method: &Method, lane_iops: f64) -> f64 {
        let seconds = match method.lane() {
            Some(method) => self.spec.timetable(method, lane_iops).stages.seconds(),
            None => kernel::trial_seconds(self),
        };
        OVERHEAD_S + seconds
    }
}

impl RoundPlan<'_> {
    fn outcome(
        &self,
        watched: &WorkloadRun,
        timetable: &StageTimetable,
        (size, method): (&SizePlan, &LaneMethod),
        seed: u64,
    ) -> TrialOutcome {
        let workload = self.tune.workload;
        let thinks = size.gap_cpu.is_some();
        let record = |lane| collect(lane, &timetable.slices, size.bs, thinks);
        let slices: Vec<LaneRecording> = watched.data.lanes.iter().map(record).collect();
        let slice_figures = stages_outcome(workload, watched, &timetable.slices, size.bs.0);
        let parts = stages_outcome(workload, watched, &timetable.parts, size.bs.0);
        let polled = PolledCpu::from_slices(&slices, &slice_figures, size.gap_cpu);
        let slices = with_gap(slices, polled.gap_cpu);
        let hidden_by = [parts.hidden_by, slice_figures.hidden_by];
        let predicted = || {
            let length = Nanos::from_secs_f64(self.tune.spec.seconds);
            let outcome = predict(method, &slices, &workload.cpus, &size.cost, length, seed);
            let mut predicted: Prediction = outcome.gives.into();
            // A trial got no more of its CPU than polling got in the slices.
            predicted.rates.cpu_pct *= polled.share;
            predicted
        };
        TrialOutcome {
            poll_iops: slice_figures.rates.iops,
            poll_cpu_pct: slice_figures.rates.cpu_pct,
            poll_busy_cpus: slice_figures.busy_cpus,
            poll_waits: wait_quantiles(&slices),
            poll_got_pct: polled.gap_cpu.map(|_| polled.share * 100.0),
            predicted: (*method != LaneMethod::Poll).then(predicted),
            ring_flags: flags(watched, *method == LaneMethod::Interrupt),
            hidden_by: hidden_by.into_iter().flatten().reduce(f64::max),
            ..parts
        }
    }
}

impl Plan for RoundPlan<'_> {
    type Cell = CellSpec;
    type Outcome = TrialOutcome;
    const UNIT: &'static str = "IOPS";
    const MAX_NUMBER: f64 = 1e24;

    fn cells(&self) -> Vec<CellPlan<CellSpec>> {
        let mut plans: Vec<CellPlan<CellSpec>> = Vec::new();
        for size in &self.sizes {
            for cell in &size.cells {
                let name = format!("{}{} {}", key_prefix(self.round), cell.bs.0, cell.method);
                // A method that is tried twice in a round makes two cells.
                let earlier = plans.iter().filter(|p| p.key.starts_with(&name)).count();
                plans.push(CellPlan {
                    key: format!("{name} #{earlier}"),
                    label: format!("{} {}", cell.bs, cell.method),
                    seconds: self.tune.trial_seconds(&cell.method, size.lane_iops),
                    cell: cell.clone(),
                });
            }
        }
        plans
    }

    fn owns(&self, key: &str) -> bool {
        key.starts_with(&key_prefix(self.round))
    }

    fn metric(&self, outcome: &TrialOutcome) -> f64 {
        outcome.rates.iops
    }

    fn run(
        &mut self,
        cell: &CellPlan<CellSpec>,
        context: &mut Context<'_>,
    ) -> Result<TrialOutcome, CellError> {
        let spec = &cell.cell;
        let Some(size) = self.sizes.iter().find(|size| size.bs == spec.bs) else {
            return Err(CellError::Cell(format!("no calibration for {}", spec.bs)));
        };
        let method = match &spec.method {
            Method::Lane(method) => &method.with_new_counts(),
            Method::HybridKernel(sleep) => {
                return kernel::run_trial(self.tune, spec, sleep, size.lane_iops, context);
            }
            other => return Err(CellError::Cell(format!("tune has no trial of {other}"))),
        };
        let timetable = self.tune.spec.timetable(method, size.lane_iops);
        let seed = context.seed >> 1;
        let hint = Some(size.lane_iops);
        let workload = self.tune.workload;
        let run = || {
            let ran = workload.run(size.bs, &timetable.stages, seed, hint, context.cancel);
            let watched = kernel::require_complete(ran, context.cancel)?;
            Ok(self.outcome(&watched, &timetable, (size, method), seed))
        };
        let mut outcome = run()?;
        if let Some(cpus) = outcome.hidden_by.filter(|_| self.repeats > 0) {
            outcome = less_disturbed(outcome, run());
            self.repeats -= 1;
            let reason = format!("as other programs took {cpus:.1} CPUs beside it");
            let note = format!("{}: run again, {reason}", cell.label);
            context.notes.push(note);
        }
        Ok(TrialOutcome {
            windows: window_counts(method),
            round: self.round,
            ..outcome
        })
    }
}

/// Returns the less disturbed of two trials; the first one if the repetition failed.
fn less_disturbed(first: TrialOutcome, second: Result<TrialOutcome, CellError>) -> TrialOutcome {
    let hidden = |outcome: &TrialOutcome| outcome.hidden_by.unwrap_or(0.0);
    let less = second.ok().filter(|second| hidden(second) < hidden(&first));
    TrialOutcome {
        repeated: true,
        ..less.unwrap_or(first)
    }
}

/// Counts the windows over all lanes built from this method; `None` for a method without a formula.
fn window_counts(method: &LaneMethod) -> Option<RuleWindowCounts> {
    method.policy()?.tally().map(|tally| RuleWindowCounts {
        all: tally.windows,
        negative: tally.negative,
        undefined: tally.undefined,
    })
}

fn key_prefix(round: u32) -> String {
    format!("{round}/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disturbed_outcome(cpus: Option<f64>, ios: u64) -> TrialOutcome {
        TrialOutcome {
            hidden_by: cpus,
            ios,
            ..TrialOutcome::default()
        }
    }

    #[test]
    fn the_less_disturbed_trial_counts() {
        let kept = |repeated| {
            let kept = less_disturbed(disturbed_outcome(Some(1.0), 1), repeated);
            assert!(kept.repeated);
            kept.ios
        };
        assert_eq!(kept(Ok(disturbed_outcome(None, 2))), 2);
        assert_eq!(kept(Ok(disturbed_outcome(Some(0.7), 2))), 2);
        assert_eq!(kept(Ok(disturbed_outcome(Some(1.4), 2))), 1);
        assert_eq!(kept(Err(CellError::Cancelled)), 1);
    }
}
