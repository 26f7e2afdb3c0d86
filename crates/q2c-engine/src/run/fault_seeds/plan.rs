//! The run of a seed.

use super::watch::LaneLog;
use crate::engines::SimDevices;
use crate::run::crew::SideWork;
use crate::{Activity, EngineSpec, JobPlan, SimMachine, Time, World};
use q2c_model::stats::Rng;
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::{Decision, Io, Lane, Outcome, PolicySpec, Token, Wait};
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) const BLOCK: u32 = 4096;

/// How a lane waits in a phase.
#[derive(Clone, Copy, Debug)]
enum PhasePlan {
    Idle,
    Interrupt,
    Poll,
    Rule(&'static str),
    /// A rule whose decisions are drawn.
    RandomRule,
    Continue,
    Resume,
}

#[derive(Clone, Debug)]
pub(super) struct LanePlan {
    pub name: String,
    seed: u64,
    /// The engine with its faults.
    engine: String,
    /// Numbers of the completions that come twice and never. The fault that repeats is the
    /// outermost, so that the number counts what the lane gets.
    pub twice: Option<u64>,
    pub hang: Option<u64>,
    pub depth: u16,
    cpu: u32,
    phases: Vec<PhasePlan>,
    pub capacity: usize,
    pub tally: bool,
    pub rate: Option<f64>,
    think: Option<Nanos>,
    pub stop_on_fault: bool,
    pub two_paths: bool,
    pub polls_in_calls: bool,
}

#[derive(Clone, Debug)]
pub(super) struct SeededRun {
    pub lanes: Vec<LanePlan>,
    pub phases: Vec<Nanos>,
    /// When the run is stopped, ns from its start.
    stop_ns: Option<u64>,
}

fn pick<T: Copy>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.below(values.len() as u64) as usize]
}

/// True in one of `n` cases.
fn one_in(rng: &mut Rng, n: u64) -> bool {
    rng.below(n) == 0
}

impl SeededRun {
    pub(super) fn new(seed: u64) -> Self {
        let rng = &mut Rng::new(seed);
        let service_ns = pick(rng, &[2_000, 10_000, 50_000]);
        let phases: Vec<Nanos> = (0..=rng.below(4))
            .map(|_| Nanos(service_ns * (1 + rng.below(60))))
            .collect();
        let lanes = (0..=rng.below(3))
            .map(|index| LanePlan::new(rng, index, service_ns, phases.len()))
            .collect();
        let length_ns: u64 = phases.iter().map(|phase| phase.0).sum();
        let stop_ns = one_in(rng, 2).then(|| rng.below(length_ns));
        SeededRun {
            lanes,
            phases,
            stop_ns,
        }
    }

    /// A machine whose CPUs the lanes share, with short turns.
    pub(super) fn world(&self) -> World {
        World::new(SimMachine {
            cores: 2,
            slice_ns: 40_000,
            ..SimMachine::default()
        })
    }

    pub(super) fn job(&self, lane: &LanePlan) -> JobPlan {
        let spec: EngineSpec = lane.engine.parse().expect("a known engine");
        let medium = SimDevices::default().medium(&spec).expect("its device");
        JobPlan {
            name: lane.name.clone(),
            seed: lane.seed,
            bs: Bytes(BLOCK.into()),
            span: Bytes(1 << 20),
            depth: lane.depth,
            cpu: CpuId(lane.cpu),
            capacity: lane.capacity,
            tally: lane.tally,
            rate: lane.rate,
            think: lane.think,
            stop_on_fault: lane.stop_on_fault,
            ..JobPlan::new(spec, medium, lane.activities())
        }
    }

    pub(super) fn stop<'a>(&self, halt: &'a AtomicBool) -> StopAt<'a> {
        StopAt(self.stop_ns, halt)
    }
}

impl LanePlan {
    fn new(rng: &mut Rng, index: u64, service_ns: u64, phases: usize) -> Self {
        let depth = pick(rng, &[1, 1, 1, 2, 3, 8, 16]);
        let rate = one_in(rng, 3).then(|| {
            let at_full_load = f64::from(depth) * 1e9 / service_ns as f64;
            at_full_load * (0.2 + 1.5 * rng.unit())
        });
        let closed_at_one = depth == 1 && rate.is_none();
        let think = (closed_at_one && one_in(rng, 3)).then(|| Nanos(rng.below(2 * service_ns)));
        let only_polls = depth > 1 && rate.is_some();
        let mut plan = LanePlan {
            name: format!("lane {index}"),
            seed: rng.next_u64(),
            engine: device(rng, service_ns, depth),
            twice: None,
            hang: None,
            depth,
            cpu: rng.below(2) as u32,
            phases: (0..phases).map(|_| draw_phase(rng, only_polls)).collect(),
            capacity: pick(rng, &[0, 10, 100_000, 100_000]),
            tally: one_in(rng, 2),
            rate,
            think,
            stop_on_fault: one_in(rng, 4),
            two_paths: one_in(rng, 4),
            polls_in_calls: one_in(rng, 6),
        };
        plan.add_faults(rng, service_ns);
        plan
    }

    /// Puts faults around the engine: the one that repeats is the last, so the outermost.
    fn add_faults(&mut self, rng: &mut Rng, service_ns: u64) {
        let mut add = |fault: String| self.engine = format!("fault:{fault}:{}", self.engine);
        for _ in 0..rng.below(6) {
            let nth = 1 + rng.below(80);
            add(match rng.below(4) {
                0 => format!("eio@{nth}"),
                1 => format!("short@{nth}"),
                2 => format!("swap@{nth}"),
                _ => format!("late={}ns@{nth}", rng.below(5 * service_ns)),
            });
        }
        // One completion that is lost and one that is repeated make up for each other where no
        // table of requests tells them apart, so a lane has one or the other.
        let nth = Some(1 + rng.below(60));
        match rng.below(8) {
            0 => self.hang = nth,
            1 => self.twice = nth,
            _ => {}
        }
        self.hang.iter().for_each(|nth| add(format!("hang@{nth}")));
        self.twice
            .iter()
            .for_each(|nth| add(format!("twice@{nth}")));
    }

    fn activities(&self) -> Vec<Activity> {
        let mut rng = Rng::new(self.seed);
        let rule = |text: &str| {
            let spec: PolicySpec = text.parse().expect("a known rule");
            Wait::Hybrid(spec.build(1).remove(0))
        };
        let activity = |phase: &PhasePlan| match *phase {
            PhasePlan::Idle => Activity::Idle,
            PhasePlan::Interrupt => Activity::Start(Wait::Interrupt),
            PhasePlan::Poll => Activity::Start(Wait::Poll),
            PhasePlan::Rule(text) => Activity::Start(rule(text)),
            PhasePlan::RandomRule => {
                let rule = RandomRule(Rng::new(rng.next_u64()));
                Activity::Start(Wait::Hybrid(Box::new(rule)))
            }
            PhasePlan::Continue => Activity::Continue,
            PhasePlan::Resume => Activity::Resume,
        };
        self.phases.iter().map(activity).collect()
    }

    /// True if the lane got a completion twice, or its engine still holds one.
    pub(super) fn came_twice(&self, log: &LaneLog) -> bool {
        let handed_over = log.completions.len() as u64 + log.strays;
        self.twice.is_some_and(|nth| handed_over > nth) || log.left
    }

    /// Names of the kinds of lane and fault that the plan has.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &'static str> {
        let has = |fault: &str| self.engine.contains(fault);
        let waits = |is: fn(&PhasePlan) -> bool| self.phases.iter().any(is);
        let is_rule = |p: &PhasePlan| matches!(p, PhasePlan::Rule(_) | PhasePlan::RandomRule);
        let kinds = [
            ("closed", self.rate.is_none() && self.depth == 1),
            ("deep", self.rate.is_none() && self.depth > 1),
            ("paced", self.rate.is_some() && self.depth == 1),
            ("paced deep", self.rate.is_some() && self.depth > 1),
            ("thinks", self.think.is_some()),
            ("two paths", self.two_paths),
            ("polls in calls", self.polls_in_calls),
            ("interrupt", waits(|p| matches!(p, PhasePlan::Interrupt))),
            ("poll", waits(|p| matches!(p, PhasePlan::Poll))),
            ("hybrid", waits(is_rule)),
            ("eio", has("eio")),
            ("short", has("short")),
            ("late", has("late")),
            ("swap", has("swap")),
            ("hang", has("hang")),
            ("twice", has("twice")),
        ];
        kinds
            .into_iter()
            .filter_map(|(name, has)| has.then_some(name))
    }
}

fn device(rng: &mut Rng, service_ns: u64, depth: u16) -> String {
    let servers = 1 + rng.below(u64::from(depth) + 1);
    let times = match rng.below(3) {
        0 => format!("{service_ns}ns"),
        1 => format!("exp={service_ns}ns"),
        _ => format!("lognormal={service_ns}ns/0.5"),
    };
    format!("sim:{times},servers={servers}")
}

fn draw_phase(rng: &mut Rng, only_polls: bool) -> PhasePlan {
    let rules = ["fixed:3us", "fixed:30us", "mean:ratio=50%,period=100us"];
    match rng.below(8) {
        0 => PhasePlan::Idle,
        1 => PhasePlan::Continue,
        2 => PhasePlan::Resume,
        _ if only_polls => PhasePlan::Poll,
        3 => PhasePlan::Interrupt,
        4 => PhasePlan::Poll,
        5 => PhasePlan::Rule(pick(rng, &rules)),
        _ => PhasePlan::RandomRule,
    }
}

struct RandomRule(Rng);

impl Lane for RandomRule {
    fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
        let decision = match self.0.below(4) {
            0 => Decision::Poll,
            1 => Decision::Interrupt,
            _ => Decision::Sleep(Nanos(self.0.below(60_000))),
        };
        (decision, Token::default())
    }

    fn complete(&mut self, _: Io, _: Token, _: Outcome, _: Nanos) {}
}

/// Raises the flag at this time, ns from the start.
pub(super) struct StopAt<'a>(Option<u64>, &'a AtomicBool);

impl SideWork for StopAt<'_> {
    type Out = ();

    fn run<T: Time>(self, time: T, start_ns: u64, _: &[u32]) {
        if let StopAt(Some(stop_ns), halt) = self {
            time.sleep((start_ns + stop_ns).saturating_sub(time.now()));
            halt.store(true, Ordering::Relaxed);
        }
    }
}
