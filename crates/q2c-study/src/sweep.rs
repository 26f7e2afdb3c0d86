//! A sweep: the simulation of many policies on one or several traces.

use super::answer;
use super::notes::left_out_warnings;
use super::sim::{Timing, long_ios};
use super::source::SimTrace;
use q2c_model::{CostModel, Exit, Fault};
use q2c_policy::{LINUX, PolicySpec};
use q2c_result::Warning;
use q2c_result::sweep::{SCHEMA, SimCell, Speed, SweepResult, Timeline};
use q2c_sim::{Arrival, Bounds, Configuration, Limits, Objective, SimOutcome, sweep, timeline};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Instant;

/// The input of a sweep: traces, policies, costs, and how the best policy is chosen.
#[derive(Clone)]
pub struct Study<'a> {
    /// The traces, at least one.
    pub traces: &'a [SimTrace],
    /// Time that reading the traces took, seconds, for the result.
    pub reading_s: f64,
    /// The policies, at least one.
    pub policies: &'a [PolicySpec],
    /// The costs that the simulator uses.
    pub cost: &'a CostModel,
    /// Where the costs come from, for the result.
    pub cost_in_words: String,
    /// Simulated time, and the seed of the random numbers.
    pub timing: Timing,
    /// The time of submissions: after the recorded think time, or at the recorded times.
    pub arrival: Arrival,
    /// The figure by which the best policy is chosen.
    pub objective: Objective,
    /// The limits that the best policy must keep.
    pub limits: Limits,
    /// The policy whose time line is kept; `None` takes the best.
    pub follow: Option<PolicySpec>,
}

/// Reports the progress of a simulation, and can stop it.
pub struct CellProgress<'a> {
    pub(crate) stop: &'a AtomicBool,
    pub(crate) report: &'a mut dyn FnMut(usize),
}

impl<'a> CellProgress<'a> {
    /// Setting `stop` ends the simulation. `report` gets the number of finished cells.
    pub fn new(stop: &'a AtomicBool, report: &'a mut dyn FnMut(usize)) -> Self {
        CellProgress { stop, report }
    }
}

/// The fault of a trace on which no I/O falls into the time that counts.
pub(super) fn nothing_counted(path: &str) -> Fault {
    let text =
        format!("simulate {path}: no I/O begins within the measured time; give a longer --measure");
    Fault::new(Exit::Usage, text)
}

#[derive(Debug, Default)]
pub(super) struct SimulatedCells {
    /// By trace, the outcome of each policy.
    pub outcomes: Vec<Vec<SimOutcome>>,
    pub bounds: Vec<Bounds>,
    pub seconds: f64,
}

impl SimulatedCells {
    pub(crate) fn add(&mut self, others: SimulatedCells) {
        self.seconds += others.seconds;
        if self.outcomes.is_empty() {
            (self.outcomes, self.bounds) = (others.outcomes, others.bounds);
            return;
        }
        for (outcomes, added) in self.outcomes.iter_mut().zip(others.outcomes) {
            outcomes.extend(added);
        }
    }
}

/// Number of policies simulated together. Between groups, progress is reported and `stop` checked.
const GROUP_SIZE: usize = 1024;
/// The largest number of I/Os in a time line.
const MAX_TIMELINE_IOS: usize = 4000;

impl Study<'_> {
    /// Number of cells: policies times traces.
    pub fn cells(&self) -> usize {
        self.traces.len() * self.policies.len()
    }

    /// Simulates every cell and finds the best policies.
    ///
    /// # Errors
    /// Returns a fault if no I/O counts on one of the traces, or if the sweep is stopped.
    pub fn run(&self, progress: &mut CellProgress<'_>) -> Result<SweepResult, Fault> {
        self.conclude(&self.simulate(progress)?)
    }

    pub(super) fn simulate(
        &self,
        progress: &mut CellProgress<'_>,
    ) -> Result<SimulatedCells, Fault> {
        let mut cells = SimulatedCells::default();
        let mut done = 0;
        for trace in self.traces {
            // The oracle runs in a thread of its own beside the cells. If no thread can be started,
            // it runs after them.
            let (outcomes, bounds) = std::thread::scope(|scope| {
                let oracle =
                    Builder::new().spawn_scoped(scope, || self.configuration_on(trace).bounds());
                let started = Instant::now();
                let mut outcomes = Vec::with_capacity(self.policies.len());
                for group in self.policies.chunks(GROUP_SIZE) {
                    if progress.stop.load(Ordering::Relaxed) {
                        return Err(Fault::stopped("sweep: stopped by a signal"));
                    }
                    outcomes.extend(sweep(group, &self.configuration_on(trace)));
                    done += group.len();
                    (progress.report)(done);
                }
                cells.seconds += started.elapsed().as_secs_f64();
                let bounds = match oracle {
                    Ok(oracle) => oracle.join().expect("a simulation does not panic"),
                    Err(_) => self.configuration_on(trace).bounds(),
                };
                Ok((outcomes, bounds))
            })?;
            cells.outcomes.push(outcomes);
            cells.bounds.push(bounds);
        }
        Ok(cells)
    }

    pub(super) fn speed(&self, cells: &SimulatedCells) -> Speed {
        let simulated: u64 = cells.outcomes.iter().flatten().map(|o| o.ios).sum();
        Speed {
            io_configs_per_s: simulated as f64 / cells.seconds,
            seconds: cells.seconds,
            reading_s: self.reading_s,
        }
    }

    pub(super) fn configuration_on<'t>(&'t self, trace: &'t SimTrace) -> Configuration<'t> {
        Configuration {
            lanes: &trace.lanes,
            cost: self.cost,
            drive: self.timing.drive_for(trace.input.span_ns),
            arrival: self.arrival,
        }
    }

    pub(super) fn simulate_linux(&self, trace: &SimTrace) -> SimOutcome {
        let linux: PolicySpec = LINUX.parse().expect("Linux's rule is in the registry");
        sweep(&[linux], &self.configuration_on(trace))[0]
    }

    fn conclude(&self, simulated: &SimulatedCells) -> Result<SweepResult, Fault> {
        let outcomes = &simulated.outcomes;
        let answer = answer::answer_sweep(self, outcomes, &simulated.bounds)?;
        let mut inputs = Vec::new();
        let mut cells = Vec::with_capacity(self.cells());
        for (input, (trace, outcomes)) in self.traces.iter().zip(outcomes).enumerate() {
            inputs.push(trace.input.clone());
            let floor = answer.answers[input].floor_iops;
            let shares = &answer.shares[input];
            let policies = self.policies.iter().zip(outcomes).zip(shares);
            cells.extend(policies.map(|((policy, outcome), share)| SimCell {
                input,
                rule: policy.rule().name.to_owned(),
                policy: policy.to_string(),
                params: named_params(policy),
                bs: trace.input.sizes.last().copied().unwrap_or_default(),
                keeps_limits: Some(self.limits.allow(outcome, floor)),
                share: *share,
                gives: outcome.gives,
            }));
        }
        let measured = self.traces.iter();
        let measured = measured.map(|trace| self.configuration_on(trace).drive.measure);
        let pareto = answer.answers.iter().flat_map(|a| a.pareto.clone());
        Ok(SweepResult {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cost: self.cost_in_words.clone(),
            arrival: self.loop_name().to_owned(),
            warm_up_ns: self.timing.warm_up,
            measure_ns: self.timing.measure,
            measured_ns: measured.collect(),
            seed: self.timing.seed,
            objective: self.objective.to_string(),
            limits: self.limits.in_words(),
            timeline: self.timeline(answer.best.as_ref().map(|best| best.policy.as_str())),
            pareto: pareto.collect(),
            best: answer.best,
            best_worst_case: answer.best_worst_case,
            oracle: answer.oracle,
            answers: answer.answers,
            inputs,
            cells,
            speed: self.speed(simulated),
            warnings: self.warnings(),
        })
    }

    pub(super) fn loop_name(&self) -> &'static str {
        match self.arrival {
            Arrival::ClosedLoop => "closed",
            Arrival::OpenLoop => "open",
        }
    }

    pub(super) fn warnings(&self) -> Vec<Warning> {
        let inputs: Vec<_> = self.traces.iter().map(|trace| &trace.input).collect();
        let long = |t: &SimTrace| long_ios(&t.input, self.configuration_on(t).drive.measure);
        let mut warnings = left_out_warnings(&inputs);
        warnings.extend(self.traces.iter().filter_map(long));
        warnings.extend(self.free_interrupts_warning());
        warnings
    }

    fn free_interrupts_warning(&self) -> Option<Warning> {
        let is_free = |policy: &&PolicySpec| answer::takes_free_interrupts(self.cost, policy);
        let taking = self.policies.iter().filter(is_free);
        let mut rules: Vec<&str> = taking.map(|policy| policy.rule().name).collect();
        rules.dedup();
        (!rules.is_empty()).then(|| {
            Warning::new(
                "interrupts-cost-nothing",
                format!("{} may answer I/Os by interrupts", rules.join(", ")),
                "a constant wake-up delay says nothing of what an interrupt costs: their CPU is too low, and none of them is chosen",
                "give a calibration with --cost",
            )
        })
    }

    fn timeline(&self, best: Option<&str>) -> Option<Timeline> {
        let policy = match &self.follow {
            Some(policy) => policy.clone(),
            None => best?.parse().ok()?,
        };
        let lanes = &self.traces.first()?.lanes;
        let lane = lanes.first()?;
        let rule = policy.build(1).pop()?;
        let seed = self.timing.seed;
        let moments = timeline(self.arrival, lane, self.cost, rule, seed, MAX_TIMELINE_IOS);
        let series = |value: fn(&q2c_sim::TimelineIo) -> f64| moments.iter().map(value).collect();
        Some(Timeline {
            policy: policy.to_string(),
            input: 0,
            at_ns: series(|m| m.at),
            latency_ns: series(|m| m.latency),
            asked_ns: series(|m| m.asked),
            woke_ns: series(|m| m.observed),
            missed: moments.iter().map(|m| m.missed).collect(),
            left_out: (lane.len() - moments.len()) as u64,
        })
    }
}

pub(super) fn named_params(policy: &PolicySpec) -> BTreeMap<String, f64> {
    let named = |(name, value): (&str, f64)| (name.to_owned(), value);
    policy.params().into_iter().map(named).collect()
}
