//! What limits a verdict, in words: what disturbed its trials, and what they leave open.

use super::Of;
use crate::disturbed;
use crate::label;
use crate::quantity::number;
use q2c_policy::Method;
use q2c_result::tune::{MethodName, Undecided};

impl Of<'_> {
    pub(super) fn caveats(&self) -> Vec<String> {
        let mut caveats = self.disturbed();
        caveats.extend(self.undecided());
        caveats.extend(self.open());
        caveats.extend(self.within());
        caveats.extend(self.following());
        caveats.extend(self.elsewhere());
        caveats
    }

    /// What disturbed the trials of this block size.
    pub(super) fn disturbed(&self) -> Vec<String> {
        let others = self.result.recommendation.iter().map(|other| other.bs);
        let others: Vec<String> = others
            .filter(|bs| *bs != self.recommendation.bs)
            .map(|bs| format!("{bs}: "))
            .collect();
        // A warning about one block size begins with it.
        let of_other = |found: &str| others.iter().any(|bs| found.starts_with(bs));
        let warnings = self.result.warnings.iter();
        disturbed::caveats(warnings.filter(|warning| !of_other(&warning.found)))
    }

    /// What the trials do not say: a sentence each.
    fn undecided(&self) -> Vec<String> {
        let all = self.recommendation.undecided.iter();
        all.map(|of| self.undecided_of(of)).collect()
    }

    fn undecided_of(&self, of: &Undecided) -> String {
        match of {
            Undecided::SingleTrials { single, tried } => format!(
                "nothing is decided by intervals: {single} of {tried} methods have one trial, and one trial has no \
                 interval (--trials 3 gives it one)"
            ),
            Undecided::Untried(methods) => format!(
                "not in this answer, for want of a trial that can be compared: {}",
                some(methods)
            ),
            Undecided::FloorWithin { min, max } => format!(
                "not settled: its trials gave {} to {} % of polling's IOPS, so they do not say whether it stays above \
                 the floor of {} %",
                number(min * 100.0),
                number(max * 100.0),
                number(self.recommendation.floor * 100.0)
            ),
        }
    }

    /// Names the methods that more trials might still make the answer.
    fn open(&self) -> Option<String> {
        let r = self.recommendation;
        // Where no method has two trials, nothing was seen of their scatter.
        let seen = self
            .cells
            .iter()
            .any(|cell| cell.measured.rates.iops.trials > 1);
        let scatter = match seen {
            true => format!(
                "are taken to scatter by {} % (as seen, and 4 % assumed for one more)",
                number(r.noise_pct)
            ),
            false => format!(
                "are assumed to scatter by {} % (no method has two of them)",
                number(r.noise_pct)
            ),
        };
        let others: Vec<_> = r
            .open
            .iter()
            .filter(|name| name.0 != r.method)
            .cloned()
            .collect();
        let left = match (r.open.is_empty(), others.is_empty()) {
            (true, _) => return None,
            (false, true) => "this method needs more trials of its own".to_owned(),
            (false, false) => format!("the trials leave open {}", some(&others)),
        };
        Some(format!(
            "not settled: {left}, as single trials of one method {scatter}; --trials adds some"
        ))
    }

    /// Names the method that kept the floor in its own trials only.
    fn elsewhere(&self) -> Option<String> {
        let of = self.recommendation.elsewhere.as_ref()?;
        Some(format!(
            "{} gave {} % of polling's IOPS in its own trials; over all states that the device had in this run it \
             would give {} % (simulated)",
            told(&of.method),
            number(of.iops * 100.0),
            number(of.iops_over_run * 100.0)
        ))
    }

    /// Says so when the median of the recommended method is below the floor. It can be recommended
    /// all the same when the floor lies within its interval.
    fn within(&self) -> Option<String> {
        let own = self.recommended()?.relative?.iops;
        (self.recommendation.method != Method::POLL && own.median < self.recommendation.floor).then(
            || {
                "its median is below the floor; the simulation that all trials corrected says that it keeps it"
                    .to_owned()
            },
        )
    }

    fn following(&self) -> Option<String> {
        let own = self.recommended().filter(|cell| cell.sleeping)?;
        if self.recommendation.follows {
            return None;
        }
        let follows = self.recommendation.following.as_ref();
        let Some((name, cell)) = follows.and_then(|name| Some((name, self.cell(&name.0)?))) else {
            return Some(
                "it does not follow the device when that changes; no rule that does kept the floor and paid"
                    .to_owned(),
            );
        };
        let (own, theirs) = (own.relative?, cell.relative?);
        let costs = (1.0 - theirs.kiops_per_core.median / own.kiops_per_core.median) * 100.0;
        let price = match costs > 0.0 {
            true => format!(
                "following the device costs {} % of KIOPS/core",
                number(costs)
            ),
            false => "following the device cost nothing here".to_owned(),
        };
        let told = self.beside(&name.0.detail(), cell)?;
        Some(format!(
            "it does not follow the device when that changes; of the rules that do, {told}: {price}"
        ))
    }
}

/// The first methods, and how many more there are.
fn some(methods: &[MethodName]) -> String {
    const SHOWN: usize = 3;
    let names: Vec<String> = methods.iter().take(SHOWN).map(told).collect();
    let more = match methods.len().saturating_sub(SHOWN) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    names.join(", ") + &more
}

fn told(name: &MethodName) -> String {
    label::method(&name.0)
}
