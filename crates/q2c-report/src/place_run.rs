//! Tables and sentences of `q2c place run` that terminal and page share.

use crate::corun::work;
use crate::place::policy;
use crate::quantity::{NOTHING, median, number, range, seconds, trials};
use crate::said::{Field, Said, Table, Weight};
use q2c_result::place::PolicyName;
use q2c_result::place_run::{
    ClassRun, ComputeTask, PlaceRunResult, PlacementGain, PlacementRun, PollFigures, PollTask,
};
use q2c_stats::Interval;

/// Nanoseconds to microseconds.
const US: f64 = 1e-3;

/// What was measured, in a line.
pub(crate) fn about(result: &PlaceRunResult) -> String {
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

/// The kind of a C task as a heading.
pub(crate) fn task(of: &ComputeTask) -> String {
    match of {
        ComputeTask::Own(own) => work(*own).to_owned(),
        ComputeTask::Program(command) => format!("`{command}`"),
    }
}

/// The placements of a kind of C task.
pub(crate) fn placements(result: &PlaceRunResult, class: &ClassRun) -> Table {
    let alone = result.polling_alone.map(|alone| alone.iops);
    let mut rows: Vec<Vec<Field>> = class.placements.iter().map(|run| row(run, alone)).collect();
    if let Some(polls) = &result.polling_alone {
        let mut row: Vec<Field> = vec!["P alone".into(), Field::default(), Field::default()];
        row.extend(polled(Some(polls), alone));
        row.push(Field::default());
        rows.push(row);
    }
    Table {
        head: [
            "placement",
            "C time\nof alone",
            "[min, max]",
            "P IOPS\neach",
            "P IOPS\n% of alone",
            "P p50\nus",
            "P p99\nus",
            "P p99.9\nus",
            "moves",
        ]
        .map(String::from)
        .to_vec(),
        rows,
        legend: "C: computing tasks, P: polling tasks. C time: run time of a C task over that of one alone on a core, in the same round; medians of the trials.",
    }
    .without_empty_columns()
}

fn row(run: &PlacementRun, alone: Option<Interval>) -> Vec<Field> {
    let mut row: Vec<Field> = vec![
        policy(run.policy).into(),
        median(&run.c_slowdown, 1.0).into(),
        range(&run.c_slowdown, 1.0).into(),
    ];
    row.extend(polled(run.polls.as_ref(), alone));
    row.push(
        run.moves
            .map_or(String::new(), |moves| median(&moves, 1.0))
            .into(),
    );
    row
}

fn polled(polls: Option<&PollFigures>, alone: Option<Interval>) -> Vec<Field> {
    let Some(polls) = polls else {
        return vec![Field::default(); 5];
    };
    let share = alone.filter(|alone| alone.median > 0.0);
    let share = share.map_or(NOTHING.to_owned(), |alone| {
        number(100.0 * polls.iops.median / alone.median)
    });
    vec![
        median(&polls.iops, 1.0).into(),
        share.into(),
        median(&polls.latency.p50_ns, US).into(),
        median(&polls.latency.p99_ns, US).into(),
        median(&polls.latency.p999_ns, US).into(),
    ]
}

/// What placements gain over others.
pub(crate) fn gains(class: &ClassRun) -> Table {
    let row = |gain: &PlacementGain| -> Vec<Field> {
        let published = gain.published_pct.map_or_else(String::new, number);
        vec![
            format!("{} over {}", policy(gain.of), policy(gain.over)).into(),
            median(&gain.t_over_t_minus_1_pct, 1.0).into(),
            range(&gain.t_over_t_minus_1_pct, 1.0).into(),
            median(&gain.one_minus_pct, 1.0).into(),
            range(&gain.one_minus_pct, 1.0).into(),
            published.into(),
        ]
    };
    Table {
        head: [
            "gain",
            "T'/T - 1\n%",
            "[min, max]",
            "1 - T/T'\n%",
            "[min, max]",
            "published\n%",
        ]
        .map(String::from)
        .to_vec(),
        rows: class.gains.iter().map(row).collect(),
        legend: "T: run time of the C tasks in the first placement, T': in the other, of the same round. The published figures are means over other programs on another machine.",
    }
}

/// The answer for a kind of C task: what the rules gain over the kernel's own balancer.
pub(crate) fn verdict(class: &ClassRun) -> Vec<Said> {
    let gain = |over| {
        let mut gains = class.gains.iter();
        gains.find(|gain| gain.of == PolicyName::Proposed && gain.over == over)
    };
    let mut said: Vec<Said> = gain(PolicyName::Free)
        .map(|gain| sentence(gain, "the kernel's own balancing (free)"))
        .into_iter()
        .collect();
    let failures = class
        .placements
        .iter()
        .filter(|run| !run.failures.is_empty());
    said.extend(failures.map(|run| {
        let words = format!(
            "{} of the trials failed, the first one to {}",
            run.failures.len(),
            run.failures[0]
        );
        Said::new(Weight::Bad, policy(run.policy), words)
    }));
    said
}

fn sentence(gain: &PlacementGain, over: &str) -> Said {
    let pct = &gain.t_over_t_minus_1_pct;
    let words = |what: &str| {
        format!(
            "the proposed placement {what} {over}: {} % {}",
            median(pct, 1.0),
            range(pct, 1.0)
        )
    };
    let what = task_gain(pct);
    Said::new(what.0, "gain", words(what.1).trim_end().to_owned())
}

/// Only an interval that leaves out nothing tells a gain or a loss.
fn task_gain(pct: &Interval) -> (Weight, &'static str) {
    match pct {
        one if one.trials < 2 => (Weight::Plain, "was tried once beside"),
        all if all.min > 0.0 => (Weight::Good, "lets computing tasks run faster than"),
        none if none.max < 0.0 => (Weight::Caution, "makes computing tasks slower than"),
        _ => (Weight::Plain, "cannot be told from"),
    }
}

/// What was left out, and how the shared pipeline showed.
pub(crate) fn notes(result: &PlaceRunResult) -> Vec<Said> {
    let mut said = vec![Said::plain(
        "a shared pipeline",
        format!(
            "computing tasks beside their own kind run at {} % of their speed alone {}, of the class that loses most",
            median(&result.beside_own_kind, 100.0),
            range(&result.beside_own_kind, 100.0)
        ),
    )];
    said.extend(result.left_out.iter().map(|left_out| {
        let words = format!("left out: {}", left_out.reason);
        Said::new(Weight::Caution, policy(left_out.policy), words)
    }));
    said
}
