//! `q2c poll sweep` in a terminal: the conclusions, then for each trace the bounds and the best
//! cell of each rule.

use super::said;
use super::screen::{Screen, Tone};
use super::simulated::{HEAD, LEGEND, row};
use super::table::{Field, Table};
use crate::quantity::{count, duration, number};
use crate::shortlist::{shortlist, sorted};
use crate::sweep::{conclusions, over_all, references};
use crate::taken_as;
use q2c_model::DeviceTime;
use q2c_result::sweep::{SweepAnswer, SweepInput, SweepResult};

/// The report of a sweep. Of many cells it shows the best of each rule.
#[must_use]
pub fn sweep(result: &SweepResult, screen: Screen) -> String {
    let several = result.answers.len() > 1;
    let conclusions = |answer| said::concluded(&conclusions(result, answer), screen);
    let mut text = match result.answers.as_slice() {
        [only] => conclusions(only),
        _ => said::concluded(&over_all(result), screen),
    };
    text += &screen.warnings(&result.warnings);
    for answer in &result.answers {
        let input = &result.inputs[answer.input];
        text += "\n";
        text += &screen.note(Tone::Strong, &format!("{}:", input.path), &about(input));
        if several {
            text += &conclusions(answer);
        }
        text += &one(result, answer, screen);
    }
    let speed = &result.speed;
    text += "\n";
    text += &screen.note(
        Tone::Dim,
        "speed:",
        &format!(
            "{} configurations in {} s, {} I/Os x configurations per second; reading took {} s",
            count(result.cells.len() as u64),
            number(speed.seconds),
            scientific(speed.io_configs_per_s),
            number(speed.reading_s)
        ),
    );
    text
}

fn scientific(value: f64) -> String {
    format!("{value:.2e}")
}

/// The facts of a trace.
fn about(input: &SweepInput) -> String {
    let lanes = match input.lanes {
        1 => "1 lane".to_owned(),
        n => format!("{n} lanes"),
    };
    let [_, p10, p50, p99, _] = input.latency_ns.map(duration);
    let mut about = format!(
        "{} I/Os, {lanes}, {}; {} p10 {p10}, median {p50}, p99 {p99}",
        count(input.ios),
        input.span_ns,
        match input.taken_as.latency {
            DeviceTime::Wait => "recorded wait after the submission",
            _ => "recorded device time",
        }
    );
    let taken = taken_as::words(&input.taken_as, input.lanes);
    if !taken.is_empty() {
        about += &format!("; taken as: {}", taken.join("; "));
    }
    about
}

fn one(result: &SweepResult, answer: &SweepAnswer, screen: Screen) -> String {
    let costs = format!(
        "{}; {} loop{}",
        result.cost,
        result.arrival,
        time(result, answer.input)
    );
    let mut text = screen.note(Tone::Dim, "costs:", &costs);
    text += &rows(result, answer, screen);
    text += &screen.legend(LEGEND);
    text + &remarks(answer, screen)
}

/// The simulated time on a trace; nothing where it is not told.
fn time(result: &SweepResult, input: usize) -> String {
    let measured = result.measured_ns.get(input);
    measured.map_or_else(String::new, |measured| {
        format!(
            "; {measured} simulated after {} of warm-up",
            result.warm_up_ns
        )
    })
}

fn rows(result: &SweepResult, answer: &SweepAnswer, screen: Screen) -> String {
    let input = &result.inputs[answer.input];
    let mut table = Table::of_numbers(HEAD);
    for (name, figures) in references(answer) {
        table.add(row(Field::new(Tone::Dim, name), input.ios, figures));
    }
    let (shown, hidden) = shortlist(result, answer);
    for index in shown {
        let cell = &result.cells[index];
        let name = match answer.best == Some(index) {
            true => Field::new(Tone::Good, &cell.policy).marked("▸ ", "    "),
            false => Field::new(Tone::Plain, &cell.policy).marked("  ", "    "),
        };
        table.add(row(name, input.ios, &cell.gives));
    }
    let rest = match hidden {
        0 => String::new(),
        n => format!(" {} more are in --json, --csv and --html.", count(n)),
    };
    let how = format!("{}{rest}", sorted(result, hidden > 0));
    table.text(screen) + &screen.legend(&how)
}

/// What stands below the table: what its neighbours give, and remarks.
fn remarks(answer: &SweepAnswer, screen: Screen) -> String {
    let mut text = neighbours(answer, screen);
    for note in &answer.notes {
        text += &screen.note(Tone::Plain, "note:", note);
    }
    text
}

fn neighbours(answer: &SweepAnswer, screen: Screen) -> String {
    if answer.neighbours.is_empty() {
        return String::new();
    }
    let each = answer.neighbours.iter().map(|n| {
        let change = (n.share - 1.0) * 100.0;
        let below = if n.keeps_limits {
            ""
        } else {
            " (out of limits)"
        };
        format!("{} {change:+.1} %{below}", n.policy)
    });
    let words = each.collect::<Vec<_>>().join("; ");
    screen.note(Tone::Plain, "one step off:", &words)
}
