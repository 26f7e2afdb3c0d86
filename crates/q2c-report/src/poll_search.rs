//! Tables and sentences of `q2c poll search` that terminal and page share.

use crate::quantity::{NOTHING, count, number};
use crate::said::{Field, Said, Table, Weight};
use q2c_result::poll_search::{
    Against, Both, Contender, ContenderRole, PollSearchResult, SearchedFamily,
};
use q2c_result::poll_study::StudiedPattern;
use std::collections::BTreeSet;

/// What was searched.
pub(crate) fn title(result: &PollSearchResult) -> String {
    format!(
        "{} configurations on {}",
        count(result.configurations as u64),
        patterns_of(&result.searched)
    )
}

fn patterns_of(patterns: &[StudiedPattern]) -> String {
    format!(
        "{} patterns of {} sources",
        patterns.len(),
        sources(patterns).len()
    )
}

fn sources(patterns: &[StudiedPattern]) -> BTreeSet<&str> {
    patterns.iter().map(|p| p.source.as_str()).collect()
}

/// The search in a line.
pub(crate) fn about(result: &PollSearchResult) -> String {
    let held_out: Vec<&str> = sources(&result.held_out).into_iter().collect();
    let limits: String = result.limits.iter().map(|l| format!(", {l}")).collect();
    format!(
        "ranked by {}{limits} · held out: {} ({} patterns) · {} rounds · {} · {} loop",
        result.objective,
        held_out.join(", "),
        result.held_out.len(),
        result.rounds,
        result.cost,
        result.arrival
    )
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn role(role: ContenderRole) -> &'static str {
    match role {
        ContenderRole::Finalist => "finalist",
        ContenderRole::Reference => "reference",
        ContenderRole::Other => "other",
    }
}

/// What was opened on the patterns held out, the least loss first.
pub(crate) fn contenders(result: &PollSearchResult) -> Table {
    let row = |contender: &&Contender| -> Vec<Field> {
        let searched = contender.searched.as_ref();
        let searched = searched.map_or_else(|| NOTHING.to_owned(), |s| percent(s.mean_loss));
        let held_out = &contender.held_out;
        vec![
            contender.policy.clone().into(),
            role(contender.role).into(),
            searched.into(),
            percent(held_out.mean_loss).into(),
            percent(held_out.worst_loss).into(),
            format!("{} of {}", held_out.kept, counting(&result.held_out)).into(),
        ]
    };
    let mut sorted: Vec<&Contender> = result.contenders.iter().collect();
    let loss = |c: &Contender| c.held_out.mean_loss;
    sorted.sort_by(|a, b| loss(a).total_cmp(&loss(b)));
    Table {
        head: [
            "opened on what was held out",
            "",
            "searched\nloss %",
            "held out\nloss %",
            "worst %",
            "keeps\nlimits",
        ]
        .map(String::from)
        .to_vec(),
        rows: sorted.iter().map(row).collect(),
        legend: "Only finalists may win. Loss: against the pattern's own best; of the searched patterns that is the best of all that was tried.",
    }
}

fn counting(patterns: &[StudiedPattern]) -> usize {
    let counting = patterns.iter().filter(|p| p.own_best.is_some());
    counting.count()
}

/// The families that were searched.
pub(crate) fn families(result: &PollSearchResult) -> Table {
    let row = |family: &SearchedFamily| -> Vec<Field> {
        let left_out = family.left_out_loss;
        vec![
            Field {
                text: family.family.clone(),
                below: family.best.policy.clone(),
            },
            count(family.configurations as u64).into(),
            percent(family.best.mean_loss).into(),
            left_out.map_or_else(|| NOTHING.to_owned(), percent).into(),
        ]
    };
    Table {
        head: ["family", "tried", "loss %", "source\nleft out %"]
            .map(String::from)
            .to_vec(),
        rows: result.families.iter().map(row).collect(),
        legend: "Below each family its best on the searched patterns. Source left out: chosen without the source it is scored on.",
    }
}

/// Misses and CPU against Linux's rule.
pub(crate) fn both(result: &PollSearchResult) -> Table {
    let figures = |of: &q2c_model::Simulated| -> [Field; 2] {
        [
            percent(of.rates.miss_rate).into(),
            number(of.rates.cpu_pct).into(),
        ]
    };
    let row = |both: &Both| -> Vec<Field> {
        let mut fields: Vec<Field> = vec![Field {
            text: both.pattern.clone(),
            below: both
                .least
                .as_ref()
                .map_or_else(String::new, |least| least.policy.clone()),
        }];
        let which = if both.held_out { "held out" } else { "" };
        fields.push(which.into());
        fields.extend(figures(&both.linux));
        let of = |number: usize| count(number as u64);
        fields.push(format!("{} of {}", of(both.configurations), of(both.tried)).into());
        fields.extend(match &both.least {
            Some(least) => figures(&least.gives),
            None => [NOTHING.into(), NOTHING.into()],
        });
        fields
    };
    Table {
        head: [
            "pattern",
            "",
            "Linux\nmissed %",
            "CPU %",
            "better\nin both",
            "missed %",
            "CPU %",
        ]
        .map(String::from)
        .to_vec(),
        rows: result.both.iter().map(row).collect(),
        legend: "Configurations that keep the limits, miss less and take less CPU than Linux's rule (mean 50 %, 100 ms); below the pattern the one with the least CPU.",
    }
}

/// Whether a rule won.
pub(crate) fn answer(result: &PollSearchResult) -> Said {
    let won: Vec<&Contender> = result.contenders.iter().filter(|c| c.won()).collect();
    let names: Vec<&str> = won.iter().map(|c| c.policy.as_str()).collect();
    match names.is_empty() {
        false => Said::new(
            Weight::Good,
            "better than every reference on what was held out",
            format!("{}; verify it live (q2c tune --policy)", names.join("; ")),
        ),
        true => Said::new(
            Weight::Plain,
            "no winner",
            "no finalist is better than every reference in nearly all resampled sets of the sources held out",
        ),
    }
}

/// Finalists against references, and how far the oracle is.
pub(crate) fn words(result: &PollSearchResult) -> Vec<Said> {
    let finalists = result.contenders.iter();
    let mut said: Vec<Said> = finalists
        .flat_map(|finalist| finalist.against.iter().map(move |a| against(finalist, a)))
        .collect();
    said.extend(oracle("searched", &result.searched));
    said.extend(oracle("held out", &result.held_out));
    said
}

fn against(finalist: &Contender, against: &Against) -> Said {
    let weight = match against.won() {
        true => Weight::Good,
        false => Weight::Plain,
    };
    let interval = match against.low > f64::MIN {
        true => format!("{} to {}", percent(against.low), percent(against.high)),
        false => "unknown with one source".to_owned(),
    };
    Said::new(
        weight,
        &finalist.policy,
        format!(
            "better than {} by {} points of loss (95 % of resampled sets of sources: {interval}), on {} of {} patterns",
            against.reference,
            percent(against.gain),
            against.better,
            against.of
        ),
    )
}

fn oracle(which: &str, patterns: &[StudiedPattern]) -> Option<Said> {
    let over = patterns.iter().filter_map(|p| p.own_best.as_ref());
    let mut over: Vec<f64> = over.map(|best| best.oracle_over).collect();
    over.sort_by(f64::total_cmp);
    let (least, most) = (*over.first()?, *over.last()?);
    let middle = over[over.len() / 2];
    Some(Said::plain(
        "oracle",
        format!(
            "on the patterns {which} it has {} times the objective of each pattern's own best (median; {} to {})",
            number(middle),
            number(least),
            number(most)
        ),
    ))
}
