//! Chooses a configuration on some patterns and scores it on others; and holds contests between
//! groups of rules, by the loss of each group's best on all sources or on drawn ones.

use crate::poll_study::{Ranking, draw_sources};
use crate::sweep::{CellProgress, SimulatedCells, Study};
use itertools::Itertools;
use q2c_model::Fault;
use q2c_model::stats::{Rng, mean};

/// Losses as shares of the objective: 0 for the pattern's own best, 1 for a broken limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct PatternLosses {
    rows: Vec<Vec<f64>>,
    sources: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossAggregate {
    Mean,
    Worst,
}

impl PatternLosses {
    /// Creates the losses from a row for each configuration with a column for each pattern.
    pub(crate) fn new(rows: Vec<Vec<f64>>, sources: Vec<usize>) -> Self {
        debug_assert!(rows.iter().all(|row| row.len() == sources.len()));
        PatternLosses { rows, sources }
    }

    /// The losses on `patterns` only. A pattern may be there several times.
    pub(crate) fn select(&self, patterns: &[usize]) -> PatternLosses {
        let select = |row: &Vec<f64>| patterns.iter().map(|&pattern| row[pattern]).collect();
        PatternLosses {
            rows: self.rows.iter().map(select).collect(),
            sources: patterns.iter().map(|&p| self.sources[p]).collect(),
        }
    }

    pub(crate) fn patterns(&self) -> usize {
        self.sources.len()
    }

    pub(crate) fn row(&self, configuration: usize) -> &[f64] {
        &self.rows[configuration]
    }

    pub(crate) fn sources(&self) -> usize {
        self.sources.iter().unique().count()
    }

    /// The best of `among` on `patterns`; on a tie, the first one.
    pub(crate) fn best(
        &self,
        among: &[usize],
        patterns: &[usize],
        aggregate: LossAggregate,
    ) -> Option<usize> {
        if patterns.is_empty() {
            return None;
        }
        let score = |&&c: &&usize| {
            let losses = patterns.iter().map(|&pattern| self.rows[c][pattern]);
            match aggregate {
                LossAggregate::Mean => losses.sum::<f64>(),
                LossAggregate::Worst => losses.fold(f64::NEG_INFINITY, f64::max),
            }
        };
        let scored = among.iter().map(|c| (score(&c), *c));
        let best = scored.reduce(|best, next| if next.0 < best.0 { next } else { best });
        best.map(|(_, configuration)| configuration)
    }

    /// For each pattern, the configuration that is best on average on all other patterns, if any.
    pub(crate) fn without_pattern(&self, among: &[usize]) -> Option<Vec<usize>> {
        self.choose(among, |left_out, pattern| left_out != pattern)
    }

    /// For each pattern, the configuration that is best on average on all other sources, if any.
    pub(crate) fn without_source(&self, among: &[usize]) -> Option<Vec<usize>> {
        self.choose(among, |left_out, p| {
            self.sources[left_out] != self.sources[p]
        })
    }

    fn choose(&self, among: &[usize], keeps: impl Fn(usize, usize) -> bool) -> Option<Vec<usize>> {
        let chosen = (0..self.patterns()).map(|left_out| {
            let mut patterns: Vec<usize> = (0..self.patterns()).collect();
            patterns.retain(|&pattern| keeps(left_out, pattern));
            self.best(among, &patterns, LossAggregate::Mean)
        });
        chosen.collect()
    }
}

/// Groups of policies that compete with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contest {
    /// The groups, each as indices into the study's policies.
    pub groups: Vec<Vec<usize>>,
}

/// The mean losses of a group in a set of sources, relative to the best of all groups there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupLoss {
    /// Mean loss of the group's configuration with the smallest loss in this set.
    pub on_average: f64,
    /// The loss on each source of the configuration that is best on the other sources; mean over
    /// the patterns. `None` for one source.
    pub left_out: Option<f64>,
}

impl Study<'_> {
    /// Simulates every policy on every trace once, and holds the contests. Returns losses by
    /// contest, set and group. The first of the `sets` has all sources, each other one is a
    /// bootstrap sample of them; a source comes with all of its patterns. If no pattern counts in a
    /// set, its groups have no losses.
    ///
    /// # Errors
    /// Returns a fault if no I/O counts on one of the traces, or if the simulation is stopped.
    pub fn contests(
        &self,
        contests: &[Contest],
        sets: u32,
        progress: &mut CellProgress<'_>,
    ) -> Result<Vec<Vec<Vec<GroupLoss>>>, Fault> {
        let cells = self.simulate(progress)?;
        let hold = |contest| self.hold_contest(contest, sets, &cells);
        contests.iter().map(hold).collect()
    }

    fn hold_contest(
        &self,
        contest: &Contest,
        sets: u32,
        cells: &SimulatedCells,
    ) -> Result<Vec<Vec<GroupLoss>>, Fault> {
        let takes_part = |policy: usize| contest.groups.iter().any(|group| group.contains(&policy));
        let eligible: Vec<bool> = (0..self.policies.len()).map(takes_part).collect();
        let ranked = Ranking::from_losses(self, &eligible, cells)?;
        let row_of = |policy: &usize| ranked.policies.binary_search(policy).ok();
        let group = |policies: &Vec<usize>| policies.iter().filter_map(row_of).collect();
        let groups: Vec<Vec<usize>> = contest.groups.iter().map(group).collect();
        let sources = ranked.by_source();
        let mut rng = Rng::new(self.timing.seed);
        let set = |n: u32| {
            let drawn = (n > 0).then(|| draw_sources(&sources, &mut rng));
            let patterns = drawn.unwrap_or_else(|| sources.concat());
            group_losses(&ranked.losses.select(&patterns), &groups)
        };
        Ok((0..sets).map(set).collect())
    }
}

fn group_losses(losses: &PatternLosses, groups: &[Vec<usize>]) -> Vec<GroupLoss> {
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
    use q2c_model::stats::Rng;

    /// Three configurations on four patterns of two sources. Sums of losses: a 1.2, b 1.3, c 1.4.
    ///
    /// | | p0 (X) | p1 (X) | p2 (Y) | p3 (Y) |
    /// |---|---|---|---|---|
    /// | a | 0.0 | 0.0 | 0.2 | 1.0 |
    /// | b | 0.5 | 0.4 | 0.3 | 0.1 |
    /// | c | 0.4 | 0.6 | 0.0 | 0.4 |
    fn by_hand() -> PatternLosses {
        let rows = [
            [0.0, 0.0, 0.2, 1.0],
            [0.5, 0.4, 0.3, 0.1],
            [0.4, 0.6, 0.0, 0.4],
        ];
        PatternLosses::new(rows.map(Vec::from).to_vec(), vec![0, 0, 1, 1])
    }

    /// Sums without p0: a 1.2, b 0.8, c 1.0; without p1: a 1.2, b 0.9, c 0.8; without p2: a 1.0, b
    /// 1.0 (a tie, so the first), c 1.4; without p3: a 0.2, b 1.2, c 1.0. Without X, over Y: a 1.2,
    /// b 0.4, c 0.4 (the first). Without Y, over X: a 0.0, b 0.9, c 1.0.
    #[test]
    fn choices_by_hand() {
        let losses = by_hand();
        let configurations = [0, 1, 2];
        let on = [0, 1, 2, 3];
        for (by, best) in [(LossAggregate::Mean, 0), (LossAggregate::Worst, 1)] {
            assert_eq!(losses.best(&configurations, &on, by), Some(best), "{by:?}");
        }
        let by_pattern = losses.without_pattern(&configurations);
        assert_eq!(by_pattern, Some(vec![1, 2, 0, 0]));
        let by_source = losses.without_source(&configurations);
        assert_eq!(by_source, Some(vec![1, 1, 0, 0]));
        assert_eq!(losses.without_source(&[2]), Some(vec![2; 4]));
    }

    #[test]
    fn nothing_is_chosen_on_nothing() {
        let one = PatternLosses::new(vec![vec![0.0], vec![0.1]], vec![7]);
        assert_eq!(one.without_pattern(&[0, 1]), None);
        assert_eq!(one.without_source(&[0, 1]), None);
        assert_eq!(one.best(&[], &[0], LossAggregate::Mean), None);
        let two = PatternLosses::new(vec![vec![0.0, 0.1]], vec![3, 3]);
        assert_eq!((two.sources(), two.without_source(&[0])), (1, None));
        assert_eq!(two.without_pattern(&[0]), Some(vec![0, 0]));
    }

    /// An independent computation: patterns are deleted from a copy of the table, and means sorted.
    #[test]
    fn as_with_the_patterns_deleted() {
        let mut rng = Rng::new(21);
        for _ in 0..50 {
            let (count, patterns) = (2 + rng.below(9) as usize, 3 + rng.below(9) as usize);
            let sources: Vec<usize> = (0..patterns).map(|p| p % 3).collect();
            let row = |rng: &mut Rng| (0..patterns).map(|_| rng.unit()).collect();
            let rows: Vec<Vec<f64>> = (0..count).map(|_| row(&mut rng)).collect();
            let best_without = |deleted: &dyn Fn(usize) -> bool| -> usize {
                let mean = |row: &Vec<f64>| {
                    let mut losses = row.clone();
                    let mut pattern = 0;
                    losses.retain(|_| {
                        pattern += 1;
                        !deleted(pattern - 1)
                    });
                    losses.iter().sum::<f64>() / losses.len() as f64
                };
                let mut order: Vec<usize> = (0..count).collect();
                order.sort_by(|&a, &b| mean(&rows[a]).total_cmp(&mean(&rows[b])));
                order[0]
            };
            let outs = || 0..patterns;
            let by_pattern = outs().map(|out| best_without(&|p| p == out)).collect();
            let by_source = outs()
                .map(|out| best_without(&|p| sources[p] == sources[out]))
                .collect();
            let losses = PatternLosses::new(rows.clone(), sources.clone());
            let configurations: Vec<usize> = (0..count).collect();
            assert_eq!(losses.without_pattern(&configurations), Some(by_pattern));
            assert_eq!(losses.without_source(&configurations), Some(by_source));
        }
    }

    /// A group of one configuration and a group of two, on patterns of three sources.
    ///
    /// | | p0 (X) | p1 (Y) | p2 (Z) |
    /// |---|---|---|---|
    /// | a | 0.2 | 0.3 | 0.1 |
    /// | b | 0.0 | 0.0 | 0.9 |
    /// | c | 0.3 | 0.4 | 0.0 |
    fn in_groups() -> PatternLosses {
        let rows = [[0.2, 0.3, 0.1], [0.0, 0.0, 0.9], [0.3, 0.4, 0.0]];
        PatternLosses::new(rows.map(Vec::from).to_vec(), vec![0, 1, 2])
    }

    fn close(got: f64, wanted: f64) {
        assert!((got - wanted).abs() < 1e-12, "got {got}, wanted {wanted}");
    }

    #[test]
    fn the_best_of_each_group_is_scored_where_it_was_chosen_and_elsewhere() {
        let groups = [vec![0], vec![1, 2]];
        let losses = group_losses(&in_groups(), &groups);
        // Of b (sum 0.9) and c (sum 0.7), c is best. A group of one has no choice.
        close(losses[0].on_average, 0.2);
        close(losses[0].left_out.unwrap(), 0.2);
        close(losses[1].on_average, 0.7 / 3.0);
        // Sums without X: b 0.9, c 0.4; without Y: b 0.9, c 0.3; without Z: b 0.0, c 0.7.
        close(losses[1].left_out.unwrap(), (0.3 + 0.4 + 0.9) / 3.0);
    }

    /// X twice and Z: b loses 0.0, 0.0, 0.9, and c 0.3, 0.3, 0.0. Both X are left out together.
    #[test]
    fn a_source_that_was_drawn_twice_counts_twice_and_is_left_out_as_a_whole() {
        let losses = group_losses(&in_groups().select(&[0, 2, 0]), &[vec![1, 2]]);
        close(losses[0].on_average, 0.6 / 3.0);
        close(losses[0].left_out.unwrap(), (0.3 + 0.9 + 0.3) / 3.0);
        let one = group_losses(&in_groups().select(&[1, 1]), &[vec![1]]);
        assert_eq!((one[0].on_average, one[0].left_out), (0.0, None));
    }
}
