//! The reports of `q2c poll study` and `q2c poll search`.

use crate::document::{Document, Reported, Section};
use crate::note::{Note, ReportField, ReportTable, Weight, row};
use crate::phrase::{counted, joined, listed, listed_if_any, variant_words, when};
use crate::plots;
use crate::quantity::{DASH, count, duration, number, or_dash};
use q2c_result::poll_search::{
    BeatenLinux, Contender, PollSearchResult, ReferenceComparison, SearchedFamily,
};
use q2c_result::poll_study::{
    LeftOutLosses, PollStudyResult, RuleScore, ScoredPolicy, StudiedPattern, UnrankedReason,
};
use q2c_result::reproduce::ReproduceVerdict;
use std::collections::BTreeSet;

impl Reported for PollStudyResult {
    fn document(&self) -> Document<'_> {
        let limits = listed_if_any(&self.limits).map(|limits| format!(", {limits}"));
        let about = format!(
            "{} configuration{} ranked by {}{} · {} · {} loop",
            count(self.configurations.len() as u64),
            when(self.configurations.len() != 1, "s"),
            self.objective,
            limits.unwrap_or_default(),
            self.cost,
            self.arrival
        );
        let rules = Section::new("Rules").table(rule_table(self));
        Document::new("poll study", &self.version, &self.schema)
            .titled(extent_text(&self.patterns), about)
            .run(self.seed, 0)
            .answers([study_answer(self)])
            .section(rules.plots(|| vec![plots::poll_study::plot(self)]))
            .section(Section::new("Patterns").table(pattern_table(self)))
            .section(Section::new("Beside the publication").notes(publication_notes(self)))
            .section(Section::new("Loss by pattern").table(losses(self)).folded())
            .warnings(&self.warnings)
    }
}

/// `3 patterns of 2 sources`.
fn extent_text(patterns: &[StudiedPattern]) -> String {
    let source_count = sources(patterns).len() as u64;
    let patterns = counted(patterns.len() as u64, "pattern");
    format!("{patterns} of {}", counted(source_count, "source"))
}

fn sources(patterns: &[StudiedPattern]) -> BTreeSet<&str> {
    patterns.iter().map(|p| p.source.as_str()).collect()
}

fn count_ranked(patterns: &[StudiedPattern]) -> usize {
    patterns.iter().filter(|p| p.own_best.is_some()).count()
}

/// A share as a percentage with one decimal, without the sign.
fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn pattern_table(result: &PollStudyResult) -> ReportTable {
    let row = |pattern: &StudiedPattern| {
        let [_, p10, p50, p99, _] = pattern.input.latency_ns.map(duration);
        let best = pattern.own_best.as_ref();
        let none = "none keeps the limits: does not count";
        row![
            ReportField::stacked(&pattern.name, best.map_or(none, |best| &best.policy)),
            &pattern.source,
            count(pattern.input.ios),
            p10,
            p50,
            p99,
            or_dash(best.map(|best| number(best.gives.kiops_per_core))),
            or_dash(best.map(|best| format!("{:.2}", best.oracle_over))),
        ]
    };
    let heads = "pattern | source | I/Os | p10 | median | p99 | KIOPS\n/core | oracle\nover it";
    let legend = "Below each pattern its own best, and that one's KIOPS/core. Oracle: its objective over that of the own best. Below 1 the best sleeps past completions, which the oracle never does.";
    ReportTable::new(heads, result.patterns.iter().map(row)).legend(legend)
}

/// The choice among all rules, then each rule, the least loss on sources left out first.
fn rule_table(result: &PollStudyResult) -> ReportTable {
    let ranked = count_ranked(&result.patterns);
    let row = |score: &RuleScore| {
        let name = match score.rule.as_str() {
            "" => "all rules",
            name => name,
        };
        let mean_and_worst = |losses: Option<&LeftOutLosses>| {
            let known = losses.filter(|losses| !losses.each.is_empty());
            let shown = known.map(|losses| [losses.mean_loss, losses.worst_loss].map(percent));
            shown.unwrap_or_else(|| [DASH, DASH].map(str::to_owned))
        };
        let [pattern, worst_pattern] = mean_and_worst(Some(&score.patterns_left_out));
        let [source, worst_source] = mean_and_worst(score.sources_left_out.as_ref());
        let left_out_losses = score.sources_left_out.as_ref();
        let left_out_losses = left_out_losses.unwrap_or(&score.patterns_left_out);
        let has_losses = !left_out_losses.each.is_empty();
        row![
            ReportField::stacked(name, &score.on_average.policy),
            percent(score.on_average.mean_loss),
            percent(score.worst_case.worst_loss),
            pattern,
            worst_pattern,
            source,
            worst_source,
            or_dash(has_losses.then(|| format!("{} of {ranked}", left_out_losses.kept))),
        ]
    };
    let heads = "rule | loss % | best\nworst % | pattern\nleft out % | worst % | source\nleft out % | worst % | keeps\nlimits";
    let legend = "Below each rule its best on average. Loss: how far the objective stays below the pattern's own best, mean over the patterns; a broken limit is a loss of 100 %. \
         Left out: parameters chosen without the pattern, or without its whole source.";
    ReportTable::new(heads, result.all.iter().chain(&result.rules).map(row)).legend(legend)
}

/// The loss on each pattern (row) of each rule's policy that is best on average (column).
fn losses(result: &PollStudyResult) -> ReportTable {
    const MAX_RULES: usize = 8;
    let rules = result.rules.iter();
    let rules = rules.take(MAX_RULES).map(|it| (it.rule.clone(), it));
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

fn study_answer(result: &PollStudyResult) -> Note {
    let Some(all_rules) = &result.all else {
        let message = "on no pattern does a configuration keep the limits";
        return Note::caution("no answer", message);
    };
    let ranked = count_ranked(&result.patterns);
    let summary = |scored: &ScoredPolicy| {
        let [mean, worst] = [scored.mean_loss, scored.worst_loss].map(percent);
        let losses = format!("mean loss {mean} %, worst {worst} %");
        let ScoredPolicy { policy, kept, .. } = scored;
        format!("{policy} ({losses}, keeps the limits on {kept} of {ranked})")
    };
    let left_out = all_rules.sources_left_out.as_ref().map(|left_out| {
        let loss = percent(left_out.mean_loss);
        format!("; chosen without the source it is scored on: {loss} %")
    });
    let [average, worst] = [&all_rules.on_average, &all_rules.worst_case].map(summary);
    let both = format!("{average}; best worst case: {worst}");
    Note::good("best on average", both + &left_out.unwrap_or_default())
}

fn publication_notes(result: &PollStudyResult) -> impl Iterator<Item = Note> {
    let reasons = [
        (
            UnrankedReason::DoesNotFollow,
            "their sleep does not follow the device, so what is chosen on one says nothing of another",
        ),
        (
            UnrankedReason::TakesInterrupts,
            "they take interrupts, and where the floor lets an interrupt through no sleep takes as little CPU; --interrupts ranks them",
        ),
        (
            UnrankedReason::FreeInterrupts,
            "they take interrupts, whose cost a constant wake-up delay does not tell; give --cost",
        ),
    ];
    let not_ranked = reasons.into_iter().filter_map(|(reason, words)| {
        let rules = result.not_ranked.iter().filter(|it| it.why == reason);
        let names = listed_if_any(rules.map(|it| &it.rule))?;
        Some(format!("{names}: {words}"))
    });
    std::iter::once(published_note(result)).chain(Note::plains("not ranked", not_ranked))
}

fn published_note(result: &PollStudyResult) -> Note {
    const CLAIM: &str = "published: min with 70 to 90 % is best on average over many patterns";
    const CANNOT_JUDGE: &str = "cannot be judged: it takes min with 70 to 90 %, another rule, and three sources that count";
    let published = &result.published;
    let label = |scored: &Option<ScoredPolicy>| match scored {
        None => "none".to_owned(),
        Some(scored) => format!("{} ({} %)", scored.policy, percent(scored.mean_loss)),
    };
    let losses = format!(
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
            return Note::plain(CLAIM, format!("{CANNOT_JUDGE}; {losses}"));
        }
    };
    Note::new(weight, CLAIM, format!("{verdict}; {losses}; {sets}"))
}

impl Reported for PollSearchResult {
    fn document(&self) -> Document<'_> {
        let configurations = count(self.configurations as u64);
        let patterns = extent_text(&self.searched);
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
        let held_out = Section::new("What was held out").table(contender_table(self));
        Document::new("poll search", &self.version, &self.schema)
            .titled(title, about)
            .run(self.seed, 0)
            .answers([search_answer(self)])
            .section(held_out.plots(|| vec![plots::poll_study::searched(self)]))
            .section(Section::new("Families").table(family_table(self)))
            .section(Section::new("Misses and CPU together").table(better_in_both_table(self)))
            .section(Section::new("Finalists and references").notes(comparison_notes(self)))
            .warnings(&self.warnings)
    }
}

/// The contenders that were run on the patterns held out, the least loss first.
fn contender_table(result: &PollSearchResult) -> ReportTable {
    let row = |contender: &Contender| {
        let held_out = &contender.held_out;
        [
            contender.policy.clone(),
            variant_words(contender.role),
            or_dash(contender.searched.as_ref().map(|s| percent(s.mean_loss))),
            percent(held_out.mean_loss),
            percent(held_out.worst_loss),
            format!("{} of {}", held_out.kept, count_ranked(&result.held_out)),
        ]
    };
    let mut sorted: Vec<&Contender> = result.contenders.iter().collect();
    sorted.sort_by(|a, b| a.held_out.mean_loss.total_cmp(&b.held_out.mean_loss));
    let heads = "opened on what was held out |  | searched\nloss % | held out\nloss % | worst % | keeps\nlimits";
    let legend = "Only finalists may win. Loss: against the pattern's own best; of the searched patterns that is the best of all that was tried.";
    ReportTable::new(heads, sorted.into_iter().map(row)).legend(legend)
}

fn family_table(result: &PollSearchResult) -> ReportTable {
    let row = |family: &SearchedFamily| {
        row![
            ReportField::stacked(&family.family, &family.best.policy),
            count(family.configurations as u64),
            percent(family.best.mean_loss),
            or_dash(family.left_out_loss.map(percent)),
        ]
    };
    let heads = "family | tried | loss % | source\nleft out %";
    let legend = "Below each family its best on the searched patterns. Source left out: chosen without the source it is scored on.";
    ReportTable::new(heads, result.families.iter().map(row)).legend(legend)
}

fn better_in_both_table(result: &PollSearchResult) -> ReportTable {
    let figures =
        |s: &q2c_model::SimulatedFigures| [percent(s.rates.miss_rate), number(s.rates.cpu_pct)];
    let row = |both: &BeatenLinux| {
        let cheapest = both.least.as_ref();
        let [linux_missed, linux_cpu] = figures(&both.linux);
        let none = || [DASH, DASH].map(str::to_owned);
        let [missed, cpu] = cheapest.map_or_else(none, |cheapest| figures(&cheapest.gives));
        let (better, tried) = (count(both.configurations as u64), count(both.tried as u64));
        row![
            ReportField::stacked(&both.pattern, cheapest.map_or("", |it| &it.policy)),
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
    ReportTable::new(heads, result.both.iter().map(row)).legend(legend)
}

const NO_WINNER: &str = "no finalist is better than every reference in nearly all resampled sets of the sources held out";

fn search_answer(result: &PollSearchResult) -> Note {
    let won = result.contenders.iter().filter(|contender| contender.won());
    let names = joined(won.map(|contender| &contender.policy), "; ");
    if names.is_empty() {
        return Note::plain("no winner", NO_WINNER);
    }
    let heading = "better than every reference on what was held out";
    Note::good(heading, names + "; verify it live (q2c tune --policy)")
}

fn comparison_notes(result: &PollSearchResult) -> impl Iterator<Item = Note> {
    let compared = result.contenders.iter().flat_map(|finalist| {
        let references = finalist.against.iter();
        references.map(move |reference| comparison_note(finalist, reference))
    });
    compared
        .chain(oracle_note("searched", &result.searched))
        .chain(oracle_note("held out", &result.held_out))
}

fn comparison_note(finalist: &Contender, against: &ReferenceComparison) -> Note {
    let (reference, better, of) = (&against.reference, against.better, against.of);
    let [gain, low, high] = [against.gain, against.low, against.high].map(percent);
    let interval = match against.low {
        known if known > f64::MIN => format!("{low} to {high}"),
        _ => "unknown with one source".to_owned(),
    };
    let sentence = format!(
        "better than {reference} by {gain} points of loss (95 % of resampled sets of sources: {interval}), on {better} of {of} patterns"
    );
    let weight = Weight::Good.only_if(against.won());
    Note::new(weight, &finalist.policy, sentence)
}

fn oracle_note(which: &str, patterns: &[StudiedPattern]) -> Option<Note> {
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
