//! `q2c poll sweep` in a terminal: for each trace the bounds, the best cell of each rule, and the
//! verdict.

use super::screen::{Screen, Tone};
use super::table::{Field, Table};
use crate::label;
use crate::quantity::{count, duration, number};
use crate::shortlist::shortlist;
use crate::taken_as;
use q2c_model::Simulated;
use q2c_result::sweep::{Best, SweepAnswer, SweepResult};

const HEAD: [&str; 11] = [
    "policy",
    "IOPS",
    "CPU %",
    "CPU/IO",
    "KIOPS/core",
    "missed %",
    "asked",
    "late %",
    "polled %",
    "p50",
    "p99",
];

/// The report of a sweep. Of many cells it shows the best of each rule.
#[must_use]
pub fn sweep(result: &SweepResult, screen: Screen) -> String {
    let mut text = String::new();
    for answer in &result.answers {
        text += &one(result, answer, screen);
    }
    if result.inputs.len() > 1 {
        text += &over_all(result, screen);
    }
    text += &screen.warnings(&result.warnings);
    let speed = &result.speed;
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

fn one(result: &SweepResult, answer: &SweepAnswer, screen: Screen) -> String {
    let input = &result.inputs[answer.input];
    let lanes = match input.lanes {
        1 => "1 lane".to_owned(),
        n => format!("{n} lanes"),
    };
    let [_, p10, p50, p99, _] = input.latency_ns.map(duration);
    let mut about = format!(
        "{} I/Os, {lanes}, {}; recorded latency p10 {p10}, median {p50}, p99 {p99}",
        count(input.ios),
        input.span_ns
    );
    let taken = taken_as::words(&input.taken_as, input.lanes);
    if !taken.is_empty() {
        about += &format!("; taken as: {}", taken.join("; "));
    }
    let mut text = screen.note(Tone::Strong, &format!("{}:", input.path), &about);
    text += &screen.note(
        Tone::Dim,
        "costs:",
        &format!(
            "{}; {} loop{}",
            result.cost,
            result.arrival,
            time(result, answer.input)
        ),
    );
    text += &rows(result, answer, screen);
    text += &screen.legend(
        "late: time lost by oversleeping / device time (T_over); polled: time polled / device \
         time (T_under)",
    );
    text + &verdict(result, answer, screen)
}

/// The simulated time on a trace; nothing where the result is one of before it was kept.
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
    let mut table = Table::of_numbers(HEAD);
    let bounds = [("poll", &answer.poll), ("oracle (bound)", &answer.oracle)];
    for (name, figures) in bounds {
        table.add(row(Field::new(Tone::Dim, name), figures));
    }
    let (shown, hidden) = shortlist(result, answer);
    for index in shown {
        let cell = &result.cells[index];
        let name = match answer.best == Some(index) {
            true => Field::new(Tone::Good, &cell.policy).marked("▸ ", "    "),
            false => Field::new(Tone::Plain, &cell.policy).marked("  ", "    "),
        };
        table.add(row(name, &cell.gives));
    }
    let hidden = match hidden {
        0 => String::new(),
        n => screen.legend(&format!(
            "of each rule the answer, or its best by the objective; {} more in --json, --csv and \
             --html",
            count(n)
        )),
    };
    table.text(screen) + &hidden
}

fn row(name: Field, figures: &Simulated) -> Vec<Field> {
    let short = |ns: f64| duration(ns);
    let numbers = [
        format!("{:.0}", figures.rates.iops),
        format!("{:.1}", figures.rates.cpu_pct),
        short(figures.cpu_ns_per_io),
        number(figures.kiops_per_core),
        format!("{:.2}", figures.rates.miss_rate * 100.0),
        short(figures.rates.effective_sleep_ns),
        format!("{:.2}", figures.t_over * 100.0),
        format!("{:.1}", figures.t_under * 100.0),
        short(figures.latencies.p50_ns),
        short(figures.latencies.p99_ns),
    ];
    std::iter::once(name)
        .chain(numbers.into_iter().map(Field::from))
        .collect()
}

fn verdict(result: &SweepResult, answer: &SweepAnswer, screen: Screen) -> String {
    let mut text = String::new();
    let floor = format!("floor {:.0} IOPS: {}", answer.floor_iops, answer.floor);
    match answer.best {
        None => {
            text += &screen.note(
                Tone::Caution,
                "▸ no configuration keeps the limits;",
                &floor,
            )
        }
        Some(best) => {
            let cell = &result.cells[best];
            let first = format!(
                "best by {}; of those within 0.5 % of the most, the one that misses least",
                label::objective(&result.objective)
            );
            let mut words = vec![first, floor];
            words.push(of_oracle(answer.of_oracle, &cell.gives));
            words.push(of_linux(answer));
            text += &screen.note(
                Tone::Good,
                &format!("▸ {}:", cell.policy),
                &words.join("; "),
            );
        }
    }
    text += &neighbours(answer, screen);
    if !answer.stability.is_empty() {
        text += &screen.note(Tone::Caution, "stability:", &answer.stability);
    }
    for note in &answer.notes {
        text += &screen.note(Tone::Plain, "note:", note);
    }
    text + "\n"
}

/// The CPU that the best configuration saves, over what the oracle saves. A rule that sleeps past
/// the completions saves more than the oracle, and pays for it by latency.
fn of_oracle(share: Option<f64>, gives: &Simulated) -> String {
    match share {
        None => "the oracle saves no CPU here".to_owned(),
        Some(share) if share < 0.0 => "takes more CPU than classic polling".to_owned(),
        Some(share) if share <= 1.0 => {
            format!(
                "saves {:.1} % of the CPU that the oracle saves",
                share * 100.0
            )
        }
        Some(times) => format!(
            "saves {times:.2} times the CPU that the oracle saves, which never sleeps past a completion ({:.1} % missed)",
            gives.rates.miss_rate * 100.0
        ),
    }
}

/// The best configuration over Linux's rule.
fn of_linux(answer: &SweepAnswer) -> String {
    let rates = &answer.linux.rates;
    match answer.of_linux {
        Some(times) => format!(
            "{times:.2} times the KIOPS/core of Linux's rule ({:.0} IOPS, {:.1} % CPU, {:.2} % missed)",
            rates.iops,
            rates.cpu_pct,
            rates.miss_rate * 100.0
        ),
        None => "Linux's rule never slept, so it is not compared with".to_owned(),
    }
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

fn over_all(result: &SweepResult, screen: Screen) -> String {
    let told = |best: &Option<Best>, head: &str, what: &str| match best {
        None => screen.note(
            Tone::Caution,
            head,
            "no configuration keeps the limits on every trace",
        ),
        Some(best) => screen.note(
            Tone::Good,
            head,
            &format!(
                "{}: {what} {:.1} % of each trace's own best",
                best.policy,
                best.share * 100.0
            ),
        ),
    };
    told(&result.best, "▸ best on average:", "on average")
        + &told(&result.best_worst_case, "▸ best worst case:", "at least")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule that misses nearly every completion sleeps longer than the oracle, so what it saves
    /// is no share of what the oracle saves.
    #[test]
    fn more_than_the_oracle_is_no_share_of_it() {
        let mut gives = Simulated::default();
        gives.rates.miss_rate = 0.987;
        let told = |share| of_oracle(share, &gives);
        let half = told(Some(0.5));
        assert_eq!(half, "saves 50.0 % of the CPU that the oracle saves");
        let more = told(Some(8.177));
        assert!(more.starts_with("saves 8.18 times the CPU that the oracle saves"));
        assert!(more.ends_with("(98.7 % missed)"), "{more}");
        assert_eq!(told(Some(-0.1)), "takes more CPU than classic polling");
        assert_eq!(told(None), "the oracle saves no CPU here");
    }
}
