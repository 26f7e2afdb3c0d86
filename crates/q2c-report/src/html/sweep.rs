//! A sweep as a page: each trace's conclusions, heat maps, the Pareto front, and one configuration
//! I/O by I/O.

use super::chart::{Chart, of_sweep, timeline};
use super::page::RenderError;
use super::replayed::Sentence;
use super::shell::Shell;
use crate::quantity::{count, duration, number};
use crate::shortlist::{shortlist, sorted};
use crate::sweep::{conclusions, over_all, references};
use crate::taken_as;
use askama::Template;
use q2c_model::Simulated;
use q2c_result::Warning;
use q2c_result::sweep::{SweepAnswer, SweepResult};
use q2c_result::tune::{Sweep, SweepCell};

/// A column of a sweep's rates: name, with the unit in it, and the function that reads it.
type Rate = (&'static str, fn(&Simulated) -> f64);

const RATES: [Rate; 12] = [
    ("iops", |r| r.rates.iops),
    ("cpu_pct", |r| r.rates.cpu_pct),
    ("cpu_ns_per_io", |r| r.cpu_ns_per_io),
    ("kiops_per_core", |r| r.kiops_per_core),
    ("miss_rate", |r| r.rates.miss_rate),
    ("effective_sleep_ns", |r| r.rates.effective_sleep_ns),
    ("t_over", |r| r.t_over),
    ("t_under", |r| r.t_under),
    ("mean_ns", |r| r.latencies.mean_ns),
    ("p50_ns", |r| r.latencies.p50_ns),
    ("p99_ns", |r| r.latencies.p99_ns),
    ("p999_ns", |r| r.latencies.p999_ns),
];

/// A row of a trace's table.
struct Row {
    name: String,
    best: bool,
    numbers: Vec<String>,
}

/// The part of the page on one trace.
struct Panel {
    id: usize,
    name: String,
    about: String,
    conclusions: Vec<Sentence>,
    notes: Vec<String>,
    rows: Vec<Row>,
    sorted: String,
    charts: Vec<Chart>,
}

#[derive(Template)]
#[template(path = "sweep.html")]
struct Page<'a> {
    result: &'a SweepResult,
    shell: Shell,
    over_all: Vec<Sentence>,
    columns: Vec<&'static str>,
    warnings: &'a [Warning],
    panels: Vec<Panel>,
}

/// Makes the page of a sweep.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn sweep(result: &SweepResult) -> Result<String, RenderError> {
    let panels: Vec<Panel> = result.answers.iter().map(|a| panel(result, a)).collect();
    let page = Page {
        shell: Shell::new(
            "poll sweep",
            format!(
                "{} configurations on {}; {}; {} loop",
                count(result.cells.len() as u64 / result.inputs.len().max(1) as u64),
                match result.inputs.len() {
                    1 => "1 trace".to_owned(),
                    n => format!("{n} traces"),
                },
                result.cost,
                result.arrival
            ),
            panels.iter().flat_map(|panel| &panel.charts),
        ),
        over_all: over_all(result).into_iter().map(Sentence::from).collect(),
        columns: RATES.map(|(name, _)| head(name)).to_vec(),
        warnings: &result.warnings,
        panels,
        result,
    };
    Ok(page.render()?)
}

fn panel(result: &SweepResult, answer: &SweepAnswer) -> Panel {
    let input = &result.inputs[answer.input];
    let [least, p10, p50, p99, most] = input.latency_ns.map(duration);
    let (shown, hidden) = shortlist(result, answer);
    let mut rows: Vec<Row> = references(answer)
        .into_iter()
        .map(|(name, figures)| row(name, false, figures))
        .collect();
    rows.extend(shown.into_iter().map(|index| {
        let cell = &result.cells[index];
        row(&cell.policy, answer.best == Some(index), &cell.gives)
    }));
    let mut charts = of_sweep(&as_sweep(result, answer));
    if let Some(line) = result
        .timeline
        .as_ref()
        .filter(|line| line.input == answer.input)
    {
        charts.push(timeline::chart(line));
    }
    charts
        .iter_mut()
        .for_each(|chart| chart.id = format!("{}-{}", chart.id, answer.input));
    let neighbours = answer.neighbours.iter().map(|n| {
        let below = if n.keeps_limits {
            ""
        } else {
            ", out of limits"
        };
        format!(
            "one step off, {}: {:+.1} %{below}",
            n.policy,
            (n.share - 1.0) * 100.0
        )
    });
    let conclusions = conclusions(result, answer).into_iter();
    Panel {
        id: answer.input,
        name: input.path.clone(),
        about: format!(
            "{} I/Os, {}; latency from {least} over p10 {p10}, median {p50}, p99 {p99} to {most}{}",
            count(input.ios),
            input.span_ns,
            match taken_as::words(&input.taken_as, input.lanes).join("; ") {
                taken if taken.is_empty() => taken,
                taken => format!("; taken as: {taken}"),
            }
        ),
        conclusions: conclusions.map(Sentence::from).collect(),
        notes: neighbours.chain(answer.notes.clone()).collect(),
        rows,
        sorted: match hidden {
            0 => sorted(result, false),
            n => format!(
                "{} {} more are in the charts.",
                sorted(result, true),
                count(n)
            ),
        },
        charts,
    }
}

/// The head of a column, in words.
fn head(column: &'static str) -> &'static str {
    match column {
        "iops" => "IOPS",
        "cpu_pct" => "CPU, %",
        "cpu_ns_per_io" => "CPU per I/O",
        "kiops_per_core" => "KIOPS/core",
        "miss_rate" => "missed",
        "effective_sleep_ns" => "sleep asked",
        "t_over" => "late",
        "t_under" => "polled",
        "mean_ns" => "mean",
        "p50_ns" => "p50",
        "p99_ns" => "p99",
        "p999_ns" => "p99.9",
        other => other,
    }
}

fn row(name: &str, best: bool, figures: &Simulated) -> Row {
    let told = |(column, of): &(&str, fn(&Simulated) -> f64)| match *column {
        name if name.ends_with("_ns") || name.ends_with("ns_per_io") => duration(of(figures)),
        "miss_rate" | "t_over" | "t_under" => format!("{:.2} %", of(figures) * 100.0),
        _ => number(of(figures)),
    };
    Row {
        name: name.to_owned(),
        best,
        numbers: RATES.iter().map(told).collect(),
    }
}

/// A trace's cells in the form in which `q2c tune` keeps a sweep, for the charts that both share.
fn as_sweep(result: &SweepResult, answer: &SweepAnswer) -> Sweep {
    let own = result
        .cells
        .iter()
        .enumerate()
        .filter(|(_, c)| c.input == answer.input);
    let first = own.clone().next().map_or(0, |(index, _)| index);
    let cell = |(_, cell): (usize, &q2c_result::sweep::SimCell)| SweepCell {
        rule: cell.rule.clone(),
        policy: cell.policy.clone(),
        params: cell.params.clone(),
        keeps_limits: cell.keeps_limits,
        gives: cell.gives.into(),
    };
    let input = &result.inputs[answer.input];
    Sweep {
        bs: input.sizes.last().copied().unwrap_or_default(),
        ios: input.ios,
        cells: own.map(cell).collect(),
        pareto: answer.pareto.iter().map(|i| i - first).collect(),
        best: answer.best.map(|i| i - first),
        oracle: answer.oracle.into(),
        poll: answer.poll.into(),
        floor: answer.floor.clone(),
        floor_iops: answer.floor_iops,
    }
}
