//! Turns trials into a verdict.
//!
//! A recommended method has kept the floor in its own trials, or its trials lie so little below the
//! floor that the floor is within their error. Simulation adds weight where trials leave a doubt:
//! it can exclude a rule whose trials were lucky, but it never makes a rule the answer whose trials
//! plainly lost.

use crate::evidence::{Estimate, Noise, Trial, middle, per_core};
use crate::goal::{Goal, SAVING, WORTH};
use crate::referee::LINUX;
use q2c_model::Bytes;
use q2c_policy::LaneMethod;
use q2c_result::tune::{MethodName, Recommendation, Verdict};
use q2c_sim::Objective;
use q2c_stats::{Ratio, median, ratio_of_medians, sorted};

/// One method with its trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// The method that was tried.
    pub method: LaneMethod,
    /// All comparable trials of the method; empty when none has run yet.
    pub trials: Vec<Trial>,
    /// IOPS and KIOPS/core over polling's, as the corrected simulation expects them; `None` for
    /// methods that are not simulated.
    pub belief: Option<(Estimate, Estimate)>,
}

/// A verdict. All indices are those of the contenders that were given to [`decide`].
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The kind of answer.
    pub verdict: Verdict,
    /// The method to use; `None` for classic polling, which needs no trial.
    pub chosen: Option<usize>,
    /// The floor that was applied, IOPS over polling's.
    pub floor: f64,
    /// The method that a trade-off names: the best of those that pay and lose least IOPS. `None`
    /// for every other verdict.
    pub nearest: Option<usize>,
    /// The best rule that follows the device and keeps the floor, where the chosen method does not
    /// follow it.
    pub following: Option<usize>,
    /// Methods that more trials could still make the answer, most promising first.
    pub open: Vec<usize>,
}

/// Contenders whose worth differs by at most this share are equal. A rule that follows the device
/// comes first among them, then fewer misses, then fewer numbers to set.
const EQUAL: f64 = 0.01;
/// Taken off the gain of a rule that does not follow the device. With [`EQUAL`], such a rule must
/// be better by 2.5 % than one that follows.
const DEAF: f64 = 0.015;
/// The cost of breaking the floor, as a logarithm of the objective. A method must be better than
/// one that surely keeps the floor by this number times its probability of breaking the floor.
const RISK: f64 = 1.0;
/// The answer gets more trials while its probability of breaking the floor is between this number
/// and 1 less this number.
const DOUBT: f64 = 0.15;
/// Standard errors by which the median of the trials may lie below the floor: the floor is then
/// within their interval.
const WITHIN: f64 = 1.25;
/// Trials contradict a simulation when they differ from it by more than this many standard errors.
const CONTRADICTED: f64 = 2.0;
/// Number of trials from which they can tell that one of them was unlucky, or that a simulation is
/// wrong.
const ENOUGH: usize = 3;
/// A method is open while it is within this many standard errors of being the answer.
const OPEN: f64 = 1.0;
/// Seed of the bootstrap: a fixed number, so that the same trials give the same interval.
const RATIO_SEED: u64 = 1;
/// A method that loses this share more of the IOPS than the one that loses least may still be named
/// in a trade-off, if it saves more.
const NEARLY: f64 = 0.02;

/// Decides by the trials so far. `noise` is the scatter of single trials, `wanted` the number of
/// trials that an answer needs.
#[must_use]
pub fn decide(contenders: &[Contender], goal: &Goal, noise: &Noise, wanted: u32) -> Decision {
    let poll_iops: Vec<f64> = contenders
        .iter()
        .flat_map(|c| c.trials.iter().map(|t| t.beside.iops))
        .collect();
    let floor = goal.floor(median(&sorted(&poll_iops)));
    let tried = contenders.iter().enumerate();
    let tried = tried.filter(|(_, c)| !c.trials.is_empty() && c.method != LaneMethod::Poll);
    let views: Vec<View> = tried
        .filter_map(|(index, c)| View::of(index, c, goal, noise, (floor, wanted)))
        .collect();
    let winner = winner(&views);
    let chosen = winner.map(|w| w.index);
    let verdict = verdict(contenders, &views, winner);
    let nearest = match verdict {
        Verdict::TradeOff => nearest(&views).map(|v| v.index),
        _ => None,
    };
    let sees = |c: &Contender| c.method.follows_the_device();
    let deaf = chosen.is_some_and(|index| !sees(&contenders[index]));
    let keeps = |v: &&View| v.keeps > Keeps::Not && v.pays && v.sleeps && v.follows;
    let following = views.iter().filter(keeps);
    let following = best(following).filter(|_| deaf).map(|v| v.index);
    Decision {
        verdict,
        chosen,
        floor,
        nearest,
        following,
        open: open(&views, winner, nearest, wanted),
    }
}

/// One contender as the decision sees it.
#[derive(Clone, Debug)]
struct View {
    index: usize,
    sleeps: bool,
    follows: bool,
    trials: u32,
    /// IOPS over polling's, by trials and simulation together.
    iops: Estimate,
    /// The objective over polling's, by trials and simulation together.
    value: Estimate,
    per_core: Estimate,
    /// Logarithm of the objective over polling's, by the trials alone.
    measured: f64,
    /// Whether the floor and the limits are kept, by the trials alone.
    kept: bool,
    floor: f64,
    limits_kept: bool,
    /// Whether floor and limits are kept, and how surely.
    keeps: Keeps,
    /// The probability that the method breaks the floor.
    breaks: f64,
    /// Whether the method gains enough over polling in its trials, and a rule leaves the CPU.
    pays: bool,
    miss_rate: f64,
    /// Count of the numbers that a user would have to set.
    params: usize,
}

impl View {
    /// Judges one contender. `None` where no trial can be compared.
    fn of(
        index: usize,
        contender: &Contender,
        goal: &Goal,
        noise: &Noise,
        (floor, wanted): (f64, u32),
    ) -> Option<View> {
        let trials = &contender.trials;
        let ratios: Vec<f64> = trials.iter().map(Trial::relative_iops).collect();
        let (cores, _) = per_core(trials);
        let live_iops = Estimate::of(&ratios, noise.iops)?;
        let live_cores = Estimate::of(&cores, noise.per_core)?;
        // A simulation that several trials contradict is not taken into account.
        let holds = |live: Estimate, model: &Estimate| {
            ratios.len() < ENOUGH
                || (live.log - model.log).abs() <= CONTRADICTED * live.se.hypot(model.se)
        };
        let (model_iops, model_cores) = contender.belief.unzip();
        let iops = live_iops.joined(model_iops.filter(|model| holds(live_iops, model)));
        let per_core = live_cores.joined(model_cores.filter(|model| holds(live_cores, model)));
        let cpu: Vec<f64> = trials
            .iter()
            .map(|t| t.beside.cpu_pct / t.rates.cpu_pct)
            .collect();
        let live_cpu = Estimate::of(&cpu, noise.per_core)?;
        let (value, live) = match goal.objective {
            Objective::KiopsPerCore => (per_core, live_cores),
            Objective::Iops => (iops, live_iops),
            Objective::Cpu => (live_cpu, live_cpu),
        };
        let sleeps = contender.method.policy().is_some();
        let limits_kept = goal.other_limits_kept(trials);
        let above = live_iops.ratio() >= floor;
        // Three or more trials below the floor by their median may have been unlucky when one of
        // them kept it. One or two trials, and trials that all broke the floor, do not count as
        // unlucky.
        let unlucky = ratios.len() >= ENOUGH && ratios.iter().any(|&ratio| ratio >= floor);
        let within = above || unlucky && live_iops.above(floor) >= -WITHIN;
        let answered = trials.len() as u32 >= wanted.max(ENOUGH as u32);
        let every = answered && ratios.iter().all(|&ratio| ratio >= floor);
        let miss_rate = middle(trials, |t| t.rates.miss_rate);
        let cpu_pct = middle(trials, |t| t.rates.cpu_pct);
        Some(View {
            index,
            sleeps,
            follows: contender.method.follows_the_device(),
            trials: trials.len() as u32,
            iops,
            value,
            per_core,
            floor,
            limits_kept,
            measured: live.log,
            kept: above && limits_kept,
            keeps: match iops.above(floor) {
                _ if !limits_kept => Keeps::Not,
                _ if every => Keeps::Likely,
                errors if within && errors >= 0.0 => Keeps::Likely,
                _ if above => Keeps::ByTrials,
                _ => Keeps::Not,
            },
            breaks: match every {
                true => 0.0,
                false => 1.0 - likely(iops.above(floor)),
            },
            // A rule that does not leave the CPU saves none of it, whatever the noise in its
            // KIOPS/core says.
            pays: live_cores.ratio() >= WORTH && (!sleeps || cpu_pct <= SAVING),
            miss_rate,
            params: contender.method.policy().map_or(0, |p| p.params().len()),
        })
    }

    /// The logarithm of the objective, less the malus of a rule that does not follow the device.
    fn gain(&self) -> f64 {
        self.value.log - if self.follows { 0.0 } else { DEAF }
    }

    /// The gain, less the expected cost of breaking the floor.
    fn worth(&self) -> f64 {
        self.gain() - RISK * self.breaks
    }

    /// Whether more trials may show that the method keeps the floor and pays.
    fn may_keep(&self) -> bool {
        let limits = self.limits_kept || self.trials < 2;
        limits && self.iops.above(self.floor) > -OPEN && self.per_core.above(WORTH) > -OPEN
    }
}

/// How surely a method keeps the floor, by its trials and by simulation together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Keeps {
    /// The method breaks the floor or a limit.
    Not,
    /// The median of the trials keeps the floor; trials and simulation together do not.
    ByTrials,
    /// Trials and simulation together keep the floor, and the trials alone do not contradict. Or
    /// every single trial kept the floor, and there are as many as an answer needs.
    Likely,
}

/// Returns the best of the methods that pay and keep the floor most surely.
fn winner(views: &[View]) -> Option<&View> {
    let paying = || views.iter().filter(|v| v.pays);
    let surest = paying().map(|v| v.keeps).max()?;
    best(paying().filter(|v| v.keeps == surest && surest > Keeps::Not))
}

/// Returns the method with most worth. Among equals, one that follows the device comes first, then
/// the one with fewest misses, then the one with fewest numbers to set.
fn best<'a>(views: impl Iterator<Item = &'a View> + Clone) -> Option<&'a View> {
    let top = views
        .clone()
        .map(View::worth)
        .fold(f64::NEG_INFINITY, f64::max);
    let equal = views.filter(|v| v.worth() >= top - EQUAL);
    equal.min_by(|a, b| {
        let misses = a.miss_rate.total_cmp(&b.miss_rate);
        (!a.follows)
            .cmp(&!b.follows)
            .then(misses)
            .then(a.params.cmp(&b.params))
            .then(b.worth().total_cmp(&a.worth()))
    })
}

fn verdict(contenders: &[Contender], views: &[View], winner: Option<&View>) -> Verdict {
    let paying = || views.iter().filter(|v| v.sleeps && v.pays);
    match winner.map(|w| &contenders[w.index].method) {
        Some(LaneMethod::Interrupt) => Verdict::Interrupt,
        Some(_) => Verdict::Rule,
        None if views.iter().all(|v| !v.sleeps) => Verdict::Unverified,
        None if paying().count() == 0 => Verdict::NoRoom,
        None if paying().all(|v| !v.limits_kept) => Verdict::Limits,
        None => Verdict::TradeOff,
    }
}

/// Returns the method that a trade-off names: among those that pay and lose about the least IOPS,
/// the best. It may be interrupts.
fn nearest(views: &[View]) -> Option<&View> {
    let paying = || views.iter().filter(|v| v.pays && v.limits_kept);
    let most = paying()
        .map(|v| v.iops.log)
        .fold(f64::NEG_INFINITY, f64::max);
    best(paying().filter(|v| v.iops.log >= most - NEARLY))
}

fn open(views: &[View], winner: Option<&View>, nearest: Option<usize>, wanted: u32) -> Vec<usize> {
    let better = |v: &View| {
        winner.is_none_or(|w| {
            let error = v.value.se.hypot(w.value.se);
            v.gain() - w.worth() > EQUAL - OPEN * error
        })
    };
    // A method whose few trials beat the answer stays open: a reader of the table would ask why it
    // is not the answer.
    let lucky = |v: &View| {
        let ahead = winner.is_none_or(|w| v.measured > w.measured + EQUAL);
        v.kept && v.pays && ahead
    };
    let unsure = |v: &View| {
        let is_answer = winner.is_some_and(|w| w.index == v.index) || nearest == Some(v.index);
        match is_answer {
            true => v.trials < wanted || (DOUBT..1.0 - DOUBT).contains(&v.breaks),
            false => v.may_keep() && better(v) || v.trials < wanted && lucky(v),
        }
    };
    let mut open: Vec<&View> = views.iter().filter(|v| unsure(v)).collect();
    // The answer comes first, then the others by their possible gain over it.
    let worth = winner.map_or(0.0, View::worth);
    let gain = |v: &View| (v.gain() + v.value.se - worth).max(0.0) * (1.0 - v.breaks);
    open.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    let answer = winner.map(|w| w.index).or(nearest);
    open.sort_by_key(|v| Some(v.index) != answer);
    open.into_iter().map(|v| v.index).collect()
}

/// The probability that a normal deviate lies below `errors`, by the logistic curve, which differs
/// from the normal one by at most 1 %.
fn likely(errors: f64) -> f64 {
    1.0 / (1.0 + (-1.702 * errors).exp())
}

impl Decision {
    /// Returns the decision in the form of a result. `contenders` and `noise` must be those that
    /// [`decide`] was called with; `asked` is the floor as the user wrote it.
    #[must_use]
    pub fn recommendation(
        &self,
        bs: Bytes,
        contenders: &[Contender],
        noise: &Noise,
        asked: &str,
    ) -> Recommendation {
        let named = |index: usize| MethodName(contenders[index].method.clone().into());
        let method = self
            .chosen
            .map_or(LaneMethod::Poll, |i| contenders[i].method.clone());
        Recommendation {
            bs,
            verdict: self.verdict,
            method: method.into(),
            floor: self.floor,
            floor_asked: asked.to_owned(),
            nearest: self.nearest.map(named),
            following: self.following.map(named),
            open: self.open.iter().map(|&index| named(index)).collect(),
            noise_pct: noise.iops * 100.0,
            follows: self
                .chosen
                .is_none_or(|i| contenders[i].method.follows_the_device()),
            over_linux: self.chosen.and_then(|i| over_linux(contenders, i)),
        }
    }
}

/// The chosen rule's KIOPS/core over that of Linux's rule, each relative to polling. `None` where
/// the chosen method is Linux's rule or no rule at all.
fn over_linux(contenders: &[Contender], chosen: usize) -> Option<Ratio> {
    let linux = LaneMethod::Hybrid(LINUX.parse().expect("Linux's rule is in the registry"));
    let theirs = contenders.iter().find(|c| c.method == linux)?;
    let own = &contenders[chosen];
    own.method.policy().filter(|_| own.method != linux)?;
    let ratios = |c: &Contender| per_core(&c.trials).0;
    ratio_of_medians(&ratios(own), &ratios(theirs), RATIO_SEED)
}
