//! Closed loop: the next submission comes when the completion was observed, plus the recorded think time.

use crate::outcome::{Outcome, Tally};
use crate::recording::{Columns, Recording, unpack};
use q2c_model::{CostModel, Nanos};
use q2c_policy::{Decision, Io, Lane, Outcome as Seen, Token};
use q2c_stats::Rng;

/// How completions are waited for.
pub enum Method {
    /// Interrupts.
    Interrupt,
    /// Classic polling.
    Poll,
    /// A sleep rule: one handle per lane.
    Hybrid(Vec<Box<dyn Lane>>),
    /// The bound: knows each latency and each wake delay, and sleeps as long as it may whenever that saves CPU.
    Oracle,
}

/// How long, and how to draw.
#[derive(Clone, Copy, Debug)]
pub struct Drive {
    /// Simulated time before anything counts: warm-up of the rule.
    pub warm_up: Nanos,
    /// Simulated time that counts; [`Drive::ONE_PASS`] replays each recording once instead.
    pub measure: Nanos,
    /// Seed of the wake-delay draws: the same for every configuration that is compared.
    pub seed: u64,
}

impl Drive {
    /// As [`measure`](Drive::measure): each recording once, over the time that takes.
    pub const ONE_PASS: Nanos = Nanos(u64::MAX);

    /// Each recording once, all of it counted.
    #[must_use]
    pub fn once(seed: u64) -> Self {
        Drive {
            warm_up: Nanos::ZERO,
            measure: Self::ONE_PASS,
            seed,
        }
    }
}

/// Wake-delay draws are cycled through; a prime, so that they do not lock to a recording's length.
const DRAWS: usize = 8191;
/// Draws taken in a row as they were measured (a block bootstrap): bursts of late wake-ups stay bursts.
const BLOCK: usize = 64;

/// When the next submission comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrival {
    /// Closed loop: the recorded think time after the completion was observed. An I/O that is late delays all that follow.
    #[default]
    Think,
    /// Open loop: when it came in the recording, or at once when the lane (of depth 1) is still busy then. Latencies count from
    /// the intended time; think time costs no CPU.
    Recorded,
}

/// [`simulate_with`] in a closed loop.
///
/// # Panics
/// When a rule has fewer handles than there are lanes.
#[must_use]
pub fn simulate(lanes: &[Recording], cost: &CostModel, method: Method, drive: Drive) -> Outcome {
    simulate_with(Arrival::Think, lanes, cost, method, drive)
}

/// Replays the lanes through a method. The recordings are cycled through as long as needed, or replayed once
/// ([`Drive::ONE_PASS`]).
///
/// Returns an empty outcome when a recording has no I/O, or none that takes time.
///
/// # Panics
/// When a rule has fewer handles than there are lanes.
#[must_use]
pub fn simulate_with(
    arrival: Arrival,
    lanes: &[Recording],
    cost: &CostModel,
    method: Method,
    drive: Drive,
) -> Outcome {
    if lanes.is_empty() || lanes.iter().any(takes_no_time) {
        return Outcome::default();
    }
    let lanes: Vec<Columns<'_>> = lanes.iter().map(Recording::columns).collect();
    let mut machine = Machine::new(cost, method, drive, lanes.len());
    let mut clocks: Vec<LaneClock> = lanes.iter().map(LaneClock::new).collect();
    let once = drive.measure == Drive::ONE_PASS;
    let end = match once {
        true => f64::INFINITY,
        false => (drive.warm_up + drive.measure).0 as f64,
    };
    let mut last = 0.0_f64;
    loop {
        let lane = earliest(&clocks);
        let clock = &mut clocks[lane];
        if clock.event == f64::INFINITY {
            break;
        }
        if clock.flight.is_none() {
            if clock.start >= end {
                clock.event = f64::INFINITY;
                continue;
            }
            clock.flight = Some(machine.one(lane, &lanes[lane], clock, arrival));
            // Another lane may have something to do before the completion.
            if lanes.len() > 1 {
                continue;
            }
        }
        if let Some(flight) = clock.flight.take() {
            machine.complete(lane, flight, clock.event);
            last = last.max(clock.event + flight.gap);
            clock.submit_next(&lanes[lane], flight.gap, arrival);
            if once && clock.io == 0 {
                clock.event = f64::INFINITY;
            }
        }
    }
    let wall = match once {
        true => last - drive.warm_up.0 as f64,
        false => drive.measure.0 as f64,
    };
    machine.tally.outcome(wall, lanes.len())
}

/// Such a lane would never get to the end.
pub(crate) fn takes_no_time(recording: &Recording) -> bool {
    let Recording {
        submit, wait, gap, ..
    } = recording;
    let none = |times: &[f32]| times.iter().all(|&t| t == 0.0);
    none(submit) && none(wait) && none(gap)
}

/// Where a lane is. Lanes take turns by the time of their next event, so that a rule they share never hears of a
/// completion before its time.
struct LaneClock {
    /// When its submission was due.
    due: f64,
    /// When its submission began.
    start: f64,
    /// Its submission's return or, with an I/O in flight, its completion.
    event: f64,
    io: usize,
    flight: Option<Flight>,
}

/// An I/O between submission and completion, and what its completion will tell the rule.
#[derive(Clone, Copy)]
struct Flight {
    io: Io,
    token: Token,
    seen: Seen,
    gap: f64,
}

impl LaneClock {
    fn new(recording: &Columns<'_>) -> Self {
        LaneClock {
            due: 0.0,
            start: 0.0,
            event: f64::from(recording.submit[0]),
            io: 0,
            flight: None,
        }
    }

    fn submit_next(&mut self, recording: &Columns<'_>, gap: f64, arrival: Arrival) {
        let took = f64::from(recording.submit[self.io]) + f64::from(recording.wait[self.io]) + gap;
        self.io += 1;
        if self.io == recording.wait.len() {
            self.io = 0;
        }
        match arrival {
            Arrival::Think => {
                self.due = self.event + gap;
                self.start = self.due;
            }
            Arrival::Recorded => {
                self.due += took;
                self.start = self.due.max(self.event);
            }
        }
        self.event = self.start + f64::from(recording.submit[self.io]);
    }
}

fn earliest(clocks: &[LaneClock]) -> usize {
    let by_time =
        |a: &(usize, &LaneClock), b: &(usize, &LaneClock)| a.1.event.total_cmp(&b.1.event);
    clocks
        .iter()
        .enumerate()
        .min_by(by_time)
        .map_or(0, |(lane, _)| lane)
}

/// One I/O's fate after its submission.
#[derive(Clone, Copy, Default)]
struct Fate {
    observed: f64,
    cpu: f64,
    other_cpu: f64,
    asked: f64,
    polled: f64,
    missed: bool,
}

/// Costs of one sleep length, kept until the length changes: windowed rules keep it for whole epochs.
#[derive(Default)]
struct SleepCosts {
    asked: f64,
    base: f64,
    spread: f64,
    bounds: (f64, f64),
    cpu_clear: f64,
    cpu_hit: f64,
    added_latency: f64,
    added_submit: f64,
}

impl SleepCosts {
    fn of(cost: &CostModel, asked: f64) -> Self {
        SleepCosts {
            asked,
            base: cost.wake_clear.base_ns.at(asked),
            spread: cost.wake_clear.spread_ns.at(asked),
            bounds: cost.wake_clear.bounds(asked),
            cpu_clear: cost.sleep_cpu_clear_ns.at(asked),
            cpu_hit: cost.sleep_cpu_hit_ns.at(asked),
            added_latency: cost.added_latency_ns.at(asked),
            added_submit: cost.added_submit_ns.at(asked),
        }
    }
}

struct Machine<'a> {
    cost: &'a CostModel,
    method: Method,
    warm_up: f64,
    draws: Draws,
    count: u64,
    sleep: SleepCosts,
    tally: Tally,
}

impl<'a> Machine<'a> {
    fn new(cost: &'a CostModel, method: Method, drive: Drive, lanes: usize) -> Self {
        if let Method::Hybrid(rules) = &method {
            assert!(
                rules.len() >= lanes,
                "{} rule handles for {lanes} lanes",
                rules.len()
            );
        }
        Machine {
            cost,
            method,
            warm_up: drive.warm_up.0 as f64,
            draws: Draws::new(cost, drive.seed),
            count: 0,
            sleep: SleepCosts::of(cost, 0.0),
            tally: Tally::default(),
        }
    }

    /// One I/O from its submission's return to its completion.
    fn one(
        &mut self,
        lane: usize,
        recording: &Columns<'_>,
        clock: &mut LaneClock,
        arrival: Arrival,
    ) -> Flight {
        let i = clock.io;
        let io = unpack(recording.ios[i]);
        let latency = f64::from(recording.wait[i]);
        let mut submit = f64::from(recording.submit[i]);
        let draw = self.draws.of(self.count);
        self.count += 1;
        let mut token = Token::default();
        let fate = match &mut self.method {
            Method::Poll => polled(self.cost, latency),
            Method::Interrupt => interrupted(self.cost, submit, latency),
            Method::Oracle => oracle(self.cost, latency, draw),
            Method::Hybrid(rules) => {
                let now = Nanos(clock.event as u64);
                let (decision, mark) = rules[lane].decide(io, now);
                token = mark;
                match decision {
                    Decision::Interrupt => interrupted(self.cost, submit, latency),
                    Decision::Poll | Decision::Sleep(Nanos::ZERO) => polled(self.cost, latency),
                    Decision::Sleep(asked) => {
                        if self.sleep.asked != asked.0 as f64 {
                            self.sleep = SleepCosts::of(self.cost, asked.0 as f64);
                        }
                        submit = (submit + self.sleep.added_submit).max(0.0);
                        slept(self.cost, &self.sleep, latency, draw)
                    }
                }
            }
        };
        let gap = f64::from(recording.gap[i]);
        if clock.start >= self.warm_up {
            let loops = match arrival {
                Arrival::Think => gap,
                Arrival::Recorded => 0.0,
            };
            let waited = (clock.start - clock.due).max(0.0);
            self.tally
                .latency((submit + fate.observed) as f32 + waited as f32);
            self.count_in(fate, submit, latency, loops);
        }
        clock.event = clock.start + submit + fate.observed;
        Flight {
            io,
            token,
            seen: Seen {
                observed: Nanos(fate.observed as u64),
                missed: fate.missed,
            },
            gap,
        }
    }

    fn complete(&mut self, lane: usize, flight: Flight, now: f64) {
        if let Method::Hybrid(rules) = &mut self.method {
            let Flight {
                io, token, seen, ..
            } = flight;
            rules[lane].complete(io, token, seen, Nanos(now as u64));
        }
    }

    fn count_in(&mut self, fate: Fate, submit: f64, latency: f64, gap: f64) {
        let tally = &mut self.tally;
        tally.misses += u64::from(fate.missed);
        tally.asked += fate.asked;
        // A sleep too short to leave the CPU cannot cost more of it than it lasts.
        tally.cpu += submit + fate.cpu.min(fate.observed) + gap;
        tally.other_cpu += fate.other_cpu;
        tally.device += latency;
        tally.polled += fate.polled;
        tally.late += (fate.observed - latency).max(0.0);
    }
}

/// The wake-up deviations of a run: one clear and one hit per I/O, the same for every configuration.
pub(crate) struct Draws(Vec<(f64, f64)>);

impl Draws {
    pub fn new(cost: &CostModel, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let clear = in_blocks(&cost.wake_clear.z, &mut rng);
        let hit = in_blocks(&cost.wake_hit.z, &mut rng);
        Draws(clear.into_iter().zip(hit).collect())
    }

    /// Those of I/O `io`.
    pub fn of(&self, io: u64) -> (f64, f64) {
        self.0[(io % DRAWS as u64) as usize]
    }
}

/// Blocks of a measured sequence from random starts, its end joined to its begin; zeros for an empty one.
fn in_blocks(measured: &[f64], rng: &mut Rng) -> Vec<f64> {
    if measured.is_empty() {
        return vec![0.0; DRAWS];
    }
    let mut drawn = Vec::with_capacity(DRAWS + BLOCK);
    while drawn.len() < DRAWS {
        let start = rng.below(measured.len() as u64) as usize;
        let ring = measured.iter().cycle().skip(start);
        drawn.extend(ring.take(BLOCK));
    }
    drawn.truncate(DRAWS);
    drawn
}

fn polled(cost: &CostModel, latency: f64) -> Fate {
    Fate {
        observed: latency,
        cpu: latency,
        other_cpu: cost.other_cpu_poll_ns,
        polled: latency,
        ..Fate::default()
    }
}

/// The interrupt's CPU is known with its submission, which the caller adds: it is taken off here.
fn interrupted(cost: &CostModel, submit: f64, latency: f64) -> Fate {
    Fate {
        observed: latency + cost.interrupt_latency_ns,
        cpu: cost.interrupt_cpu_ns - submit,
        other_cpu: cost.other_cpu_interrupt_ns,
        ..Fate::default()
    }
}

fn slept(cost: &CostModel, sleep: &SleepCosts, latency: f64, draw: (f64, f64)) -> Fate {
    // A gain that was measured on longer latencies does not turn a short one negative.
    let latency = (latency + sleep.added_latency).max(0.0);
    let (least, most) = sleep.bounds;
    let wake = sleep.asked + (sleep.base + sleep.spread * draw.0).min(most).max(least);
    let fate = Fate {
        asked: sleep.asked,
        other_cpu: cost.other_cpu_sleep_ns,
        ..Fate::default()
    };
    if latency - cost.hit_lead_ns > wake {
        let polled = latency - wake;
        return Fate {
            observed: latency,
            cpu: sleep.cpu_clear + polled,
            polled,
            ..fate
        };
    }
    let wake = sleep.asked + cost.wake_hit.at(sleep.asked - latency, draw.1);
    let observed = wake.max(latency) + cost.reap_hit_ns;
    Fate {
        observed,
        cpu: sleep.cpu_hit,
        missed: true,
        ..fate
    }
}

/// Sleeps so that it wakes just before the completion, if the CPU given up is more than what the sleep costs.
fn oracle(cost: &CostModel, latency: f64, draw: (f64, f64)) -> Fate {
    let mut asked = latency;
    // The delay depends on the sleep it delays: a few rounds settle it.
    for _ in 0..4 {
        asked = latency - cost.hit_lead_ns - 1.0 - cost.wake_clear.at(asked.max(0.0), draw.0);
    }
    if asked <= 0.0 {
        return polled(cost, latency);
    }
    let sleep = SleepCosts::of(cost, asked);
    // The bound has no reason to pay for a latency that a shorter sleep would not have added.
    let fate = slept(
        cost,
        &SleepCosts {
            added_latency: 0.0,
            ..sleep
        },
        latency,
        draw,
    );
    if fate.missed || fate.cpu >= latency {
        polled(cost, latency)
    } else {
        fate
    }
}
