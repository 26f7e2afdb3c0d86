//! The report of `q2c poll search`.

use crate::document::{Document, Reported, Section};
use crate::phrase::{joined, listed, when, words_of};
use crate::plots;
use crate::poll_study::{counting, extent, percent, sources};
use crate::quantity::{NOTHING, count, number, or_nothing};
use crate::said::{Note, ReportField, ReportTable, Weight, row};
use q2c_result::poll_search::{Against, Both, Contender, PollSearchResult, SearchedFamily};
use q2c_result::poll_study::StudiedPattern;

impl Reported for PollSearchResult {
    fn document(&self) -> Document<'_> {
        let configurations = count(self.configurations as u64);
        let patterns = extent(&self.searched);
        let title = format!("{configurations} configurations on {patterns}");
        let limits: String = self.limits.iter().map(|l| format!(", {l}")).collect();
        let about = format!(
            "ranked by {}{limits} · held out: {} ({} patterns) · {} rounds · {} · {} loop",
            self.objective,
            listed(sources(&self.held_out)),
            self.held_out.len(),
            self.rounds,
            self.cost,
            self.arrival
        );
        let held_out = Section::new("What was held out").table(contenders(self));
        Document::new("poll search", &self.version, &self.schema)
            .titled(title, about)
            .run(self.seed, 0)
            .answers([answer(self)])
            .section(held_out.plots(|| vec![plots::poll_study::searched(self)]))
            .section(Section::new("Families").table(families(self)))
            .section(Section::new("Misses and CPU together").table(both(self)))
            .section(Section::new("Finalists and references").notes(words(self)))
            .warnings(&self.warnings)
    }
}

/// The contenders that were run on the patterns held out, the least loss first.
fn contenders(result: &PollSearchResult) -> ReportTable {
    let row = |contender: &Contender| {
        let held_out = &contender.held_out;
        [
            contender.policy.clone(),
            words_of(contender.role),
            or_nothing(contender.searched.as_ref().map(|s| percent(s.mean_loss))),
            percent(held_out.mean_loss),
            percent(held_out.worst_loss),
            format!("{} of {}", held_out.kept, counting(&result.held_out)),
        ]
    };
    let mut sorted: Vec<&Contender> = result.contenders.iter().collect();
    sorted.sort_by(|a, b| a.held_out.mean_loss.total_cmp(&b.held_out.mean_loss));
    let heads = "opened on what was held out |  | searched\nloss % | held out\nloss % | worst % | keeps\nlimits";
    let legend = "Only finalists may win. Loss: against the pattern's own best; of the searched patterns that is the best of all that was tried.";
    ReportTable::headed(heads, sorted.into_iter().map(row)).legend(legend)
}

fn families(result: &PollSearchResult) -> ReportTable {
    let row = |family: &SearchedFamily| {
        row![
            ReportField::over(&family.family, &family.best.policy),
            count(family.configurations as u64),
            percent(family.best.mean_loss),
            or_nothing(family.left_out_loss.map(percent)),
        ]
    };
    let heads = "family | tried | loss % | source\nleft out %";
    let legend = "Below each family its best on the searched patterns. Source left out: chosen without the source it is scored on.";
    ReportTable::headed(heads, result.families.iter().map(row)).legend(legend)
}

fn both(result: &PollSearchResult) -> ReportTable {
    let figures =
        |s: &q2c_model::SimulatedFigures| [percent(s.rates.miss_rate), number(s.rates.cpu_pct)];
    let row = |both: &Both| {
        let least = both.least.as_ref();
        let [linux_missed, linux_cpu] = figures(&both.linux);
        let none = || [NOTHING, NOTHING].map(str::to_owned);
        let [missed, cpu] = least.map_or_else(none, |least| figures(&least.gives));
        let (better, tried) = (count(both.configurations as u64), count(both.tried as u64));
        row![
            ReportField::over(&both.pattern, least.map_or("", |least| &least.policy)),
            when(both.held_out, "held out"),
            linux_missed,
            linux_cpu,
            format!("{better} of {tried}"),
            missed,
            cpu,
        ]
    };
    let heads = "pattern |  | Linux\nmissed % | CPU % | better\nin both | missed % | CPU %";
    let legend = "Configurations that keep the limits, miss less and take less CPU than Linux's rule (mean 50 %, 100 ms); below the pattern the one with the least CPU.";
    ReportTable::headed(heads, result.both.iter().map(row)).legend(legend)
}

const NO_WINNER: &str = "no finalist is better than every reference in nearly all resampled sets of the sources held out";

fn answer(result: &PollSearchResult) -> Note {
    let won = result.contenders.iter().filter(|contender| contender.won());
    let names = joined(won.map(|contender| &contender.policy), "; ");
    if names.is_empty() {
        return Note::plain("no winner", NO_WINNER);
    }
    let what = "better than every reference on what was held out";
    Note::good(what, names + "; verify it live (q2c tune --policy)")
}

fn words(result: &PollSearchResult) -> impl Iterator<Item = Note> {
    let compared = result.contenders.iter().flat_map(|finalist| {
        let references = finalist.against.iter();
        references.map(move |reference| against(finalist, reference))
    });
    compared
        .chain(oracle("searched", &result.searched))
        .chain(oracle("held out", &result.held_out))
}

fn against(finalist: &Contender, against: &Against) -> Note {
    let (reference, better, of) = (&against.reference, against.better, against.of);
    let [gain, low, high] = [against.gain, against.low, against.high].map(percent);
    let interval = match against.low {
        known if known > f64::MIN => format!("{low} to {high}"),
        _ => "unknown with one source".to_owned(),
    };
    let sentence = format!(
        "better than {reference} by {gain} points of loss (95 % of resampled sets of sources: {interval}), on {better} of {of} patterns"
    );
    let weight = Weight::Good.only_when(against.won());
    Note::new(weight, &finalist.policy, sentence)
}

fn oracle(which: &str, patterns: &[StudiedPattern]) -> Option<Note> {
    let over = patterns.iter().filter_map(|p| p.own_best.as_ref());
    let mut over: Vec<f64> = over.map(|best| best.oracle_over).collect();
    over.sort_by(f64::total_cmp);
    let [median, least, most] =
        [*over.get(over.len() / 2)?, *over.first()?, *over.last()?].map(number);
    let sentence = format!(
        "on the patterns {which} it has {median} times the objective of each pattern's own best (median; {least} to {most})"
    );
    Some(Note::plain("oracle", sentence))
}
