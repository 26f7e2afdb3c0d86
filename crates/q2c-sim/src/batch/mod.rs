//! Many configurations in one pass over a trace: structure of arrays, sixteen configurations to a group, one group per task.
//!
//! The same closed loop as [`simulate`](crate::simulate), which stays the reference, in whole nanoseconds: what the cost model adds to an I/O is
//! rounded, everything else is exact, and with whole costs so are the results. Memory is the trace's columns and
//! O(configurations): a trace may come in parts of any size.

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

/// Times from here on, 0.54 s, are too long for a kernel: sums of two fit into a lane.
const FAR: i32 = 1 << 29;
/// The longest sleep, ns.
const LONGEST: u64 = 1 << 28;
/// The longest window, ns: its sum of observed times fits into a lane.
const LONGEST_WINDOW: u64 = 1 << 30;

/// What a kernel needs beside its group.
pub(crate) struct Around<'a> {
    piece: &'a Piece,
    costs: &'a Costs,
    hit: &'a Lines,
    counting: Counting,
    /// Latencies that are counted for all, where they can be.
    common: Option<&'a Common>,
    /// The one bucket of a piece for the plain kernel.
    only: Option<usize>,
    /// Buckets seen so far, one bit each.
    seen: u32,
    /// Simulated time at which counting begins, ns.
    warm_up: i64,
    /// And ends.
    stop: i64,
}

/// Many configurations over one trace.
pub struct Batch {
    /// Those of windowed rules first.
    groups: Vec<Group>,
    /// How many these are.
    windowed: usize,
    /// Per configuration as given: its group and lane.
    places: Vec<(usize, usize)>,
    piece: Piece,
    costs: Costs,
    hit: Lines,
    /// Set by the first piece.
    counting: Counting,
    /// Where a sleep in time changes nothing and percentiles are wanted.
    common: Option<Common>,
    draws: Draws,
    /// Whether the cost model allows for the plain kernel.
    plain: bool,
    /// The bucket that the plain kernel works in, as long as there is but one.
    only: Option<usize>,
    /// Buckets seen so far, one bit each; I/Os without one left out.
    seen: u32,
    warm_up: i64,
    stop: i64,
    level: Level,
}

/// Which groups a configuration belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Windowed(Statistic),
    Pas,
}

/// A configuration as lanes hold it, and the sleep it begins with.
#[derive(Clone, Copy)]
struct Held {
    rule: Rule,
    sleep: i32,
    kind: Kind,
}

/// `known`: whether delays are known beforehand.
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
    /// Which of these configurations a batch can hold on a machine of this cost.
    #[must_use]
    pub fn holds(policies: &[PolicySpec], cost: &CostModel) -> Vec<bool> {
        let costs = Costs::new(cost).filter(|costs| Lines::new(&costs.hit).is_some());
        let known = costs.as_ref().map(|costs| costs.plain.is_some());
        let one = |policy| known.is_some_and(|known| held(policy, known).is_some());
        policies.iter().map(one).collect()
    }

    /// A batch of `policies` for one lane of depth 1. What begins within `drive.warm_up` does not count, nor what begins after
    /// `drive.measure` more of each configuration's simulated time; [`Drive::ONE_PASS`] counts to the trace's end.
    ///
    /// # Errors
    /// When it cannot hold one of the configurations; see [`Batch::holds`].
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

    /// Groups of the configurations of one kind and, as far as that goes, one period: their windows end together. Otherwise in their
    /// order: neighbours in a sweep are alike, and what is rare in one lane is then rare in its group.
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

    /// Replays the next part of the trace.
    ///
    /// # Errors
    /// When an I/O's times are too long; nothing of the part was replayed then.
    pub fn feed(&mut self, part: &Recording) -> Result<(), BatchError> {
        check(part, self.piece.first + self.piece.len() as u64)?;
        let mut from = 0;
        while from < part.len() && !self.is_done() {
            from += self.piece.fill(part, from, &self.draws);
            self.run();
        }
        Ok(())
    }

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

    /// Whether every configuration has counted as long as it should.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.groups.iter().all(|group| group.live == 0)
    }

    /// What each configuration gave, in the order they were given. Those that are not done count to the trace's end, over the
    /// time since their warm-up.
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

/// Whether all times fit into a lane.
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
