//! Verdicts: compares the interval over the trials with the claim.

use crate::claim::eval::{ClaimSample, ClaimSide, Evaluated, evaluate};
use crate::claim::expr::Expect;
use crate::claim::scope::{ClaimContext, ClaimScope};
use q2c_model::stats::Interval;
use q2c_result::reproduce::{
    Basis, CpuUse, Expectation, JudgedClaim, Need, NeedKind, Point, Reason, ReproduceVerdict,
    ShortWindow, StatedError, TrialsJudged,
};

/// Fewest trials for a verdict. With three, `[min, max]` covers the true median with 75 %.
pub(crate) const MIN_TRIALS: u32 = 3;

/// Periods of a sleep rule that a window needs. In the first, the rule sleeps by what it learned
/// before the window. In the second it uses the times of those I/Os. Only in the third do the times
/// result from its own sleeps in the window.
pub(crate) const MIN_PERIODS: u32 = 3;

/// A claim that can be judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claim {
    /// The claim in words.
    pub says: String,
    /// The published figures.
    pub published: Option<String>,
    /// How the words were turned into expressions.
    pub read_as: Option<String>,
    /// The expected comparisons, all of which must be true.
    pub(crate) expects: Vec<Expect>,
    /// The window, phase, job and axis values that apply to all its figures.
    pub(crate) context: ClaimContext,
    /// The claim's needs, with what the machine has.
    pub needs: Vec<Need>,
    /// The model that was fitted to the claim's own figure; `None` without one.
    pub fitted: Option<String>,
}

/// Facts that all claims of a run share.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct JudgedRun<'a> {
    pub points: &'a [Point],
    /// The factor by which times were multiplied.
    pub scale: f64,
    /// Requested trials of each point.
    pub trials: u32,
    /// The stated error of the study's model; `None` if the study measures.
    pub model_error: Option<StatedError>,
}

/// Judges a claim. Its expressions must have been [checked](ClaimScope::check).
pub(crate) fn judge_claim(claim: &Claim, scope: &ClaimScope, run: &JudgedRun<'_>) -> JudgedClaim {
    let expects = claim.expects.iter();
    let expressions: Vec<ExpectEvaluation<'_>> = expects
        .map(|expect| ExpectEvaluation::new(expect, claim, scope, run))
        .collect();
    let mut needs = claim.needs.clone();
    needs.extend(lacking_cpus(&expressions, &needs));
    let lacks = needs.iter().any(|need| !need.met);
    // The factor by which the window is too short.
    let shortage = |short: &ShortWindow| short.needed_s / short.present_s;
    let short = expressions.iter().filter_map(|one| one.short_window(run));
    let shortest = short.max_by(|a, b| shortage(a).total_cmp(&shortage(b)));
    let cannot_judge = lacks || claim.fitted.is_some() || shortest.is_some();
    let verdict = if cannot_judge {
        ReproduceVerdict::CannotJudge
    } else {
        combined_verdict(&expressions)
    };
    let predicted = expressions.iter().any(|one| one.result.predicted);
    let mut reasons: Vec<Reason> = lacks.then_some(Reason::Lacks).into_iter().collect();
    let fitted = claim.fitted.iter().cloned();
    reasons.extend(fitted.map(|model| Reason::Fitted { model }));
    reasons.extend(shortest.map(Reason::ShortWindow));
    if !cannot_judge {
        reasons.extend(expressions.iter().filter_map(|one| one.reason(verdict)));
    }
    if predicted {
        reasons.extend(run.model_error.clone().map(Reason::Predicted));
    }
    let measured = expressions.iter().any(|one| !one.result.samples.is_empty());
    if run.scale != 1.0 && measured {
        reasons.push(Reason::Scaled { scale: run.scale });
    }
    let expects = expressions.iter().map(|e| e.expectation(cannot_judge, run));
    JudgedClaim {
        says: claim.says.clone(),
        published: claim.published.clone(),
        read_as: claim.read_as.clone(),
        verdict,
        basis: if predicted {
            Basis::Predicted
        } else {
            Basis::Measured
        },
        expects: expects.collect(),
        needs,
        reasons,
    }
}

/// Holds if every trial is inside; does not hold if all are on one side outside; else undecided.
fn verdict(samples: &[ClaimSample], missing: bool) -> ReproduceVerdict {
    let all_on = |side: ClaimSide| samples.iter().all(|sample| sample.side == side);
    match samples.len() {
        0 if missing => ReproduceVerdict::CannotJudge,
        n if n < MIN_TRIALS as usize => ReproduceVerdict::Undecided,
        _ if all_on(ClaimSide::Inside) => ReproduceVerdict::Holds,
        _ if all_on(ClaimSide::Below) || all_on(ClaimSide::Above) => ReproduceVerdict::DoesNotHold,
        _ => ReproduceVerdict::Undecided,
    }
}

/// A single expression that does not hold decides the claim, whatever the others say.
fn combined_verdict(expressions: &[ExpectEvaluation<'_>]) -> ReproduceVerdict {
    use ReproduceVerdict::{CannotJudge, DoesNotHold, Holds, Undecided};
    let mut order = [DoesNotHold, CannotJudge, Undecided, Holds].into_iter();
    let has = |verdict: &_| expressions.iter().any(|one| one.verdict == *verdict);
    order.find(has).unwrap_or(CannotJudge)
}

/// The CPUs that the evaluated points lack, unless the claim already lacks CPUs by its own needs.
fn lacking_cpus(expressions: &[ExpectEvaluation<'_>], claimed: &[Need]) -> Option<Need> {
    let uses = expressions
        .iter()
        .filter_map(|expression| expression.result.cpus);
    let most: CpuUse = uses.max_by_key(|cpu_use| cpu_use.needed)?;
    let lacks_cpus = |need: &Need| need.kind == NeedKind::Cpus && !need.met;
    (most.needed > most.present && !claimed.iter().any(lacks_cpus)).then(|| Need {
        kind: NeedKind::Cpus,
        needed: most.needed.to_string(),
        present: most.present.to_string(),
        met: false,
    })
}

struct ExpectEvaluation<'a> {
    expect: &'a Expect,
    result: Evaluated,
    verdict: ReproduceVerdict,
}

impl<'a> ExpectEvaluation<'a> {
    fn new(expect: &'a Expect, claim: &Claim, scope: &ClaimScope, run: &JudgedRun<'_>) -> Self {
        let evaluated = evaluate(expect, scope, &claim.context, run.points);
        ExpectEvaluation {
            expect,
            verdict: verdict(&evaluated.samples, evaluated.missing.is_some()),
            result: evaluated,
        }
    }

    /// The figure's window if it is too short for the rule of its job.
    fn short_window(&self, run: &JudgedRun<'_>) -> Option<ShortWindow> {
        let window = self.result.shortest.as_ref()?;
        // Allows for rounding of scaled times.
        let enough = f64::from(MIN_PERIODS) * (1.0 - 1e-9);
        (window.periods() < enough).then(|| ShortWindow {
            figure: window.figure.clone(),
            period_s: window.period_s,
            periods: MIN_PERIODS,
            starting_s: window.starting_s,
            needed_s: window.period_s * f64::from(MIN_PERIODS) + window.starting_s,
            present_s: window.seconds,
            scale: run.scale,
        })
    }

    fn expectation(&self, cannot_judge: bool, run: &JudgedRun<'_>) -> Expectation {
        let samples = &self.result.samples;
        let over_trials = |side: fn(&ClaimSample) -> f64| {
            let values: Vec<f64> = samples.iter().map(side).collect();
            (!values.is_empty()).then(|| Interval::from_samples(&values))
        };
        let right = over_trials(|sample| sample.right);
        let ran = samples.len() + self.result.left_out.len();
        Expectation {
            text: self.expect.text.clone(),
            measured: over_trials(|sample| sample.left),
            right: right.filter(|_| self.expect.right.has_figures()),
            unit: self.expect.unit.to_owned(),
            trials: TrialsJudged {
                judged: samples.len() as u32,
                asked: run.trials.max(ran as u32),
                left_out: self.result.left_out.clone(),
            },
            verdict: if cannot_judge {
                ReproduceVerdict::CannotJudge
            } else {
                self.verdict
            },
        }
    }

    /// Why this expression led to the claim's verdict; `None` if it did not.
    fn reason(&self, claim_verdict: ReproduceVerdict) -> Option<Reason> {
        let text = self.expect.text.clone();
        let trials = self.result.samples.len() as u32;
        match self.verdict {
            verdict if verdict != claim_verdict => None,
            ReproduceVerdict::Holds => None,
            ReproduceVerdict::DoesNotHold => Some(Reason::Outside { text }),
            ReproduceVerdict::CannotJudge => self.result.missing.clone().map(Reason::Missing),
            ReproduceVerdict::Undecided if trials < MIN_TRIALS => Some(Reason::FewTrials {
                trials,
                least: MIN_TRIALS,
            }),
            ReproduceVerdict::Undecided => Some(Reason::Across { text }),
        }
    }
}

#[cfg(test)]
mod tests;
