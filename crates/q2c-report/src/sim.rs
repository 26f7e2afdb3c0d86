//! The report of `q2c poll sim`.

use crate::document::{Document, Reported, Section};
use crate::phrase::counted;
use crate::quantity::count;
use crate::said::Note;
use crate::sweep::beside_polling;
use crate::{simulated, taken_as};
use q2c_result::sim::{SimMethod, SimResult};
use q2c_result::tune::FLOOR;

impl Reported for SimResult {
    fn document(&self) -> Document<'_> {
        let about = format!("{} I/Os, {}", count(self.ios), counted(self.lanes, "lane"));
        let row = |method: &SimMethod| simulated::row(&method.method, method.ios, &method.gives);
        let no_time = self.methods.iter().filter_map(no_time);
        let taken = taken_as::words(&self.taken_as, self.lanes);
        let time = format!("{} after {} of warm-up", self.measure_ns, self.warm_up_ns);
        let assumed = Note::plains("taken as", taken).chain([
            Note::plain("costs", &self.cost),
            Note::plain("simulated", time),
        ]);
        Document::new("poll sim", env!("CARGO_PKG_VERSION"), &self.schema)
            .titled(self.trace.clone(), about)
            .run(self.seed, 0)
            .answers(answer(&self.methods))
            .section(
                Section::new("")
                    .table(simulated::table(self.methods.iter().map(row)))
                    .notes(Note::cautions("no time", no_time)),
            )
            .section(Section::new("What was assumed").notes(assumed))
            .warnings(&self.warnings)
    }
}

/// The rule with the most KIOPS per core among those that keep classic polling's IOPS. Returns
/// `None` if polling was not simulated.
fn answer(methods: &[SimMethod]) -> Option<Note> {
    let counting = || methods.iter().filter(|method| method.ios > 0);
    let poll = counting().find(|method| method.method == "poll")?;
    let floor = FLOOR * poll.gives.rates.iops;
    let rules = || counting().filter(|method| !["poll", "oracle"].contains(&&*method.method));
    let most = |a: f64, b: f64| a.total_cmp(&b);
    let said = |method: &SimMethod| beside_polling(&method.gives, &poll.gives);
    let keeps = rules().filter(|method| method.gives.rates.iops >= floor);
    let best = keeps.max_by(|a, b| most(a.gives.kiops_per_core, b.gives.kiops_per_core));
    if let Some(best) = best {
        return Some(Note::good(&best.method, said(best)));
    }
    let nearest = rules().max_by(|a, b| most(a.gives.rates.iops, b.gives.rates.iops))?;
    let floor = FLOOR * 100.0;
    let none = format!("No rule keeps {floor:.0} % of classic polling's IOPS");
    let nearest = format!("The nearest, {}, has {}", nearest.method, said(nearest));
    Some(Note::caution("", format!("{none}. {nearest}")))
}

/// The number of windows in which a formula gave no time, so that the rule polled; `None` if there
/// is none.
fn no_time(row: &SimMethod) -> Option<String> {
    let windows = row.windows?;
    let (negative, undefined, method) = (windows.negative, windows.undefined, &row.method);
    let without = negative + undefined;
    let windows = format!("no sleep after {without} of {} windows", windows.all);
    let kinds =
        format!("{negative} gave a negative time, {undefined} no number (division by zero)");
    (without > 0).then(|| format!("{windows}: {kinds}: {method}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::said::Weight;
    use q2c_model::SimulatedFigures;

    fn method(name: &str, iops: f64, kiops_per_core: f64) -> SimMethod {
        let mut gives = SimulatedFigures {
            kiops_per_core,
            ..SimulatedFigures::default()
        };
        gives.rates.iops = iops;
        SimMethod {
            method: name.to_owned(),
            ios: 1,
            gives,
            windows: None,
        }
    }

    /// The floor is 97 K, of 100 K IOPS by polling: `b` is below it, and the oracle is no rule.
    #[test]
    fn the_conclusion_is_the_best_rule_that_keeps_the_rate() {
        let mut methods = vec![
            method("poll", 100_000.0, 100.0),
            method("oracle", 100_000.0, 500.0),
            method("a", 98_000.0, 150.0),
            method("b", 96_000.0, 300.0),
        ];
        let best = answer(&methods).unwrap();
        assert_eq!((best.what.as_str(), best.weight), ("a", Weight::Good));
        assert!(best.words.starts_with("1.50 times"), "{best:?}");
        methods.remove(2);
        let none = answer(&methods).unwrap();
        assert_eq!(none.weight, Weight::Caution);
        assert!(none.words.contains("The nearest, b,"), "{none:?}");
        methods.truncate(2);
        assert!(answer(&methods).is_none());
    }
}
