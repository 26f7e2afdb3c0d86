//! The report of `q2c poll study`.

use crate::document::{Document, Reported, Section};
use crate::phrase::{counted, some_listed, when};
use crate::plots;
use crate::quantity::{NOTHING, count, duration, number, or_nothing};
use crate::said::{Note, ReportField, ReportTable, Weight, row};
use q2c_result::poll_study::{
    LeftOutLosses, PollStudyResult, RuleScore, ScoredPolicy, StudiedPattern, WhyNotRanked,
};
use q2c_result::reproduce::ReproduceVerdict;
use std::collections::BTreeSet;

impl Reported for PollStudyResult {
    fn document(&self) -> Document<'_> {
        let limits = some_listed(&self.limits).map(|limits| format!(", {limits}"));
        let about = format!(
            "{} configuration{} ranked by {}{} · {} · {} loop",
            count(self.configurations.len() as u64),
            when(self.configurations.len() != 1, "s"),
            self.objective,
            limits.unwrap_or_default(),
            self.cost,
            self.arrival
        );
        let rules = Section::new("Rules").table(rules(self));
        Document::new("poll study", &self.version, &self.schema)
            .titled(extent(&self.patterns), about)
            .run(self.seed, 0)
            .answers([answer(self)])
            .section(rules.plots(|| vec![plots::poll_study::plot(self)]))
            .section(Section::new("Patterns").table(pattern_table(self)))
            .section(Section::new("Beside the publication").notes(words(self)))
            .section(Section::new("Loss by pattern").table(losses(self)).folded())
            .warnings(&self.warnings)
    }
}

/// `3 patterns of 2 sources`.
pub(crate) fn extent(patterns: &[StudiedPattern]) -> String {
    let source_count = sources(patterns).len() as u64;
    let patterns = counted(patterns.len() as u64, "pattern");
    format!("{patterns} of {}", counted(source_count, "source"))
}

pub(crate) fn sources(patterns: &[StudiedPattern]) -> BTreeSet<&str> {
    patterns.iter().map(|p| p.source.as_str()).collect()
}

pub(crate) fn counting(patterns: &[StudiedPattern]) -> usize {
    patterns.iter().filter(|p| p.own_best.is_some()).count()
}

/// A share as a percentage with one decimal, without the sign.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn pattern_table(result: &PollStudyResult) -> ReportTable {
    let row = |pattern: &StudiedPattern| {
        let [_, p10, p50, p99, _] = pattern.input.latency_ns.map(duration);
        let best = pattern.own_best.as_ref();
        let none = "none keeps the limits: does not count";
        row![
            ReportField::over(&pattern.name, best.map_or(none, |best| &best.policy)),
            &pattern.source,
            count(pattern.input.ios),
            p10,
            p50,
            p99,
            or_nothing(best.map(|best| number(best.gives.kiops_per_core))),
            or_nothing(best.map(|best| format!("{:.2}", best.oracle_over))),
        ]
    };
    let heads = "pattern | source | I/Os | p10 | median | p99 | KIOPS\n/core | oracle\nover it";
    let legend = "Below each pattern its own best, and that one's KIOPS/core. Oracle: its objective over that of the own best. Below 1 the best sleeps past completions, which the oracle never does.";
    ReportTable::headed(heads, result.patterns.iter().map(row)).legend(legend)
}

/// The choice among all rules, then each rule, the least loss on sources left out first.
fn rules(result: &PollStudyResult) -> ReportTable {
    let counted = counting(&result.patterns);
    let row = |score: &RuleScore| {
        let name = match score.rule.as_str() {
            "" => "all rules",
            name => name,
        };
        let left_out = |losses: Option<&LeftOutLosses>| {
            let some = losses.filter(|losses| !losses.each.is_empty());
            let shown = some.map(|losses| [losses.mean_loss, losses.worst_loss].map(percent));
            shown.unwrap_or_else(|| [NOTHING, NOTHING].map(str::to_owned))
        };
        let [pattern, worst_pattern] = left_out(Some(&score.patterns_left_out));
        let [source, worst_source] = left_out(score.sources_left_out.as_ref());
        let kept = score.sources_left_out.as_ref();
        let kept = kept.unwrap_or(&score.patterns_left_out);
        let is_some = !kept.each.is_empty();
        row![
            ReportField::over(name, &score.on_average.policy),
            percent(score.on_average.mean_loss),
            percent(score.worst_case.worst_loss),
            pattern,
            worst_pattern,
            source,
            worst_source,
            or_nothing(is_some.then(|| format!("{} of {counted}", kept.kept))),
        ]
    };
    let heads = "rule | loss % | best\nworst % | pattern\nleft out % | worst % | source\nleft out % | worst % | keeps\nlimits";
    let legend = "Below each rule its best on average. Loss: how far the objective stays below the pattern's own best, mean over the patterns; a broken limit is a loss of 100 %. \
         Left out: parameters chosen without the pattern, or without its whole source.";
    ReportTable::headed(heads, result.all.iter().chain(&result.rules).map(row)).legend(legend)
}

/// The loss on each pattern (row) of each rule's policy that is best on average (column).
fn losses(result: &PollStudyResult) -> ReportTable {
    const MOST: usize = 8;
    let rules = result.rules.iter();
    let rules = rules.take(MOST).map(|score| (score.rule.clone(), score));
    let rows = result.patterns.iter().enumerate();
    let rows = rows.map(|(index, pattern)| ((&pattern.name).into(), (index, pattern)));
    let loss = |(index, pattern): &(usize, &StudiedPattern), score: &&RuleScore| {
        pattern.own_best.as_ref()?;
        let loss = score.on_average.losses.get(*index).copied().flatten();
        Some(loss.map_or_else(|| "broken".to_owned(), percent))
    };
    let legend = "Loss in percent of each rule's best on average; broken: a limit is not kept.";
    ReportTable::grid("pattern", rules, rows, loss).legend(legend)
}

fn answer(result: &PollStudyResult) -> Note {
    let Some(all_rules) = &result.all else {
        let message = "on no pattern does a configuration keep the limits";
        return Note::caution("no answer", message);
    };
    let counted = counting(&result.patterns);
    let summary = |scored: &ScoredPolicy| {
        let [mean, worst] = [scored.mean_loss, scored.worst_loss].map(percent);
        let losses = format!("mean loss {mean} %, worst {worst} %");
        let ScoredPolicy { policy, kept, .. } = scored;
        format!("{policy} ({losses}, keeps the limits on {kept} of {counted})")
    };
    let left_out = all_rules.sources_left_out.as_ref().map(|left_out| {
        let loss = percent(left_out.mean_loss);
        format!("; chosen without the source it is scored on: {loss} %")
    });
    let [average, worst] = [&all_rules.on_average, &all_rules.worst_case].map(summary);
    let both = format!("{average}; best worst case: {worst}");
    Note::good("best on average", both + &left_out.unwrap_or_default())
}

fn words(result: &PollStudyResult) -> impl Iterator<Item = Note> {
    let reasons = [
        (
            WhyNotRanked::DoesNotFollow,
            "their sleep does not follow the device, so what is chosen on one says nothing of another",
        ),
        (
            WhyNotRanked::TakesInterrupts,
            "they take interrupts, and where the floor lets an interrupt through no sleep takes as little CPU; --interrupts ranks them",
        ),
        (
            WhyNotRanked::FreeInterrupts,
            "they take interrupts, whose cost a constant wake-up delay does not tell; give --cost",
        ),
    ];
    let not_ranked = reasons.into_iter().filter_map(|(reason, words)| {
        let rules = result.not_ranked.iter().filter(|not| not.why == reason);
        Some(format!("{}: {words}", some_listed(rules.map(|n| &n.rule))?))
    });
    std::iter::once(published(result)).chain(Note::plains("not ranked", not_ranked))
}

fn published(result: &PollStudyResult) -> Note {
    const CLAIM: &str = "published: min with 70 to 90 % is best on average over many patterns";
    const CANNOT_JUDGE: &str = "cannot be judged: it takes min with 70 to 90 %, another rule, and three sources that count";
    let published = &result.published;
    let label = |scored: &Option<ScoredPolicy>| match scored {
        None => "none".to_owned(),
        Some(scored) => format!("{} ({} %)", scored.policy, percent(scored.mean_loss)),
    };
    let beside = format!(
        "least mean loss of these: {}, of all others: {}",
        label(&published.named),
        label(&published.others)
    );
    let sets = format!(
        "one of these is best of all ranked rules in {} % of {} resampled sets of sources (q2c \
         reproduce rule-study asks it of the published rules alone as well)",
        percent(published.share),
        published.resamples
    );
    let (weight, verdict) = match published.verdict {
        ReproduceVerdict::Holds => (Weight::Good, "holds"),
        ReproduceVerdict::DoesNotHold => (Weight::Caution, "does not hold"),
        ReproduceVerdict::Undecided => (Weight::Plain, "undecided"),
        ReproduceVerdict::CannotJudge => {
            return Note::plain(CLAIM, format!("{CANNOT_JUDGE}; {beside}"));
        }
    };
    Note::new(weight, CLAIM, format!("{verdict}; {beside}; {sets}"))
}
