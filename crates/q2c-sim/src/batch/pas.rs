//! The kernel of `pas`, for delays that are known beforehand. Every I/O's outcome moves the sleep
//! of its bucket. It computes in double precision and in the rule's own order of operations, so
//! that it equals the rule bit for bit.

use super::costs::Plain;
use super::drawn::load;
use super::group::{Group, Held};
use super::lanes::{LANES, Lanes, each};
use super::plain::tally;
use super::{Around, LONGEST};
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f64x8, i32x16, i64x8, mask32x16};
use q2c_policy::BUCKETS;
use q2c_policy::form::{COOL_DOWN, COOLEST, HEAT_UP, NOTHING, SHORTEST, Sensitivity};

/// One number of each lane in double precision: two registers.
type Doubles = Lanes<f64>;

/// The state of the rule in one bucket.
#[derive(Clone)]
struct Bucket {
    /// The sleep, not rounded, ns.
    ns: Doubles,
    /// The factor by which the sleep moved last.
    step: Doubles,
    /// How strongly an outcome changes the step, 1 without adaption.
    heat: Doubles,
    /// The last outcome learned, 1 for late.
    late: Lanes<i32>,
    /// The outcome that the next decision learns, 1 for late.
    news: Lanes<i32>,
}

/// Parameters and state of the rule in the lanes of a group.
pub(super) struct Pas {
    up: Doubles,
    down: Doubles,
    heat_up: Doubles,
    cool_down: Doubles,
    buckets: Box<[Bucket]>,
}

impl Pas {
    pub fn new() -> Self {
        let one = Lanes([1.0; LANES]);
        let bucket = Bucket {
            ns: Lanes([SHORTEST; LANES]),
            step: one,
            heat: one,
            late: Lanes([1; LANES]),
            news: Lanes([0; LANES]),
        };
        Pas {
            up: Lanes::default(),
            down: Lanes::default(),
            heat_up: one,
            cool_down: one,
            buckets: vec![bucket; BUCKETS].into(),
        }
    }

    /// Sets the parameters of one lane. Without adaption the heat stays 1.
    pub fn set(&mut self, lane: usize, of: Sensitivity) {
        self.up.0[lane] = of.up;
        self.down.0[lane] = -of.down;
        if of.adaptive {
            self.heat_up.0[lane] = HEAT_UP;
            self.cool_down.0[lane] = COOL_DOWN;
        }
    }
}

/// Loads sixteen numbers into two registers.
#[inline(always)]
fn pair<S: Simd>(simd: S, lanes: &Doubles) -> [f64x8<S>; 2] {
    let (low, high) = lanes.0.split_at(LANES / 2);
    [f64x8::from_slice(simd, low), f64x8::from_slice(simd, high)]
}

/// Stores the two registers that [`pair`] loads.
#[inline(always)]
fn put<S: Simd>(halves: [f64x8<S>; 2], lanes: &mut Doubles) {
    let (low, high) = lanes.0.split_at_mut(LANES / 2);
    halves[0].store_slice(low);
    halves[1].store_slice(high);
}

/// 2^52. After it is added to a smaller whole number, that number stands in the low bits.
const WHOLE: f64 = 4_503_599_627_370_496.0;

impl Bucket {
    /// Learns the last outcome of each lane and returns each lane's next sleep, ns.
    #[inline(always)]
    fn learn<S: Simd>(&mut self, simd: S, of: &Parameters<S>) -> i32x16<S> {
        let (late, news) = (load(simd, &self.late), load(simd, &self.news));
        let (same_low, same_high) = late.simd_eq(news).widen();
        let (late_low, late_high) = news.simd_eq(1).widen();
        let (same, late) = ([same_low, same_high], [late_low, late_high]);
        let (ns, step) = (pair(simd, &self.ns), pair(simd, &self.step));
        let heat = pair(simd, &self.heat);
        let one = f64x8::splat(simd, 1.0);
        let mut next = [(one, one, one, i64x8::splat(simd, 0)); 2];
        for half in 0..2 {
            let change = late[half].select(of.down[half], of.up[half]);
            let from = same[half].select(step[half], one);
            let step = from + change * heat[half];
            let step = step.simd_le(NOTHING).select(one, step);
            let ns = (ns[half] * step).max(SHORTEST).min(LONGEST as f64);
            let hotter = (heat[half] * of.heat_up[half]).min(1.0);
            let cooler = (heat[half] * of.cool_down[half]).max(COOLEST);
            let heat = same[half].select(hotter, cooler);
            let whole: i64x8<S> = ((ns + 0.5).floor() + WHOLE).bitcast();
            next[half] = (ns, step, heat, whole);
        }
        put([next[0].0, next[1].0], &mut self.ns);
        put([next[0].1, next[1].1], &mut self.step);
        put([next[0].2, next[1].2], &mut self.heat);
        news.store_array(&mut self.late.0);
        next[0].3.narrow(next[1].3)
    }
}

/// The parameters of all lanes, in registers.
#[derive(Clone, Copy)]
struct Parameters<S: Simd> {
    up: [f64x8<S>; 2],
    down: [f64x8<S>; 2],
    heat_up: [f64x8<S>; 2],
    cool_down: [f64x8<S>; 2],
}

/// The lanes' time and sums, kept in registers between two events.
#[derive(Clone, Copy)]
struct Moving<S: Simd> {
    left: i32x16<S>,
    misses: i32x16<S>,
    asked: i32x16<S>,
    slept: i32x16<S>,
    polled: i32x16<S>,
    cpu: i32x16<S>,
}

impl<S: Simd> Parameters<S> {
    #[inline(always)]
    fn load(simd: S, pas: &Pas) -> Self {
        Parameters {
            up: pair(simd, &pas.up),
            down: pair(simd, &pas.down),
            heat_up: pair(simd, &pas.heat_up),
            cool_down: pair(simd, &pas.cool_down),
        }
    }
}

impl<S: Simd> Moving<S> {
    #[inline(always)]
    fn load(simd: S, group: &Group) -> Self {
        let sums = &group.sums;
        Moving {
            left: load(simd, &group.left),
            misses: load(simd, &sums.misses),
            asked: load(simd, &sums.asked),
            slept: load(simd, &sums.slept),
            polled: load(simd, &sums.polled),
            cpu: load(simd, &sums.cpu),
        }
    }

    #[inline(always)]
    fn store(self, group: &mut Group) {
        self.left.store_array(&mut group.left.0);
        let sums = &mut group.sums;
        self.misses.store_array(&mut sums.misses.0);
        self.asked.store_array(&mut sums.asked.0);
        self.slept.store_array(&mut sums.slept.0);
        self.polled.store_array(&mut sums.polled.0);
        self.cpu.store_array(&mut sums.cpu.0);
    }
}

/// How one I/O that sleeps ended in each lane.
struct Fate<S: Simd> {
    clear: mask32x16<S>,
    observed: i32x16<S>,
    wake: i32x16<S>,
}

#[inline(always)]
fn fate<S: Simd>(asked: i32x16<S>, wait: i32x16<S>, plain: &Plain, around: &Around<'_>) -> Fate<S> {
    let wake = asked + plain.wake;
    let clear = wait.simd_gt(wake + around.costs.lead);
    let reaped = (asked + plain.hit).max(wait + around.costs.reap);
    Fate {
        clear,
        observed: clear.select(wait, reaped),
        wake,
    }
}

/// Simulates I/O `i` in all lanes. Returns which lanes were clear and what each observed.
#[inline(always)]
fn step<S: Simd>(
    simd: S,
    moving: &mut Moving<S>,
    pas: &mut Pas,
    of: &Parameters<S>,
    i: usize,
    around: &Around<'_>,
) -> (mask32x16<S>, i32x16<S>) {
    let wait = i32x16::splat(simd, around.piece.wait[i]);
    let zero = i32x16::splat(simd, 0);
    let Some((bucket, plain)) = pas
        .buckets
        .get_mut(usize::from(around.piece.row[i]))
        .zip(around.costs.plain.as_ref())
    else {
        moving.left -= wait;
        moving.polled += wait;
        moving.cpu += wait;
        return (mask32x16::splat(simd, true), wait);
    };
    let asked = bucket.learn(simd, of);
    let Fate {
        clear,
        observed,
        wake,
    } = fate(asked, wait, plain, around);
    let missed = clear.select(zero, zero + 1);
    missed.store_array(&mut bucket.news.0);
    let rest = wait - wake;
    let sleeping = clear.select(rest + plain.cpu_clear, zero + plain.cpu_hit);
    moving.left -= observed;
    moving.misses += missed;
    moving.asked += asked;
    moving.slept += 1;
    moving.polled += clear.select(rest, zero);
    moving.cpu += sleeping.min(observed);
    (clear, observed)
}

/// Number of groups that take turns, I/O by I/O. A group's decision waits some 60 cycles for its
/// own last outcome; the other groups fill that time.
pub(super) const TURNS: usize = 4;

/// Runs up to [`TURNS`] groups over a piece.
#[inline(always)]
pub(super) fn run<S: Simd>(simd: S, groups: &mut [Group], around: &Around<'_>) {
    match groups {
        [a, b, c, d] => in_turns(simd, [a, b, c, d], around),
        some => some
            .iter_mut()
            .for_each(|group| in_turns(simd, [group], around)),
    }
}

/// Runs groups over a piece in turns. Unlike in the other kernels an event changes no sleep, so it
/// is looked for after the I/O; before the I/O only one that is overdue is handled.
#[inline(always)]
fn in_turns<S: Simd, const N: usize>(simd: S, mut groups: [&mut Group; N], around: &Around<'_>) {
    let mut states: [Pas; N] = groups
        .each_mut()
        .map(|g| g.pas.take().unwrap_or_else(Pas::new));
    let of: [Parameters<S>; N] = std::array::from_fn(
        #[inline(always)]
        |n| Parameters::load(simd, &states[n]),
    );
    let mut moving: [Moving<S>; N] = std::array::from_fn(
        #[inline(always)]
        |n| Moving::load(simd, groups[n]),
    );
    for i in 0..around.piece.len() {
        for n in 0..N {
            let (group, moving) = (&mut *groups[n], &mut moving[n]);
            one(simd, group, moving, &mut states[n], &of[n], i, around);
        }
    }
    for (n, state) in states.into_iter().enumerate() {
        moving[n].store(groups[n]);
        groups[n].pas = Some(state);
    }
}

/// Simulates I/O `i` in one group, with its events.
#[inline(always)]
fn one<S: Simd>(
    simd: S,
    group: &mut Group,
    moving: &mut Moving<S>,
    pas: &mut Pas,
    of: &Parameters<S>,
    i: usize,
    around: &Around<'_>,
) {
    let piece = around.piece;
    let returned = i32x16::splat(simd, piece.returned[i]);
    let overdue = moving.left.simd_le(returned);
    if overdue.any_true() {
        moving.store(group);
        each(overdue.to_bitmask()).for_each(|lane| group.before(simd, lane, i, around));
        *moving = Moving::load(simd, group);
    }
    let (clear, observed) = step(simd, moving, pas, of, i, around);
    if let Some(histogram) = &mut group.histogram {
        tally(histogram, around, i, clear, observed);
    }
    let due = moving.left.simd_le(returned);
    if due.any_true() {
        moving.store(group);
        let (due, none) = (due.to_bitmask(), [0; LANES]);
        group.after(simd, due, i, &none, &Held::default(), around);
        *moving = Moving::load(simd, group);
    }
}
