//! The report of `q2c diff`, and judged limits for systems that run builds: JUnit XML, and
//! annotations of GitHub Actions.

use crate::document::{Document, DocumentAnswer, Reported, Section};
use crate::note::{Note, ReportTable, Weight};
use crate::phrase::{counted, listed_if_any, when};
use crate::quantity::{self, duration, number, or_dash, percent};
use askama::Template;
use q2c_model::stats::Interval;
use q2c_result::diff::{
    BrokenFigure, ChangedFact, ComparedFigure, DiffResult, DiffSide, DiffVerdict, JudgedLimit,
};
use q2c_result::figures::FigureUnit;

/// The largest number of changed facts that the report lists.
const MAX_FACTS: usize = 20;

impl Reported for DiffResult {
    fn document(&self) -> Document<'_> {
        let (changed, unchanged): (Vec<&ComparedFigure>, Vec<&ComparedFigure>) =
            self.figures.iter().partition(|figure| is_changed(figure));
        let simulated = match (self.a.simulated, self.b.simulated) {
            (true, false) => Some("A was simulated, B was measured on a real machine."),
            (false, true) => Some("A was measured on a real machine, B was simulated."),
            _ => None,
        };
        let mut document = Document::new("diff", &self.version, &self.schema);
        document.simulated = simulated.map(str::to_owned);
        document
            .titled(self.b.path.clone(), format!("set against {}", self.a.path))
            .answers([DocumentAnswer {
                weight: Weight::good_if(!self.figures.iter().any(|f| f.says == DiffVerdict::Worse)),
                caveats: warnings(self),
                ..DocumentAnswer::new(verdict(self))
            }])
            .notices(self.limits.iter().flat_map(|limit| {
                let is_met = limit.broken.is_empty();
                let weight = if is_met { Weight::Good } else { Weight::Bad };
                Note::many(weight, "limit", limit_lines(limit))
            }))
            .section(figures_section("Figures that changed", &changed))
            .section(Section::new("What differs around them").notes(side_notes(self)))
            .section(figures_section("Figures that tell no change", &unchanged).folded())
    }
}

fn figures_section(title: &str, compared: &[&ComparedFigure]) -> Section<'static> {
    let row = |figure: &&ComparedFigure| {
        [
            format!("{}: {}", figure.of, figure.figure),
            in_unit(&figure.a, figure.unit),
            in_unit(&figure.b, figure.unit),
            or_dash(figure.ratio.map(number)),
            figure.interval.map(bracketed).unwrap_or_default(),
            word_and_weight(figure.says).0.to_owned(),
        ]
    };
    let heads = "figure | A | B | B / A | [least, most] | says";
    let legend = "Medians over trials. [least, most]: the ratios of the trials that lie furthest apart. \
         Alike: they leave no change open, or it is at most 1 %. One value: no trials show how far it scatters.";
    let table = ReportTable::new(heads, compared.iter().map(row)).legend(legend);
    Section::new(title).weighted(table, compared.iter().map(|f| word_and_weight(f.says).1))
}

fn side_notes(result: &DiffResult) -> Vec<Note> {
    let [a, b] = [&result.a, &result.b].map(side_text);
    let mut notes = vec![Note::plain("A", a), Note::plain("B", b)];
    let facts = result.changed.iter().take(MAX_FACTS).map(fact_text);
    let more = result.changed.len().saturating_sub(MAX_FACTS);
    let more = (more > 0).then(|| format!("{more} more facts, in --json"));
    notes.extend(Note::plains("changed", facts.chain(more)));
    for (what, in_a) in [("only in A", true), ("only in B", false)] {
        let names = result.unpaired.iter().filter(|one| one.in_a == in_a);
        let names = listed_if_any(names.map(|one| &one.of));
        notes.extend(Note::cautions(what, names));
    }
    notes
}

fn verdict(result: &DiffResult) -> String {
    let count = |says: DiffVerdict| result.figures.iter().filter(|f| f.says == says).count();
    let (worse, better) = (count(DiffVerdict::Worse), count(DiffVerdict::Better));
    let total = result.figures.len();
    let [gain, loss] = [DiffVerdict::Better, DiffVerdict::Worse].map(|s| largest_change(result, s));
    match (worse, better) {
        (0, 0) if count(DiffVerdict::Single) == total && total > 0 => {
            "Single values, which tell nothing apart".to_owned()
        }
        (0, 0) => format!("No figure of {total} is better or worse"),
        (0, _) => format!("B is better in {better} of {total} figures. Most: {gain}"),
        (_, 0) => format!("B is worse in {worse} of {total} figures. Most: {loss}"),
        _ => format!("B is worse in {worse} of {total} figures, better in {better}. Worst: {loss}"),
    }
}

fn largest_change(result: &DiffResult, says: DiffVerdict) -> String {
    let change = |figure: &&ComparedFigure| figure.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let matching = result.figures.iter().filter(|figure| figure.says == says);
    let largest = matching.max_by(|a, b| change(a).total_cmp(&change(b)));
    let sentence = largest.map(|f| {
        let ratio = or_dash(f.ratio.map(|ratio| ratio_with_interval(ratio, f.interval)));
        format!("{} of {} is {ratio} times A's", f.figure, f.of)
    });
    sentence.unwrap_or_default()
}

fn ratio_with_interval(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let interval = interval.map(|ends| format!(" {}", bracketed(ends)));
    number(ratio) + &interval.unwrap_or_default()
}

fn bracketed((low, high): (f64, f64)) -> String {
    format!("[{}, {}]", number(low), number(high))
}

fn in_unit(interval: &Interval, unit: FigureUnit) -> String {
    let value = interval.median;
    match unit {
        FigureUnit::PerSecond => quantity::iops(value),
        FigureUnit::ThousandPerSecond | FigureUnit::Number => number(value),
        FigureUnit::Nanoseconds => duration(value),
        FigureUnit::Seconds => quantity::seconds(value),
        FigureUnit::Share => percent(value),
        FigureUnit::Percent => format!("{} %", number(value)),
        FigureUnit::Cpus => format!("{} CPUs", number(value)),
        FigureUnit::Bytes => q2c_model::Bytes(value as u64).to_string(),
    }
}

fn word_and_weight(says: DiffVerdict) -> (&'static str, Weight) {
    match says {
        DiffVerdict::Better => ("better", Weight::Plain),
        DiffVerdict::Worse => ("worse", Weight::Bad),
        DiffVerdict::Differs => ("differs", Weight::Caution),
        DiffVerdict::Alike => ("alike", Weight::Plain),
        DiffVerdict::Single => ("one value", Weight::Plain),
        DiffVerdict::Unknown => ("unknown", Weight::Plain),
    }
}

/// True if the trials show a change, or if single values differ by more than 1 %.
fn is_changed(figure: &ComparedFigure) -> bool {
    match figure.says {
        DiffVerdict::Better | DiffVerdict::Worse | DiffVerdict::Differs => true,
        DiffVerdict::Single => figure.ratio.is_some_and(|ratio| (ratio - 1.0).abs() > 0.01),
        DiffVerdict::Alike | DiffVerdict::Unknown => false,
    }
}

fn side_text(side: &DiffSide) -> String {
    let mut description = format!("{}, q2c {}", side.path, side.version);
    if let Some(at) = side.started_unix_s {
        description += &format!(", {}", crate::html::started(at));
    }
    description += when(side.simulated, ", simulated");
    description += when(!side.complete, ", stopped early");
    description
}

fn fact_text(fact: &ChangedFact) -> String {
    let [a, b] = [&fact.a, &fact.b].map(|value| value.as_deref().unwrap_or("none"));
    format!("{}: {a} -> {b}", fact.name)
}

/// A limit and the figures that break it, in one line.
#[must_use]
pub fn limit_line(limit: &JudgedLimit) -> String {
    limit_lines(limit).join("; ")
}

/// The limit, then a line for each figure that breaks it.
fn limit_lines(limit: &JudgedLimit) -> Vec<String> {
    let (asked, total) = (&limit.asked, limit.figures);
    let total = counted(total, "figure");
    match &limit.broken[..] {
        [] => vec![format!("{asked}: kept by {total}")],
        [one] => vec![format!("{asked}: broken by {}", broken_figure(one))],
        several => std::iter::once(format!("{asked}: broken by {} of {total}", several.len()))
            .chain(several.iter().map(broken_figure))
            .collect(),
    }
}

fn broken_figure(figure: &BrokenFigure) -> String {
    let mut text = in_unit(&figure.value, figure.unit);
    if let Some(change) = &figure.change {
        let times = ratio_with_interval(change.ratio, change.interval);
        text += &format!(", {times} times {}", in_unit(&change.baseline, figure.unit));
    } else if figure.value.trials > 1 {
        let [min, max] = [figure.value.min, figure.value.max]
            .map(|at| in_unit(&Interval::from_samples(&[at]), figure.unit));
        text += &format!(" [{min}, {max}]");
    }
    format!("{} ({text})", figure.of)
}

fn warnings(result: &DiffResult) -> Vec<String> {
    let warnings = result.warnings.iter();
    let texts = warnings.map(|it| format!("warning {}: {}; {}", it.id, it.found, it.means));
    let sides = [("A", &result.a), ("B", &result.b)].into_iter();
    let sides = sides.filter_map(|(name, side)| {
        let ids = listed_if_any(side.warnings.iter().map(|it| &it.id))?;
        Some(format!("{name} warns of {ids}"))
    });
    texts.chain(sides).collect()
}

#[derive(Template)]
#[template(path = "junit.xml")]
struct Suite<'a> {
    suite: &'a str,
    failures: usize,
    cases: Vec<JunitCase>,
}

struct JunitCase {
    name: String,
    broken: Option<String>,
}

/// The limits as JUnit XML, one test case per limit. `suite` names the run.
///
/// # Errors
/// Returns an error if the template cannot be filled, which its types rule out.
pub fn junit(suite: &str, limits: &[JudgedLimit]) -> Result<String, askama::Error> {
    let cases = limits.iter().map(|limit| JunitCase {
        name: printable(&limit.asked),
        broken: (!limit.broken.is_empty()).then(|| printable(&limit_line(limit))),
    });
    let cases: Vec<JunitCase> = cases.collect();
    let suite = Suite {
        suite: &printable(suite),
        failures: cases.iter().filter(|case| case.broken.is_some()).count(),
        cases,
    };
    suite.render()
}

/// Removes control characters, because XML cannot hold them.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// A line for each broken limit, in the form that GitHub Actions shows as an error of the step.
#[must_use]
pub fn annotations(limits: &[JudgedLimit]) -> Vec<String> {
    let broken = limits.iter().filter(|limit| !limit.broken.is_empty());
    let messages = broken.map(|limit| printable(&limit_line(limit).replace('%', "%25")));
    let lines = messages.map(|message| format!("::error title=q2c limit::{message}"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> [JudgedLimit; 2] {
        let broken = BrokenFigure {
            of: "4 KiB \"<poll>\"\u{1b}".to_owned(),
            unit: FigureUnit::Percent,
            value: Interval::from_samples(&[80.0]),
            change: None,
        };
        let limit = |asked: &str, broken| JudgedLimit {
            asked: asked.to_owned(),
            figures: 1,
            broken,
        };
        [limit("iops<5", vec![]), limit("cpu>5%", vec![broken])]
    }

    #[test]
    fn a_broken_limit_is_a_failed_case() {
        let xml = junit("runs/a&b", &limits()).unwrap();
        assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
        assert_eq!(xml.matches("<testcase").count(), 2);
        assert_eq!(xml.matches("<failure").count(), 1);
        for raw in ["a&b", "\"<poll>\"", "\u{1b}"] {
            assert!(!xml.contains(raw), "{xml}");
        }
    }

    #[test]
    fn a_broken_limit_is_one_line_for_github() {
        let lines = annotations(&limits());
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].starts_with("::error title=q2c limit::cpu>5%25: "),
            "{lines:?}"
        );
        assert!(!lines[0].contains('\u{1b}'));
    }
}
