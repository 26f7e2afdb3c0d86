//! Documents of what is computed from traces: analyses, simulations, sweeps.

use super::{Answer, Document, Facts, Reported, Section};
use crate::analysis::{self as told, ORDER, STAGE_HEAD, stage_row};
use crate::facts::Fact;
use crate::plots;
use crate::quantity::{count, duration, number};
use crate::said::{Field, Said, Table, Weight};
use crate::shortlist::{shortlist, sorted};
use crate::sweep::{conclusions, over_all, references};
use crate::{inexact, most_time, not_whole, sim, simulated, sweep, taken_as};
use q2c_model::DeviceTime;
use q2c_result::analyze::{AnalyzeResult, Group, Hctx};
use q2c_result::sim::SimResult;
use q2c_result::sweep::{SweepAnswer, SweepInput, SweepResult};

/// Most groups of one property, and most CPUs of a queue, that are shown; the JSON has all.
const SHOWN: usize = 12;

impl Reported for AnalyzeResult {
    fn document(&self) -> Document<'_> {
        let facts = &self.input.facts;
        let of = [("disks", ""), ("kernel", "Linux "), ("cpu_model", "")];
        let named = of
            .iter()
            .filter_map(|(fact, before)| Some(format!(" \u{b7} {before}{}", facts.get(*fact)?)));
        let spent = self.bottleneck.iter().flat_map(most_time::told);
        let taken = told::taken(self);
        let mut of = Document::new("analyze", &self.version, &self.schema)
            .titled(
                self.input.path.clone(),
                told::about(self) + &named.collect::<String>(),
            )
            .answers(spent.map(|(head, words)| Answer::from(Said::plain(head, words))))
            .notices(taken.map(|words| Said::new(Weight::Caution, "processes", words)))
            .notices(qualified(self))
            .section(stages(self))
            .section(findings(self));
        for (property, groups) in &self.groups {
            // A single group has the figures of the whole, and is named already.
            if groups.len() > 1 {
                of = of.section(groups_of(property, groups));
            }
        }
        of.section(queues(self))
            .section(Section::new("").plots(|| plots::analysis::plots(self)))
            .warnings(&self.warnings)
            .facts(trace_facts(self))
    }
}

fn trace_facts(result: &AnalyzeResult) -> Facts {
    let input = &result.input;
    let own = [
        ("source", input.source.as_str()),
        ("clock", input.clock.as_str()),
    ];
    let read = input.facts.iter();
    let read = read.map(|(name, value)| (name.as_str(), value.as_str()));
    let fact = |(name, value): (&str, &str)| Fact {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    Facts {
        title: "The trace".to_owned(),
        facts: own.into_iter().chain(read).map(fact).collect(),
        of: Vec::new(),
    }
}

fn qualified(result: &AnalyzeResult) -> Vec<Said> {
    let inexact = inexact::told(result).into_iter();
    let inexact = inexact.map(|words| Said::new(Weight::Caution, "not exact", words));
    let unmatched = told::unmatched(&result.unmatched);
    let unmatched = unmatched.map(|words| Said::new(Weight::Caution, "unmatched", words));
    let failed = (result.failed > 0).then(|| format!("{} I/Os", count(result.failed)));
    let failed = failed.map(|words| Said::new(Weight::Bad, "failed", words));
    inexact.chain(unmatched).chain(failed).collect()
}

fn stages(result: &AnalyzeResult) -> Section<'static> {
    let rows = ORDER
        .iter()
        .filter_map(|name| stage_row(&result.stages, name));
    let table = Table {
        legend: "Q queued, G request allocated, I in the scheduler, D handed to the driver, M merged, C complete. \
                 Minimum, mean and maximum are exact, percentiles within 0.8 %.",
        ..Table::of(STAGE_HEAD, rows)
    };
    let lack = not_whole::told(result).map(|(any, words)| {
        let weight = if any { Weight::Caution } else { Weight::Good };
        Said::new(weight, "not wholly seen", words)
    });
    Section::new("Stages").table(table).told(lack)
}

fn findings(result: &AnalyzeResult) -> Section<'static> {
    let words = told::words(result).into_iter();
    let mut of =
        Section::new("What it says").told(words.map(|(what, words)| Said::plain(&what, words)));
    if let Some(found) = &result.bottleneck {
        of = of.told([Said::plain("shares of Q2C", told::shares(&found.shares))]);
        let loads = found.over_load.iter().filter(|_| found.over_load.len() > 1);
        of = of.told(loads.map(|class| {
            let (range, words) = told::load(class, result.in_flight.most);
            Said::plain(&format!("{range} in flight"), words)
        }));
    }
    of
}

fn groups_of(property: &str, groups: &[Group]) -> Section<'static> {
    let mut order: Vec<&Group> = groups.iter().collect();
    if order.len() > SHOWN {
        order.sort_by_key(|group| std::cmp::Reverse(group.requests));
    }
    let shown = told::group_table(order.iter().take(SHOWN).copied());
    let head = std::iter::once(property.to_owned());
    let head = head.chain(shown.head.iter().map(|head| (*head).to_owned()));
    let more = match order.len().saturating_sub(SHOWN) {
        0 => String::new(),
        n => format!("{n} more groups are in --json."),
    };
    Section::new(format!("By {property}"))
        .table(Table::of(head, shown.rows))
        .remark(more)
}

fn queues(result: &AnalyzeResult) -> Section<'static> {
    let (Some(words), Some(balance)) = (told::balance(result), &result.balance) else {
        return Section::default();
    };
    let row = |queue: &Hctx| {
        let cpus = queue.cpus.iter().take(SHOWN);
        let cpus: Vec<String> = cpus.map(|(cpu, n)| format!("{cpu} ({n})")).collect();
        vec![
            queue.hctx.to_string(),
            count(queue.requests),
            format!("{} %", number(queue.share * 100.0)),
            cpus.join(", "),
        ]
    };
    let weight = match balance.verdict.as_str() {
        "uneven" => Weight::Caution,
        _ => Weight::Good,
    };
    let of_device = told::device_queues(&result.queues);
    Section::new("Hardware queues")
        .table(Table::of(
            ["queue", "requests", "share", "from CPUs"],
            result.hctx.iter().map(row),
        ))
        .told([Said::new(weight, "balance", words)])
        .told(of_device.map(|(head, words)| Said::plain(&head, words)))
}

impl Reported for SimResult {
    fn document(&self) -> Document<'_> {
        let rows = self.methods.iter();
        let rows = rows.map(|of| simulated::row(&of.method, of.ios, &of.gives));
        let table = Table {
            legend: simulated::LEGEND,
            ..Table::of(simulated::HEAD, rows)
        };
        let no_time = self.methods.iter().filter_map(sim::no_time);
        let no_time = no_time.map(|words| Said::new(Weight::Caution, "no time", words));
        Document::new("poll sim", env!("CARGO_PKG_VERSION"), &self.schema)
            .titled(self.trace.clone(), sim::about(self))
            .run(self.seed, 0)
            .answers(sim::answer(&self.methods))
            .section(Section::new("").table(table).told(no_time))
            .section(Section::new("What was assumed").told(sim::assumed(self)))
            .warnings(&self.warnings)
    }
}

impl Reported for SweepResult {
    fn document(&self) -> Document<'_> {
        let inputs = self.inputs.len();
        let about = format!(
            "{} configurations on {}; {}; {} loop",
            count(self.cells.len() as u64 / inputs.max(1) as u64),
            match inputs {
                1 => "1 trace".to_owned(),
                n => format!("{n} traces"),
            },
            self.cost,
            self.arrival
        );
        let first = self.inputs.first().map_or("", |input| input.path.as_str());
        let title = match inputs {
            0 | 1 => first.to_owned(),
            n => format!("{first} and {} more", n - 1),
        };
        let overall = over_all(self).into_iter().map(Answer::from);
        let mut of = Document::new("poll sweep", &self.version, &self.schema)
            .titled(title, about)
            .run(self.seed, 0)
            .answers(overall);
        for answer in &self.answers {
            of = of_trace(of, self, answer);
        }
        let speed = format!(
            "{} configurations in {} s, {:.2e} I/Os x configurations per second; reading took {} s",
            count(self.cells.len() as u64),
            number(self.speed.seconds),
            self.speed.io_configs_per_s,
            number(self.speed.reading_s)
        );
        of.section(
            Section::new("Speed")
                .told([Said::plain("speed", speed)])
                .folded(),
        )
        .warnings(&self.warnings)
    }
}

/// Adds what a sweep says of one trace. The verdict is the answer where it is the only one.
fn of_trace<'a>(
    of: Document<'a>,
    result: &'a SweepResult,
    answer: &'a SweepAnswer,
) -> Document<'a> {
    let input = &result.inputs[answer.input];
    let (mut judged, mut told): (Vec<Answer>, Vec<Said>) = (Vec::new(), Vec::new());
    for said in conclusions(result, answer) {
        match (judged.last_mut(), said.what.as_str()) {
            (Some(last), "caveat" | "stability") => last.caveats.push(said.words),
            _ if said.weight == Weight::Plain => told.push(said),
            _ => judged.push(said.into()),
        }
    }
    let is_one = result.answers.len() == 1;
    let of = if is_one {
        of.answers(judged.drain(..))
    } else {
        of
    };
    let (shown, hidden) = shortlist(result, answer);
    let references = references(answer).into_iter();
    let mut rows: Vec<Vec<Field>> = references
        .map(|(name, gives)| simulated::row(name, input.ios, gives))
        .collect();
    let mut weights = vec![Weight::Plain; rows.len()];
    for index in shown {
        let cell = &result.cells[index];
        rows.push(simulated::row(&cell.policy, input.ios, &cell.gives));
        weights.push(if answer.best == Some(index) {
            Weight::Good
        } else {
            Weight::Plain
        });
    }
    let rest = match hidden {
        0 => String::new(),
        n => format!(
            " {} more are in --json and --csv, and in the charts.",
            count(n)
        ),
    };
    let table = Table {
        legend: simulated::LEGEND,
        ..Table::of(simulated::HEAD, rows)
    };
    let notes = answer.notes.iter().map(|note| Said::plain("note", note));
    of.section(
        Section::new(input.path.clone())
            .remark(about_input(result, answer.input))
            .told(judged.into_iter().flat_map(Answer::said))
            .told(told)
            .marked(table, weights)
            .remark(format!("{}{rest}", sorted(result, hidden > 0)))
            .told(sweep::neighbours(answer))
            .told(notes)
            .plots(|| plots::sweep::plots(result, answer)),
    )
}

/// The facts of a trace, and how long it was simulated.
fn about_input(result: &SweepResult, index: usize) -> String {
    let input: &SweepInput = &result.inputs[index];
    let lanes = match input.lanes {
        1 => "1 lane".to_owned(),
        n => format!("{n} lanes"),
    };
    let [least, p10, p50, p99, most] = input.latency_ns.map(duration);
    let mut about = format!(
        "{} I/Os, {lanes}, {}; {} from {least} over p10 {p10}, median {p50}, p99 {p99} to {most}",
        count(input.ios),
        input.span_ns,
        match input.taken_as.latency {
            DeviceTime::Wait => "recorded wait after the submission",
            _ => "recorded device time",
        }
    );
    if let Some(measured) = result.measured_ns.get(index) {
        about += &format!(
            "; {measured} simulated after {} of warm-up",
            result.warm_up_ns
        );
    }
    let taken = taken_as::words(&input.taken_as, input.lanes);
    if !taken.is_empty() {
        about += &format!("; taken as: {}", taken.join("; "));
    }
    about
}
