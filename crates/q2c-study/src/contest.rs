//! Contests of groups of rules: what each group's best loses on all patterns and on drawn sources.

use crate::leave_out::{LossAggregate, PatternLosses};
use crate::poll_study::{Ranked, drawn};
use crate::sweep::{SimulatedCells, Study};
use q2c_model::Fault;
use q2c_model::stats::{Rng, mean};
use std::sync::atomic::AtomicBool;

/// Groups of policies that compete with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contest {
    /// The groups, each as indices of the study's policies.
    pub groups: Vec<Vec<usize>>,
}

/// What a group loses in a set of sources, measured from the best of all groups there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupLoss {
    /// Mean loss of the configuration that has the least one in this set.
    pub on_average: f64,
    /// Mean loss of what is best on average on the other sources; `None` for a single source.
    pub left_out: Option<f64>,
}

impl Study<'_> {
    /// Simulates every policy on every trace once and holds the contests, each with `sets` sets:
    /// first all of the patterns' sources, then as many sources drawn with repetition, each with
    /// all of its patterns. A set has no loss for a group where no pattern counts. `told` gets the
    /// number of cells done.
    ///
    /// # Errors
    /// No I/O counts on one of the traces, or `stop` is raised.
    pub fn contests(
        &self,
        contests: &[Contest],
        sets: u32,
        stop: &AtomicBool,
        told: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<Vec<GroupLoss>>>, Fault> {
        let cells = self.simulate(stop, told)?;
        let held = contests
            .iter()
            .map(|contest| self.held(contest, sets, &cells));
        held.collect()
    }

    fn held(
        &self,
        contest: &Contest,
        sets: u32,
        cells: &SimulatedCells,
    ) -> Result<Vec<Vec<GroupLoss>>, Fault> {
        let part = |policy: usize| contest.groups.iter().any(|group| group.contains(&policy));
        let eligible: Vec<bool> = (0..self.policies.len()).map(part).collect();
        let ranked = Ranked::from_losses(self, &eligible, cells)?;
        let rank = |policy: &usize| ranked.policies.binary_search(policy).ok();
        let group = |policies: &Vec<usize>| policies.iter().filter_map(rank).collect();
        let groups: Vec<Vec<usize>> = contest.groups.iter().map(group).collect();
        let sources = ranked.by_source();
        let mut rng = Rng::new(self.timing.seed);
        let set = |n: u32| {
            let on = if n == 0 {
                sources.concat()
            } else {
                drawn(&sources, &mut rng)
            };
            in_set(&ranked.losses.only(&on), &groups)
        };
        Ok((0..sets).map(set).collect())
    }
}

fn in_set(losses: &PatternLosses, groups: &[Vec<usize>]) -> Vec<GroupLoss> {
    let patterns: Vec<usize> = (0..losses.patterns()).collect();
    let group_loss = |group: &Vec<usize>| {
        let best = losses.best(group, &patterns, LossAggregate::Mean)?;
        let several = losses.sources() > 1;
        let chosen = several.then(|| losses.without_source(group)).flatten();
        let left_out = chosen.map(|chosen| {
            let chosen = chosen.iter().enumerate();
            let losses = chosen.map(|(pattern, &c)| losses.row(c)[pattern]);
            mean(&losses.collect::<Vec<_>>())
        });
        Some(GroupLoss {
            on_average: mean(losses.row(best)),
            left_out,
        })
    };
    groups.iter().filter_map(group_loss).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups of one configuration and of two, on patterns of three sources.
    ///
    /// | | p0 (X) | p1 (Y) | p2 (Z) |
    /// |---|---|---|---|
    /// | a | 0.2 | 0.3 | 0.1 |
    /// | b | 0.0 | 0.0 | 0.9 |
    /// | c | 0.3 | 0.4 | 0.0 |
    fn by_hand() -> PatternLosses {
        let rows = [[0.2, 0.3, 0.1], [0.0, 0.0, 0.9], [0.3, 0.4, 0.0]];
        PatternLosses::new(rows.map(Vec::from).to_vec(), vec![0, 1, 2])
    }

    fn close(got: f64, wanted: f64) {
        assert!((got - wanted).abs() < 1e-12, "got {got}, wanted {wanted}");
    }

    #[test]
    fn the_best_of_each_group_is_scored_where_it_was_chosen_and_elsewhere() {
        let groups = [vec![0], vec![1, 2]];
        let losses = in_set(&by_hand(), &groups);
        // Of b (0.9) and c (0.7) the second is best. A group of one has nothing to choose.
        close(losses[0].on_average, 0.2);
        close(losses[0].left_out.unwrap(), 0.2);
        close(losses[1].on_average, 0.7 / 3.0);
        // Without X: b 0.9, c 0.4; without Y: b 0.9, c 0.3; without Z: b 0.0, c 0.7.
        close(losses[1].left_out.unwrap(), (0.3 + 0.4 + 0.9) / 3.0);
    }

    /// X twice and Z: b 0.0, 0.0, 0.9 and c 0.3, 0.3, 0.0. Both times X is left out together.
    #[test]
    fn a_source_that_was_drawn_twice_counts_twice_and_is_left_out_as_a_whole() {
        let losses = in_set(&by_hand().only(&[0, 2, 0]), &[vec![1, 2]]);
        close(losses[0].on_average, 0.6 / 3.0);
        close(losses[0].left_out.unwrap(), (0.3 + 0.9 + 0.3) / 3.0);
        let one = in_set(&by_hand().only(&[1, 1]), &[vec![1]]);
        assert_eq!((one[0].on_average, one[0].left_out), (0.0, None));
    }
}
