//! The reports of `q2c place sim`, `place run`, `place watch` and `place calibrate`.

use crate::document::{Document, Reported, Section};
use crate::note::{Note, ReportField, ReportTable, Weight, row};
use crate::phrase::{counted, joined, listed, listed_if_any, variant_words, when};
use crate::plots::{self, NS_TO_US};
use crate::quantity::{median, number, or_dash, percent, range, seconds, trials};
use q2c_model::Nanos;
use q2c_model::stats::Interval;
use q2c_result::corun::{CalibrateResult, Pair, Work};
use q2c_result::place::{
    Gain, Phases, PlaceSimResult, PolicyFigures, PolicyName, PublishedFigure, PublishedGain,
    Queues, SensitivityPoint, Setup, Speeds, SpeedsFrom,
};
use q2c_result::place_run::{
    ClassRun, ComputeTask, PlaceRunResult, PlacementGain, PlacementRun, PollFigures, PollTask,
};
use q2c_result::place_watch::{
    AdvisedMove, MoveReason, PlaceWatchResult, SeenBy, StayReason, WatchedCore, WatchedCpu,
    WatchedTask,
};

/// A placement counts as good if it takes at most this share more time than the best one.
const NEAR_BEST: f64 = 0.02;

impl Reported for PlaceSimResult {
    fn document(&self) -> Document<'_> {
        let source: &str = match &self.speeds_from {
            SpeedsFrom::Published => "published figures",
            SpeedsFrom::File(path) => path,
        };
        let starts = counted(self.starts, "start");
        let about = format!("simulated, {starts} of each balancer, speeds from {source}");
        Document::new("place sim", &self.version, &self.schema)
            .titled("Placement", about)
            .run(self.seed, self.started_unix_s)
            .sections(self.setups.iter().flat_map(|setup| {
                let section = Section::new(setup_title(setup)).notes(setup_notes(self, setup));
                [
                    section.table(policy_table(setup)),
                    Section::new(format!("{}: published", setup_title(setup)))
                        .table(published_table(setup)),
                    Section::new(format!("{}: other rates", setup_title(setup)))
                        .table(sensitivity_table(setup)),
                ]
            }))
            .section(Section::new("").plots(|| plots::place::plots(self)))
            .section(Section::new("Speed beside a neighbour").table(speed_table(&self.speeds)))
            .warnings(&self.warnings)
    }
}

pub(crate) fn setup_title(setup: &Setup) -> String {
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

pub(crate) fn policy(policy: PolicyName) -> String {
    match policy {
        PolicyName::ProposedLiteral => "published rules".to_owned(),
        PolicyName::Proposed => "with swap".to_owned(),
        PolicyName::ProposedSwap => "always swap".to_owned(),
        other => variant_words(other),
    }
}

fn policy_table(setup: &Setup) -> ReportTable {
    let has_best = setup.c_time.best.is_some();
    let base = if has_best { "best" } else { "alone" };
    let heads = format!(
        "policy | C time\nover {base} | [95 %] | P I/Os\nof alone | P p99\nus | P p99.9\nus | moves | \
         colocate\n% | spread\n% | bunch\n% | heap\n%"
    );
    let best_and_worst = [("best", setup.c_time.best), ("worst", setup.c_time.worst)];
    let best_and_worst = best_and_worst.into_iter().filter_map(|(name, time)| {
        let mut row = row![name, ratio(time?)];
        row.resize(heads.split(" | ").count(), ReportField::default());
        Some((time?, row))
    });
    let figures = setup.policies.iter();
    let figures = figures.map(|p| (p.c_slowdown / setup.c_time_unit, policy_row(setup, p)));
    let mut rows: Vec<(f64, Vec<ReportField>)> = best_and_worst.chain(figures).collect();
    rows.sort_by(|(a_time, _), (b_time, _)| a_time.total_cmp(b_time));
    ReportTable::new(&heads, rows.into_iter().map(|(_, row)| row))
        .legend(POLICY_LEGEND)
        .without_empty_columns()
}

const POLICY_LEGEND: &str = "C: computing tasks, P: polling tasks. C time: mean run time of the C tasks, over the starts of a balancer; 95 % of the starts lie in [ ]. T: run time in the first of two placements, T': in the second. With swap: the published rules and q2c's own swap step where it makes room; always swap: even where a CPU is left idle. Shares of time: P even over the cores and on one logical CPU of each (colocate) or on more (spread), or not even, on both sides (bunch) or on one (heap).";

fn policy_row(setup: &Setup, figures: &PolicyFigures) -> Vec<ReportField> {
    let time = |slowdown: f64| ratio(slowdown / setup.c_time_unit);
    let (low, high) = (figures.c_slowdown_low, figures.c_slowdown_high);
    let range = (low < high).then(|| format!("[{}, {}]", time(low), time(high)));
    let latency = figures.p_latency;
    let has_polling = setup.polling > 0;
    let share = |share: f64| when(has_polling, &number(100.0 * share)).to_owned();
    row![
        policy(figures.policy),
        time(figures.c_slowdown),
        range.unwrap_or_default(),
        or_dash(has_polling.then(|| percent(figures.p_bandwidth))),
        or_dash(latency.map(|latency| number(latency.p99_us))),
        or_dash(latency.map(|latency| number(latency.p999_us))),
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

fn gain_text(gain: Gain) -> String {
    let (over_minus_1, one_minus) = (number(gain.t_over_t_minus_1), number(gain.one_minus));
    let range = gain_range(gain).map(|range| format!(" {range}"));
    let range = range.unwrap_or_default();
    format!("{over_minus_1} % (T'/T - 1), {one_minus} %{range} (1 - T/T')")
}

fn gain_range(gain: Gain) -> Option<String> {
    let (low, high) = gain.one_minus_range?;
    Some(format!("[{}, {}]", number(low), number(high)))
}

fn background_text(setup: &Setup) -> String {
    let Some(Phases { runs_s, sleeps_s }) = setup.background else {
        return "no task".to_owned();
    };
    let [runs, sleeps] = [runs_s, sleeps_s].map(Nanos::from_secs_f64);
    let threshold = counted(setup.threshold, "task");
    format!(
        "as many tasks as CPUs, {runs} every {sleeps}; moves at a difference of {threshold}, with swap of 2"
    )
}

fn setup_notes(result: &PlaceSimResult, setup: &Setup) -> Vec<Note> {
    let mut notes = Vec::new();
    if setup.c_time.best.is_some() {
        let unit = format!("{} times a computing task alone", ratio(setup.c_time_unit));
        notes.push(Note::plain("best run time", unit));
    }
    let rules = policy(result.rules);
    let over_free = gain_text(setup.gain_over_free_pct);
    notes.push(Note::plain(&format!("{rules} over free"), over_free));
    let over_worst = setup.gain_over_worst_pct.map(gain_text);
    notes.extend(Note::plains(&format!("{rules} over worst"), over_worst));
    let over_published = Gain::from_times(setup.c_time.proposed_literal, setup.c_time.proposed);
    let over_published = gain_text(over_published);
    notes.push(Note::plain(
        "with swap over published rules",
        over_published,
    ));
    notes.push(Note::plain("in the background", background_text(setup)));
    if let (Some(worst), Some(best)) = (&setup.worst, &setup.best) {
        let names = listed_if_any(setup.worst_is.iter().map(|name| policy(*name)));
        let names = names.unwrap_or_else(|| "none of the named placements".to_owned());
        let worst = format!("{} ({names})", queues_text(worst));
        notes.push(Note::plain("worst placement", worst));
        notes.push(Note::plain("best placement", queues_text(best)));
    }
    if setup.c_time.best.is_some() {
        let time = rules_time(result.rules, setup);
        let loss_pct = 100.0 * (time - 1.0);
        let distance = match loss_pct {
            behind if behind > 0.0 => format!("{} % behind the best placement", number(behind)),
            ahead => format!("{} % ahead of the best of even loads", number(-ahead)),
        };
        notes.push(Note::new(
            Weight::good_if(time <= 1.0 + NEAR_BEST),
            &rules,
            distance,
        ));
    }
    notes
}

fn rules_time(rules: PolicyName, setup: &Setup) -> f64 {
    match rules {
        PolicyName::ProposedLiteral => setup.c_time.proposed_literal,
        _ => setup.c_time.proposed,
    }
}

/// Run times with other rates and thresholds; an empty table if they were not asked for.
fn sensitivity_table(setup: &Setup) -> ReportTable {
    let row = |point: &SensitivityPoint| {
        let every = setup
            .background
            .map(|b| seconds(b.sleeps_s / point.rate_factor));
        let gain = Gain::from_times(point.free, point.proposed_literal);
        row![
            point.threshold.to_string(),
            number(point.rate_factor),
            or_dash(every),
            ratio(point.free),
            ratio(point.proposed_literal),
            ratio(point.proposed),
            number(gain.one_minus),
        ]
    };
    let heads = "threshold\ntasks | rate\ntimes | background\nevery | free | published\nrules | with swap | gain over\nfree %";
    let legend = "Mean run times of the C tasks as above. Gain: 1 - T/T' of the published rules. With swap the threshold is always 2.";
    ReportTable::new(heads, setup.sensitivity.iter().map(row)).legend(legend)
}

fn queues_text(queues: &Queues) -> String {
    joined(queues.iter().map(|core| core.join("|")), "  ")
}

fn figure_text(published: &PublishedGain) -> String {
    let figure = variant_words(published.figure);
    match published.figure {
        PublishedFigure::ProposedOverFree | PublishedFigure::ProposedOverWorst => {
            format!("{figure} ({})", policy(published.rules))
        }
        _ => figure,
    }
}

/// Published gains beside the simulated ones; an empty table if none was published.
fn published_table(setup: &Setup) -> ReportTable {
    let row = |published: &PublishedGain| {
        let (gain, fitted) = (published.simulated, published.fitted);
        row![
            figure_text(published),
            number(published.published_pct),
            number(gain.t_over_t_minus_1),
            number(gain.one_minus),
            gain_range(gain).unwrap_or_default(),
            if fitted { "fitted" } else { "predicted" },
        ]
    };
    let heads = "gain | published\n% | T'/T - 1\n% | 1 - T/T'\n% | [95 %] | ";
    let legend = "The published texts do not say which of the two ways their gains are put.";
    ReportTable::new(heads, setup.published.iter().map(row)).legend(legend)
}

fn speed_table(s: &Speeds) -> ReportTable {
    let row = |name: &str, compute, polling| [name.to_owned(), ratio(compute), ratio(polling)];
    let rows = [
        row("C", s.compute_beside_compute, s.compute_beside_polling),
        row("P", s.polling_beside_compute, s.polling_beside_polling),
    ];
    let legend = "On the other logical CPU of the same core, as a share of the speed alone.";
    ReportTable::new("speed of | beside C | beside P", rows).legend(legend)
}

impl Reported for PlaceRunResult {
    fn document(&self) -> Document<'_> {
        Document::new("place run", &self.version, &self.schema)
            .titled("Placements, measured", run_about(self))
            .run(self.seed, self.started_unix_s)
            .complete(self.complete)
            .sections(self.classes.iter().map(|class| {
                let task = match &class.task {
                    ComputeTask::Own(kind) => work_name(*kind),
                    ComputeTask::Program(command) => format!("`{command}`"),
                };
                Section::new(task)
                    .notes(class_notes(class))
                    .table(placement_table(self, class))
                    .table(gain_table(class))
            }))
            .section(Section::new("How it was measured").notes(run_notes(self)))
            .warnings(&self.warnings)
            .targets(&self.target)
            .machine(&self.machine)
    }
}

fn run_about(result: &PlaceRunResult) -> String {
    let polls = match &result.polls {
        PollTask::Engine { engine, bs } => format!("{engine} polling for {bs}"),
        PollTask::Program(command) => format!("`{command}`"),
    };
    let runs = result.classes.iter().flat_map(|class| &class.placements);
    format!(
        "{} computing + {} polling ({polls}) on {} CPUs of {} cores · {} of {} each",
        result.compute,
        result.polling,
        result.cpus,
        result.cores,
        trials(result.trials, runs.map(|run| run.c_slowdown.trials)),
        seconds(result.trial_s),
    )
}

fn placement_table(result: &PlaceRunResult, class: &ClassRun) -> ReportTable {
    let alone = result.polling_alone.as_ref();
    let row = |run: &PlacementRun| {
        let (name, slowdown) = (policy(run.policy), &run.c_slowdown);
        let mut row = row![name, median(slowdown, 1.0), range(slowdown, 1.0)];
        row.extend(polling_fields(run.polls.as_ref(), alone));
        let moves = run.moves.map(|moves| median(&moves, 1.0));
        row.push(moves.unwrap_or_default().into());
        row
    };
    let of_polling = alone.map(|_| {
        let mut row = row!["P alone", "", ""];
        row.extend(polling_fields(alone, alone));
        row.push(ReportField::default());
        row
    });
    let heads = "placement | C time\nof alone | [min, max] | P IOPS\neach | P IOPS\n% of alone | P p50\nus | P p99\nus | P p99.9\nus | moves";
    let legend = "C: computing tasks, P: polling tasks. C time: run time of a C task over that of one alone on a core, in the same round; medians of the trials.";
    ReportTable::new(heads, class.placements.iter().map(row).chain(of_polling))
        .legend(legend)
        .without_empty_columns()
}

fn polling_fields(polls: Option<&PollFigures>, alone: Option<&PollFigures>) -> [ReportField; 5] {
    let Some(PollFigures { iops, latency, .. }) = polls else {
        return Default::default();
    };
    let alone = alone.map(|f| f.iops.median).filter(|iops| *iops > 0.0);
    [
        median(iops, 1.0),
        or_dash(alone.map(|alone| number(100.0 * iops.median / alone))),
        median(&latency.p50_ns, NS_TO_US),
        median(&latency.p99_ns, NS_TO_US),
        median(&latency.p999_ns, NS_TO_US),
    ]
    .map(ReportField::from)
}

fn gain_table(class: &ClassRun) -> ReportTable {
    let row = |gain: &PlacementGain| {
        [
            format!("{} over {}", policy(gain.of), policy(gain.over)),
            median(&gain.t_over_t_minus_1_pct, 1.0),
            range(&gain.t_over_t_minus_1_pct, 1.0),
            median(&gain.one_minus_pct, 1.0),
            range(&gain.one_minus_pct, 1.0),
            gain.published_pct.map(number).unwrap_or_default(),
        ]
    };
    let heads = "gain | T'/T - 1\n% | [min, max] | 1 - T/T'\n% | [min, max] | published\n%";
    let legend = "T: run time of the C tasks in the first placement, T': in the other, of the same round. The published figures are means over other programs on another machine.";
    ReportTable::new(heads, class.gains.iter().map(row)).legend(legend)
}

/// The answer for one kind of C task: how much faster the rules are than the kernel's balancer.
fn class_notes(class: &ClassRun) -> Vec<Note> {
    let rules = (PolicyName::Proposed, PolicyName::Free);
    let gain = class.gains.iter().find(|g| (g.of, g.over) == rules);
    let gain = gain.map(|gain| {
        let pct = &gain.t_over_t_minus_1_pct;
        let (weight, verb) = gain_verdict(pct);
        let times = format!("{} % {}", median(pct, 1.0), range(pct, 1.0));
        let sentence =
            format!("the proposed placement {verb} the kernel's own balancing (free): {times}");
        Note::new(weight, "gain", sentence.trim_end())
    });
    let failures = class.placements.iter().filter_map(|run| {
        let first = run.failures.first()?;
        let failed = run.failures.len();
        let message = format!("{failed} of the trials failed, the first one to {first}");
        Some(Note::bad(&policy(run.policy), message))
    });
    gain.into_iter().chain(failures).collect()
}

/// Only an interval that excludes 0 shows a gain or a loss.
fn gain_verdict(pct: &Interval) -> (Weight, &'static str) {
    match pct {
        _ if pct.trials < 2 => (Weight::Plain, "was tried once beside"),
        _ if pct.min > 0.0 => (Weight::Good, "lets computing tasks run faster than"),
        _ if pct.max < 0.0 => (Weight::Caution, "makes computing tasks slower than"),
        _ => (Weight::Plain, "cannot be told from"),
    }
}

/// The placements that were left out, and the slowdown in a shared pipeline.
fn run_notes(result: &PlaceRunResult) -> impl Iterator<Item = Note> {
    let own_kind = &result.beside_own_kind;
    let (speed, range) = (median(own_kind, 100.0), range(own_kind, 100.0));
    let shared = format!(
        "computing tasks beside their own kind run at {speed} % of their speed alone {range}, of the class that loses most"
    );
    let left_out = result.left_out.iter();
    let left_out = left_out
        .map(|left| Note::caution(&policy(left.policy), format!("left out: {}", left.reason)));
    std::iter::once(Note::plain("a shared pipeline", shared)).chain(left_out)
}

impl Reported for PlaceWatchResult {
    fn document(&self) -> Document<'_> {
        let speeds = Section::new("Speed beside a neighbour").table(speed_table(&self.speeds));
        Document::new("place watch", &self.version, &self.schema)
            .titled("Placement", watch_about(self))
            .started(self.at_unix_s)
            .section(Section::new("Cores").table(cores(self)).notes(advice(self)))
            .section(speeds.folded())
            .warnings(&self.warnings)
    }
}

fn watch_about(result: &PlaceWatchResult) -> String {
    let cpus: usize = result.cores.iter().map(|core| core.cpus.len()).sum();
    let functions = &result.detector.functions;
    let detected_by = match listed_if_any(functions) {
        None => "by names and hints only".to_owned(),
        Some(functions) => format!("by {functions}, names and hints"),
    };
    let (cores, window) = (result.cores.len(), number(result.window_s));
    format!("{cpus} CPUs on {cores} cores · the last {window} s · polling seen {detected_by}")
}

fn cores(result: &PlaceWatchResult) -> ReportTable {
    let rows = result.cores.iter().enumerate().flat_map(|(nth, core)| {
        core.cpus.iter().enumerate().map(move |(side, cpu)| {
            let tasks = |p| listed(cpu.tasks.iter().filter(|task| task.polls == p).map(task));
            let [polling, computing] = [true, false].map(tasks);
            [
                when(side == 0, &format!("{nth}{}", sharing(core))).to_owned(),
                cpu.cpu.0.to_string(),
                polling,
                computing,
                or_dash(cpu.c_slowdown.map(|times| format!("{times:.2}"))),
            ]
        })
    });
    let legend = "Active tasks by the CPU that they had last, with their share of one CPU; * stays where it is. C takes: run time of a computing task there over that of one alone, by the speeds.";
    ReportTable::new("core | CPU | polling | computing | C takes", rows).legend(legend)
}

fn sharing(core: &WatchedCore) -> &'static str {
    let polls = |cpu: &&WatchedCpu| cpu.tasks.iter().any(|task| task.polls);
    let computes = |cpu: &WatchedCpu| cpu.tasks.iter().any(|task| !task.polls);
    let sides = core.cpus.iter().filter(polls).count();
    match (sides, core.cpus.iter().any(computes)) {
        (0, _) => "",
        (1, _) => " one side",
        (_, true) => " mixed",
        (_, false) => " bunch",
    }
}

fn task(task: &WatchedTask) -> String {
    let mark = when(task.stays.is_some(), "*");
    let source = match task.by {
        SeenBy::Hint => " (hint)",
        SeenBy::SubmissionThread => " (SQPOLL)",
        SeenBy::Name => " (by name)",
        SeenBy::Kernel | SeenBy::Nothing => "",
    };
    format!("{}{mark}{source} {} %", task.name, number(task.cpu_pct))
}

fn advice(result: &PlaceWatchResult) -> Vec<Note> {
    let cpus = || result.cores.iter().flat_map(|core| &core.cpus);
    let tasks = || cpus().flat_map(|cpu| &cpu.tasks);
    let polling = tasks().filter(|task| task.polls).count();
    let computing = tasks().count() - polling;
    let task_counts = format!("{polling} polling and {computing} computing tasks");
    const HEADING: &str = "placement";
    let placement = if polling == 0 || computing == 0 {
        let verb = if polling == 0 { "polls" } else { "computes" };
        let counts = format!("{polling} tasks poll, {computing} compute");
        let sentence = format!("{counts}: nothing {verb}, so there is nothing to keep apart");
        Note::plain(HEADING, sentence)
    } else if result.cores.iter().all(|core| core.cpus.len() < 2) {
        let single = "no core has two logical CPUs, and the kernel's own balancing is enough";
        Note::plain(HEADING, format!("{task_counts}; {single}"))
    } else if result.moves.is_empty() {
        Note::good(HEADING, task_counts + " are placed as well as they may be")
    } else {
        let times = result.c_slowdown.zip(result.c_slowdown_after);
        let gain = times.map(|(now, after)| {
            let less = number(100.0 * (1.0 - after / now));
            format!(": computing tasks would take {less} % less time, by the speeds")
        });
        let moves = format!("{} of the tasks would be better placed", result.moves.len());
        Note::caution(HEADING, moves + &gain.unwrap_or_default())
    };
    let moves = result.moves.iter().map(move_note);
    let stay = tasks().filter_map(|task| {
        let message = format!("{} ({}): {}", task.name, task.tid, stay_reason(task.stays?));
        Some(Note::plain("stays", message))
    });
    [placement].into_iter().chain(moves).chain(stay).collect()
}

fn move_note(advised: &AdvisedMove) -> Note {
    let reason = match advised.why {
        MoveReason::Load => "its CPU has more tasks",
        MoveReason::Scatter => "its core has more polling tasks than another",
        MoveReason::Colocate => "it joins the polling tasks of its core on one CPU",
        MoveReason::Room => "it makes room for a polling task",
    };
    let (name, tid, from, to) = (&advised.name, advised.tid, advised.from.0, advised.to.0);
    let kind = if advised.polls { "polls" } else { "computes" };
    let sentence = format!("{name} ({tid}, {kind}) from CPU {from} to {to}: {reason}");
    Note::plain("move", sentence)
}

fn stay_reason(reason: StayReason) -> &'static str {
    match reason {
        StayReason::PerCpu => "a kernel thread of its CPU",
        StayReason::Kernel => "a kernel thread",
        StayReason::RealTime => "has a real-time policy",
        StayReason::Pinned => "somebody gave it fewer CPUs than its control group has",
        StayReason::Hint => "a hint says so",
        StayReason::Refused => "the kernel refused to move it",
    }
}

impl Reported for CalibrateResult {
    fn document(&self) -> Document<'_> {
        let (a, b, trials) = (self.cpus.0.0, self.cpus.1.0, self.trials);
        let trial = number(self.trial_s);
        let about =
            format!("CPUs {a} and {b} of one core · {trials} trials of {trial} s of each pair");
        let polling = self.speeds.compute_beside_polling;
        let compute = self.speeds.compute_beside_compute;
        let [less, polling, compute] =
            [1.0 - compute / polling, polling, compute].map(|share| number(100.0 * share));
        let sentence = format!(
            "computing tasks run at {polling} % of their speed beside one, at {compute} % beside another computing task: {less} % less run time"
        );
        let answer = Note::plain("a polling neighbour", sentence);
        Document::new("place calibrate", &self.version, &self.schema)
            .titled("Speed beside a neighbour", about)
            .run(self.seed, self.started_unix_s)
            .section(Section::new("").table(speed_table(&self.speeds)))
            .section(Section::new("Pairs").table(pair_table(self)))
            .section(Section::new("What it means").notes([answer]))
            .warnings(&self.warnings)
            .targets(&self.target)
            .machine(&self.machine)
    }
}

fn work_name(work: Work) -> String {
    match work {
        Work::Float => "floating point".to_owned(),
        Work::PollPause => "polling, PAUSE".to_owned(),
        Work::Poll => "polling".to_owned(),
        Work::Iopoll => "IOPOLL".to_owned(),
        other => variant_words(other),
    }
}

fn pair_table(result: &CalibrateResult) -> ReportTable {
    let row = |pair: &Pair| {
        let neighbour = pair.neighbour.map_or("nothing".to_owned(), work_name);
        [
            work_name(pair.own),
            format!("{neighbour}{}", when(pair.same_cpu, ", same CPU")),
            median(&pair.speed, 100.0),
            range(&pair.speed, 100.0),
        ]
    };
    let heads = "task | beside | speed\n% of alone | [min, max]";
    let legend = "Median of the trials, each against the trial alone of the same round. On the same CPU two tasks share its time and not the pipeline.";
    ReportTable::new(heads, result.pairs.iter().map(row)).legend(legend)
}
