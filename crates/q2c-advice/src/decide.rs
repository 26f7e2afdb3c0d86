//! Turns trials into a verdict.
//!
//! A recommended method has kept the floor in its own trials, or its trials are so little below the
//! floor that the floor is within their error. Simulation adds weight if trials leave a doubt: it
//! can exclude a rule whose trials were lucky. It never chooses a rule whose trials clearly lost.

use crate::assessment::{Assessment, OPEN_ERRORS};
use crate::evidence::{Estimate, Noise, TrialFigures, per_core, per_core_divisor};
use crate::goal::Goal;
use crate::states::Carry;
use q2c_model::Bytes;
use q2c_model::stats::{Interval, Ratio, median, ratio_of_medians, sorted};
use q2c_policy::{LINUX, LaneMethod};
use q2c_result::tune::{LuckyMethod, MethodName, OpenQuestion, PerCore, Recommendation, Verdict};

/// One method with its trials.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodContender {
    /// The method that was tried.
    pub method: LaneMethod,
    /// All comparable trials of the method; empty when none has run yet.
    pub trials: Vec<TrialFigures>,
    /// Factors that carry each trial to all states of the device; empty if not simulated.
    pub carries: Vec<Carry>,
    /// IOPS and KIOPS/core over polling's in the corrected simulation; `None` without one.
    pub belief: Option<(Estimate, Estimate)>,
}

/// A verdict. All indices are those of the contenders given to [`decide`].
#[derive(Clone, Debug, PartialEq)]
pub struct AdviceDecision {
    /// The kind of answer.
    pub verdict: Verdict,
    /// The method to use; `None` for classic polling, which needs no trial.
    pub chosen: Option<usize>,
    /// The floor that was applied, as a share of polling's IOPS.
    pub floor: f64,
    /// The method that a trade-off names: the best of those that pay (gain enough to be worth a
    /// change) and lose least IOPS.
    pub nearest: Option<usize>,
    /// The best rule that follows the device; only set if the chosen method does not.
    pub following: Option<usize>,
    /// The best method that only its own trials support, with its IOPS there and over the run.
    pub elsewhere: Option<(usize, [f64; 2])>,
    /// Methods that more trials could still make the answer, most promising first.
    pub open: Vec<usize>,
    /// True if the named method has one trial or, if none is named, no sleeping method has more.
    pub by_single_trials: bool,
}

/// Scores within this difference count as equal. Then rules that follow the device come first, then
/// fewer misses, then fewer numbers to set.
pub(crate) const SCORE_TIE: f64 = 0.01;
/// The answer gets more trials while its probability to break the floor is from this to 1 - this.
const MIN_DOUBT: f64 = 0.15;
/// The fewest trials that have an interval; at least these are needed, whatever the user asked.
const MIN_TRIALS: u32 = 2;
/// Limit of a sign test: up to this probability that so few trials lie below the floor by chance,
/// if the median of all possible trials were on it, the trials tell that the floor is kept.
const MAX_CHANCE: f64 = 0.05;
/// A method that may gain more than this share over the answer is tried again before the answer.
const PROMISING_GAIN: f64 = 0.05;
/// A fixed seed, so that the same trials give the same interval.
const RATIO_SEED: u64 = 1;
/// A method that loses up to this share more of the IOPS may still be named, if it saves more.
const NEAR_BEST_SHARE: f64 = 0.02;

/// Decides by the trials so far; an answer needs `wanted` trials.
pub fn decide(
    contenders: &[MethodContender],
    goal: &Goal,
    noise: &Noise,
    wanted: u32,
) -> AdviceDecision {
    let trials = contenders.iter().flat_map(|c| &c.trials);
    let poll_iops: Vec<f64> = trials.map(|t| t.polling.iops).collect();
    let floor = goal.floor(median(&sorted(&poll_iops)));
    let cores = common_divisor(contenders);
    let tried = contenders.iter().enumerate();
    let tried = tried.filter(|(_, c)| !c.trials.is_empty() && c.method != LaneMethod::Poll);
    let assess =
        |(index, c)| Assessment::from_trials(index, c, goal, noise, (floor, wanted), cores);
    let assessed: Vec<Assessment> = tried.filter_map(assess).collect();
    let winner = winner(&assessed);
    let chosen = winner.map(|w| w.index);
    let verdict = verdict(contenders, &assessed, winner);
    let trade_off = verdict == Verdict::TradeOff;
    let nearest = nearest(&assessed).filter(|_| trade_off).map(|v| v.index);
    let is_fixed = |index: usize| !contenders[index].method.follows_the_device();
    let chosen_is_fixed = chosen.is_some_and(is_fixed);
    let keeps = |v: &&Assessment| v.floor_kept && v.pays && v.sleeps && v.follows;
    let following = assessed.iter().filter(keeps);
    let following = best(following).filter(|_| chosen_is_fixed).map(|v| v.index);
    AdviceDecision {
        verdict,
        chosen,
        floor,
        nearest,
        following,
        elsewhere: lucky(&assessed, winner),
        open: open(&assessed, winner, nearest, wanted.max(MIN_TRIALS)),
        by_single_trials: rests_on_single_trials(&assessed, chosen.or(nearest)),
    }
}

/// The best method that keeps the floor only by its own trials and gains more than the answer.
fn lucky(assessed: &[Assessment], winner: Option<&Assessment>) -> Option<(usize, [f64; 2])> {
    let winner_gain = winner.map_or(0.0, Assessment::gain);
    let lucky_methods = assessed.iter().filter(|v| {
        let only_own = v.own_iops >= v.floor && v.iops_over_run < v.floor;
        only_own && v.pays && v.limits_kept && !v.floor_kept && v.gain() > winner_gain
    });
    let best = lucky_methods.max_by(|a, b| a.gain().total_cmp(&b.gain()))?;
    Some((best.index, [best.own_iops, best.iops_over_run]))
}

/// True if the method `named` has a single trial or, without one, all methods that sleep have.
fn rests_on_single_trials(assessed: &[Assessment], named: Option<usize>) -> bool {
    let concerned = |v: &&Assessment| named.map_or(v.sleeps, |named| v.index == named);
    let mut concerned = assessed.iter().filter(concerned).peekable();
    concerned.peek().is_some() && concerned.all(|v| v.trials < MIN_TRIALS)
}

fn common_divisor(contenders: &[MethodContender]) -> PerCore {
    per_core_divisor(contenders.iter().map(|c| c.trials.as_slice()))
}

/// The winner. Scores include how surely the floor is kept: a method that surely keeps it and gains
/// next to nothing does not win against one that gains much and probably keeps it.
fn winner(assessed: &[Assessment]) -> Option<&Assessment> {
    let keeps = |v: &&Assessment| v.pays && v.floor_kept;
    best(assessed.iter().filter(keeps))
}

/// The best score; among equals, one that follows the device, then fewest misses, fewest numbers.
fn best<'a>(assessed: impl Iterator<Item = &'a Assessment> + Clone) -> Option<&'a Assessment> {
    let scores = assessed.clone().map(Assessment::score);
    let top = scores.fold(f64::NEG_INFINITY, f64::max);
    let equal = assessed.filter(|v| v.score() >= top - SCORE_TIE);
    equal.min_by(|a, b| {
        let by_following = b.follows.cmp(&a.follows);
        let by_misses = by_following.then(a.miss_rate.total_cmp(&b.miss_rate));
        let by_params = by_misses.then(a.params.cmp(&b.params));
        by_params.then(b.score().total_cmp(&a.score()))
    })
}

fn verdict(
    contenders: &[MethodContender],
    assessed: &[Assessment],
    winner: Option<&Assessment>,
) -> Verdict {
    let paying = || assessed.iter().filter(|v| v.pays);
    match winner.map(|w| &contenders[w.index].method) {
        Some(LaneMethod::Interrupt) => Verdict::Interrupt,
        Some(_) => Verdict::Rule,
        None if assessed.iter().all(|v| !v.sleeps) => Verdict::Unverified,
        None if paying().count() == 0 => Verdict::NoRoom,
        None if paying().all(|v| !v.limits_kept) => Verdict::Limits,
        None => Verdict::TradeOff,
    }
}

/// The best of the methods that pay and lose nearly the least IOPS; it may be interrupts.
fn nearest(assessed: &[Assessment]) -> Option<&Assessment> {
    let paying = || assessed.iter().filter(|v| v.pays && v.limits_kept);
    let iops = paying().map(|v| v.iops.log);
    let max_iops = iops.fold(f64::NEG_INFINITY, f64::max);
    best(paying().filter(|v| v.iops.log >= max_iops - NEAR_BEST_SHARE))
}

/// The methods that more trials could still make the answer, most promising first.
fn open(
    assessed: &[Assessment],
    winner: Option<&Assessment>,
    nearest: Option<usize>,
    wanted: u32,
) -> Vec<usize> {
    // A gain, unlike a score, has no deduction for a floor that may be broken: it is the most that
    // trials could make of the rival.
    let better = |v: &Assessment| {
        winner.is_none_or(|w| {
            let error = v.value.se.hypot(w.value.se);
            v.gain() - w.score() > SCORE_TIE - OPEN_ERRORS * error
        })
    };
    // A method that beats the answer in its trials stays open; a reader would ask why it lost.
    let leads = |v: &Assessment| winner.is_none_or(|w| v.own_log > w.own_log + SCORE_TIE);
    let beats_answer = |v: &Assessment| v.kept_by_median && v.pays && leads(v);
    let unsure = |v: &Assessment| {
        let is_answer = winner.is_some_and(|w| w.index == v.index) || nearest == Some(v.index);
        if is_answer {
            v.trials < wanted || (MIN_DOUBT..1.0 - MIN_DOUBT).contains(&v.break_chance)
        } else {
            v.may_keep_floor() && better(v) || v.trials < wanted && beats_answer(v)
        }
    };
    let mut open: Vec<&Assessment> = assessed.iter().filter(|v| unsure(v)).collect();
    let winner_score = winner.map_or(0.0, Assessment::score);
    let answer = winner.map(|w| w.index).or(nearest);
    let gain = |v: &Assessment| {
        if answer == Some(v.index) {
            return PROMISING_GAIN;
        }
        (v.gain() + v.value.se - winner_score).max(0.0) * (1.0 - v.break_chance)
    };
    open.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    open.into_iter().map(|v| v.index).collect()
}

impl AdviceDecision {
    /// The decision as a result, with the arguments of [`decide`]; `asked` is the floor as typed.
    pub fn recommendation(
        &self,
        bs: Bytes,
        contenders: &[MethodContender],
        noise: &Noise,
        asked: &str,
    ) -> Recommendation {
        let named = |index: usize| MethodName(contenders[index].method.clone().into());
        let chosen = self.chosen.map(|index| &contenders[index].method);
        let method = chosen.cloned().unwrap_or(LaneMethod::Poll);
        let elsewhere = |(index, [iops, iops_over_run]): (usize, [f64; 2])| LuckyMethod {
            method: named(index),
            iops,
            iops_over_run,
        };
        Recommendation {
            floor_asked: asked.to_owned(),
            nearest: self.nearest.map(named),
            following: self.following.map(named),
            open: self.open.iter().map(|&index| named(index)).collect(),
            undecided: self.undecided(contenders),
            elsewhere: self.elsewhere.map(elsewhere),
            noise_pct: noise.iops * 100.0,
            follows: chosen.is_none_or(LaneMethod::follows_the_device),
            over_linux: self.chosen.and_then(|i| over_linux(contenders, i)),
            ..Recommendation::clear(bs, self.verdict, method.into(), self.floor)
        }
    }
    fn undecided(&self, contenders: &[MethodContender]) -> Vec<OpenQuestion> {
        let others_with = |holds: fn(usize) -> bool| {
            let other = contenders.iter().filter(|c| c.method != LaneMethod::Poll);
            other.filter(move |c| holds(c.trials.len()))
        };
        let single = self.by_single_trials.then(|| OpenQuestion::SingleTrials {
            single: others_with(|trials| trials == 1).count() as u32,
            tried: others_with(|trials| trials > 0).count() as u32,
        });
        let name = |c: &MethodContender| MethodName(c.method.clone().into());
        let untried: Vec<_> = others_with(|trials| trials == 0).map(name).collect();
        let untried = (!untried.is_empty()).then_some(OpenQuestion::Untried(untried));
        let within = self.floor_within(contenders);
        single.into_iter().chain(untried).chain(within).collect()
    }

    /// The question whether the floor is kept, if it lies within the interval of the trials and a
    /// sign test does not settle it either. The interval alone only widens with trials.
    fn floor_within(&self, contenders: &[MethodContender]) -> Option<OpenQuestion> {
        let ratios = contenders[self.chosen?].trials.iter();
        let ratios: Vec<f64> = ratios.map(TrialFigures::relative_iops).collect();
        let Interval { min, max, .. } = Interval::from_samples(&ratios);
        let below = ratios.iter().filter(|&&ratio| ratio < self.floor).count();
        let within = min < self.floor && self.floor <= max;
        (within && sign_test_chance(below, ratios.len()) > MAX_CHANCE)
            .then_some(OpenQuestion::FloorWithin { min, max })
    }
}

/// The probability that at most `below` of `n` trials lie below their true median.
fn sign_test_chance(below: usize, n: usize) -> f64 {
    let mut chance = 0.5_f64.powi(n as i32);
    let mut sum = chance;
    for k in 1..=below {
        chance *= (n + 1 - k) as f64 / k as f64;
        sum += chance;
    }
    sum
}

/// KIOPS/core of the chosen method over Linux's rule; `None` if it is that rule or no rule.
fn over_linux(contenders: &[MethodContender], chosen: usize) -> Option<Ratio> {
    let linux = LaneMethod::Hybrid(LINUX.parse().expect("Linux's rule is in the registry"));
    let linux_contender = contenders.iter().find(|c| c.method == linux)?;
    let winner = &contenders[chosen];
    winner.method.policy().filter(|_| winner.method != linux)?;
    let cores = common_divisor(contenders);
    let ratios = |c: &MethodContender| per_core(&c.trials, cores);
    ratio_of_medians(&ratios(winner), &ratios(linux_contender), RATIO_SEED)
}
