//! The reference simulator. In a closed loop the next submission follows the observed completion
//! after the recorded think time; in an open loop it comes at its recorded time.

use crate::outcome::{SimOutcome, SimTally};
use crate::recording::{LaneRecording, RecordingColumns, unpack};
use crate::turns::Turns;
use q2c_model::stats::Rng;
use q2c_model::{CostModel, Nanos};
use q2c_policy::{Decision, Io, Lane, LaneMethod, Outcome, Token, Wait};
use serde::{Deserialize, Serialize};

/// How long to simulate, and the seed of the draws. Stored states of sweeps have its fields in this
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drive {
    /// Simulated time before anything counts, in which the rule can warm up.
    pub warm_up: Nanos,
    /// Simulated time that counts; [`Drive::ONE_PASS`] replays each recording once instead.
    pub measure: Nanos,
    /// Seed of the draws of wake delays; use one seed for all configurations that are compared.
    pub seed: u64,
}

impl Drive {
    /// Simulated times at which counting begins and ends, ns; the end is exclusive.
    pub(crate) fn counted_range(&self) -> (i64, i64) {
        let [warm_up, measure] =
            [self.warm_up, self.measure].map(|time| i64::try_from(time.0).unwrap_or(i64::MAX));
        (warm_up, warm_up.saturating_add(measure))
    }

    /// A value for [`measure`](Drive::measure): replay each recording once; rates are over that
    /// time.
    pub const ONE_PASS: Nanos = Nanos(u64::MAX);

    /// Replays each recording once and counts all of it.
    pub fn one_pass(seed: u64) -> Self {
        Drive {
            warm_up: Nanos::ZERO,
            measure: Self::ONE_PASS,
            seed,
        }
    }
}

/// Number of draws, used in a cycle; a prime does not fall in step with a recording.
const DRAWS: usize = 8191;
/// Number of draws taken in a row as measured (a block bootstrap), so that bursts stay bursts.
const BLOCK_DRAWS: usize = 64;

/// When the next submission comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrival {
    /// Closed loop: the recorded think time after the completion was observed.
    #[default]
    ClosedLoop,
    /// Open loop: at the recorded time, or as soon as the lane (of depth 1) is free if it is busy
    /// then. Latencies count from the intended time; think time costs no CPU.
    OpenLoop,
}

/// Runs [`simulate_with`] in a closed loop; it panics likewise.
pub fn simulate(
    lanes: &[LaneRecording],
    cost: &CostModel,
    waiting: Waiting,
    drive: Drive,
) -> SimOutcome {
    simulate_with(Arrival::ClosedLoop, lanes, cost, waiting, drive)
}

/// Replays the lanes through a method. The recordings repeat as long as needed, or run once with
/// [`Drive::ONE_PASS`]. The outcome is empty without lanes, or if a lane's I/Os take no time.
/// Panics if `waiting` has methods for fewer lanes than there are.
pub fn simulate_with(
    arrival: Arrival,
    lanes: &[LaneRecording],
    cost: &CostModel,
    waiting: Waiting,
    drive: Drive,
) -> SimOutcome {
    if lanes.is_empty() || lanes.iter().any(takes_no_time) {
        return SimOutcome::default();
    }
    let mut machine = SimulatedMachine::new(cost, waiting, drive, lanes.len());
    let clocks = lanes.iter().enumerate();
    let clocks = clocks.map(|(n, lane)| LaneClock::new(n, lane.columns()));
    let mut clocks: Vec<LaneClock<'_>> = clocks.collect();
    let once = drive.measure == Drive::ONE_PASS;
    let end = if once {
        f64::INFINITY
    } else {
        (drive.warm_up + drive.measure).0 as f64
    };
    let mut turns = Turns::new(clocks.len(), f64::INFINITY);
    turns.fill(clocks.iter().map(|clock| clock.event));
    let mut last_end = 0.0_f64;
    loop {
        let lane = turns.next();
        let clock = &mut clocks[lane];
        if turns.next_time() == f64::INFINITY {
            break;
        }
        let submits = clock.flight.is_none();
        if submits && clock.start >= end {
            turns.set(lane, f64::INFINITY);
            continue;
        }
        if submits {
            clock.flight = Some(machine.simulate_io(clock, arrival));
        }
        // Another lane may have an event before the completion.
        let completes_later = submits && lanes.len() > 1;
        if let Some(flight) = clock.flight.take_if(|_| !completes_later) {
            machine.complete(clock, flight);
            last_end = last_end.max(clock.event + flight.gap);
            clock.submit_next(flight.gap, arrival);
            if once && clock.io == 0 {
                clock.event = f64::INFINITY;
            }
        }
        turns.set(lane, clock.event);
    }
    let wall = if once {
        last_end - drive.warm_up.0 as f64
    } else {
        drive.measure.0 as f64
    };
    machine.tally.outcome(wall, lanes.len())
}

/// True if a lane with this recording would never reach the end of the simulated time.
pub(crate) fn takes_no_time(recording: &LaneRecording) -> bool {
    let all_zero = |times: &[f32]| times.iter().all(|&t| t == 0.0);
    let columns = [&recording.submit, &recording.wait, &recording.gap];
    recording.first_at == 0.0 && columns.iter().all(|times| all_zero(times))
}

/// The simulated clock of one lane, ns. Lanes take turns by the time of their next event, so that a
/// shared rule never learns of a completion before its time.
struct LaneClock<'a> {
    lane: usize,
    recording: RecordingColumns<'a>,
    intended: f64,
    start: f64,
    /// The next event: the submission's return or, with an I/O in flight, the completion.
    event: f64,
    io: usize,
    draw: usize,
    flight: Option<IoInFlight>,
}

#[derive(Clone, Copy)]
struct IoInFlight {
    io: Io,
    token: Token,
    outcome: Outcome,
    gap: f64,
}

impl<'a> LaneClock<'a> {
    fn new(lane: usize, recording: RecordingColumns<'a>) -> Self {
        LaneClock {
            lane,
            recording,
            draw: WakeDraws::first_index(lane),
            intended: recording.first_at,
            start: recording.first_at,
            event: recording.first_at + f64::from(recording.submit[0]),
            io: 0,
            flight: None,
        }
    }

    fn submit_next(&mut self, mut gap: f64, arrival: Arrival) {
        let recording = &self.recording;
        let busy = f64::from(recording.submit[self.io]) + f64::from(recording.wait[self.io]);
        self.io += 1;
        if self.io == recording.wait.len() {
            self.io = 0;
            gap += recording.first_at;
        }
        match arrival {
            Arrival::ClosedLoop => {
                self.intended = self.event + gap;
                self.start = self.intended;
            }
            Arrival::OpenLoop => {
                self.intended += busy + gap;
                self.start = self.intended.max(self.event);
            }
        }
        self.event = self.start + f64::from(recording.submit[self.io]);
    }
}

#[derive(Clone, Copy, Default)]
struct IoEnd {
    observed: f64,
    cpu: f64,
    other_cpu: f64,
    asked: f64,
    polled: f64,
    missed: bool,
}

/// The costs of one sleep length, ns, kept until the length changes.
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
    fn for_sleep(cost: &CostModel, asked: f64) -> Self {
        SleepCosts {
            asked,
            base: cost.wake_clear.base_ns.value_at(asked),
            spread: cost.wake_clear.spread_ns.value_at(asked),
            bounds: cost.wake_clear.bounds(asked),
            cpu_clear: cost.sleep_cpu_clear_ns.value_at(asked),
            cpu_hit: cost.sleep_cpu_hit_ns.value_at(asked),
            added_latency: cost.added_latency_ns.value_at(asked),
            added_submit: cost.added_submit_ns.value_at(asked),
        }
    }
}

struct SimulatedMachine<'a> {
    cost: &'a CostModel,
    waiting: Waiting,
    warm_up: f64,
    draws: WakeDraws,
    sleep: SleepCosts,
    tally: SimTally,
}

impl<'a> SimulatedMachine<'a> {
    fn new(cost: &'a CostModel, waiting: Waiting, drive: Drive, lanes: usize) -> Self {
        if let Waiting::Lanes(waits) = &waiting {
            let methods = waits.len();
            assert!(methods >= lanes, "{methods} methods for {lanes} lanes");
        }
        SimulatedMachine {
            cost,
            waiting,
            warm_up: drive.warm_up.0 as f64,
            draws: WakeDraws::new(cost, drive.seed),
            sleep: SleepCosts::for_sleep(cost, 0.0),
            tally: SimTally::default(),
        }
    }

    /// Simulates one I/O and sets the lane's clock to its completion.
    fn simulate_io(&mut self, clock: &mut LaneClock<'_>, arrival: Arrival) -> IoInFlight {
        let (i, recording) = (clock.io, clock.recording);
        let io = unpack(recording.ios[i]);
        let latency = f64::from(recording.wait[i]);
        let mut submit = f64::from(recording.submit[i]);
        let draw = self.draws.all[clock.draw];
        clock.draw = WakeDraws::index_after(clock.draw, 1);
        let mut token = Token::default();
        let end = match self.waiting.lane_wait(clock.lane) {
            Some(Wait::Poll) => poll_end(self.cost, latency),
            Some(Wait::Interrupt) => interrupt_end(self.cost, submit, latency),
            None => oracle_end(self.cost, latency, draw),
            Some(Wait::Hybrid(rule)) => {
                let now = Nanos(clock.event as u64);
                let (decision, mark) = rule.decide(io, now);
                token = mark;
                match decision {
                    Decision::Interrupt => interrupt_end(self.cost, submit, latency),
                    Decision::Poll | Decision::Sleep(Nanos::ZERO) => poll_end(self.cost, latency),
                    Decision::Sleep(asked) => {
                        if self.sleep.asked != asked.0 as f64 {
                            self.sleep = SleepCosts::for_sleep(self.cost, asked.0 as f64);
                        }
                        submit = (submit + self.sleep.added_submit).max(0.0);
                        sleep_end(self.cost, &self.sleep, latency, draw)
                    }
                }
            }
        };
        let gap = f64::from(recording.gap[i]);
        if clock.start >= self.warm_up {
            let think_cpu = match (arrival, recording.gap_cpu) {
                (Arrival::OpenLoop, _) => 0.0,
                (Arrival::ClosedLoop, None) => gap,
                (Arrival::ClosedLoop, Some(max)) => gap.min(max.0 as f64),
            };
            let lateness = (clock.start - clock.intended).max(0.0);
            self.tally
                .add_latency((submit + end.observed) as f32 + lateness as f32);
            self.count_io(end, submit, latency, think_cpu);
        }
        clock.event = clock.start + submit + end.observed;
        IoInFlight {
            io,
            token,
            outcome: Outcome::new(end.observed as u64, end.missed),
            gap,
        }
    }

    fn complete(&mut self, clock: &LaneClock<'_>, flight: IoInFlight) {
        if let Some(Wait::Hybrid(rule)) = self.waiting.lane_wait(clock.lane) {
            let now = Nanos(clock.event as u64);
            rule.complete(flight.io, flight.token, flight.outcome, now);
        }
    }

    fn count_io(&mut self, end: IoEnd, submit: f64, latency: f64, think_cpu: f64) {
        let sums = &mut self.tally.sums;
        sums.misses += f64::from(end.missed);
        sums.asked += end.asked;
        // A sleep too short to leave the CPU cannot cost more CPU than it lasts.
        sums.cpu += submit + end.cpu.min(end.observed) + think_cpu;
        sums.other_cpu += end.other_cpu;
        sums.device += latency;
        sums.polled += end.polled;
        sums.late += (end.observed - latency).max(0.0);
    }
}

/// Deviations of a clear and a hit wake-up for each I/O, the same for every configuration.
pub(crate) struct WakeDraws {
    all: Vec<(f64, f64)>,
    /// The draws of clear and of hit wake-ups; the first [`DRAWS_AT_ONCE`] are repeated at the end.
    rings: [Vec<f32>; 2],
}

/// Number of draws that are read at once, one for each of sixteen I/Os.
const DRAWS_AT_ONCE: usize = 16;
/// Distance between the first draws of two lanes: each lane has its own, as each thread does.
const LANE_OFFSET: usize = 1009;

impl WakeDraws {
    pub(crate) fn new(cost: &CostModel, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let clear = draw_in_blocks(&cost.wake_clear.z, &mut rng);
        let hit = draw_in_blocks(&cost.wake_hit.z, &mut rng);
        let ring = |draws: &[f64]| -> Vec<f32> {
            let ring = draws.iter().cycle().take(DRAWS + DRAWS_AT_ONCE);
            ring.map(|&z| z as f32).collect()
        };
        WakeDraws {
            rings: [ring(&clear), ring(&hit)],
            all: clear.into_iter().zip(hit).collect(),
        }
    }

    pub(crate) fn first_index(lane: usize) -> usize {
        lane * LANE_OFFSET % DRAWS
    }

    /// The index of the draws for I/O `io` of the first lane.
    pub(crate) fn index_of_io(io: u64) -> usize {
        (io % DRAWS as u64) as usize
    }

    /// The index `n` I/Os after `index`; `n` is at most [`DRAWS`].
    #[inline]
    pub(crate) fn index_after(index: usize, n: usize) -> usize {
        let later = index + n;
        if later < DRAWS { later } else { later - DRAWS }
    }

    #[inline]
    pub(crate) fn draws_at(&self, index: usize) -> (f32, f32) {
        (self.rings[0][index], self.rings[1][index])
    }

    /// The draws of sixteen I/Os from `index` on, for clear and for hit wake-ups.
    #[inline(always)]
    pub(crate) fn sixteen_draws(&self, index: usize) -> (&[f32], &[f32]) {
        let from_ring = |ring: usize| &self.rings[ring][index..index + DRAWS_AT_ONCE];
        (from_ring(0), from_ring(1))
    }
}

/// Takes [`DRAWS`] draws in blocks from random starts of a measured ring; zeros if it is empty.
fn draw_in_blocks(measured: &[f64], rng: &mut Rng) -> Vec<f64> {
    if measured.is_empty() {
        return vec![0.0; DRAWS];
    }
    let mut drawn = Vec::with_capacity(DRAWS + BLOCK_DRAWS);
    while drawn.len() < DRAWS {
        let start = rng.below(measured.len() as u64) as usize;
        let ring = measured.iter().cycle().skip(start);
        drawn.extend(ring.take(BLOCK_DRAWS));
    }
    drawn.truncate(DRAWS);
    drawn
}

fn poll_end(cost: &CostModel, latency: f64) -> IoEnd {
    IoEnd {
        observed: latency,
        cpu: latency,
        other_cpu: cost.other_cpu_poll_ns,
        polled: latency,
        ..IoEnd::default()
    }
}

/// The model's CPU per interrupt includes the submission. The caller adds it, so it is taken off.
fn interrupt_end(cost: &CostModel, submit: f64, latency: f64) -> IoEnd {
    IoEnd {
        observed: latency + cost.interrupt_latency_ns,
        cpu: cost.interrupt_cpu_ns - submit,
        other_cpu: cost.other_cpu_interrupt_ns,
        ..IoEnd::default()
    }
}

fn sleep_end(cost: &CostModel, sleep: &SleepCosts, latency: f64, draw: (f64, f64)) -> IoEnd {
    // A negative `added_latency`, measured on longer I/Os, must not turn a short latency negative.
    let latency = (latency + sleep.added_latency).max(0.0);
    let ((least, most), (clear_z, hit_z)) = (sleep.bounds, draw);
    let wake = sleep.asked + (sleep.base + sleep.spread * clear_z).min(most).max(least);
    let end = IoEnd {
        asked: sleep.asked,
        other_cpu: cost.other_cpu_sleep_ns,
        ..IoEnd::default()
    };
    if latency - cost.hit_lead_ns > wake {
        let polled = latency - wake;
        return IoEnd {
            observed: latency,
            cpu: sleep.cpu_clear + polled,
            polled,
            ..end
        };
    }
    let wake = sleep.asked + cost.wake_hit.delay_at(sleep.asked - latency, hit_z);
    let observed = wake.max(latency) + cost.reap_hit_ns;
    IoEnd {
        observed,
        cpu: sleep.cpu_hit,
        missed: true,
        ..end
    }
}

/// Wakes just before the completion if that saves CPU; polls otherwise.
fn oracle_end(cost: &CostModel, latency: f64, draw: (f64, f64)) -> IoEnd {
    let mut asked = latency;
    // The delay, by the draw of a clear wake-up, depends on the length: a few rounds are enough.
    for _ in 0..4 {
        asked = latency - cost.hit_lead_ns - 1.0 - cost.wake_clear.delay_at(asked.max(0.0), draw.0);
    }
    if asked <= 0.0 {
        return poll_end(cost, latency);
    }
    // The latency that a sleep adds is not charged: a shorter sleep might not have added it.
    let sleep = SleepCosts {
        added_latency: 0.0,
        ..SleepCosts::for_sleep(cost, asked)
    };
    let end = sleep_end(cost, &sleep, latency, draw);
    if end.missed || end.cpu >= latency {
        poll_end(cost, latency)
    } else {
        end
    }
}

/// How completions are waited for, prepared for each lane.
pub enum Waiting {
    /// A method of q2c's own threads, one entry per lane.
    Lanes(Vec<Wait>),
    /// The upper bound: it knows each latency and wake delay, and sleeps whenever that saves CPU.
    Oracle,
}

impl Waiting {
    /// A method on this many lanes, each on a CPU of its own.
    pub fn from_method(method: &LaneMethod, lanes: usize) -> Self {
        Waiting::Lanes(method.build(lanes))
    }

    /// Classic polling on this many lanes.
    pub fn poll(lanes: usize) -> Self {
        Waiting::from_method(&LaneMethod::Poll, lanes)
    }

    /// Interrupts on this many lanes.
    pub fn interrupt(lanes: usize) -> Self {
        Waiting::from_method(&LaneMethod::Interrupt, lanes)
    }

    /// Sleep rules, one handle per lane.
    pub fn rules(handles: Vec<Box<dyn Lane>>) -> Self {
        Waiting::Lanes(handles.into_iter().map(Wait::Hybrid).collect())
    }

    /// The lane's method; `None` for the oracle.
    pub(crate) fn lane_wait(&mut self, lane: usize) -> Option<&mut Wait> {
        match self {
            Waiting::Lanes(waits) => Some(&mut waits[lane]),
            Waiting::Oracle => None,
        }
    }
}
