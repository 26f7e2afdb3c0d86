//! The report of `q2c place sim`.

use crate::document::{Document, Reported, Section};
use crate::phrase::{counted, joined, some_listed, when, words_of};
use crate::plots;
use crate::quantity::{number, or_nothing, percent};
use crate::said::{Note, ReportField, ReportTable, Weight, row};
use q2c_result::place::{
    Gain, PlaceSimResult, PolicyFigures, PolicyName, PublishedGain, Queues, Setup, Speeds,
    SpeedsFrom,
};

/// The share of the best placement's time by which a slower one is named.
const NEAR_BEST: f64 = 0.02;

impl Reported for PlaceSimResult {
    fn document(&self) -> Document<'_> {
        let from: &str = match &self.speeds_from {
            SpeedsFrom::Published => "published figures",
            SpeedsFrom::File(path) => path,
        };
        let starts = counted(self.starts, "start");
        let about = format!("simulated, {starts} of each balancer, speeds from {from}");
        Document::new("place sim", &self.version, &self.schema)
            .titled("Placement", about)
            .run(self.seed, self.started_unix_s)
            .sections(self.setups.iter().flat_map(|setup| {
                let section = Section::new(title(setup)).notes(verdict(setup));
                [
                    section.table(policies(setup)),
                    Section::new(format!("{}: published", title(setup))).table(published(setup)),
                ]
            }))
            .section(Section::new("").plots(|| plots::place::plots(self)))
            .section(Section::new("Speed beside a neighbour").table(speeds(&self.speeds)))
            .warnings(&self.warnings)
    }
}

pub(crate) fn title(setup: &Setup) -> String {
    let caches = match setup.caches {
        1 => String::new(),
        n => format!(" in {n} caches"),
    };
    format!(
        "{} computing + {} polling on {} of {}{caches}",
        setup.compute,
        setup.polling,
        counted(setup.cores, "core"),
        counted(setup.threads, "thread"),
    )
}

pub(crate) fn policy(policy: PolicyName) -> &'static str {
    match policy {
        PolicyName::Free => "free",
        PolicyName::Bunch => "bunch",
        PolicyName::Scatter => "scatter",
        PolicyName::Colocate => "colocate",
        PolicyName::Spread => "spread",
        PolicyName::ProposedLiteral => "literal",
        PolicyName::ProposedSwap => "always swap",
        PolicyName::Proposed => "proposed",
    }
}

fn policies(setup: &Setup) -> ReportTable {
    let has_best = setup.c_time.best.is_some();
    let over = if has_best { "best" } else { "alone" };
    let heads = format!(
        "policy | C time\nover {over} | [95 %] | P I/Os\nof alone | P p99\nus | P p99.9\nus | moves | \
         colocate\n% | spread\n% | bunch\n% | heap\n%"
    );
    let extremes = [("best", setup.c_time.best), ("worst", setup.c_time.worst)];
    let extremes = extremes.into_iter().filter_map(|(name, time)| {
        let mut row = row![name, ratio(time?)];
        row.resize(heads.split(" | ").count(), ReportField::default());
        Some((time?, row))
    });
    let figures = setup.policies.iter();
    let figures = figures.map(|p| (p.c_slowdown / setup.c_time_unit, policy_row(setup, p)));
    let mut rows: Vec<(f64, Vec<ReportField>)> = extremes.chain(figures).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    ReportTable::headed(&heads, rows.into_iter().map(|(_, row)| row))
        .legend(LEGEND)
        .without_empty_columns()
}

const LEGEND: &str = "C: computing tasks, P: polling tasks. C time: mean run time of the C tasks, over the starts of a balancer; 95 % of the starts lie in [ ]. T: run time in the first of two placements, T': in the second. Proposed: the rules with the swap step where it makes room; literal: without it; always swap: even where a CPU is left idle. Shares of time: P even over the cores and on one logical CPU of each (colocate) or on more (spread), or not even, on both sides (bunch) or on one (heap).";

fn policy_row(setup: &Setup, figures: &PolicyFigures) -> Vec<ReportField> {
    let time = |slowdown: f64| ratio(slowdown / setup.c_time_unit);
    let (low, high) = (figures.c_slowdown_low, figures.c_slowdown_high);
    let range = (low < high).then(|| format!("[{}, {}]", time(low), time(high)));
    let latency = figures.p_latency;
    let polls = setup.polling > 0;
    let share = |share: f64| when(polls, &number(100.0 * share)).to_owned();
    row![
        policy(figures.policy),
        time(figures.c_slowdown),
        range.unwrap_or_default(),
        or_nothing(polls.then(|| percent(figures.p_bandwidth))),
        or_nothing(latency.map(|latency| number(latency.p99_us))),
        or_nothing(latency.map(|latency| number(latency.p999_us))),
        number(figures.migrations),
        share(figures.states.colocate),
        share(figures.states.spread),
        share(figures.states.bunch),
        share(figures.states.heap),
    ]
}

fn ratio(value: f64) -> String {
    format!("{value:.3}")
}

fn gain(gain: Gain) -> String {
    let (over_minus_1, one_minus) = (number(gain.t_over_t_minus_1), number(gain.one_minus));
    format!("{over_minus_1} % (T'/T - 1), {one_minus} % (1 - T/T')")
}

fn verdict(setup: &Setup) -> Vec<Note> {
    let mut said = Vec::new();
    if setup.c_time.best.is_some() {
        let unit = format!("{} times a computing task alone", ratio(setup.c_time_unit));
        said.push(Note::plain("best run time", unit));
    }
    let over_free = gain(setup.gain_over_free_pct);
    said.push(Note::plain("proposed over free", over_free));
    let over_worst = setup.gain_over_worst_pct.map(gain);
    said.extend(Note::plains("proposed over worst", over_worst));
    if let (Some(worst), Some(best)) = (&setup.worst, &setup.best) {
        let same = some_listed(setup.worst_is.iter().map(|name| policy(*name)));
        let same = same.unwrap_or_else(|| "none of the named placements".to_owned());
        let worst = format!("{} ({same})", queues(worst));
        said.push(Note::plain("worst placement", worst));
        said.push(Note::plain("best placement", queues(best)));
    }
    if setup.c_time.best.is_some() {
        let proposed = setup.c_time.proposed;
        let far = 100.0 * (proposed - 1.0);
        let distance = match far {
            behind if behind > 0.0 => format!("{} % behind the best placement", number(behind)),
            ahead => format!("{} % ahead of the best of even loads", number(-ahead)),
        };
        let weight = Weight::sure(proposed <= 1.0 + NEAR_BEST);
        said.push(Note::new(weight, "proposed", distance));
    }
    said
}

fn queues(queues: &Queues) -> String {
    joined(queues.iter().map(|core| core.join("|")), "  ")
}

/// Published gains beside the simulated ones; an empty table if none was published.
fn published(setup: &Setup) -> ReportTable {
    let row = |published: &PublishedGain| {
        let (gain, fitted) = (published.simulated, published.fitted);
        row![
            words_of(published.figure),
            number(published.published_pct),
            number(gain.t_over_t_minus_1),
            number(gain.one_minus),
            if fitted { "fitted" } else { "predicted" },
        ]
    };
    let heads = "gain | published\n% | T'/T - 1\n% | 1 - T/T'\n% | ";
    let legend = "The published texts do not say which of the two ways their gains are put.";
    ReportTable::headed(heads, setup.published.iter().map(row)).legend(legend)
}

pub(crate) fn speeds(s: &Speeds) -> ReportTable {
    let row = |name: &str, compute, polling| [name.to_owned(), ratio(compute), ratio(polling)];
    let rows = [
        row("C", s.compute_beside_compute, s.compute_beside_polling),
        row("P", s.polling_beside_compute, s.polling_beside_polling),
    ];
    let legend = "On the other logical CPU of the same core, as a share of the speed alone.";
    ReportTable::headed("speed of | beside C | beside P", rows).legend(legend)
}
