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
        caveats.extend(self.below_floor());
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
                "{single} of {tried} methods have one trial, which has no interval, so nothing is decided by intervals. \
                 --trials 3 gives them one."
            ),
            Undecided::Untried(methods) => format!(
                "Not in this answer, for want of a trial that can be compared: {}.",
                first_three_names(methods)
            ),
            Undecided::FloorWithin { min, max } => format!(
                "Its trials gave {} to {} % of polling's IOPS, so they do not say whether it keeps the floor of {} %.",
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
        let scatter = if seen {
            "as seen, and 4 % assumed for one more"
        } else {
            "assumed, as no method has two"
        };
        let others = r.open.iter().filter(|name| name.0 != r.method);
        let others: Vec<_> = others.cloned().collect();
        let open = match (r.open.is_empty(), others.is_empty()) {
            (true, _) => return None,
            (false, true) => "It needs more trials of its own".to_owned(),
            (false, false) => format!("Still open: {}", first_three_names(&others)),
        };
        Some(format!(
            "{open}. Single trials of a method scatter by {} % ({scatter}); --trials adds some.",
            number(r.noise_pct)
        ))
    }

    /// Names the method that kept the floor in its own trials only.
    fn elsewhere(&self) -> Option<String> {
        let of = self.recommendation.elsewhere.as_ref()?;
        Some(format!(
            "{} kept {} % of polling's IOPS in its own trials. Over all states that the device had in this run it \
             would keep {} % (simulated).",
            label::method(&of.method.0),
            number(of.iops * 100.0),
            number(of.iops_over_run * 100.0)
        ))
    }

    /// Says so when the median of the recommended method is below the floor. It can be recommended
    /// all the same when the floor lies within its interval.
    fn below_floor(&self) -> Option<String> {
        let own = self.recommended()?.relative?.iops;
        let is_below = own.median < self.recommendation.floor;
        (self.recommendation.method != Method::POLL && is_below).then(|| {
            "Its median is below the floor. The simulation that all trials corrected says that it keeps it."
                .to_owned()
        })
    }

    fn following(&self) -> Option<String> {
        let own = self.recommended().filter(|cell| cell.sleeping)?;
        if self.recommendation.follows {
            return None;
        }
        let follows = self.recommendation.following.as_ref();
        let Some((name, cell)) = follows.and_then(|name| Some((name, self.cell(&name.0)?))) else {
            return Some(
                "It does not follow the device when that changes. No rule that does kept the floor and paid."
                    .to_owned(),
            );
        };
        let (own, theirs) = (own.relative?, cell.relative?);
        let costs = (1.0 - theirs.kiops_per_core.median / own.kiops_per_core.median) * 100.0;
        let price = if costs > 0.0 {
            format!(
                "Following the device costs {} % of the IOPS per core.",
                number(costs)
            )
        } else {
            "Following the device cost nothing here.".to_owned()
        };
        let theirs = self.beside(&name.0.detail(), cell)?;
        Some(format!(
            "It does not follow the device when that changes. {price} {theirs}."
        ))
    }
}

/// The first methods, and how many more there are.
fn first_three_names(methods: &[MethodName]) -> String {
    let names: Vec<String> = methods.iter().map(|name| label::method(&name.0)).collect();
    label::first_names(&names, 3)
}
