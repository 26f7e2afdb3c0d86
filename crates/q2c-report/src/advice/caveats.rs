//! What limits a verdict, in words: what disturbed its trials, and what they leave open.

use super::AdviceBasis;
use crate::quantity::{number, percent};
use crate::{invalid, label};
use q2c_policy::Method;
use q2c_result::tune::{MethodName, Undecided, WORTH};

/// The share of completions that a rule may miss before it gets a caveat.
const MOST_MISSED: f64 = 0.5;

impl AdviceBasis<'_> {
    pub(super) fn caveats(&self) -> Vec<String> {
        let mut caveats = self.disturbed();
        let undecided = self.recommendation.undecided.iter();
        caveats.extend(undecided.map(|case| self.undecided(case)));
        let method = [
            self.open(),
            self.below_floor(),
            self.following(),
            self.elsewhere(),
        ];
        let price = [self.interrupts_gain_more(), self.misses_most()];
        caveats.extend(method.into_iter().chain(price).flatten());
        caveats
    }

    /// The price of interrupts, if they are below the floor and give more IOPS per core than the
    /// recommended rule.
    fn interrupts_gain_more(&self) -> Option<String> {
        let rule = self.recommended().filter(|cell| cell.sleeping)?.relative?;
        let interrupts = self.cell(&Method::INTERRUPT)?;
        let relative = interrupts.relative.filter(|it| it.cores == rule.cores)?;
        let gains = relative.kiops_per_core.median > WORTH * rule.kiops_per_core.median;
        let is_below = relative.iops.median < self.recommendation.floor;
        (gains && is_below).then(|| self.price("Interrupts", interrupts, &relative))
    }

    fn misses_most(&self) -> Option<String> {
        let rule = self.recommended().filter(|cell| cell.sleeping)?;
        let miss_rate = rule.measured.rates.miss_rate.median;
        let missed = percent(miss_rate);
        (miss_rate > MOST_MISSED)
            .then(|| format!("It misses {missed} of the completions: it wakes after them."))
    }

    /// What disturbed the trials of this block size.
    pub(super) fn disturbed(&self) -> Vec<String> {
        // A warning about one block size starts with that size.
        let of_other = |found: &str| {
            let mut sizes = self.result.recommendation.iter().map(|other| other.bs);
            let this_size = self.recommendation.bs;
            sizes.any(|bs| bs != this_size && found.starts_with(&format!("{bs}: ")))
        };
        let warnings = self.result.warnings.iter();
        invalid::caveats(warnings.filter(|warning| !of_other(&warning.found)))
    }

    fn undecided(&self, case: &Undecided) -> String {
        match case {
            Undecided::SingleTrials { single, tried } => format!(
                "{single} of {tried} methods have one trial, which has no interval, so nothing is decided by intervals. \
                 --trials 3 gives them one."
            ),
            Undecided::Untried(methods) => format!(
                "Not in this answer, for want of a trial that can be compared: {}.",
                first_three_names(methods)
            ),
            Undecided::FloorWithin { min, max } => format!(
                "Its trials gave {} to {} of polling's IOPS, so they do not say whether it keeps the floor of {}.",
                number(min * 100.0),
                percent(*max),
                percent(self.recommendation.floor)
            ),
        }
    }

    /// Names the methods that more trials might still make the answer.
    fn open(&self) -> Option<String> {
        let r = self.recommendation;
        // Without a method that has two trials, the scatter is unknown.
        let mut trials = self.cells.iter().map(|c| c.measured.rates.iops.trials);
        let scatter = if trials.any(|trials| trials > 1) {
            "as seen, and 4 % assumed for one more"
        } else {
            "assumed, as no method has two"
        };
        let others = r.open.iter().filter(|name| name.0 != r.method);
        let others: Vec<_> = others.cloned().collect();
        let open = match others.as_slice() {
            [] => "It needs more trials of its own".to_owned(),
            others => format!("Still open: {}", first_three_names(others)),
        };
        let noise = number(r.noise_pct);
        let scatter = format!("Single trials of a method scatter by {noise} % ({scatter})");
        (!r.open.is_empty()).then(|| format!("{open}. {scatter}; --trials adds some."))
    }

    fn elsewhere(&self) -> Option<String> {
        let elsewhere = self.recommendation.elsewhere.as_ref()?;
        Some(format!(
            "{} kept {} of polling's IOPS in its own trials. Over all states that the device had in this run it \
             would keep {} (simulated).",
            label::method(&elsewhere.method.0),
            percent(elsewhere.iops),
            percent(elsewhere.iops_over_run)
        ))
    }

    /// A caveat if the median of the recommended method is below the floor. Such a method can be
    /// recommended while the floor lies within its interval.
    fn below_floor(&self) -> Option<String> {
        let is_below = self.recommended()?.relative?.iops.median < self.recommendation.floor;
        const KEEPS: &str = "The simulation that all trials corrected says that it keeps it.";
        (self.recommendation.method != Method::POLL && is_below)
            .then(|| format!("Its median is below the floor. {KEEPS}"))
    }

    fn following(&self) -> Option<String> {
        let recommended = self.recommended().filter(|cell| cell.sleeping)?;
        if self.recommendation.follows {
            return None;
        }
        let follows = self.recommendation.following.as_ref();
        const NOT: &str = "It does not follow the device when that changes.";
        let Some(cell) = follows.and_then(|name| self.cell(&name.0)) else {
            return Some(format!("{NOT} No rule that does kept the floor and paid."));
        };
        let (ours, theirs) = (recommended.relative?, cell.relative?);
        let costs = (1.0 - theirs.kiops_per_core.median / ours.kiops_per_core.median) * 100.0;
        let price = match costs {
            some if some > 0.0 => format!("costs {} % of the IOPS per core", number(some)),
            _ => "cost nothing here".to_owned(),
        };
        let theirs = self.relative_sentence(&cell.method.detail(), cell)?;
        Some(format!("{NOT} Following the device {price}. {theirs}."))
    }
}

fn first_three_names(methods: &[MethodName]) -> String {
    let names: Vec<String> = methods.iter().map(|name| label::method(&name.0)).collect();
    label::first_names(&names, 3)
}
