//! What `q2c poll sim` says: its conclusion, and what was assumed.

use crate::document::Answer;
use crate::quantity::count;
use crate::said::{Said, Weight};
use crate::sweep::beside_polling;
use crate::taken_as;
use q2c_result::sim::{FormulaWindows, SimMethod, SimResult};
use q2c_result::tune::FLOOR;

/// The rule with the most KIOPS per core of those that keep classic polling's IOPS.
/// `None` without polling.
pub(crate) fn answer(methods: &[SimMethod]) -> Option<Answer> {
    let poll = methods
        .iter()
        .find(|method| method.method == "poll" && method.ios > 0)?;
    let floor = FLOOR * poll.gives.rates.iops;
    let rules = || {
        let rules = methods
            .iter()
            .filter(|method| !["poll", "oracle"].contains(&&*method.method));
        rules.filter(|method| method.ios > 0)
    };
    let by =
        |of: fn(&SimMethod) -> f64| move |a: &&SimMethod, b: &&SimMethod| of(a).total_cmp(&of(b));
    let said = |method: &SimMethod| beside_polling(&method.gives, &poll.gives);
    let keeps = rules().filter(|method| method.gives.rates.iops >= floor);
    let best = keeps.max_by(by(|method| method.gives.kiops_per_core));
    if let Some(best) = best {
        return Some(Said::new(Weight::Good, &best.method, said(best)).into());
    }
    let nearest = rules().max_by(by(|method| method.gives.rates.iops))?;
    let words = format!(
        "No rule keeps {:.0} % of classic polling's IOPS. The nearest, {}, has {}",
        FLOOR * 100.0,
        nearest.method,
        said(nearest)
    );
    Some(Said::new(Weight::Caution, "", words).into())
}

/// What the simulation was of.
pub(crate) fn about(result: &SimResult) -> String {
    let lanes = match result.lanes {
        1 => "1 lane".to_owned(),
        n => format!("{n} lanes"),
    };
    format!("{} I/Os, {lanes}", count(result.ios))
}

/// What the simulation took for granted.
pub(crate) fn assumed(result: &SimResult) -> Vec<Said> {
    let taken = taken_as::words(&result.taken_as, result.lanes).into_iter();
    let time = format!(
        "{} after {} of warm-up",
        result.measure_ns, result.warm_up_ns
    );
    let rest = [("costs", result.cost.clone()), ("simulated", time)];
    taken
        .map(|words| ("taken as", words))
        .chain(rest)
        .map(|(what, words)| Said::plain(what, words))
        .collect()
}

/// Says in how many windows a formula gave no time, so that the rule polled. `None` when it always
/// gave one.
pub(crate) fn no_time(row: &SimMethod) -> Option<String> {
    let FormulaWindows {
        all,
        negative,
        undefined,
    } = row.windows.as_ref()?;
    (negative + undefined > 0).then(|| {
        format!(
            "no sleep after {} of {all} windows: {negative} gave a negative time, {undefined} no number (division by zero): {}",
            negative + undefined,
            row.method
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Simulated;

    fn method(name: &str, iops: f64, kiops_per_core: f64) -> SimMethod {
        let mut gives = Simulated {
            kiops_per_core,
            ..Simulated::default()
        };
        gives.rates.iops = iops;
        SimMethod {
            method: name.to_owned(),
            ios: 1,
            gives,
            windows: None,
        }
    }

    /// Of 100 K IOPS by polling, 97 K are the floor: `b` is under it, and the oracle is no rule.
    #[test]
    fn the_conclusion_is_the_best_rule_that_keeps_the_rate() {
        let mut all = vec![
            method("poll", 100_000.0, 100.0),
            method("oracle", 100_000.0, 500.0),
            method("a", 98_000.0, 150.0),
            method("b", 96_000.0, 300.0),
        ];
        let best = answer(&all).unwrap();
        assert_eq!((best.of.as_str(), best.weight), ("a", Weight::Good));
        assert!(best.headline.starts_with("1.50 times"), "{best:?}");
        all.remove(2);
        let none = answer(&all).unwrap();
        assert_eq!(none.weight, Weight::Caution);
        assert!(none.headline.contains("The nearest, b,"), "{none:?}");
        all.truncate(2);
        assert!(answer(&all).is_none());
    }
}
