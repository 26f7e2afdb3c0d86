//! The kernel of `pas`, for delays that are known beforehand. Every I/O's outcome changes the sleep
//! of its bucket. The arithmetic is in double precision and in the rule's own order of operations,
//! so that the results equal the rule's bit for bit.

use super::costs::PlainCosts;
use super::drawn::{IoOutcome, RunningSums};
use super::group::{SimdGroup, WindowBefore};
use super::plain::count_latency;
use super::simd_lanes::{SIMD_LANES, SimdLanes, set_bits};
use super::{KernelInput, MAX_SLEEP_NS};
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f64x8, i32x16, i64x8, mask32x16};
use q2c_policy::BUCKETS;
use q2c_policy::form::{COOL_DOWN, HEAT_UP, MIN_HEAT, MIN_SLEEP_NS, MIN_STEP, Sensitivity};

type Doubles = SimdLanes<f64>;

#[derive(Clone)]
struct PasBucket {
    ns: Doubles,
    /// The last factor by which the sleep was multiplied.
    step: Doubles,
    heat: Doubles,
    last_late: SimdLanes<i32>,
    /// The outcome from which the next decision learns; 1 if late.
    new_late: SimdLanes<i32>,
}

pub(super) struct PasGroup {
    up: Doubles,
    down: Doubles,
    heat_up: Doubles,
    cool_down: Doubles,
    buckets: Box<[PasBucket]>,
}

impl PasGroup {
    pub(crate) fn new() -> Self {
        let one = SimdLanes([1.0; SIMD_LANES]);
        let bucket = PasBucket {
            ns: SimdLanes([MIN_SLEEP_NS; SIMD_LANES]),
            step: one,
            heat: one,
            last_late: SimdLanes([1; SIMD_LANES]),
            new_late: SimdLanes([0; SIMD_LANES]),
        };
        PasGroup {
            up: SimdLanes::default(),
            down: SimdLanes::default(),
            heat_up: one,
            cool_down: one,
            buckets: vec![bucket; BUCKETS].into(),
        }
    }

    /// Sets the parameters of one lane. Without adaptation the heat stays 1.
    pub(crate) fn set(&mut self, lane: usize, sensitivity: Sensitivity) {
        self.up.0[lane] = sensitivity.up;
        self.down.0[lane] = -sensitivity.down;
        if sensitivity.adaptive {
            self.heat_up.0[lane] = HEAT_UP;
            self.cool_down.0[lane] = COOL_DOWN;
        }
    }
}

#[inline(always)]
fn load_pair<S: Simd>(simd: S, lanes: &Doubles) -> [f64x8<S>; 2] {
    let (low, high) = lanes.0.split_at(SIMD_LANES / 2);
    [f64x8::from_slice(simd, low), f64x8::from_slice(simd, high)]
}

#[inline(always)]
fn store_pair<S: Simd>(halves: [f64x8<S>; 2], lanes: &mut Doubles) {
    let (low, high) = lanes.0.split_at_mut(SIMD_LANES / 2);
    halves[0].store_slice(low);
    halves[1].store_slice(high);
}

/// 2^52. If it is added to a smaller whole number, that number is in the low bits of the sum.
const LOW_BITS: f64 = 4_503_599_627_370_496.0;

impl PasBucket {
    #[inline(always)]
    fn learn<S: Simd>(&mut self, simd: S, parameters: &PasParameters<S>) -> i32x16<S> {
        let (last_late, new_late) = (self.last_late.load(simd), self.new_late.load(simd));
        let (same_low, same_high) = last_late.simd_eq(new_late).widen();
        let (late_low, late_high) = new_late.simd_eq(1).widen();
        let (same, late) = ([same_low, same_high], [late_low, late_high]);
        let (ns, step) = (load_pair(simd, &self.ns), load_pair(simd, &self.step));
        let heat = load_pair(simd, &self.heat);
        let one = f64x8::splat(simd, 1.0);
        let mut next = [(one, one, one, i64x8::splat(simd, 0)); 2];
        for half in 0..2 {
            let change = late[half].select(parameters.down[half], parameters.up[half]);
            let base = same[half].select(step[half], one);
            let step = base + change * heat[half];
            let step = step.simd_le(MIN_STEP).select(one, step);
            let ns = (ns[half] * step).max(MIN_SLEEP_NS).min(MAX_SLEEP_NS as f64);
            let hotter = (heat[half] * parameters.heat_up[half]).min(1.0);
            let cooler = (heat[half] * parameters.cool_down[half]).max(MIN_HEAT);
            let heat = same[half].select(hotter, cooler);
            let rounded: i64x8<S> = ((ns + 0.5).floor() + LOW_BITS).bitcast();
            next[half] = (ns, step, heat, rounded);
        }
        // Each half of `next` is the sleep, its step, the heat and the rounded sleep.
        store_pair([next[0].0, next[1].0], &mut self.ns);
        store_pair([next[0].1, next[1].1], &mut self.step);
        store_pair([next[0].2, next[1].2], &mut self.heat);
        self.last_late.store(new_late);
        next[0].3.narrow(next[1].3)
    }
}

#[derive(Clone, Copy)]
struct PasParameters<S: Simd> {
    up: [f64x8<S>; 2],
    down: [f64x8<S>; 2],
    heat_up: [f64x8<S>; 2],
    cool_down: [f64x8<S>; 2],
}

impl<S: Simd> PasParameters<S> {
    #[inline(always)]
    fn load(simd: S, pas: &PasGroup) -> Self {
        PasParameters {
            up: load_pair(simd, &pas.up),
            down: load_pair(simd, &pas.down),
            heat_up: load_pair(simd, &pas.heat_up),
            cool_down: load_pair(simd, &pas.cool_down),
        }
    }
}

#[inline(always)]
fn sleep_outcome<S: Simd>(
    asked: i32x16<S>,
    wait: i32x16<S>,
    plain: &PlainCosts,
    input: &KernelInput,
) -> IoOutcome<S> {
    let wake = asked + plain.wake;
    let clear = wait.simd_gt(wake + input.costs.lead);
    let reaped = (asked + plain.hit).max(wait + input.costs.reap);
    IoOutcome {
        clear,
        observed: clear.select(wait, reaped),
        polled: wait - wake,
    }
}

#[inline(always)]
fn simulate_io<S: Simd>(
    simd: S,
    sums: &mut RunningSums<S>,
    pas: &mut PasGroup,
    parameters: &PasParameters<S>,
    i: usize,
    input: &KernelInput,
) -> (mask32x16<S>, i32x16<S>) {
    let wait = i32x16::splat(simd, input.piece.wait[i]);
    let zero = i32x16::splat(simd, 0);
    let Some((bucket, plain)) = pas
        .buckets
        .get_mut(usize::from(input.piece.row[i]))
        .zip(input.costs.plain.as_ref())
    else {
        sums.left -= wait;
        sums.polled += wait;
        sums.cpu += wait;
        return (mask32x16::splat(simd, true), wait);
    };
    let asked = bucket.learn(simd, parameters);
    let outcome = sleep_outcome(asked, wait, plain, input);
    bucket.new_late.store(outcome.clear.select(zero, zero + 1));
    let cpu = outcome.cpu(zero + plain.cpu_clear, zero + plain.cpu_hit);
    *sums = sums.add(
        &outcome,
        [asked, zero + 1, cpu],
        sums.left - outcome.observed,
    );
    (outcome.clear, outcome.observed)
}

/// Number of groups that take turns by I/O: each waits some 60 cycles for its last outcome.
pub(super) const GROUPS_IN_TURN: usize = 4;

#[inline(always)]
pub(super) fn run<S: Simd>(simd: S, groups: &mut [SimdGroup], input: &KernelInput) {
    match groups {
        [a, b, c, d] => in_turns(simd, [a, b, c, d], input),
        fewer => {
            // The closure of a `for_each` would not be inlined: instructions would become calls.
            for group in fewer {
                in_turns(simd, [group], input);
            }
        }
    }
}

/// Runs groups over a piece in turns. An event changes no sleep here, unlike in the other kernels.
/// So an event is handled after its I/O, or before it if it was already overdue.
#[inline(always)]
fn in_turns<S: Simd, const N: usize>(
    simd: S,
    mut groups: [&mut SimdGroup; N],
    input: &KernelInput,
) {
    let mut states: [PasGroup; N] = groups
        .each_mut()
        .map(|g| g.pas.take().unwrap_or_else(PasGroup::new));
    let parameters: [PasParameters<S>; N] = std::array::from_fn(
        #[inline(always)]
        |n| PasParameters::load(simd, &states[n]),
    );
    let mut sums: [RunningSums<S>; N] = std::array::from_fn(
        #[inline(always)]
        |n| RunningSums::load(simd, groups[n]),
    );
    for i in 0..input.piece.len() {
        for n in 0..N {
            let (group, sums) = (&mut *groups[n], &mut sums[n]);
            run_io(simd, group, sums, &mut states[n], &parameters[n], i, input);
        }
    }
    for (n, state) in states.into_iter().enumerate() {
        sums[n].store(groups[n]);
        groups[n].pas = Some(state);
    }
}

#[inline(always)]
fn run_io<S: Simd>(
    simd: S,
    group: &mut SimdGroup,
    sums: &mut RunningSums<S>,
    pas: &mut PasGroup,
    parameters: &PasParameters<S>,
    i: usize,
    input: &KernelInput,
) {
    let piece = &input.piece;
    let returned = i32x16::splat(simd, piece.returned[i]);
    let overdue = sums.left.simd_le(returned);
    if overdue.any_true() {
        sums.store(group);
        set_bits(overdue.to_bitmask()).for_each(|lane| group.prepare(simd, lane, i, input));
        *sums = RunningSums::load(simd, group);
    }
    let (clear, observed) = simulate_io(simd, sums, pas, parameters, i, input);
    count_latency(group, input, i, clear, observed);
    let due = sums.left.simd_le(returned);
    if due.any_true() {
        sums.store(group);
        let (due, none) = (due.to_bitmask(), [0; SIMD_LANES]);
        group.complete(simd, due, i, &none, &WindowBefore::default(), input);
        *sums = RunningSums::load(simd, group);
    }
}
