//! Simulates many configurations in one pass over a trace. The configurations are laid out as a
//! structure of arrays, sixteen to a group. Each group is one task; of `pas` up to four groups are.
//!
//! It is the same closed loop as [`simulate`](crate::simulate), which stays the reference, but in
//! whole nanoseconds: what the cost model adds to an I/O is rounded, everything else is exact, and
//! with whole costs so are the results. It needs memory for one piece of the trace and for the
//! configurations: a trace may come in parts of any size.
//!
//! Three kernels do the work: `plain` for one bucket and delays that are known beforehand, `drawn`
//! for everything else with windows or fixed sleeps, `pas` for the rule `pas`.

mod costs;
mod drawn;
mod error;
mod group;
mod histogram;
mod hit;
mod lane;
mod lanes;
mod pas;
mod piece;
mod plain;
mod publish;
mod row;
mod sleeps;
mod totals;

pub use error::BatchError;

use crate::closed::{Draws, Drive};
use crate::outcome::Outcome;
use crate::recording::Recording;
use costs::Costs;
use fearless_simd::{Level, dispatch};
use group::Group;
use histogram::{Common, Counting};
use hit::Lines;
use lane::{Lane, Rule, Stage};
use lanes::LANES;
use pas::{Pas, TURNS};
use piece::Piece;
use q2c_model::{CostModel, Nanos};
use q2c_policy::form::{Form, Statistic};
use q2c_policy::{BUCKETS, PolicySpec};
use rayon::prelude::*;

/// Times from this one on, 0.54 s, are too long for a kernel: the sum of two shorter ones fits into
/// 32 bits.
const FAR: i32 = 1 << 29;
/// The longest sleep that a batch takes, ns.
const LONGEST: u64 = 1 << 28;
/// The longest window that a batch takes, ns: the sum of the observed times in it fits into 32
/// bits.
const LONGEST_WINDOW: u64 = 1 << 30;

/// What a kernel reads beside its group; the same for all groups of a piece.
pub(crate) struct Around<'a> {
    piece: &'a Piece,
    costs: &'a Costs,
    hit: &'a Lines,
    counting: Counting,
    /// Latencies that are counted once for all configurations; `None` where that is not possible.
    common: Option<&'a Common>,
    /// The one bucket of the piece, when the plain kernel runs.
    only: Option<usize>,
    /// Buckets that the trace had so far, one bit each; I/Os without a bucket left out.
    seen: u32,
    /// Simulated time of a configuration at which counting begins, ns.
    warm_up: i64,
    /// Simulated time at which counting ends, ns.
    stop: i64,
}

/// Many configurations that are simulated on one trace, in a closed loop of depth 1.
///
/// The order of calls is [`Batch::new`], [`Batch::feed`] for each part of the trace in order (or
/// for the whole trace several times, until [`Batch::is_done`]), then [`Batch::finish`]. Draws
/// depend on the seed and on the number of the I/O alone. So the outcomes do not depend on the
/// number of cores, and, but for percentiles, not on the size of the parts.
pub struct Batch {
    /// Groups of windowed rules and fixed sleeps first, then those of `pas`.
    groups: Vec<Group>,
    /// Number of groups before those of `pas`.
    windowed: usize,
    /// For each configuration, in the order given: its group and its lane.
    places: Vec<(usize, usize)>,
    piece: Piece,
    costs: Costs,
    hit: Lines,
    /// Which latencies are counted; set by the first piece.
    counting: Counting,
    /// Latencies counted once for all configurations: where a clear sleep does not change a latency
    /// and percentiles are wanted.
    common: Option<Common>,
    draws: Draws,
    /// Whether all delays are known beforehand, as the plain kernel needs it.
    plain: bool,
    /// The bucket that the plain kernel works in, while the trace has had no other.
    only: Option<usize>,
    /// Buckets that the trace had so far, one bit each; I/Os without a bucket left out.
    seen: u32,
    warm_up: i64,
    stop: i64,
    level: Level,
}

/// Configurations of one kind may share a group.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Windowed(Statistic),
    Pas,
}

/// A configuration in the form in which a lane holds it.
#[derive(Clone, Copy)]
struct Held {
    rule: Rule,
    /// The sleep that the lane begins with, ns.
    sleep: i32,
    kind: Kind,
}

/// The form in which a lane holds `policy`; `None` when a batch cannot hold it. `known` says
/// whether delays are known beforehand, as `pas` needs it.
fn held(policy: &PolicySpec, known: bool) -> Option<Held> {
    let (rule, sleep, kind) = match policy.form() {
        Form::Fixed(sleep) if sleep.0 <= LONGEST => {
            (Rule::Still, sleep.0 as i32, Kind::Windowed(Statistic::Mean))
        }
        Form::Windowed(form) if form.period.0 <= LONGEST_WINDOW => {
            (Rule::Windowed(form), 0, Kind::Windowed(form.statistic))
        }
        Form::Pas(of) if known => (Rule::Pas(of), 0, Kind::Pas),
        _ => return None,
    };
    Some(Held { rule, sleep, kind })
}

impl Kind {
    fn statistic(self) -> Statistic {
        match self {
            Kind::Windowed(statistic) => statistic,
            Kind::Pas => Statistic::Mean,
        }
    }
}

impl Batch {
    /// Says for each configuration whether a batch can hold it on a machine of this cost.
    #[must_use]
    pub fn holds(policies: &[PolicySpec], cost: &CostModel) -> Vec<bool> {
        let costs = Costs::new(cost).filter(|costs| Lines::new(&costs.hit).is_some());
        let known = costs.as_ref().map(|costs| costs.plain.is_some());
        let one = |policy| known.is_some_and(|known| held(policy, known).is_some());
        policies.iter().map(one).collect()
    }

    /// A batch of `policies` for one lane of depth 1. An I/O counts when it begins at or after
    /// `drive.warm_up` and before `drive.warm_up + drive.measure`, in each configuration's
    /// simulated time; [`Drive::ONE_PASS`] counts to the trace's end. Without `percentiles` the
    /// outcomes have 0 in their place.
    ///
    /// # Errors
    /// When a batch cannot hold one of the configurations; see [`Batch::holds`].
    pub fn new(
        policies: &[PolicySpec],
        cost: &CostModel,
        drive: Drive,
        percentiles: bool,
    ) -> Result<Self, BatchError> {
        let time = |t: Nanos| i64::try_from(t.0).unwrap_or(i64::MAX);
        let (warm_up, measure) = (time(drive.warm_up), time(drive.measure));
        let costs = Costs::new(cost).ok_or(BatchError::Corners)?;
        let hit = Lines::new(&costs.hit).ok_or(BatchError::Corners)?;
        let mut batch = Batch {
            hit,
            counting: Counting::new(Vec::new()),

            groups: Vec::new(),
            windowed: 0,
            places: vec![(0, 0); policies.len()],
            piece: Piece::new(),
            plain: costs.plain.is_some(),
            common: (costs.plain.is_some() && percentiles).then(Common::new),
            seen: 0,
            costs,
            draws: Draws::new(cost, drive.seed),
            only: None,
            warm_up,
            stop: warm_up.saturating_add(measure),
            level: Level::new(),
        };
        let each = policies.iter().enumerate();
        let known = batch.costs.plain.is_some();
        let all = each.map(|(i, policy)| match held(policy, known) {
            Some(held) => Ok((i, held)),
            None => Err(BatchError::Rule(policy.clone())),
        });
        let all: Vec<(usize, Held)> = all.collect::<Result<_, _>>()?;
        for kind in [
            Kind::Windowed(Statistic::Mean),
            Kind::Windowed(Statistic::Min),
            Kind::Pas,
        ] {
            batch.fill(&all, kind, percentiles);
        }
        Ok(batch)
    }

    /// Adds the groups of the configurations of one kind. Configurations with windows of one period
    /// stand together as far as possible, because their windows end together. Else they keep their
    /// order: neighbours in a sweep are similar, so an event that is rare in one lane is rare in
    /// its group.
    fn fill(&mut self, all: &[(usize, Held)], kind: Kind, percentiles: bool) {
        let of_kind = all.iter().filter(|(_, held)| held.kind == kind);
        let mut mine: Vec<(usize, Held)> = of_kind.copied().collect();
        mine.sort_by_key(|(_, held)| held.rule.period());
        for chunk in mine.chunks(LANES) {
            let rule = |lane: usize| chunk.get(lane).map(|(_, held)| held.rule);
            let lanes = std::array::from_fn(|lane| match rule(lane) {
                Some(rule) => Lane::new(rule, self.warm_up),
                None => Lane::empty(),
            });
            let mut group = Group::new(lanes, kind.statistic(), percentiles);
            for (lane, (i, held)) in chunk.iter().enumerate() {
                self.places[*i] = (self.groups.len(), lane);
                let (level, costs) = (self.level, &self.costs);
                dispatch!(level, simd => group.start(simd, lane, held.sleep, costs));
                if let Rule::Pas(of) = held.rule {
                    group.pas.get_or_insert_with(Pas::new).set(lane, of);
                    group.sums_all = true;
                }
            }
            self.windowed += usize::from(kind != Kind::Pas);
            self.groups.push(group);
        }
    }

    /// Replays the next part of the trace on all configurations that are not done.
    ///
    /// # Errors
    /// When an I/O's times are too long; then nothing of the part was replayed.
    pub fn feed(&mut self, part: &Recording) -> Result<(), BatchError> {
        check(part, self.piece.first + self.piece.len() as u64)?;
        let mut from = 0;
        while from < part.len() && !self.is_done() {
            from += self.piece.fill(part, from, &self.draws);
            self.run();
        }
        Ok(())
    }

    /// Runs all groups over the piece. The plain kernel is chosen from the first piece on until the
    /// trace shows a second bucket, and never again after that.
    fn run(&mut self) {
        if self.piece.first == 0 {
            self.counting = Counting::new(self.piece.latencies());
        }
        if let Some(common) = &mut self.common {
            common.take(&self.piece);
        }
        self.seen |= self.piece.rows() & ((1 << BUCKETS) - 1);
        let row = self.piece.only_row().map(usize::from);
        let begins = self.piece.first == 0;
        let was = self.only;
        self.only = match row {
            Some(row) if self.plain && (begins || was == Some(row)) => Some(row),
            _ => None,
        };
        let level = self.level;
        if was.is_some() && self.only.is_none() {
            let costs = &self.costs;
            for group in &mut self.groups {
                dispatch!(level, simd => group.complete_rows(simd, costs));
            }
        }
        let around = Around {
            piece: &self.piece,
            costs: &self.costs,
            hit: &self.hit,
            counting: self.counting,
            common: self.common.as_ref(),
            only: self.only,
            seen: self.seen,
            warm_up: self.warm_up,
            stop: self.stop,
        };
        let (windowed, pas) = self.groups.split_at_mut(self.windowed);
        windowed.par_iter_mut().for_each(|group| {
            if group.live > 0 {
                dispatch!(level, simd => match around.only {
                    Some(row) => plain::run(simd, group, row, &around),
                    None => drawn::run(simd, group, &around),
                });
                group.leave(&around);
            }
        });
        pas.par_chunks_mut(TURNS).for_each(|groups| {
            dispatch!(level, simd => pas::run(simd, groups, &around));
            groups.iter_mut().for_each(|group| group.leave(&around));
        });
    }

    /// Whether every configuration has simulated the time that it should count.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.groups.iter().all(|group| group.live == 0)
    }

    /// The outcome of each configuration, in the order in which they were given. Configurations
    /// that are not done count to the end of what was fed, over the simulated time since their
    /// warm-up.
    #[must_use]
    pub fn finish(mut self) -> Vec<Outcome> {
        let around = Around {
            piece: &self.piece,
            costs: &self.costs,
            hit: &self.hit,
            counting: self.counting,
            common: self.common.as_ref(),
            only: self.only,
            seen: self.seen,
            warm_up: self.warm_up,
            stop: self.stop,
        };
        for group in &mut self.groups {
            for lane in 0..LANES {
                if group.lanes[lane].stage != Stage::Done {
                    let wall = group.now(lane) - self.warm_up;
                    group.conclude(lane, self.piece.len(), wall as f64, &around);
                }
            }
        }
        let outcome = |&(group, lane): &(usize, usize)| self.groups[group].lanes[lane].outcome;
        self.places.iter().map(outcome).collect()
    }
}

/// Whether all times of a part are short enough; `first` is the number of its first I/O in the
/// trace.
fn check(part: &Recording, first: u64) -> Result<(), BatchError> {
    let long = |t: &f32| *t >= FAR as f32;
    let found = part.wait.iter().chain(part.submit.iter()).position(long);
    found.map_or(Ok(()), |at| {
        let io = at % part.len();
        let ns = part.wait[io].max(part.submit[io]);
        Err(BatchError::TooLong {
            io: first + io as u64,
            ns: f64::from(ns),
        })
    })
}

#[cfg(test)]
mod tests;
