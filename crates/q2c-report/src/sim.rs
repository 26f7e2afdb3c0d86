//! The reports of `q2c poll sim` and of sweeps that were split in volumes, and simulated figures as
//! a table.

use crate::document::{Document, Reported, Section};
use crate::interpretation;
use crate::label::first_names;
use crate::note::{Note, ReportField, ReportTable};
use crate::phrase::counted;
use crate::quantity::{count, duration, or_dash};
use crate::sweep::beside_polling;
use q2c_model::SimulatedFigures;
use q2c_result::sim::{SimMethod, SimResult};
use q2c_result::tune::STANDARD_FLOOR;
use q2c_result::volumes::{BestOfVolumes, OverallPolicy, VolumesChoice, VolumesResult};

impl Reported for SimResult {
    fn document(&self) -> Document<'_> {
        let about = format!("{} I/Os, {}", count(self.ios), counted(self.lanes, "lane"));
        let row = |method: &SimMethod| figure_row(&method.method, method.ios, &method.gives);
        let no_time = self.methods.iter().filter_map(no_time_sentence);
        let clauses = interpretation::clauses(&self.taken_as, self.lanes);
        let time = format!("{} after {} of warm-up", self.measure_ns, self.warm_up_ns);
        let cost = Note::plain("costs", &self.cost);
        let time = Note::plain("simulated", time);
        let assumed = Note::plains("taken as", clauses).chain([cost, time]);
        Document::new("poll sim", env!("CARGO_PKG_VERSION"), &self.schema)
            .titled(self.trace.clone(), about)
            .run(self.seed, 0)
            .answers(best_rule(&self.methods))
            .section(
                Section::new("")
                    .table(figure_table(self.methods.iter().map(row)))
                    .notes(Note::cautions("no time", no_time)),
            )
            .section(Section::new("What was assumed").notes(assumed))
            .warnings(&self.warnings)
    }
}

/// The table of rows made by [`figure_row`].
pub(crate) fn figure_table(rows: impl IntoIterator<Item = Vec<ReportField>>) -> ReportTable {
    let heads = "method | IOPS | CPU % | KIOPS/core | missed % | asked | late % | polled % | p50 | p99 | p99.9";
    let legend =
        "Late: time lost by oversleeping, over device time. Polled: time polled, over device time.";
    ReportTable::new(heads, rows).legend(legend)
}

/// The row of a method that simulated `ios` I/Os. Without I/Os the row has no figures, because some
/// would be a division by zero.
pub(crate) fn figure_row(name: &str, ios: u64, gives: &SimulatedFigures) -> Vec<ReportField> {
    let is_known = |value: f64| ios > 0 && value.is_finite();
    let figure = |v: f64, decimals: usize| or_dash(is_known(v).then(|| format!("{v:.decimals$}")));
    let time = |ns: f64| or_dash(is_known(ns).then(|| duration(ns)));
    let row = [
        name.to_owned(),
        figure(gives.rates.iops, 0),
        figure(gives.rates.cpu_pct, 1),
        figure(gives.kiops_per_core, 2),
        figure(gives.rates.miss_rate * 100.0, 2),
        time(gives.rates.effective_sleep_ns),
        figure(gives.t_over * 100.0, 2),
        figure(gives.t_under * 100.0, 1),
        time(gives.latencies.p50_ns),
        time(gives.latencies.p99_ns),
        time(gives.latencies.p999_ns),
    ];
    row.map(ReportField::from).to_vec()
}

/// The rule with the most KIOPS per core among those that keep classic polling's IOPS. Returns
/// `None` if polling was not simulated.
fn best_rule(methods: &[SimMethod]) -> Option<Note> {
    let simulated_methods = || methods.iter().filter(|method| method.ios > 0);
    let poll = simulated_methods().find(|method| method.method == "poll")?;
    let floor = STANDARD_FLOOR * poll.gives.rates.iops;
    let rules =
        || simulated_methods().filter(|method| !["poll", "oracle"].contains(&&*method.method));
    let by_figure = |a: f64, b: f64| a.total_cmp(&b);
    let sentence = |method: &SimMethod| beside_polling(&method.gives, &poll.gives);
    let fast_rules = rules().filter(|method| method.gives.rates.iops >= floor);
    let best = fast_rules.max_by(|a, b| by_figure(a.gives.kiops_per_core, b.gives.kiops_per_core));
    if let Some(best) = best {
        return Some(Note::good(&best.method, sentence(best)));
    }
    let nearest = rules().max_by(|a, b| by_figure(a.gives.rates.iops, b.gives.rates.iops))?;
    let floor = STANDARD_FLOOR * 100.0;
    let none = format!("No rule keeps {floor:.0} % of classic polling's IOPS");
    let nearest = format!("The nearest, {}, has {}", nearest.method, sentence(nearest));
    Some(Note::caution("", format!("{none}. {nearest}")))
}

/// The number of windows in which a formula gave no time, so that the rule polled; `None` if there
/// is none.
fn no_time_sentence(row: &SimMethod) -> Option<String> {
    let counts = row.windows?;
    let (negative, undefined, method) = (counts.negative, counts.undefined, &row.method);
    let no_sleep = negative + undefined;
    let windows = format!("no sleep after {no_sleep} of {} windows", counts.windows);
    let kinds =
        format!("{negative} gave a negative time, {undefined} no number (division by zero)");
    (no_sleep > 0).then(|| format!("{windows}: {kinds}: {method}"))
}

const MAX_NAMES: usize = 4;

impl Reported for VolumesResult {
    fn document(&self) -> Document<'_> {
        let time = self.measure_ns.map(|time| format!("{time} of each"));
        let about = format!(
            "{} I/Os · simulated: {} after {} of warm-up",
            count(self.ios),
            time.as_deref().unwrap_or("all I/Os"),
            self.warm_up_ns
        );
        let cells = self.cells.iter();
        let cells = cells.map(|cell| figure_row(&cell.policy, cell.ios, &cell.gives));
        let inexact = self.inexact.iter();
        let inexact = inexact.map(|inexact| format!("{}: {}", inexact.policy, inexact.reason));
        let poll = figure_row("poll", self.poll_ios, &self.poll);
        let table = figure_table([poll].into_iter().chain(cells));
        let inexact = Note::cautions("no figures", inexact);
        Document::new("poll sweep", &self.version, &self.schema)
            .titled(first_names(&self.volumes, MAX_NAMES), about)
            .run(self.seed, 0)
            .section(Section::default().table(table).notes(inexact))
    }
}

impl Reported for VolumesChoice {
    fn document(&self) -> Document<'_> {
        let row = |best: &BestOfVolumes| {
            let policy = best.policy.as_deref().unwrap_or("none keeps the limits");
            [first_names(&best.volumes, MAX_NAMES), policy.to_owned()]
        };
        let best = ReportTable::new("volumes | best", self.best.iter().map(row));
        Document::new("poll sweep", env!("CARGO_PKG_VERSION"), &self.schema)
            .titled("Best rule over volumes", format!("by {}", self.objective))
            .answers([
                best_note("best on average", self.on_average.as_ref()),
                best_note("best worst case", self.worst_case.as_ref()),
            ])
            .section(Section::new("Best of each").table(best))
    }
}

fn best_note(what: &str, best: Option<&OverallPolicy>) -> Note {
    let Some(best) = best else {
        return Note::plain(what, "no configuration keeps the limits everywhere");
    };
    let (policy, share, regret) = (&best.policy, best.share * 100.0, best.regret * 100.0);
    let figures = format!("{share:.1} % of the best, at most {regret:.1} % lost");
    Note::plain(what, format!("{policy} ({figures})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::Weight;

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
        let best = best_rule(&methods).unwrap();
        assert_eq!((best.heading.as_str(), best.weight), ("a", Weight::Good));
        assert!(best.text.starts_with("1.50 times"), "{best:?}");
        methods.remove(2);
        let none = best_rule(&methods).unwrap();
        assert_eq!(none.weight, Weight::Caution);
        assert!(none.text.contains("The nearest, b,"), "{none:?}");
        methods.truncate(2);
        assert!(best_rule(&methods).is_none());
    }

    /// Without an I/O that counts, all figures are unknown: neither 0 ns nor "NaN".
    #[test]
    fn a_method_without_an_io_has_no_figures() {
        let mut gives = SimulatedFigures {
            kiops_per_core: 1.0,
            ..SimulatedFigures::default()
        };
        let blanks = |ios, gives: &SimulatedFigures| {
            let row = figure_row("poll", ios, gives);
            row.iter().filter(|field| field.text == "-").count()
        };
        assert_eq!(blanks(0, &gives), 10);
        gives.kiops_per_core = f64::NAN;
        assert_eq!(blanks(1, &gives), 1);
    }
}
