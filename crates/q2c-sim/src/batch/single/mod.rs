//! Simulates configurations one by one, each at its own pace through the lanes of a trace. It takes
//! rules of any kind, any number of lanes, and rules that several lanes share.
//!
//! Lanes that share no state are simulated one after the other. So are lanes that share the windows
//! of a rule, from one window's end to the next: until a window closes, no sleep changes, and its
//! statistics do not depend on the order of its completions. A stretch is the I/Os of one lane
//! between two window ends; it goes through the registers sixteen at a time ([`stretch`]). Events
//! around the end of a window are taken in the order of their times ([`windows`]). A rule that
//! learns from every I/O runs by its own code.
//!
//! All configurations go through the trace in parts of equal simulated time, so that each part is
//! read from memory once for all of them.

mod paused;
mod stretch;
mod trace;
mod windows;

use super::costs::CostTables;
use super::histogram::{CountingLimit, LatencyHistogram};
use super::priced::{PricedIoEnd, PricedSleep};
use super::sums::Sums;
use super::{MAX_SLEEP_NS, are_short};
use crate::outcome::SimOutcome;
use crate::recording::LaneRecording;
use crate::reference::{Drive, WakeDraws};
use fearless_simd::Level;
use q2c_model::{CostModel, Nanos};
use q2c_policy::form::Form;
use q2c_policy::{Decision, Lane, Outcome, PolicySpec, Scope};
use rayon::prelude::*;
use stretch::OpenSums;
use trace::{LanePosition, LaneTrace};
use windows::Windows;

pub(crate) use paused::{PausedRun, PolicyOrPolling};

/// Approximate number of I/Os that each lane has in a part of the trace.
const PART_IOS: f64 = 16_384.0;

/// The largest sum of a lane's think times, ns. With more, moments might not fit into 64 bits.
const MAX_THINK_NS: f64 = (1_u64 << 60) as f64;

pub(crate) struct SingleSimulator<'a> {
    traces: Vec<LaneTrace<'a>>,
    costs: CostTables,
    draws: WakeDraws,
    counting: CountingLimit,
    warm_up: i64,
    stop: i64,
    one_pass: bool,
    part_ns: i64,
    level: Level,
}

struct PolicyRun {
    runs: Vec<LaneRun>,
    counts: PolicyCounts,
}

#[derive(Clone, Debug, Default)]
struct PolicyCounts {
    sums: Sums,
    open_sums: OpenSums,
    latencies: LatencyHistogram,
    last_end: i64,
    too_long: bool,
}

/// One configuration's counts, and the simulator that it runs in.
struct PolicyPass<'a> {
    machine: &'a SingleSimulator<'a>,
    counts: &'a mut PolicyCounts,
}

struct LaneRun {
    lanes: Vec<LanePosition>,
    rule: RunningRule,
}

enum RunningRule {
    Windows(Box<Windows>),
    Feedback(Box<dyn Lane>),
}

impl<'a> SingleSimulator<'a> {
    /// Returns `None` if times or corner points are too many or too large for the registers.
    pub(crate) fn new(lanes: &'a [LaneRecording], cost: &CostModel, drive: Drive) -> Option<Self> {
        let costs = CostTables::new(cost)?;
        let think_ns = |lane: &LaneRecording| lane.gap.iter().map(|&t| f64::from(t)).sum::<f64>();
        let fits = |lane: &LaneRecording| are_short(lane) && think_ns(lane) <= MAX_THINK_NS;
        if !lanes.iter().all(fits) {
            return None;
        }
        let (warm_up, stop) = drive.counted_range();
        let traces: Vec<LaneTrace<'a>> = lanes.iter().map(LaneTrace::new).collect();
        let latencies = traces.iter().flat_map(LaneTrace::first_latencies).collect();
        let times = traces.iter().map(LaneTrace::ns_per_io);
        let ns_per_io = times.fold(f64::INFINITY, f64::min);
        Some(SingleSimulator {
            counting: CountingLimit::new(latencies),
            costs,
            draws: WakeDraws::new(cost, drive.seed),
            warm_up,
            stop,
            one_pass: drive.measure == Drive::ONE_PASS,
            part_ns: (ns_per_io.max(1.0) * PART_IOS) as i64,
            level: Level::new(),
            traces,
        })
    }

    /// Returns `None` for a policy that asks, at the start or later, for a sleep above
    /// [`MAX_SLEEP_NS`].
    pub(crate) fn simulate(&self, policies: &[&PolicySpec]) -> Vec<Option<SimOutcome>> {
        let mut simulations: Vec<Option<PolicyRun>> =
            policies.iter().map(|p| self.start(p)).collect();
        self.advance_all(0, &mut simulations);
        let outcome = |simulation: Option<PolicyRun>| {
            let counts = simulation?.counts;
            (!counts.too_long).then(|| counts.outcome(self))
        };
        simulations.into_iter().map(outcome).collect()
    }

    /// A simulator of one part of a recording, replayed once; `limit` is of the whole recording.
    pub(crate) fn for_part(
        part: &'a [LaneRecording; 1],
        cost: &CostModel,
        drive: Drive,
        limit: CountingLimit,
    ) -> Option<Self> {
        let machine = SingleSimulator::new(part, cost, drive)?;
        Some(SingleSimulator {
            one_pass: true,
            counting: limit,
            ..machine
        })
    }

    fn advance_all(&self, start: i64, simulations: &mut [Option<PolicyRun>]) {
        let mut horizon = start;
        let mut going = true;
        while going {
            horizon = horizon.saturating_add(self.part_ns);
            let running = simulations.par_iter_mut().flatten();
            let unfinished = running.map(|simulation| simulation.advance(self, horizon));
            going = unfinished.reduce(|| false, |a, b| a | b);
        }
    }

    fn polling_run(&self) -> PolicyRun {
        let runs = vec![self.shared_run(Windows::constant(PricedSleep::POLLING))];
        let counts = PolicyCounts::default();
        PolicyRun { runs, counts }
    }

    pub(crate) fn poll(&self) -> SimOutcome {
        let mut simulation = self.polling_run();
        simulation.advance(self, i64::MAX);
        simulation.counts.outcome(self)
    }

    fn lanes(&self) -> impl Iterator<Item = LanePosition> {
        (0..self.traces.len()).map(|lane| LanePosition::new(lane, &self.traces[lane]))
    }

    fn shared_run(&self, windows: Windows) -> LaneRun {
        LaneRun {
            lanes: self.lanes().collect(),
            rule: RunningRule::Windows(Box::new(windows)),
        }
    }

    fn start(&self, policy: &PolicySpec) -> Option<PolicyRun> {
        let lane_run = |lane, rule| LaneRun {
            lanes: vec![lane],
            rule,
        };
        let runs = match policy.form() {
            Form::Fixed(Nanos(ns)) if ns > MAX_SLEEP_NS => return None,
            Form::Fixed(sleep) => vec![self.shared_run(Windows::constant(self.price(sleep)))],
            form => match (form.window_rule(), policy.rule().scope) {
                (Some(rule), Scope::PerDevice) => vec![self.shared_run(Windows::new(rule))],
                (Some(rule), _) => {
                    let windows = || RunningRule::Windows(Box::new(Windows::new(rule.clone())));
                    self.lanes().map(|lane| lane_run(lane, windows())).collect()
                }
                (None, Scope::PerDevice) if self.traces.len() > 1 => return None,
                (None, _) => {
                    let runs = self.lanes().zip(policy.build(self.traces.len()));
                    runs.map(|(lane, rule)| lane_run(lane, RunningRule::Feedback(rule)))
                        .collect()
                }
            },
        };
        let counts = PolicyCounts::default();
        Some(PolicyRun { runs, counts })
    }

    fn price(&self, sleep: Nanos) -> PricedSleep {
        PricedSleep::from_sleep(sleep, &self.costs)
    }

    fn is_over(&self, lane: &LanePosition) -> bool {
        lane.start >= self.stop || (self.one_pass && lane.rounds > 0)
    }
}

impl PolicyRun {
    /// Returns true if I/Os remain after `horizon`.
    fn advance(&mut self, machine: &SingleSimulator<'_>, horizon: i64) -> bool {
        let counts = &mut self.counts;
        let mut pass = PolicyPass { machine, counts };
        let mut going = false;
        for LaneRun { lanes, rule } in &mut self.runs {
            going |= match rule {
                RunningRule::Windows(windows) => windows::run(windows, lanes, &mut pass, horizon),
                RunningRule::Feedback(rule) => pass.run_rule(&mut **rule, &mut lanes[0], horizon),
            };
        }
        going
    }
}

impl PolicyPass<'_> {
    /// Counts an I/O unless it begins in the warm-up. `submit` includes what the sleep added, ns.
    #[inline]
    fn add(&mut self, lane: &LanePosition, end: &PricedIoEnd, asked: i32, submit: i32) {
        let PolicyPass { machine, counts } = self;
        if lane.start < machine.warm_up {
            return;
        }
        let columns = &machine.traces[lane.lane].columns;
        let wait = columns.wait[lane.index] as i32;
        counts.sums += Sums {
            ios: 1,
            misses: end.missed.into(),
            asked: asked.into(),
            slept: (asked > 0).into(),
            interrupts: end.interrupted.into(),
            polled: end.polled.into(),
            cpu: end.cpu.into(),
            late: (end.observed - wait).max(0).into(),
            observed: end.observed.into(),
            waited: wait.into(),
            submitted: submit.into(),
            thought: columns.think_cpu(lane.index),
        };
        let latency = submit + end.observed;
        counts.latencies.count(latency, lane.ios, machine.counting);
    }

    /// Runs a rule that may change its sleep with every I/O, by the rule's own code. Lanes share no
    /// state here. Returns true if I/Os remain after `horizon`.
    fn run_rule(&mut self, rule: &mut dyn Lane, lane: &mut LanePosition, horizon: i64) -> bool {
        let machine = self.machine;
        let trace = &machine.traces[lane.lane];
        let columns = &trace.columns;
        let costs = &machine.costs;
        let mut sleep = PricedSleep::POLLING;
        while !machine.is_over(lane) {
            if lane.start >= horizon {
                return true;
            }
            let i = lane.index;
            let (io, wait) = (trace.io(i), columns.wait[i] as i32);
            let recorded = columns.submit[i] as i32;
            let (decision, token) = rule.decide(io, Nanos(lane.return_time(trace) as u64));
            self.counts.too_long |=
                matches!(decision, Decision::Sleep(asked) if asked.0 > MAX_SLEEP_NS);
            let (end, asked, submit) = match decision {
                Decision::Interrupt => (costs.interrupt_end(wait, recorded), 0, recorded),
                Decision::Poll => {
                    let end = PricedSleep::POLLING.end(wait, (0.0, 0.0), costs);
                    (end, 0, recorded)
                }
                Decision::Sleep(asked) => match &costs.plain {
                    Some(plain) if asked > Nanos::ZERO => {
                        let asked = asked.0.min(MAX_SLEEP_NS) as i32;
                        (costs.plain_end(plain, asked, wait), asked, recorded)
                    }
                    _ => {
                        if sleep.asked as u64 != asked.0 {
                            sleep = machine.price(asked);
                        }
                        let end = sleep.end(wait, machine.draws.draws_at(lane.draw), costs);
                        (end, sleep.asked, sleep.submission(recorded))
                    }
                },
            };
            let done_at = lane.start + i64::from(submit) + i64::from(end.observed);
            self.add(lane, &end, asked, submit);
            let outcome = Outcome::new(end.observed.max(0) as u64, end.missed);
            rule.complete(io, token, outcome, Nanos(done_at as u64));
            self.counts.last_end = self.counts.last_end.max(lane.finish(done_at, trace));
        }
        false
    }
}

impl PolicyCounts {
    fn outcome(mut self, machine: &SingleSimulator<'_>) -> SimOutcome {
        self.sums += self.open_sums.close();
        let end = if machine.one_pass {
            self.last_end
        } else {
            machine.stop
        };
        let wall = end - machine.warm_up;
        let ranks = self.latencies.ranks(self.sums.ios as u64);
        let lanes = machine.traces.len();
        self.sums.outcome(wall as f64, lanes, &machine.costs, ranks)
    }
}
