//! The report of `q2c diff`.

use crate::document::{Document, DocumentAnswer, Reported, Section};
use crate::phrase::{counted, some_listed, when};
use crate::quantity::{self, duration, number, or_nothing, percent};
use crate::said::{Note, ReportTable, Weight};
use q2c_model::stats::Interval;
use q2c_result::diff::{
    BrokenFigure, ChangedFact, ComparedFigure, DiffResult, DiffSays, DiffSide, JudgedLimit,
};
use q2c_result::figures::FigureUnit;

/// The largest number of changed facts that the report lists.
const FACTS: usize = 20;

impl Reported for DiffResult {
    fn document(&self) -> Document<'_> {
        let (changed, rest): (Vec<&ComparedFigure>, Vec<&ComparedFigure>) =
            self.figures.iter().partition(|figure| tells(figure));
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
                weight: Weight::sure(!self.figures.iter().any(|f| f.says == DiffSays::Worse)),
                caveats: warnings(self),
                ..DocumentAnswer::new(verdict(self))
            }])
            .notices(self.limits.iter().flat_map(|limit| {
                let is_kept = limit.broken.is_empty();
                let weight = if is_kept { Weight::Good } else { Weight::Bad };
                Note::each(weight, "limit", limit_lines(limit))
            }))
            .section(figures("Figures that changed", &changed))
            .section(Section::new("What differs around them").notes(around(self)))
            .section(figures("Figures that tell no change", &rest).folded())
    }
}

fn figures(title: &str, compared: &[&ComparedFigure]) -> Section<'static> {
    let row = |figure: &&ComparedFigure| {
        [
            format!("{}: {}", figure.of, figure.figure),
            value(&figure.a, figure.unit),
            value(&figure.b, figure.unit),
            or_nothing(figure.ratio.map(number)),
            figure.interval.map(in_brackets).unwrap_or_default(),
            says(figure.says).0.to_owned(),
        ]
    };
    let heads = "figure | A | B | B / A | [least, most] | says";
    let legend = "Medians over trials. [least, most]: the ratios of the trials that lie furthest apart. \
         Alike: they leave no change open, or it is at most 1 %. One value: no trials show how far it scatters.";
    let table = ReportTable::headed(heads, compared.iter().map(row)).legend(legend);
    Section::new(title).marked(table, compared.iter().map(|figure| says(figure.says).1))
}

fn around(result: &DiffResult) -> Vec<Note> {
    let [a, b] = [&result.a, &result.b].map(side);
    let mut said = vec![Note::plain("A", a), Note::plain("B", b)];
    let facts = result.changed.iter().take(FACTS).map(changed);
    let more = result.changed.len().saturating_sub(FACTS);
    let more = (more > 0).then(|| format!("{more} more facts, in --json"));
    said.extend(Note::plains("changed", facts.chain(more)));
    for (what, in_a) in [("only in A", true), ("only in B", false)] {
        let names = result.unpaired.iter().filter(|one| one.in_a == in_a);
        said.extend(Note::cautions(what, some_listed(names.map(|one| &one.of))));
    }
    said
}

fn verdict(result: &DiffResult) -> String {
    let count = |says: DiffSays| result.figures.iter().filter(|f| f.says == says).count();
    let (worse, better) = (count(DiffSays::Worse), count(DiffSays::Better));
    let total = result.figures.len();
    let [most_better, most_worse] = [DiffSays::Better, DiffSays::Worse].map(|s| most(result, s));
    match (worse, better) {
        (0, 0) if count(DiffSays::Single) == total && total > 0 => {
            "Single values, which tell nothing apart".to_owned()
        }
        (0, 0) => format!("No figure of {total} is better or worse"),
        (0, _) => format!("B is better in {better} of {total} figures. Most: {most_better}"),
        (_, 0) => format!("B is worse in {worse} of {total} figures. Most: {most_worse}"),
        _ => format!(
            "B is worse in {worse} of {total} figures, better in {better}. Worst: {most_worse}"
        ),
    }
}

fn most(result: &DiffResult, says: DiffSays) -> String {
    let change = |figure: &&ComparedFigure| figure.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let matching = result.figures.iter().filter(|figure| figure.says == says);
    let largest = matching.max_by(|a, b| change(a).total_cmp(&change(b)));
    let sentence = largest.map(|f| {
        let ratio = or_nothing(f.ratio.map(|ratio| with_interval(ratio, f.interval)));
        format!("{} of {} is {ratio} times A's", f.figure, f.of)
    });
    sentence.unwrap_or_default()
}

fn with_interval(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let interval = interval.map(|ends| format!(" {}", in_brackets(ends)));
    number(ratio) + &interval.unwrap_or_default()
}

fn in_brackets((low, high): (f64, f64)) -> String {
    format!("[{}, {}]", number(low), number(high))
}

fn value(interval: &Interval, unit: FigureUnit) -> String {
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

fn says(says: DiffSays) -> (&'static str, Weight) {
    match says {
        DiffSays::Better => ("better", Weight::Plain),
        DiffSays::Worse => ("worse", Weight::Bad),
        DiffSays::Differs => ("differs", Weight::Caution),
        DiffSays::Alike => ("alike", Weight::Plain),
        DiffSays::Single => ("one value", Weight::Plain),
        DiffSays::Unknown => ("unknown", Weight::Plain),
    }
}

/// True if the trials show a change, or if single values differ by more than 1 %.
fn tells(figure: &ComparedFigure) -> bool {
    match figure.says {
        DiffSays::Better | DiffSays::Worse | DiffSays::Differs => true,
        DiffSays::Single => figure.ratio.is_some_and(|ratio| (ratio - 1.0).abs() > 0.01),
        DiffSays::Alike | DiffSays::Unknown => false,
    }
}

fn side(side: &DiffSide) -> String {
    let mut description = format!("{}, q2c {}", side.path, side.version);
    if let Some(at) = side.started_unix_s {
        description += &format!(", {}", crate::html::started(at));
    }
    description += when(side.simulated, ", simulated");
    description += when(!side.complete, ", stopped early");
    description
}

fn changed(fact: &ChangedFact) -> String {
    let [a, b] = [&fact.a, &fact.b].map(|value| value.as_deref().unwrap_or("none"));
    format!("{}: {a} -> {b}", fact.name)
}

/// A limit and the figures that break it, in one line.
#[must_use]
pub fn limit(limit: &JudgedLimit) -> String {
    limit_lines(limit).join("; ")
}

/// The limit, then a line for each figure that breaks it.
fn limit_lines(limit: &JudgedLimit) -> Vec<String> {
    let (asked, total) = (&limit.asked, limit.figures);
    let total = counted(total, "figure");
    match &limit.broken[..] {
        [] => vec![format!("{asked}: kept by {total}")],
        [one] => vec![format!("{asked}: broken by {}", broken(one))],
        several => std::iter::once(format!("{asked}: broken by {} of {total}", several.len()))
            .chain(several.iter().map(broken))
            .collect(),
    }
}

fn broken(figure: &BrokenFigure) -> String {
    let mut text = value(&figure.value, figure.unit);
    if let Some(change) = &figure.change {
        let times = with_interval(change.ratio, change.interval);
        text += &format!(", {times} times {}", value(&change.baseline, figure.unit));
    } else if figure.value.trials > 1 {
        let [min, max] = [figure.value.min, figure.value.max]
            .map(|at| value(&Interval::from_samples(&[at]), figure.unit));
        text += &format!(" [{min}, {max}]");
    }
    format!("{} ({text})", figure.of)
}

fn warnings(result: &DiffResult) -> Vec<String> {
    let others = result.warnings.iter();
    let others = others.map(|it| format!("warning {}: {}; {}", it.id, it.found, it.means));
    let sides = [("A", &result.a), ("B", &result.b)].into_iter();
    let sides = sides.filter_map(|(name, side)| {
        let ids = some_listed(side.warnings.iter().map(|it| &it.id))?;
        Some(format!("{name} warns of {ids}"))
    });
    others.chain(sides).collect()
}
