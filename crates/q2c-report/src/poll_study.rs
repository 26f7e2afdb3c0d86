//! Tables and sentences of `q2c poll study` that terminal and page share.

use crate::quantity::{NOTHING, count, duration, number};
use crate::said::{Field, Said, Table, Weight};
use q2c_result::poll_study::{
    ClaimVerdict, LeftOut, NotRanked, PollStudyResult, RuleScore, ScoredPolicy, StudiedPattern,
    WhyNotRanked,
};

/// What was studied.
pub(crate) fn title(result: &PollStudyResult) -> String {
    format!(
        "{} patterns of {} sources",
        result.patterns.len(),
        sources(result)
    )
}

fn sources(result: &PollStudyResult) -> usize {
    let all = result.patterns.iter().map(|p| p.source.as_str());
    all.collect::<std::collections::BTreeSet<_>>().len()
}

/// The study in a line.
pub(crate) fn about(result: &PollStudyResult) -> String {
    let limits = match result.limits.is_empty() {
        true => String::new(),
        false => format!(", {}", result.limits.join(", ")),
    };
    format!(
        "{} configurations ranked by {}{limits} · {} · {} loop",
        count(result.configurations.len() as u64),
        result.objective,
        result.cost,
        result.arrival
    )
}

/// A share as percent with one digit behind the point.
fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn loss(loss: Option<f64>) -> String {
    loss.map_or_else(|| "broken".to_owned(), percent)
}

/// The patterns, each with its own best and the oracle.
pub(crate) fn patterns(result: &PollStudyResult) -> Table {
    let row = |pattern: &StudiedPattern| -> Vec<Field> {
        let [_, p10, p50, p99, _] = pattern.input.latency_ns.map(duration);
        let (best, own, oracle) = match &pattern.own_best {
            None => (
                "none keeps the limits: does not count".to_owned(),
                NOTHING.to_owned(),
                NOTHING.to_owned(),
            ),
            Some(best) => (
                best.policy.clone(),
                number(best.gives.kiops_per_core),
                format!("{:.2}", best.oracle_over),
            ),
        };
        vec![
            Field {
                text: pattern.name.clone(),
                below: best,
            },
            pattern.source.clone().into(),
            count(pattern.input.ios).into(),
            p10.into(),
            p50.into(),
            p99.into(),
            own.into(),
            oracle.into(),
        ]
    };
    Table {
        head: [
            "pattern",
            "source",
            "I/Os",
            "p10",
            "median",
            "p99",
            "KIOPS\n/core",
            "oracle\nover it",
        ]
        .map(String::from)
        .to_vec(),
        rows: result.patterns.iter().map(row).collect(),
        legend: "Below each pattern its own best, and that one's KIOPS/core. Oracle: its objective over that of the own best. Below 1 the best sleeps past completions, which the oracle never does.",
    }
}

/// The rules, the least loss on sources left out first, after the choice among all of them.
pub(crate) fn rules(result: &PollStudyResult) -> Table {
    let counted = counting(result);
    let row = |score: &RuleScore| -> Vec<Field> {
        let name = match score.rule.as_str() {
            "" => "all rules",
            name => name,
        };
        let left_out = |of: Option<&LeftOut>| -> [Field; 2] {
            match of.filter(|of| !of.each.is_empty()) {
                None => [NOTHING.into(), NOTHING.into()],
                Some(of) => [percent(of.mean_loss).into(), percent(of.worst_loss).into()],
            }
        };
        let mut fields: Vec<Field> = vec![
            Field {
                text: name.to_owned(),
                below: score.on_average.policy.clone(),
            },
            percent(score.on_average.mean_loss).into(),
            percent(score.worst_case.worst_loss).into(),
        ];
        fields.extend(left_out(Some(&score.patterns_left_out)));
        fields.extend(left_out(score.sources_left_out.as_ref()));
        let kept = score
            .sources_left_out
            .as_ref()
            .unwrap_or(&score.patterns_left_out);
        fields.push(match kept.each.is_empty() {
            true => NOTHING.into(),
            false => format!("{} of {counted}", kept.kept).into(),
        });
        fields
    };
    Table {
        head: [
            "rule",
            "loss %",
            "best\nworst %",
            "pattern\nleft out %",
            "worst %",
            "source\nleft out %",
            "worst %",
            "keeps\nlimits",
        ]
        .map(String::from)
        .to_vec(),
        rows: result.all.iter().chain(&result.rules).map(row).collect(),
        legend: "Below each rule its best on average. Loss: how far the objective stays below the pattern's own best, mean over the patterns; a broken limit is a loss of 100 %. \
                 Left out: parameters chosen without the pattern, or without its whole source.",
    }
}

/// Number of patterns that count.
fn counting(result: &PollStudyResult) -> usize {
    let counting = result.patterns.iter().filter(|p| p.own_best.is_some());
    counting.count()
}

/// Loss by pattern of the best on average of each rule, patterns as rows.
pub(crate) fn losses(result: &PollStudyResult) -> Table {
    const MOST: usize = 8;
    let shown: Vec<&RuleScore> = result.rules.iter().take(MOST).collect();
    let mut head = vec!["pattern".to_owned()];
    head.extend(shown.iter().map(|score| score.rule.clone()));
    let row = |(index, pattern): (usize, &StudiedPattern)| -> Vec<Field> {
        let of = |score: &&RuleScore| -> Field {
            let losses = &score.on_average.losses;
            match pattern.own_best {
                None => NOTHING.into(),
                Some(_) => loss(losses.get(index).copied().flatten()).into(),
            }
        };
        let name = std::iter::once(Field::from(pattern.name.clone()));
        name.chain(shown.iter().map(of)).collect()
    };
    Table {
        head,
        rows: result.patterns.iter().enumerate().map(row).collect(),
        legend: "Loss in percent of each rule's best on average; broken: a limit is not kept.",
    }
}

/// The answer: what to take where nothing is known of the device.
pub(crate) fn answer(result: &PollStudyResult) -> Said {
    let Some(all) = &result.all else {
        return Said::new(
            Weight::Caution,
            "no answer",
            "on no pattern does a configuration keep the limits",
        );
    };
    let counted = counting(result);
    let of = |scored: &ScoredPolicy| {
        format!(
            "{} (mean loss {} %, worst {} %, keeps the limits on {} of {counted})",
            scored.policy,
            percent(scored.mean_loss),
            percent(scored.worst_loss),
            scored.kept
        )
    };
    let left_out = match &all.sources_left_out {
        None => String::new(),
        Some(left_out) => format!(
            "; chosen without the source it is scored on: {} %",
            percent(left_out.mean_loss)
        ),
    };
    Said::new(
        Weight::Good,
        "best on average",
        format!(
            "{}; best worst case: {}{left_out}",
            of(&all.on_average),
            of(&all.worst_case)
        ),
    )
}

/// The published conclusion beside this result, and the rules that are not ranked.
pub(crate) fn words(result: &PollStudyResult) -> Vec<Said> {
    let mut said = vec![published(result)];
    let named = |why: WhyNotRanked| -> Vec<&str> {
        let of = |not: &&NotRanked| not.why == why;
        let of = result.not_ranked.iter().filter(of);
        of.map(|not| not.rule.as_str()).collect()
    };
    let not = |why: WhyNotRanked, words: &str| {
        let rules = named(why);
        let told = format!("{}: {words}", rules.join(", "));
        (!rules.is_empty()).then(|| Said::plain("not ranked", told))
    };
    said.extend(not(
        WhyNotRanked::DoesNotFollow,
        "their sleep does not follow the device, so what is chosen on one says nothing of another",
    ));
    said.extend(not(
        WhyNotRanked::TakesInterrupts,
        "they take interrupts, and where the floor lets an interrupt through no sleep takes as little CPU; --interrupts ranks them",
    ));
    said.extend(not(
        WhyNotRanked::FreeInterrupts,
        "they take interrupts, whose cost a constant wake-up delay does not tell; give --cost",
    ));
    said
}

fn published(result: &PollStudyResult) -> Said {
    const CLAIM: &str = "published: min with 70 to 90 % is best on average over many patterns";
    let published = &result.published;
    let of = |scored: &Option<ScoredPolicy>| match scored {
        None => "none".to_owned(),
        Some(scored) => format!("{} ({} %)", scored.policy, percent(scored.mean_loss)),
    };
    let beside = format!(
        "least mean loss of these: {}, of all others: {}",
        of(&published.named),
        of(&published.others)
    );
    let sets = format!(
        "one of these is best of all ranked rules in {} % of {} resampled sets of sources (q2c \
         reproduce rule-study asks it of the published rules alone as well)",
        percent(published.share),
        published.resamples
    );
    match published.verdict {
        ClaimVerdict::Holds => Said::new(Weight::Good, CLAIM, format!("holds; {beside}; {sets}")),
        ClaimVerdict::DoesNotHold => Said::new(
            Weight::Caution,
            CLAIM,
            format!("does not hold; {beside}; {sets}"),
        ),
        ClaimVerdict::Undecided => Said::plain(CLAIM, format!("undecided; {beside}; {sets}")),
        ClaimVerdict::CannotJudge => Said::plain(
            CLAIM,
            format!(
                "cannot be judged: it takes min with 70 to 90 %, another rule, and three sources that count; {beside}"
            ),
        ),
    }
}
