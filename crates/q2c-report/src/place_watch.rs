//! Tables and sentences of `q2c place watch` that terminal and page share.

use crate::quantity::{NOTHING, number};
use crate::said::{Field, Said, Table, Weight};
use q2c_result::place_watch::{
    AdvisedMove, MoveReason, PlaceWatchResult, SeenBy, Stays, WatchedCore, WatchedCpu, WatchedTask,
};

/// What was looked at, in a line.
pub(crate) fn about(result: &PlaceWatchResult) -> String {
    let cpus: usize = result.cores.iter().map(|core| core.cpus.len()).sum();
    let seen = match result.detector.functions.is_empty() {
        true => "by names and hints only".to_owned(),
        false => format!(
            "by {}, names and hints",
            result.detector.functions.join(", ")
        ),
    };
    format!(
        "{cpus} CPUs on {} cores · the last {} s · polling seen {seen}",
        result.cores.len(),
        number(result.window_s)
    )
}

/// The cores, a row for each logical CPU.
pub(crate) fn cores(result: &PlaceWatchResult) -> Table {
    let rows = result.cores.iter().enumerate();
    let rows = rows.flat_map(|(nth, core)| {
        let cpus = core.cpus.iter().enumerate();
        cpus.map(move |(side, cpu)| row(nth, side, core, cpu))
    });
    Table {
        head: ["core", "CPU", "polling", "computing", "C takes"]
            .map(String::from)
            .to_vec(),
        rows: rows.collect(),
        legend: "Active tasks by the CPU that they had last, with their share of one CPU; * stays where it is. C takes: run time of a computing task there over that of one alone, by the speeds.",
    }
}

fn row(nth: usize, side: usize, core: &WatchedCore, cpu: &WatchedCpu) -> Vec<Field> {
    let of = |polls: bool| {
        let tasks = cpu.tasks.iter().filter(|task| task.polls == polls);
        tasks.map(task).collect::<Vec<_>>().join(", ")
    };
    let core_name = match side {
        0 => format!("{nth}{}", state(core)),
        _ => String::new(),
    };
    vec![
        core_name.into(),
        cpu.cpu.0.to_string().into(),
        of(true).into(),
        of(false).into(),
        cpu.c_slowdown
            .map_or(NOTHING.to_owned(), |times| format!("{times:.2}"))
            .into(),
    ]
}

/// What is wrong with a core, in a word.
fn state(core: &WatchedCore) -> &'static str {
    let polling = |cpu: &&WatchedCpu| cpu.tasks.iter().any(|task| task.polls);
    let computing = |cpu: &&WatchedCpu| cpu.tasks.iter().any(|task| !task.polls);
    let sides = core.cpus.iter().filter(polling).count();
    match (sides, core.cpus.iter().any(|cpu| computing(&cpu))) {
        (0, _) => "",
        (1, _) => " one side",
        (_, true) => " mixed",
        (_, false) => " bunch",
    }
}

fn task(task: &WatchedTask) -> String {
    let mark = if task.stays.is_some() { "*" } else { "" };
    let by = match task.by {
        SeenBy::Hint => " (hint)",
        SeenBy::SubmissionThread => " (SQPOLL)",
        SeenBy::Name => " (by name)",
        SeenBy::Kernel | SeenBy::Nothing => "",
    };
    format!("{}{mark}{by} {} %", task.name, number(task.cpu_pct))
}

/// What would be better, and why.
pub(crate) fn advice(result: &PlaceWatchResult) -> Vec<Said> {
    let tasks = || {
        result
            .cores
            .iter()
            .flat_map(|core| &core.cpus)
            .flat_map(|cpu| &cpu.tasks)
    };
    let polling = tasks().filter(|task| task.polls).count();
    let computing = tasks().count() - polling;
    let mut said = Vec::new();
    if polling == 0 || computing == 0 {
        let none = if polling == 0 { "polls" } else { "computes" };
        let words = format!(
            "{polling} tasks poll, {computing} compute: nothing {none}, so there is nothing to keep apart"
        );
        said.push(Said::plain("placement", words));
    } else if result.cores.iter().all(|core| core.cpus.len() < 2) {
        let words = format!(
            "{polling} polling and {computing} computing tasks; no core has two logical CPUs, and the kernel's own balancing is enough"
        );
        said.push(Said::plain("placement", words));
    } else if result.moves.is_empty() {
        let words = format!(
            "{polling} polling and {computing} computing tasks are placed as well as they may be"
        );
        said.push(Said::new(Weight::Good, "placement", words));
    } else {
        let words = format!(
            "{} of the tasks would be better placed{}",
            result.moves.len(),
            gain(result)
        );
        said.push(Said::new(Weight::Caution, "placement", words));
    }
    said.extend(result.moves.iter().map(advised));
    let stay = tasks().filter_map(|task| Some((task, task.stays?)));
    said.extend(stay.map(|(task, why)| {
        Said::plain(
            "stays",
            format!("{} ({}): {}", task.name, task.tid, stays(why)),
        )
    }));
    said
}

fn gain(result: &PlaceWatchResult) -> String {
    let both = result.c_slowdown.zip(result.c_slowdown_after);
    both.map_or_else(String::new, |(now, after)| {
        format!(
            ": computing tasks would take {} % less time, by the speeds",
            number(100.0 * (1.0 - after / now))
        )
    })
}

fn advised(of: &AdvisedMove) -> Said {
    let why = match of.why {
        MoveReason::Load => "its CPU has more tasks",
        MoveReason::Scatter => "its core has more polling tasks than another",
        MoveReason::Colocate => "it joins the polling tasks of its core on one CPU",
        MoveReason::Room => "it makes room for a polling task",
    };
    let kind = if of.polls { "polls" } else { "computes" };
    Said::plain(
        "move",
        format!(
            "{} ({}, {kind}) from CPU {} to {}: {why}",
            of.name, of.tid, of.from.0, of.to.0
        ),
    )
}

/// Why a task stays.
pub(crate) fn stays(why: Stays) -> &'static str {
    match why {
        Stays::PerCpu => "a kernel thread of its CPU",
        Stays::Kernel => "a kernel thread",
        Stays::RealTime => "has a real-time policy",
        Stays::Pinned => "somebody gave it fewer CPUs than its control group has",
        Stays::Hint => "a hint says so",
        Stays::Refused => "the kernel refused to move it",
    }
}
