//! Tables and sentences of `q2c place sim` that terminal and page share.

use crate::quantity::{NOTHING, number};
use crate::said::{Field, Said, Table, Weight};
use q2c_result::place::{
    Gain, PlaceSimResult, PolicyFigures, PolicyName, PublishedFigure, Queues, Setup, Speeds,
    SpeedsFrom,
};

/// Slower by more than this than the best placement is worth a word, as a share of its time.
const NEAR_BEST: f64 = 0.02;

/// What was simulated, in a line.
pub(crate) fn about(result: &PlaceSimResult) -> String {
    let from = match &result.speeds_from {
        SpeedsFrom::Published => "speeds from published figures".to_owned(),
        SpeedsFrom::File(path) => format!("speeds from {path}"),
    };
    let starts = match result.starts {
        1 => "1 start".to_owned(),
        n => format!("{n} starts"),
    };
    format!("simulated, {starts} of each balancer, {from}")
}

/// The set-up in words.
pub(crate) fn title(setup: &Setup) -> String {
    let many = |n: u32, one: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{n} {one}s"),
    };
    let caches = match setup.caches {
        1 => String::new(),
        n => format!(" in {n} caches"),
    };
    format!(
        "{} computing + {} polling on {} of {}{caches}",
        setup.compute,
        setup.polling,
        many(setup.cores, "core"),
        many(setup.threads, "thread"),
    )
}

/// The policy as a user types or reads it.
pub(crate) fn policy(of: PolicyName) -> &'static str {
    match of {
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

/// The policies of a set-up, the best and the worst placement among them.
pub(crate) fn policies(setup: &Setup) -> Table {
    let mut rows: Vec<(f64, Vec<Field>)> = Vec::new();
    let extremes = [("best", setup.c_time.best), ("worst", setup.c_time.worst)];
    for (name, time) in extremes {
        rows.extend(time.map(|time| (time, vec![name.into(), ratio(time).into()])));
    }
    let figures = setup.policies.iter();
    rows.extend(figures.map(|of| (of.c_slowdown / setup.c_time_unit, row(setup, of))));
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let over = match setup.c_time.best {
        Some(_) => "C time\nover best",
        None => "C time\nover alone",
    };
    let head = [
        "policy",
        over,
        "[95 %]",
        "P I/Os\nof alone",
        "P p99\nus",
        "P p99.9\nus",
        "moves",
        "colocate\n%",
        "spread\n%",
        "bunch\n%",
        "heap\n%",
    ];
    rows.iter_mut()
        .for_each(|(_, row)| row.resize(head.len(), Field::default()));
    Table {
        head: head.map(String::from).to_vec(),
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        legend: LEGEND,
    }
    .without_empty_columns()
}

const LEGEND: &str = "C: computing tasks, P: polling tasks. C time: mean run time of the C tasks, over the starts of a balancer; 95 % of the starts lie in [ ]. T: run time in the first of two placements, T': in the second. Proposed: the rules with the swap step where it makes room; literal: without it; always swap: even where a CPU is left idle. Shares of time: P even over the cores and on one logical CPU of each (colocate) or on more (spread), or not even, on both sides (bunch) or on one (heap).";

fn row(setup: &Setup, of: &PolicyFigures) -> Vec<Field> {
    let time = |slowdown: f64| ratio(slowdown / setup.c_time_unit);
    let range = match of.c_slowdown_low < of.c_slowdown_high {
        true => format!(
            "[{}, {}]",
            time(of.c_slowdown_low),
            time(of.c_slowdown_high)
        ),
        false => String::new(),
    };
    let latency = |us: Option<f64>| us.map_or(NOTHING.to_owned(), number);
    let percent = |share: f64| match setup.polling {
        0 => String::new(),
        _ => number(100.0 * share),
    };
    vec![
        policy(of.policy).into(),
        time(of.c_slowdown).into(),
        range.into(),
        percent_of(of.p_bandwidth, setup.polling).into(),
        latency(of.p_latency.map(|latency| latency.p99_us)).into(),
        latency(of.p_latency.map(|latency| latency.p999_us)).into(),
        number(of.migrations).into(),
        percent(of.states.colocate).into(),
        percent(of.states.spread).into(),
        percent(of.states.bunch).into(),
        percent(of.states.heap).into(),
    ]
}

fn percent_of(share: f64, tasks: u32) -> String {
    match tasks {
        0 => NOTHING.to_owned(),
        _ => format!("{} %", number(100.0 * share)),
    }
}

fn ratio(value: f64) -> String {
    format!("{value:.3}")
}

fn gain(of: Gain) -> String {
    format!(
        "{} % (T'/T - 1), {} % (1 - T/T')",
        number(of.t_over_t_minus_1),
        number(of.one_minus)
    )
}

/// The answer for a set-up.
pub(crate) fn verdict(setup: &Setup) -> Vec<Said> {
    let unit = format!("{} times a computing task alone", ratio(setup.c_time_unit));
    let best = setup
        .c_time
        .best
        .map(|_| Said::plain("best run time", unit));
    let mut said: Vec<Said> = best.into_iter().collect();
    said.extend([Said::plain(
        "proposed over free",
        gain(setup.gain_over_free_pct),
    )]);
    if let Some(over) = setup.gain_over_worst_pct {
        said.push(Said::plain("proposed over worst", gain(over)));
    }
    if let (Some(worst), Some(best)) = (&setup.worst, &setup.best) {
        let named = setup.worst_is.iter().map(|name| policy(*name));
        let named: Vec<&str> = named.collect();
        let same = match named.is_empty() {
            true => "none of the named placements".to_owned(),
            false => named.join(", "),
        };
        said.push(Said::plain(
            "worst placement",
            format!("{} ({same})", queues(worst)),
        ));
        said.push(Said::plain("best placement", queues(best)));
    }
    let proposed = setup.c_time.proposed;
    if setup.c_time.best.is_some() {
        let far = 100.0 * (proposed - 1.0);
        let weight = match proposed <= 1.0 + NEAR_BEST {
            true => Weight::Good,
            false => Weight::Caution,
        };
        let words = match far > 0.0 {
            true => format!("{} % behind the best placement", number(far)),
            false => format!("{} % ahead of the best of even loads", number(-far)),
        };
        said.push(Said::new(weight, "proposed", words));
    }
    said
}

fn queues(of: &Queues) -> String {
    let cores = of.iter().map(|core| core.join("|"));
    cores.collect::<Vec<_>>().join("  ")
}

fn figure(of: PublishedFigure) -> &'static str {
    match of {
        PublishedFigure::ScatterOverBunch => "scatter over bunch",
        PublishedFigure::ColocateOverSpread => "colocate over spread",
        PublishedFigure::ProposedOverFree => "proposed over free",
        PublishedFigure::ProposedOverWorst => "proposed over worst",
    }
}

/// Published figures beside the simulated ones; no rows without any.
pub(crate) fn published(setup: &Setup) -> Table {
    let row = |of: &q2c_result::place::Published| -> Vec<Field> {
        vec![
            figure(of.figure).into(),
            number(of.published_pct).into(),
            number(of.simulated.t_over_t_minus_1).into(),
            number(of.simulated.one_minus).into(),
            if of.fitted { "fitted" } else { "predicted" }.into(),
        ]
    };
    Table {
        head: ["gain", "published\n%", "T'/T - 1\n%", "1 - T/T'\n%", ""]
            .map(String::from)
            .to_vec(),
        rows: setup.published.iter().map(row).collect(),
        legend: "The published texts do not say which of the two ways their gains are put.",
    }
}

/// The speeds beside neighbours.
pub(crate) fn speeds(of: &Speeds) -> Table {
    let row = |name: &str, compute: f64, polling: f64| -> Vec<Field> {
        vec![name.into(), ratio(compute).into(), ratio(polling).into()]
    };
    Table {
        head: ["speed of", "beside C", "beside P"]
            .map(String::from)
            .to_vec(),
        rows: vec![
            row("C", of.compute_beside_compute, of.compute_beside_polling),
            row("P", of.polling_beside_compute, of.polling_beside_polling),
        ],
        legend: "On the other logical CPU of the same core, as a share of the speed alone.",
    }
}
