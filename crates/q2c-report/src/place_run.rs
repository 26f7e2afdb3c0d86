//! The report of `q2c place run`.

use crate::corun::work;
use crate::document::{Document, Reported, Section};
use crate::place::policy;
use crate::quantity::{median, number, or_nothing, range, seconds, trials};
use crate::said::{Note, ReportField, ReportTable, Weight, row};
use q2c_model::stats::Interval;
use q2c_result::place::PolicyName;
use q2c_result::place_run::{
    ClassRun, ComputeTask, PlaceRunResult, PlacementGain, PlacementRun, PollFigures, PollTask,
};

const US: f64 = 1e-3;

impl Reported for PlaceRunResult {
    fn document(&self) -> Document<'_> {
        Document::new("place run", &self.version, &self.schema)
            .titled("Placements, measured", about(self))
            .run(self.seed, self.started_unix_s)
            .complete(self.complete)
            .sections(self.classes.iter().map(|class| {
                let task = match &class.task {
                    ComputeTask::Own(kind) => work(*kind).to_owned(),
                    ComputeTask::Program(command) => format!("`{command}`"),
                };
                Section::new(task)
                    .notes(verdict(class))
                    .table(placements(self, class))
                    .table(gains(class))
            }))
            .section(Section::new("How it was measured").notes(notes(self)))
            .warnings(&self.warnings)
            .targets(&self.target)
            .machine(&self.machine)
    }
}

fn about(result: &PlaceRunResult) -> String {
    let polls = match &result.polls {
        PollTask::Engine { engine, bs } => format!("{engine} polling for {bs}"),
        PollTask::Program(command) => format!("`{command}`"),
    };
    let run = result.classes.iter().flat_map(|class| &class.placements);
    format!(
        "{} computing + {} polling ({polls}) on {} CPUs of {} cores · {} of {} each",
        result.compute,
        result.polling,
        result.cpus,
        result.cores,
        trials(result.trials, run.map(|run| run.c_slowdown.trials)),
        seconds(result.trial_s),
    )
}

fn placements(result: &PlaceRunResult, class: &ClassRun) -> ReportTable {
    let alone = result.polling_alone.as_ref();
    let row = |run: &PlacementRun| {
        let (name, slowdown) = (policy(run.policy), &run.c_slowdown);
        let mut row = row![name, median(slowdown, 1.0), range(slowdown, 1.0)];
        row.extend(polled(run.polls.as_ref(), alone));
        let moves = run.moves.map(|moves| median(&moves, 1.0));
        row.push(moves.unwrap_or_default().into());
        row
    };
    let of_polling = alone.map(|_| {
        let mut row = row!["P alone", "", ""];
        row.extend(polled(alone, alone));
        row.push(ReportField::default());
        row
    });
    let heads = "placement | C time\nof alone | [min, max] | P IOPS\neach | P IOPS\n% of alone | P p50\nus | P p99\nus | P p99.9\nus | moves";
    let legend = "C: computing tasks, P: polling tasks. C time: run time of a C task over that of one alone on a core, in the same round; medians of the trials.";
    ReportTable::headed(heads, class.placements.iter().map(row).chain(of_polling))
        .legend(legend)
        .without_empty_columns()
}

fn polled(polls: Option<&PollFigures>, alone: Option<&PollFigures>) -> [ReportField; 5] {
    let Some(PollFigures { iops, latency, .. }) = polls else {
        return Default::default();
    };
    let alone = alone.map(|f| f.iops.median).filter(|iops| *iops > 0.0);
    [
        median(iops, 1.0),
        or_nothing(alone.map(|alone| number(100.0 * iops.median / alone))),
        median(&latency.p50_ns, US),
        median(&latency.p99_ns, US),
        median(&latency.p999_ns, US),
    ]
    .map(ReportField::from)
}

fn gains(class: &ClassRun) -> ReportTable {
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
    ReportTable::headed(heads, class.gains.iter().map(row)).legend(legend)
}

/// The answer for one kind of C task: how much faster the rules are than the kernel's balancer.
fn verdict(class: &ClassRun) -> Vec<Note> {
    let rules = (PolicyName::Proposed, PolicyName::Free);
    let mut gains = class.gains.iter();
    let gain = gains
        .find(|gain| (gain.of, gain.over) == rules)
        .map(|gain| {
            let pct = &gain.t_over_t_minus_1_pct;
            let (weight, what) = task_gain(pct);
            let times = format!("{} % {}", median(pct, 1.0), range(pct, 1.0));
            let sentence =
                format!("the proposed placement {what} the kernel's own balancing (free): {times}");
            Note::new(weight, "gain", sentence.trim_end())
        });
    let failures = class.placements.iter().filter_map(|run| {
        let first = run.failures.first()?;
        let failed = run.failures.len();
        let message = format!("{failed} of the trials failed, the first one to {first}");
        Some(Note::bad(policy(run.policy), message))
    });
    gain.into_iter().chain(failures).collect()
}

/// Only an interval that excludes 0 shows a gain or a loss.
fn task_gain(pct: &Interval) -> (Weight, &'static str) {
    match pct {
        one if one.trials < 2 => (Weight::Plain, "was tried once beside"),
        all if all.min > 0.0 => (Weight::Good, "lets computing tasks run faster than"),
        none if none.max < 0.0 => (Weight::Caution, "makes computing tasks slower than"),
        _ => (Weight::Plain, "cannot be told from"),
    }
}

/// The placements that were left out, and the slowdown in a shared pipeline.
fn notes(result: &PlaceRunResult) -> impl Iterator<Item = Note> {
    let own_kind = &result.beside_own_kind;
    let (speed, range) = (median(own_kind, 100.0), range(own_kind, 100.0));
    let shared = format!(
        "computing tasks beside their own kind run at {speed} % of their speed alone {range}, of the class that loses most"
    );
    let left_out = result.left_out.iter();
    let left_out = left_out
        .map(|left| Note::caution(policy(left.policy), format!("left out: {}", left.reason)));
    std::iter::once(Note::plain("a shared pipeline", shared)).chain(left_out)
}
