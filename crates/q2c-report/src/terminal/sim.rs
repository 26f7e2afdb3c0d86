//! `q2c poll sim` in a terminal: the conclusion, a row for each method, and what was assumed.

use super::screen::{Screen, Tone};
use super::simulated::{HEAD, LEGEND, row};
use super::table::{Field, Table};
use crate::quantity::count;
use crate::sweep::beside_polling;
use crate::taken_as;
use q2c_result::sim::{FormulaWindows, SimMethod, SimResult};
use q2c_result::tune::FLOOR;

/// The outcomes of a simulation, with what the trace was taken as.
#[must_use]
pub fn sim(result: &SimResult, screen: Screen) -> String {
    let mut text = conclusion(&result.methods, screen) + &screen.warnings(&result.warnings);
    let mut table = Table::of_numbers(HEAD);
    for method in &result.methods {
        let name = Field::from(&method.method).marked("", "  ");
        table.add(row(name, method.ios, &method.gives));
    }
    text += &table.text(screen);
    text += &screen.legend(LEGEND);
    for words in result.methods.iter().filter_map(no_time) {
        text += &screen.note(Tone::Caution, "no time:", &words);
    }
    text + &assumed(result, screen)
}

/// The rule with the most KIOPS per core of those that keep classic polling's IOPS.
fn conclusion(methods: &[SimMethod], screen: Screen) -> String {
    let Some(poll) = methods
        .iter()
        .find(|method| method.method == "poll" && method.ios > 0)
    else {
        return String::new();
    };
    let floor = FLOOR * poll.gives.rates.iops;
    let rules = || {
        let rules = methods
            .iter()
            .filter(|method| !["poll", "oracle"].contains(&&*method.method));
        rules.filter(|method| method.ios > 0)
    };
    let per_core = |method: &&SimMethod| method.gives.kiops_per_core;
    let keeps = rules().filter(|method| method.gives.rates.iops >= floor);
    let said = |method: &SimMethod| beside_polling(&method.gives, &poll.gives);
    let most_iops = |method: &&SimMethod| method.gives.rates.iops;
    let by =
        |of: fn(&&SimMethod) -> f64| move |a: &&SimMethod, b: &&SimMethod| of(a).total_cmp(&of(b));
    match keeps.max_by(by(per_core)) {
        Some(best) => screen.note(Tone::Good, &format!("▸ {}:", best.method), &said(best)),
        None => rules()
            .max_by(by(most_iops))
            .map_or_else(String::new, |nearest| {
                let words = format!("the nearest, {}, has {}", nearest.method, said(nearest));
                let kept = FLOOR * 100.0;
                let none = format!("▸ no rule keeps {kept:.0} % of classic polling's IOPS;");
                screen.note(Tone::Caution, &none, &words)
            }),
    }
}

/// What the simulation was of, and what it took for granted.
fn assumed(result: &SimResult, screen: Screen) -> String {
    let lanes = match result.lanes {
        1 => "1 lane".to_owned(),
        n => format!("{n} lanes"),
    };
    let of = format!("{} I/Os, {lanes}", count(result.ios));
    let mut text = screen.note(Tone::Dim, &format!("{}:", result.trace), &of);
    for words in taken_as::words(&result.taken_as, result.lanes) {
        text += &screen.note(Tone::Dim, "taken as:", &words);
    }
    text += &screen.note(Tone::Dim, "costs:", &result.cost);
    let time = format!(
        "{} after {} of warm-up",
        result.measure_ns, result.warm_up_ns
    );
    text + &screen.note(Tone::Dim, "simulated:", &time)
}

/// Says in how many windows a formula gave no time, so that the rule polled. `None` when it always
/// gave one.
fn no_time(row: &SimMethod) -> Option<String> {
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

    const WIDE: Screen = Screen {
        width: 200,
        colour: false,
    };

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
        let told = conclusion(&all, WIDE);
        assert_eq!(
            told,
            "▸ a: 1.50 times the KIOPS/core of classic polling at 98.0 % of its IOPS; 0 % missed\n"
        );
        all.remove(2);
        let told = conclusion(&all, WIDE);
        assert!(
            told.starts_with("▸ no rule keeps 97 % of classic polling's IOPS; the nearest, b,"),
            "{told}"
        );
        all.truncate(2);
        assert_eq!(conclusion(&all, WIDE), "");
    }
}
