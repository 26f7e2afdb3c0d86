//! A search for a better rule. Points of rule families are tried on some patterns, first at random,
//! then near the best. Then the best rules run, once, on patterns of sources that were held out.

mod families;
mod held_out;

use crate::poll_study::{Ranking, unranked_reasons};
use crate::source::SimTrace;
use crate::sweep::{CellProgress, SimulatedCells, Study};
use families::{FAMILIES, RuleFamily};
use q2c_model::Fault;
use q2c_model::stats::Rng;
use q2c_policy::PolicySpec;
use q2c_result::poll_search::{ContenderRole, PollSearchResult, SCHEMA, SearchedFamily};
use std::sync::atomic::AtomicBool;

/// Number of best configurations of a family near which the next round tries others.
const BEST_POINTS: usize = 6;
/// Distance of the second round's points from the best ones, as a share of each number's range.
const REACH: f64 = 0.15;
/// The factor by which this distance shrinks from round to round.
const REACH_FACTOR: f64 = 0.5;

/// The patterns of a search, its limits, and its extent.
pub struct Search<'a> {
    /// Patterns, costs, objective and limits. Its policies, the standard grid, compete as well.
    pub study: &'a Study<'a>,
    /// The patterns of the sources that are held out.
    pub held_out: &'a [SimTrace],
    /// Known rules that a new one must beat.
    pub references: &'a [PolicySpec],
    /// Number of rounds, at least one.
    pub rounds: u32,
    /// Number of points for each family in each round.
    pub points: usize,
    /// Number of families whose best rule may win.
    pub finalists: usize,
}

struct SearchPoint {
    family: usize,
    point: Vec<f64>,
    policy: usize,
}

#[derive(Default)]
struct Pool {
    policies: Vec<PolicySpec>,
    cells: SimulatedCells,
    points: Vec<SearchPoint>,
}

impl Search<'_> {
    /// Number of cells to simulate: each configuration on each searched pattern.
    pub fn cells(&self) -> usize {
        let points = FAMILIES.len() * self.points * self.rounds as usize;
        (self.study.policies.len() + self.references.len() + points) * self.study.traces.len()
    }

    /// One policy of each family, to estimate the time of a search.
    pub fn sample(&self) -> Vec<PolicySpec> {
        let middle = |family: &RuleFamily| family.policy_at(&vec![0.5; family.dimensions()]);
        FAMILIES.iter().filter_map(middle).collect()
    }

    /// Searches, then runs the best rules on the patterns held out.
    ///
    /// # Errors
    /// Returns a fault if no I/O counts on one of the patterns, or if the search is stopped.
    pub fn run(&self, progress: &mut CellProgress<'_>) -> Result<PollSearchResult, Fault> {
        let mut pool = Pool::default();
        let known = [self.study.policies, self.references].concat();
        self.simulate(&mut pool, known, progress)?;
        let mut rng = Rng::new(self.study.timing.seed);
        for round in 0..self.rounds {
            let points = match round {
                0 => self.random_points(&mut rng),
                round => self.points_near_best(&pool, round, &mut rng)?,
            };
            self.try_points(&mut pool, points, progress)?;
        }
        let study = self.study_with(self.study.traces, &pool.policies);
        let ranked = rank(&study, &pool.cells)?;
        let families = self.families(&pool, &ranked);
        let held_out = self.run_held_out(&ranked, &families, progress.stop)?;
        let searched = held_out::better_than_linux(&ranked, &pool.cells, false);
        Ok(PollSearchResult {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cost: self.study.cost_in_words.clone(),
            arrival: self.study.loop_name().to_owned(),
            warm_up_ns: self.study.timing.warm_up,
            seed: self.study.timing.seed,
            objective: self.study.objective.to_string(),
            limits: self.study.limits.in_words(),
            held_out: held_out.patterns,
            rounds: self.rounds,
            configurations: ranked.policies.len(),
            searched: ranked.patterns,
            both: [searched, held_out.beaten_linux].concat(),
            families,
            contenders: held_out.contenders,
            seconds: pool.cells.seconds + held_out.seconds,
            warnings: Vec::new(),
        })
    }

    fn study_with<'s>(&'s self, traces: &'s [SimTrace], policies: &'s [PolicySpec]) -> Study<'s> {
        Study {
            traces,
            policies,
            follow: None,
            ..self.study.clone()
        }
    }

    fn simulate(
        &self,
        pool: &mut Pool,
        policies: Vec<PolicySpec>,
        progress: &mut CellProgress<'_>,
    ) -> Result<(), Fault> {
        let cells_before = pool.policies.len() * self.study.traces.len();
        let study = self.study_with(self.study.traces, &policies);
        let report = &mut |done| (progress.report)(cells_before + done);
        let cells = study.simulate(&mut CellProgress::new(progress.stop, report))?;
        pool.cells.add(cells);
        pool.policies.extend(policies);
        Ok(())
    }

    /// Tries points, each as (family, point). Points that were tried or make no policy are skipped.
    fn try_points(
        &self,
        pool: &mut Pool,
        points: Vec<(usize, Vec<f64>)>,
        progress: &mut CellProgress<'_>,
    ) -> Result<(), Fault> {
        let mut untried: Vec<PolicySpec> = Vec::new();
        for (family, point) in points {
            let Some(policy) = FAMILIES[family].policy_at(&point) else {
                continue;
            };
            if untried.contains(&policy) || pool.policies.contains(&policy) {
                continue;
            }
            pool.points.push(SearchPoint {
                family,
                point,
                policy: pool.policies.len() + untried.len(),
            });
            untried.push(policy);
        }
        self.simulate(pool, untried, progress)
    }

    fn random_points(&self, rng: &mut Rng) -> Vec<(usize, Vec<f64>)> {
        let families = FAMILIES.iter().enumerate();
        let families = families.flat_map(|family| std::iter::repeat_n(family, self.points));
        families
            .map(|(i, family)| (i, family.random_point(rng)))
            .collect()
    }

    fn points_near_best(
        &self,
        pool: &Pool,
        round: u32,
        rng: &mut Rng,
    ) -> Result<Vec<(usize, Vec<f64>)>, Fault> {
        let study = self.study_with(self.study.traces, &pool.policies);
        let ranked = rank(&study, &pool.cells)?;
        let reach = REACH * REACH_FACTOR.powi(round as i32 - 1);
        let mut points = Vec::new();
        for (index, family) in FAMILIES.iter().enumerate() {
            let best = best_points(pool, &ranked, index);
            for n in 0..self.points {
                let center = best.get(n % BEST_POINTS.min(best.len()).max(1));
                points.extend(center.map(|&point| (index, family.point_near(point, reach, rng))));
            }
        }
        Ok(points)
    }

    fn families(&self, pool: &Pool, ranked: &Ranking<'_>) -> Vec<SearchedFamily> {
        let searched_family = |(index, family): (usize, &RuleFamily)| {
            let members: Vec<_> = points_of(pool, ranked, index).map(|(_, c)| c).collect();
            let score = ranked.score_rule(family.text, &members)?;
            Some(SearchedFamily {
                family: score.rule,
                configurations: score.configurations,
                best: score.on_average,
                left_out_loss: score.sources_left_out.map(|left_out| left_out.mean_loss),
            })
        };
        let families = FAMILIES.iter().enumerate().filter_map(searched_family);
        let mut families: Vec<SearchedFamily> = families.collect();
        let loss = |family: &SearchedFamily| family.left_out_loss.unwrap_or(family.best.mean_loss);
        families.sort_by(|a, b| loss(a).total_cmp(&loss(b)));
        families
    }

    /// Runs the best of each family, the references and the grid on the patterns held out.
    fn run_held_out(
        &self,
        searched: &Ranking<'_>,
        families: &[SearchedFamily],
        stop: &AtomicBool,
    ) -> Result<held_out::HeldOutResult, Fault> {
        let mut contenders: Vec<(PolicySpec, ContenderRole)> = Vec::new();
        for (place, family) in families.iter().enumerate() {
            let role = if place < self.finalists {
                ContenderRole::Finalist
            } else {
                ContenderRole::Other
            };
            let policy = family.best.policy.parse().ok();
            contenders.extend(policy.map(|policy| (policy, role)));
        }
        let references = self.references.iter().cloned();
        contenders.extend(references.map(|policy| (policy, ContenderRole::Reference)));
        let policies = contenders.iter().map(|(policy, _)| policy);
        let policies = policies.chain(self.study.policies).cloned();
        let policies: Vec<PolicySpec> = policies.collect();
        let study = self.study_with(self.held_out, &policies);
        let cells = study.simulate(&mut CellProgress::new(stop, &mut |_| {}))?;
        let held_out = rank(&study, &cells)?;
        let roles: Vec<ContenderRole> = contenders.iter().map(|(_, role)| *role).collect();
        let mut result = held_out::judge(&held_out, &roles, &cells);
        for contender in &mut result.contenders {
            let mut indices = 0..searched.policies.len();
            let same = indices.find(|&c| searched.policy(c).to_string() == contender.policy);
            contender.searched = same.map(|c| searched.score(c));
        }
        Ok(result)
    }
}

fn rank<'s>(study: &'s Study<'s>, cells: &SimulatedCells) -> Result<Ranking<'s>, Fault> {
    let reasons = unranked_reasons(study, false);
    let eligible: Vec<bool> = reasons.iter().map(Option::is_none).collect();
    Ranking::from_losses(study, &eligible, cells)
}

/// The ranked points of a family, each with its configuration.
fn points_of<'p>(
    pool: &'p Pool,
    ranked: &Ranking<'_>,
    family: usize,
) -> impl Iterator<Item = (&'p [f64], usize)> {
    let tried = pool.points.iter();
    let of_family = tried.filter(move |tried| tried.family == family);
    of_family.filter_map(|tried| {
        let configuration = ranked.policies.binary_search(&tried.policy).ok()?;
        Some((tried.point.as_slice(), configuration))
    })
}

fn best_points<'p>(pool: &'p Pool, ranked: &Ranking<'_>, family: usize) -> Vec<&'p [f64]> {
    let loss = |configuration| q2c_model::stats::mean(ranked.losses.row(configuration));
    let points = points_of(pool, ranked, family);
    let mut scored: Vec<_> = points.map(|(point, c)| (loss(c), point)).collect();
    scored.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let best = scored.into_iter().take(BEST_POINTS);
    best.map(|(_, point)| point).collect()
}

#[cfg(test)]
mod tests;
