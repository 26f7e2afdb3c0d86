//! Simulates many configurations in one pass over a trace. The configurations form a structure of
//! arrays, sixteen to a group. Each group is one task; up to four groups of `pas` share a task.
//!
//! It is the closed loop of [`simulate`](crate::simulate), which stays the reference, in whole
//! nanoseconds. What the cost model adds to an I/O is rounded, and everything else is exact; with
//! whole costs the results are exact too. Memory holds one piece of the trace and the
//! configurations, so a trace may come in parts of any size.
//!
//! Three kernels do the work: `plain` for one bucket and delays known beforehand, `pas` for the
//! rule `pas`, `drawn` for all other windows and fixed sleeps. `drawn` gives the same outcomes as
//! `plain`, but a sweep without calibration would take 1.4 to 2 times the CPU time
//! (docs/journal/2026-11-22-one-kernel.md). Sums that `drawn` and `pas` share are in `drawn`.

mod costs;
mod drawn;
mod group;
mod histogram;
mod lines;
mod pas;
mod piece;
mod plain;
mod priced;
mod publish;
mod row;
mod simd_lanes;
mod single;
mod sums;

pub(crate) use costs::CostTables;
pub(crate) use histogram::{CountingLimit, FIRST_LATENCIES, ranks};
pub(crate) use single::{PausedRun, PolicyOrPolling, SingleSimulator};
pub(crate) use sums::Sums;

use crate::outcome::SimOutcome;
use crate::recording::LaneRecording;
use crate::reference::{Drive, WakeDraws};
use fearless_simd::{Level, dispatch};
use group::{LaneRule, LaneStage, LaneState, SimdGroup};
use histogram::CommonHistogram;
use pas::{GROUPS_IN_TURN, PasGroup};
use piece::Piece;
use q2c_model::CostModel;
use q2c_policy::form::{Form, WindowStatistic};
use q2c_policy::{BUCKETS, PolicySpec};
use rayon::prelude::*;
use simd_lanes::SIMD_LANES;
use std::borrow::Cow;

/// Times of 0.54 s (in ns) and more are too long: the sum of two shorter ones fits into 32 bits.
const MAX_NS: i32 = 1 << 29;
/// The longest sleep that a batch takes, ns.
pub(crate) const MAX_SLEEP_NS: u64 = 1 << 28;
/// The longest window, ns: the sum of its observed times fits into 32 bits.
const MAX_WINDOW_NS: u64 = 1 << 30;

struct KernelInput {
    piece: Piece,
    costs: CostTables,
    counting: CountingLimit,
    /// Latencies counted once for all lanes, for percentiles; only if a clear sleep changes none.
    common_histogram: Option<CommonHistogram>,
    /// The only row of the trace so far, if the plain kernel runs.
    only_row: Option<usize>,
    row_bits: u32,
    warm_up: i64,
    stop: i64,
}

/// Simulates many configurations on one trace, in a closed loop of depth 1. Call [`Batch::new`],
/// then [`Batch::feed`] for each part in order (or for the whole until [`Batch::is_done`]), then
/// [`Batch::finish`]. Draws depend only on the seed and the I/O's number. So outcomes do not depend
/// on the number of cores, and on the parts only in their percentiles.
pub struct Batch {
    groups: Vec<SimdGroup>,
    windowed_groups: usize,
    group_and_lane: Vec<(usize, usize)>,
    input: KernelInput,
    draws: WakeDraws,
    level: Level,
}

#[derive(Clone, Copy, PartialEq)]
enum GroupKind {
    /// Rules on this statistic, and fixed sleeps.
    Windowed(WindowStatistic),
    Pas,
}

/// Returns the rule of a lane. `pas` needs delays that are known beforehand, without draws.
fn lane_rule(policy: &PolicySpec, delays_known: bool) -> Option<LaneRule> {
    match policy.form() {
        Form::Fixed(sleep) if sleep.0 <= MAX_SLEEP_NS => Some(LaneRule::Constant(sleep.0 as i32)),
        Form::Windowed(form) if form.period.0 <= MAX_WINDOW_NS => Some(LaneRule::Windowed(form)),
        Form::Pas(sensitivity) if delays_known => Some(LaneRule::Pas(sensitivity)),
        _ => None,
    }
}

impl GroupKind {
    fn from_rule(rule: &LaneRule) -> GroupKind {
        match rule {
            LaneRule::Constant(_) => GroupKind::Windowed(WindowStatistic::Mean),
            LaneRule::Windowed(form) => GroupKind::Windowed(form.statistic),
            LaneRule::Pas(_) => GroupKind::Pas,
        }
    }
}

impl Batch {
    /// Says for each configuration whether a batch can hold it with this cost model.
    pub(crate) fn fits(policies: &[PolicySpec], cost: &CostModel) -> Vec<bool> {
        let known = CostTables::new(cost).map(|costs| costs.plain.is_some());
        let fits = |policy| known.is_some_and(|known| lane_rule(policy, known).is_some());
        policies.iter().map(fits).collect()
    }

    /// Prepares a batch. An I/O counts if it begins at or after `drive.warm_up` and before
    /// `drive.warm_up + drive.measure`, in each configuration's simulated time; [`Drive::ONE_PASS`]
    /// counts to the trace's end. Without `percentiles` the outcomes hold 0 for them.
    ///
    /// Returns `None` if a batch cannot hold a configuration ([`Batch::fits`]) or the cost model.
    /// It may have 15 corner points of the hit delay and 255 of the curves over the sleep.
    pub fn new(
        policies: &[PolicySpec],
        cost: &CostModel,
        drive: Drive,
        percentiles: bool,
    ) -> Option<Self> {
        let (warm_up, stop) = drive.counted_range();
        let costs = CostTables::new(cost)?;
        let known = costs.plain.is_some();
        let rules = policies.iter().map(|policy| lane_rule(policy, known));
        let rules: Vec<LaneRule> = rules.collect::<Option<_>>()?;
        let mut batch = Batch {
            groups: Vec::new(),
            windowed_groups: 0,
            group_and_lane: vec![(0, 0); policies.len()],
            input: KernelInput {
                piece: Piece::new(),
                common_histogram: (known && percentiles).then(CommonHistogram::new),
                costs,
                counting: CountingLimit::new(Vec::new()),
                only_row: None,
                row_bits: 0,
                warm_up,
                stop,
            },
            draws: WakeDraws::new(cost, drive.seed),
            level: Level::new(),
        };
        for kind in [
            GroupKind::Windowed(WindowStatistic::Mean),
            GroupKind::Windowed(WindowStatistic::Min),
            GroupKind::Pas,
        ] {
            batch.add_groups(&rules, kind, percentiles);
        }
        Some(batch)
    }

    /// Puts configurations into groups by period, because windows of one period end together.
    /// Neighbours are similar, so an event that is rare in one lane is rare in its group.
    fn add_groups(&mut self, rules: &[LaneRule], kind: GroupKind, percentiles: bool) {
        let mut rules: Vec<_> = rules.iter().enumerate().collect();
        rules.retain(|(_, rule)| GroupKind::from_rule(rule) == kind);
        rules.sort_by_key(|(_, rule)| rule.period());
        let statistic = match kind {
            GroupKind::Windowed(statistic) => statistic,
            GroupKind::Pas => WindowStatistic::Mean,
        };
        for chunk in rules.chunks(SIMD_LANES) {
            let lanes = std::array::from_fn(|lane| match chunk.get(lane) {
                Some((_, rule)) => LaneState::new(**rule, self.input.warm_up),
                None => LaneState::empty(),
            });
            let mut group = SimdGroup::new(lanes, statistic, percentiles);
            for (lane, (i, rule)) in chunk.iter().enumerate() {
                self.group_and_lane[*i] = (self.groups.len(), lane);
                let (level, costs) = (self.level, &self.input.costs);
                dispatch!(level, simd => group.set_first_sleep(simd, lane, costs));
                if let LaneRule::Pas(sensitivity) = rule {
                    let pas = group.pas.get_or_insert_with(PasGroup::new);
                    pas.set(lane, *sensitivity);
                    group.keeps_all_sums = true;
                }
            }
            self.windowed_groups += usize::from(kind != GroupKind::Pas);
            self.groups.push(group);
        }
    }

    /// Simulates the next part of the trace. Returns `None`, with nothing replayed, if a submission
    /// or a device time takes 0.54 s or more.
    pub fn feed(&mut self, part: &LaneRecording) -> Option<()> {
        are_short(part).then_some(())?;
        let mut from = 0;
        while from < part.len() && !self.is_done() {
            from += self.input.piece.fill(part, from, &self.draws);
            self.simulate_piece();
        }
        Some(())
    }

    fn simulate_piece(&mut self) {
        let level = self.level;
        let was_plain = self.input.only_row.is_some();
        self.input.begin_piece();
        let input = &self.input;
        if was_plain && input.only_row.is_none() {
            for group in &mut self.groups {
                dispatch!(level, simd => group.complete_rows(simd, &input.costs));
            }
        }
        let (windowed, pas) = self.groups.split_at_mut(self.windowed_groups);
        windowed.par_iter_mut().for_each(|group| {
            if group.unfinished > 0 {
                dispatch!(level, simd => match input.only_row {
                    Some(row) => plain::run(simd, group, row, input),
                    None => drawn::run(simd, group, input),
                });
                group.end_piece(input);
            }
        });
        pas.par_chunks_mut(GROUPS_IN_TURN).for_each(|groups| {
            dispatch!(level, simd => pas::run(simd, groups, input));
            groups.iter_mut().for_each(|group| group.end_piece(input));
        });
    }

    /// True if every configuration has simulated all the time that counts.
    pub fn is_done(&self) -> bool {
        self.groups.iter().all(|group| group.unfinished == 0)
    }

    /// Returns outcomes in the order of the policies; unfinished ones count to the input's end.
    pub fn finish(mut self) -> Vec<SimOutcome> {
        let input = &self.input;
        for group in &mut self.groups {
            for lane in 0..SIMD_LANES {
                if group.lanes[lane].stage != LaneStage::Done {
                    let wall = group.now(lane) - input.warm_up;
                    group.conclude(lane, input.piece.len(), wall as f64, input);
                }
            }
        }
        let outcome = |&(group, lane): &(usize, usize)| self.groups[group].lanes[lane].outcome;
        self.group_and_lane.iter().map(outcome).collect()
    }
}

impl KernelInput {
    /// The common counts of all I/Os before I/O `n` of the piece.
    fn common_counts(&self, n: usize) -> Option<Cow<'_, [u32]>> {
        let common = self.common_histogram.as_ref()?;
        Some(common.counts_before(&self.piece, n))
    }

    /// Updates counts. Chooses the kernel: `plain` until a second bucket occurs, then never again.
    fn begin_piece(&mut self) {
        let is_first = self.piece.ios_before == 0;
        if is_first {
            self.counting = CountingLimit::new(self.piece.latencies());
        }
        if let Some(common) = &mut self.common_histogram {
            common.add_piece(&self.piece);
        }
        self.row_bits |= self.piece.row_bits() & ((1 << BUCKETS) - 1);
        let row = self.piece.only_row().map(usize::from);
        let may_be_plain = is_first || self.only_row == row;
        self.only_row = row.filter(|_| self.costs.plain.is_some() && may_be_plain);
    }
}

fn are_short(part: &LaneRecording) -> bool {
    let is_short = |time: &f32| *time < MAX_NS as f32;
    part.wait.iter().chain(part.submit.iter()).all(is_short)
}

#[cfg(test)]
mod tests;
