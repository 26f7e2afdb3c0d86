//! The report of `q2c poll sweep`.

use crate::document::{Document, DocumentAnswer, Reported, Section};
use crate::note::{Note, Weight};
use crate::phrase::{counted, joined, when};
use crate::quantity::{count, duration, number, percent};
use crate::{interpretation, label, plots, sim, validity};
use q2c_model::{DeviceTime, SimulatedFigures};
use q2c_result::sweep::{BestRule, SimCell, SweepAnswer, SweepInput, SweepResult};
use q2c_result::tune::{Sweep, SweepCell};
use std::collections::BTreeMap;

impl Reported for SweepResult {
    fn document(&self) -> Document<'_> {
        let (inputs, cells) = (self.inputs.len(), self.cells.len() as u64);
        let about = format!(
            "{} configurations on {}; {}; {} loop",
            count(cells / inputs.max(1) as u64),
            counted(inputs, "trace"),
            self.cost,
            self.arrival
        );
        let first = self.inputs.first().map_or("", |input| input.path.as_str());
        let title = match inputs {
            0 | 1 => first.to_owned(),
            n => format!("{first} and {} more", n - 1),
        };
        let document = Document::new("poll sweep", &self.version, &self.schema)
            .titled(title, about)
            .run(self.seed, 0)
            .answers(overall_notes(self));
        let answers = self.answers.iter();
        let document = answers.fold(document, |document, a| add_trace(document, self, a));
        let [took, reading] = [self.speed.seconds, self.speed.reading_s].map(number);
        let speed = format!(
            "{} configurations in {took} s, {:.2e} I/Os x configurations per second; reading took {reading} s",
            count(cells),
            self.speed.io_configs_per_s
        );
        let speed = Section::new("Speed").notes([Note::plain("speed", speed)]);
        document.section(speed.folded()).warnings(&self.warnings)
    }

    fn dangling_part(&self) -> Option<&'static str> {
        let is_input = |input: usize| input < self.inputs.len();
        let is_cell_of = |input: usize, index: usize| {
            let cell = self.cells.get(index);
            cell.is_some_and(|cell| cell.input == input)
        };
        let is_whole = |answer: &SweepAnswer| {
            let mut indices = answer.pareto.iter().chain(&answer.best);
            is_input(answer.input) && indices.all(|&index| is_cell_of(answer.input, index))
        };
        if !self.cells.is_sorted_by_key(|cell| cell.input) {
            Some("cells that are not trace by trace")
        } else if !self.cells.iter().all(|cell| is_input(cell.input)) {
            Some("a cell of a trace that is not there")
        } else if !self.answers.iter().all(is_whole) {
            Some("an answer of a trace or with a cell that is not there")
        } else {
            None
        }
    }
}

/// Adds what a sweep says about one trace. If there is only one trace, its verdict is the answer.
fn add_trace<'a>(
    mut document: Document<'a>,
    result: &'a SweepResult,
    answer: &'a SweepAnswer,
) -> Document<'a> {
    let input = &result.inputs[answer.input];
    let (mut judged, mut plain) = <(Vec<DocumentAnswer>, Vec<Note>)>::default();
    for note in conclusions(result, answer) {
        match (judged.last_mut(), note.heading.as_str()) {
            (Some(last), "caveat" | "stability") => last.caveats.push(note.text),
            _ if note.weight == Weight::Plain => plain.push(note),
            _ => judged.push(note.into()),
        }
    }
    if result.answers.len() == 1 {
        document = document.answers(judged.drain(..));
    }
    let (shown, hidden) = shortlist(result, answer);
    let references = [
        ("poll", Some(&answer.poll)),
        ("interrupt", answer.interrupt.as_ref()),
        ("oracle (bound)", Some(&answer.oracle)),
    ];
    let mut rows = Vec::new();
    for (name, gives) in references {
        rows.extend(gives.map(|gives| sim::figure_row(name, input.ios, gives)));
    }
    let mut weights = vec![Weight::Plain; rows.len()];
    for index in shown {
        let cell = &result.cells[index];
        rows.push(sim::figure_row(&cell.policy, input.ios, &cell.gives));
        weights.push(Weight::Good.only_if(answer.best == Some(index)));
    }
    let more = count(hidden);
    let more = format!(" {more} more are in --json and --csv, and in the charts.");
    document.section(
        Section::new(input.path.clone())
            .remark(about_input(result, answer.input))
            .notes(judged.into_iter().flat_map(DocumentAnswer::into_notes))
            .notes(plain)
            .weighted(sim::figure_table(rows), weights)
            .remark(order_remark(result, hidden > 0) + when(hidden > 0, &more))
            .notes(neighbour_note(answer))
            .notes(Note::plains("note", &answer.notes))
            .plots(|| plots::sweep::plots(result, answer)),
    )
}

/// The facts of a trace, and for how long it was simulated.
fn about_input(result: &SweepResult, index: usize) -> String {
    let input: &SweepInput = &result.inputs[index];
    let [least, p10, p50, p99, most] = input.latency_ns.map(duration);
    let mut about = format!(
        "{} I/Os, {}, {}; {} from {least} over p10 {p10}, median {p50}, p99 {p99} to {most}",
        count(input.ios),
        counted(input.lanes, "lane"),
        input.span_ns,
        match input.taken_as.latency {
            DeviceTime::Wait => "recorded wait after the submission",
            _ => "recorded device time",
        }
    );
    if let Some(measured) = result.measured_ns.get(index) {
        let warm_up = result.warm_up_ns;
        about += &format!("; {measured} simulated after {warm_up} of warm-up");
    }
    let clauses = interpretation::clauses(&input.taken_as, input.lanes);
    if !clauses.is_empty() {
        about += &format!("; taken as: {}", clauses.join("; "));
    }
    about
}

/// The conclusions on one trace, each with its caveats: the verdict whether any rule gains, the
/// best rule within the limits, the rules with the most KIOPS/core and the most IOPS, and what
/// limits them.
fn conclusions(result: &SweepResult, answer: &SweepAnswer) -> Vec<Note> {
    let mut notes: Vec<Note> = polling_wins_note(result, answer).into_iter().collect();
    notes.push(best_or_nearest_note(result, answer));
    let best = answer.best.and_then(|best| result.cells.get(best));
    notes.extend(best.into_iter().flat_map(|cell| reason_notes(cell, answer)));
    let caveats = validity::caveats(&result.warnings);
    notes.extend(Note::cautions("caveat", caveats));
    for (what, cell) in [
        ("most KIOPS/core", answer.most_kiops_per_core),
        ("most IOPS", answer.most_iops),
    ] {
        let cell = cell.and_then(|index| result.cells.get(index));
        notes.extend(cell.map(|cell| Note::plain(what, most_sentence(cell, answer))));
    }
    notes.push(limit_note(result, answer));
    if !answer.stability.is_empty() {
        notes.push(Note::caution("stability", &answer.stability));
    }
    notes
}

fn overall_notes(result: &SweepResult) -> Vec<Note> {
    if result.inputs.len() < 2 {
        return Vec::new();
    }
    let conclusion = |best: &Option<BestRule>, what: &str, how: &str| match best {
        None => Note::caution(what, "no configuration keeps the limits on every trace"),
        Some(best) => {
            let share = format!("{how} {:.1} % of each trace's own best", best.share * 100.0);
            Note::good(what, format!("{}, {share}", best.policy))
        }
    };
    vec![
        conclusion(&result.best, "best on average", "on average"),
        conclusion(&result.best_worst_case, "best worst case", "at least"),
    ]
}

/// A note that polling wins, if no rule has more KIOPS/core.
fn polling_wins_note(result: &SweepResult, answer: &SweepAnswer) -> Option<Note> {
    let most = result.cells.get(answer.most_kiops_per_core?)?;
    let (most, poll) = (most.gives.kiops_per_core, answer.poll.kiops_per_core);
    let ratio = number(most / poll);
    let mut sentence =
        format!("every rule loses to it. The best has {ratio} times its IOPS per core");
    if let Some(fastest) = answer.most_iops.and_then(|index| result.cells.get(index)) {
        let share = fastest.gives.rates.iops / answer.poll.rates.iops * 100.0;
        sentence += &format!(", the fastest {share:.1} % of its IOPS");
    }
    (most <= poll).then(|| Note::caution("use classic polling", sentence))
}

fn best_or_nearest_note(result: &SweepResult, answer: &SweepAnswer) -> Note {
    if let Some(cell) = answer.best.and_then(|best| result.cells.get(best)) {
        let goal = label::objective(&result.objective);
        let heading = format!("best by {goal} within the limits");
        let polling = beside_polling(&cell.gives, &answer.poll);
        return Note::good(&heading, format!("{}, {polling}", cell.policy));
    }
    let nearest = answer.nearest.and_then(|index| result.cells.get(index));
    let nearest = nearest.map(|cell| {
        let iops = cell.gives.rates.iops / answer.floor_iops * 100.0;
        let p99 = duration(cell.gives.latencies.p99_ns);
        let cpu = number(cell.gives.rates.cpu_pct);
        let figures =
            format!("Its IOPS are {iops:.1} % of the floor, its p99 {p99}, its CPU {cpu} %");
        format!("the nearest is {}. {figures}", with_figures(cell, answer))
    });
    let nearest = nearest.unwrap_or_else(|| "no configuration may be chosen".to_owned());
    Note::caution("no configuration keeps the limits", nearest)
}

/// The reasons to choose this configuration, and its comparison with other known methods.
fn reason_notes(cell: &SimCell, answer: &SweepAnswer) -> impl Iterator<Item = Note> {
    let tie_reason = "of all within 0.5 % of the best figure it misses least".to_owned();
    let interrupt = answer.interrupt.as_ref();
    let interrupt = interrupt.map(|gives| compared_with(&cell.gives, gives, "interrupts", "their"));
    let reasons = [
        ("chosen", Some(tie_reason)),
        ("interrupts", interrupt),
        ("oracle", Some(oracle_text(answer.of_oracle, &cell.gives))),
        ("Linux's rule", Some(linux_text(answer, &cell.gives))),
    ];
    let reasons = reasons.into_iter();
    reasons.filter_map(|(heading, text)| Some(Note::plain(heading, text?)))
}

fn limit_note(result: &SweepResult, answer: &SweepAnswer) -> Note {
    let mut sentence = format!("a floor of {:.0} IOPS", answer.floor_iops);
    sentence += when(!answer.floor.is_empty(), &format!(" ({})", answer.floor));
    if !result.limits.is_empty() {
        sentence += &format!("; asked for: {}", result.limits.join(", "));
    }
    Note::plain("limits", sentence)
}

/// A configuration that has the most of a figure, and whether it breaks the limits.
fn most_sentence(cell: &SimCell, answer: &SweepAnswer) -> String {
    let breaks = match cell.keeps_limits {
        Some(false) if cell.gives.rates.iops < answer.floor_iops => ". It breaks the floor",
        Some(false) => ". It breaks the limits",
        Some(true) | None => "",
    };
    with_figures(cell, answer) + breaks
}

/// A configuration, compared with classic polling and with interrupts.
fn with_figures(cell: &SimCell, answer: &SweepAnswer) -> String {
    let polling = beside_polling(&cell.gives, &answer.poll);
    let mut sentence = format!("{}, {polling}", cell.policy);
    if let Some(interrupt) = &answer.interrupt {
        sentence += ". ";
        sentence += &compared_with(&cell.gives, interrupt, "interrupts", "their");
    }
    sentence
}

pub(crate) fn beside_polling(gives: &SimulatedFigures, poll: &SimulatedFigures) -> String {
    let missed = percent(gives.rates.miss_rate);
    compared_with(gives, poll, "classic polling", "its") + &format!(", {missed} missed")
}

fn compared_with(
    gives: &SimulatedFigures,
    other: &SimulatedFigures,
    name: &str,
    whose: &str,
) -> String {
    let iops = gives.rates.iops / other.rates.iops * 100.0;
    let ratio = gives.kiops_per_core / other.kiops_per_core;
    // Infinite if every I/O oversleeps and the costs contain no CPU time besides polling.
    if !ratio.is_finite() {
        return format!("No CPU by these costs, at {iops:.1} % of the IOPS of {name}");
    }
    let times = number(ratio);
    format!("{times} times the IOPS per core of {name} at {iops:.1} % of {whose} IOPS")
}

/// The CPU that the best configuration saves, as a share of the oracle's saving. A rule that sleeps
/// past the completions saves more than the oracle, and pays with latency.
fn oracle_text(share: Option<f64>, gives: &SimulatedFigures) -> String {
    match share {
        None => "The oracle saves no CPU here".to_owned(),
        Some(share) if share < 0.0 => "It takes more CPU than classic polling".to_owned(),
        Some(share) if share <= 1.0 => {
            let share = share * 100.0;
            format!("It saves {share:.1} % of the CPU that the oracle saves")
        }
        Some(times) => format!(
            "It saves {times:.2} times the CPU of the oracle, which never sleeps past a completion ({:.1} % missed)",
            gives.rates.miss_rate * 100.0
        ),
    }
}

fn linux_text(answer: &SweepAnswer, gives: &SimulatedFigures) -> String {
    let rates = &answer.linux.rates;
    match answer.of_linux {
        Some(times) => format!(
            "It has {times:.2} times the IOPS per core of Linux's rule ({:.0} IOPS, {:.1} % CPU, {:.2} % missed)",
            rates.iops,
            rates.cpu_pct,
            rates.miss_rate * 100.0
        ),
        None if !gives.kiops_per_core.is_finite() => {
            "Without CPU it is not compared with Linux's rule".to_owned()
        }
        None => "Linux's rule never slept, so it is not compared with".to_owned(),
    }
}

/// A trace's cells as a [`Sweep`], the form of `q2c tune`, because both share charts.
pub(crate) fn as_sweep(result: &SweepResult, answer: &SweepAnswer) -> Sweep {
    let cells = || result.cells.iter();
    let trace_cells = cells().filter(|cell| cell.input == answer.input);
    let offset = cells().position(|c| c.input == answer.input).unwrap_or(0);
    let cell = |cell: &SimCell| SweepCell {
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
        cells: trace_cells.map(cell).collect(),
        pareto: answer.pareto.iter().map(|i| i - offset).collect(),
        best: answer.best.map(|i| i - offset),
        oracle: answer.oracle.into(),
        poll: answer.poll.into(),
        floor: answer.floor.clone(),
        floor_iops: answer.floor_iops,
    }
}

/// The figures of the cells that are one step of a parameter away from the best one.
fn neighbour_note(answer: &SweepAnswer) -> Option<Note> {
    let steps = answer.neighbours.iter().map(|n| {
        let change = (n.share - 1.0) * 100.0;
        let outside = when(!n.keeps_limits, " (out of limits)");
        format!("{} {change:+.1} %{outside}", n.policy)
    });
    (!answer.neighbours.is_empty()).then(|| Note::plain("one step off", joined(steps, "; ")))
}

/// The largest number of cells at which all are shown.
const FULL_LIST: usize = 40;

/// Indices of the shown cells of one trace, best first, and the number of hidden ones. All cells
/// are shown if there are few. Else each rule has one: the answer if it is of this rule, or the
/// best by the objective, preferably within the limits; cells that conclusions name are shown, too.
fn shortlist(result: &SweepResult, answer: &SweepAnswer) -> (Vec<usize>, u64) {
    let cells = result.cells.iter().enumerate();
    let trace_cells = cells.filter(|(_, cell)| cell.input == answer.input);
    let mut shown: Vec<(usize, &SimCell)> = trace_cells.collect();
    let total = shown.len();
    let key = |cell: &SimCell| (keeps_limits(cell, answer), score(result, cell));
    if total > FULL_LIST {
        let mut best: BTreeMap<&str, (usize, &SimCell)> = BTreeMap::new();
        for &(index, cell) in &shown {
            let (best_index, best_cell) = best.entry(&cell.rule).or_insert((index, cell));
            let is_answer = |index| answer.best == Some(index);
            if is_answer(index) || (!is_answer(*best_index) && key(cell) > key(best_cell)) {
                (*best_index, *best_cell) = (index, cell);
            }
        }
        let named_cells = [answer.best, answer.most_kiops_per_core, answer.most_iops];
        let is_named = |index| named_cells.contains(&Some(index)) || answer.nearest == Some(index);
        shown.retain(|(index, cell)| best[&*cell.rule].0 == *index || is_named(*index));
    }
    shown.sort_by(|(_, a), (_, b)| {
        let ((a_keeps, a_score), (b_keeps, b_score)) = (key(a), key(b));
        b_keeps.cmp(&a_keeps).then(b_score.total_cmp(&a_score))
    });
    let hidden = (total - shown.len()) as u64;
    (shown.into_iter().map(|(index, _)| index).collect(), hidden)
}

/// How the rows of a table are sorted and, if it `is_shortened`, which ones are shown.
fn order_remark(result: &SweepResult, is_shortened: bool) -> String {
    let order = match result.objective.as_str() {
        "cpu" => "least CPU first".to_owned(),
        other => format!("most {} first", label::objective(other)),
    };
    const SHOWN_ROWS: &str = " Shown is the best of each rule, and what is named above.";
    let which = when(is_shortened, SHOWN_ROWS);
    format!("Rules that keep the limits stand above those that do not; {order} in both.{which}")
}

/// True if a cell keeps the limits. If the result does not tell, only the IOPS floor decides.
fn keeps_limits(cell: &SimCell, answer: &SweepAnswer) -> bool {
    let floor = cell.gives.rates.iops >= answer.floor_iops;
    cell.keeps_limits.unwrap_or(floor)
}

fn score(result: &SweepResult, cell: &SimCell) -> f64 {
    match result.objective.as_str() {
        "iops" => cell.gives.rates.iops,
        "cpu" => -cell.gives.rates.cpu_pct,
        _ => cell.gives.kiops_per_core,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Rates;

    /// A rule that misses nearly every completion sleeps longer than the oracle, so its saving is
    /// not a share of the oracle's.
    #[test]
    fn more_than_the_oracle_is_no_share_of_it() {
        let mut gives = SimulatedFigures::default();
        gives.rates.miss_rate = 0.987;
        let sentence = |share| oracle_text(share, &gives);
        let half = sentence(Some(0.5));
        assert_eq!(half, "It saves 50.0 % of the CPU that the oracle saves");
        let more = sentence(Some(8.177));
        assert!(more.starts_with("It saves 8.18 times the CPU of the oracle"));
        assert!(more.ends_with("(98.7 % missed)"), "{more}");
        assert_eq!(
            sentence(Some(-0.1)),
            "It takes more CPU than classic polling"
        );
        assert_eq!(sentence(None), "The oracle saves no CPU here");
    }

    #[test]
    fn what_points_nowhere_is_named() {
        let cell_of = |input: usize| SimCell {
            input,
            ..SimCell::default()
        };
        let result = |inputs: &[usize], answer: SweepAnswer| SweepResult {
            inputs: vec![SweepInput::default(); 2],
            cells: inputs.iter().copied().map(cell_of).collect(),
            answers: vec![answer],
            ..SweepResult::default()
        };
        let answer = |input, best, pareto: &[usize]| SweepAnswer {
            input,
            best,
            pareto: pareto.to_vec(),
            ..SweepAnswer::default()
        };
        let whole = answer(1, Some(1), &[1, 2]);
        let names = |inputs: &[usize], answer| result(inputs, answer).dangling_part();
        assert_eq!(names(&[0, 1, 1], whole.clone()), None);
        let message = names(&[1, 0, 1], whole.clone()).unwrap();
        assert!(message.contains("trace by trace"));
        assert!(names(&[0, 1, 2], whole).unwrap().contains("a cell of a"));
        for wrong in [
            answer(2, None, &[]),
            answer(0, Some(3), &[]),
            answer(0, Some(1), &[]),
            answer(1, None, &[0]),
        ] {
            assert!(names(&[0, 1, 1], wrong).unwrap().contains("an answer of"));
        }
    }

    fn cell(rule: &str, kiops_per_core: f64) -> SimCell {
        SimCell {
            rule: rule.to_owned(),
            gives: SimulatedFigures {
                rates: Rates {
                    iops: 100.0,
                    ..Rates::default()
                },
                kiops_per_core,
                ..SimulatedFigures::default()
            },
            ..SimCell::default()
        }
    }

    /// The answer represents its rule: it misses less than the rule's best cell, 0.4 % ahead.
    #[test]
    fn the_answer_stands_for_its_rule() {
        let cells = (0..=FULL_LIST).map(|n| cell("min", 50.0 + n as f64));
        let mut cells: Vec<SimCell> = cells.collect();
        cells[7] = cell("min", 99.6);
        cells[8] = cell("min", 100.0);
        cells.push(cell("mean", 40.0));
        let mut result = SweepResult {
            cells,
            ..SweepResult::default()
        };
        "kiops-per-core".clone_into(&mut result.objective);
        let answer = |best| SweepAnswer {
            best,
            ..SweepAnswer::default()
        };
        let hidden = FULL_LIST as u64;
        assert_eq!(
            shortlist(&result, &answer(Some(7))),
            (vec![7, FULL_LIST + 1], hidden)
        );
        assert_eq!(
            shortlist(&result, &answer(None)),
            (vec![8, FULL_LIST + 1], hidden)
        );
    }
}
