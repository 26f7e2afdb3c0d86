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
mod piece;
mod plain;
mod row;
mod totals;

pub use error::BatchError;

use crate::closed::{Draws, Drive};
use crate::outcome::Outcome;
use crate::recording::Recording;
use costs::Costs;
use fearless_simd::{Level, dispatch};
use group::Group;
use hit::Lines;
use lane::{Lane, Rule, Stage};
use lanes::LANES;
use piece::Piece;
use q2c_model::{CostModel, Nanos};
use q2c_policy::{BUCKETS, PolicySpec};
use q2c_policy::form::{Form, Statistic};
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
    groups: Vec<Group>,
    /// Per configuration as given: its group and lane.
    places: Vec<(usize, usize)>,
    piece: Piece,
    costs: Costs,
    hit: Lines,
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

fn rule(policy: &PolicySpec) -> Option<(Rule, i32)> {
    match policy.form() {
        Form::Fixed(sleep) if sleep.0 <= LONGEST => Some((Rule::Still, sleep.0 as i32)),
        Form::Windowed(form) if form.period.0 <= LONGEST_WINDOW => Some((Rule::Windowed(form), 0)),
        _ => None,
    }
}

impl Batch {
    /// Whether a batch can hold this configuration.
    #[must_use]
    pub fn holds(policy: &PolicySpec) -> bool {
        rule(policy).is_some()
    }

    /// A batch of `policies` for one lane of depth 1. What begins within `drive.warm_up` does not count, nor what begins after
    /// `drive.measure` more of each configuration's simulated time; [`Nanos::MAX`](u64::MAX) counts to the trace's end.
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
        let costs = Costs::new(cost);
        let hit = Lines::new(&costs.hit).ok_or(BatchError::Corners(costs.hit.x.len()))?;
        let mut batch = Batch {
            hit,
            groups: Vec::new(),
            places: vec![(0, 0); policies.len()],
            piece: Piece::new(),
            plain: costs.plain.is_some() && !percentiles,
            seen: 0,
            costs,
            draws: Draws::new(cost, drive.seed),
            only: None,
            warm_up,
            stop: warm_up.saturating_add(measure),
            level: Level::new(),
        };
        for statistic in [Statistic::Mean, Statistic::Min] {
            batch.fill(policies, statistic, percentiles)?;
        }
        Ok(batch)
    }

    /// Groups of the configurations that need `statistic`, in their order: neighbours in a sweep are alike, and what
    /// is rare in one lane is then rare in its group.
    fn fill(
        &mut self,
        policies: &[PolicySpec],
        statistic: Statistic,
        percentiles: bool,
    ) -> Result<(), BatchError> {
        let mut mine = Vec::new();
        for (i, policy) in policies.iter().enumerate() {
            let (rule, sleep) = rule(policy).ok_or_else(|| BatchError::Rule(policy.clone()))?;
            let needs = match rule {
                Rule::Windowed(form) => form.statistic,
                _ => Statistic::Mean,
            };
            if needs == statistic {
                mine.push((i, rule, sleep));
            }
        }
        for chunk in mine.chunks(LANES) {
            let mut lanes: [Lane; LANES] = std::array::from_fn(|_| Lane::empty());
            for (lane, &(i, rule, _)) in lanes.iter_mut().zip(chunk) {
                *lane = Lane::new(rule, self.warm_up);
                let _ = i;
            }
            let mut group = Group::new(lanes, statistic, percentiles);
            for (lane, &(i, _, sleep)) in chunk.iter().enumerate() {
                self.places[i] = (self.groups.len(), lane);
                group.start(lane, sleep, &self.costs);
            }
            self.groups.push(group);
        }
        Ok(())
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
        self.seen |= self.piece.rows() & ((1 << BUCKETS) - 1);
        let row = self.piece.only_row().map(usize::from);
        let begins = self.piece.first == 0;
        let was = self.only;
        self.only = match row {
            Some(row) if self.plain && (begins || was == Some(row)) => Some(row),
            _ => None,
        };
        let around = Around {
            piece: &self.piece,
            costs: &self.costs,
            hit: &self.hit,
            only: self.only,
            seen: self.seen,
            warm_up: self.warm_up,
            stop: self.stop,
        };
        let level = self.level;
        let live = |group: &&mut Group| group.live > 0;
        self.groups.par_iter_mut().filter(live).for_each(|group| {
            dispatch!(level, simd => match around.only {
                Some(row) => plain::run(simd, group, row, &around),
                None => drawn::run(simd, group, &around),
            });
            group.leave(&around);
            if let Some(row) = around.only {
                plain::settle(group, row, &around);
            }
        });
    }

    /// Whether every configuration has counted as long as it should.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.groups.iter().all(|group| group.live == 0)
    }

    /// What each configuration gave, in the order they were given. Those that are not done count to the trace's end, over the
    /// time they took.
    #[must_use]
    pub fn finish(mut self) -> Vec<Outcome> {
        let around = Around {
            piece: &self.piece,
            costs: &self.costs,
            hit: &self.hit,
            only: self.only,
            seen: self.seen,
            warm_up: self.warm_up,
            stop: self.stop,
        };
        for group in &mut self.groups {
            for lane in 0..LANES {
                if group.lanes[lane].stage != Stage::Done {
                    group.conclude(lane, self.piece.len(), None, &around);
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
    let found = part.wait.iter().chain(&part.submit).position(long);
    found.map_or(Ok(()), |at| {
        let io = at % part.len();
        let ns = part.wait[io].max(part.submit[io]);
        Err(BatchError::TooLong { io: first + io as u64, ns: f64::from(ns) })
    })
}
