//! The report of `q2c place watch`.

use crate::document::{Document, Reported, Section};
use crate::phrase::{listed, some_listed, when};
use crate::place;
use crate::quantity::{number, or_nothing};
use crate::said::{Note, ReportTable};
use q2c_result::place_watch::{
    AdvisedMove, MoveReason, PlaceWatchResult, SeenBy, Stays, WatchedCore, WatchedCpu, WatchedTask,
};

impl Reported for PlaceWatchResult {
    fn document(&self) -> Document<'_> {
        let speeds = Section::new("Speed beside a neighbour").table(place::speeds(&self.speeds));
        Document::new("place watch", &self.version, &self.schema)
            .titled("Placement", about(self))
            .begun(self.at_unix_s)
            .section(Section::new("Cores").table(cores(self)).notes(advice(self)))
            .section(speeds.folded())
            .warnings(&self.warnings)
    }
}

fn about(result: &PlaceWatchResult) -> String {
    let cpus: usize = result.cores.iter().map(|core| core.cpus.len()).sum();
    let functions = &result.detector.functions;
    let seen = match some_listed(functions) {
        None => "by names and hints only".to_owned(),
        Some(functions) => format!("by {functions}, names and hints"),
    };
    let (cores, window) = (result.cores.len(), number(result.window_s));
    format!("{cpus} CPUs on {cores} cores · the last {window} s · polling seen {seen}")
}

fn cores(result: &PlaceWatchResult) -> ReportTable {
    let rows = result.cores.iter().enumerate().flat_map(|(nth, core)| {
        core.cpus.iter().enumerate().map(move |(side, cpu)| {
            let tasks = |p| listed(cpu.tasks.iter().filter(|task| task.polls == p).map(task));
            [
                when(side == 0, &format!("{nth}{}", state(core))).to_owned(),
                cpu.cpu.0.to_string(),
                tasks(true),
                tasks(false),
                or_nothing(cpu.c_slowdown.map(|times| format!("{times:.2}"))),
            ]
        })
    });
    let legend = "Active tasks by the CPU that they had last, with their share of one CPU; * stays where it is. C takes: run time of a computing task there over that of one alone, by the speeds.";
    ReportTable::headed("core | CPU | polling | computing | C takes", rows).legend(legend)
}

fn state(core: &WatchedCore) -> &'static str {
    let has = |polls| move |cpu: &&WatchedCpu| cpu.tasks.iter().any(|task| task.polls == polls);
    let sides = core.cpus.iter().filter(has(true)).count();
    match (sides, core.cpus.iter().any(|cpu| has(false)(&cpu))) {
        (0, _) => "",
        (1, _) => " one side",
        (_, true) => " mixed",
        (_, false) => " bunch",
    }
}

fn task(task: &WatchedTask) -> String {
    let mark = when(task.stays.is_some(), "*");
    let by = match task.by {
        SeenBy::Hint => " (hint)",
        SeenBy::SubmissionThread => " (SQPOLL)",
        SeenBy::Name => " (by name)",
        SeenBy::Kernel | SeenBy::Nothing => "",
    };
    format!("{}{mark}{by} {} %", task.name, number(task.cpu_pct))
}

fn advice(result: &PlaceWatchResult) -> Vec<Note> {
    let cpus = || result.cores.iter().flat_map(|core| &core.cpus);
    let tasks = || cpus().flat_map(|cpu| &cpu.tasks);
    let polling = tasks().filter(|task| task.polls).count();
    let computing = tasks().count() - polling;
    let both = format!("{polling} polling and {computing} computing tasks");
    const WHAT: &str = "placement";
    let placement = if polling == 0 || computing == 0 {
        let none = if polling == 0 { "polls" } else { "computes" };
        let tasks = format!("{polling} tasks poll, {computing} compute");
        let sentence = format!("{tasks}: nothing {none}, so there is nothing to keep apart");
        Note::plain(WHAT, sentence)
    } else if result.cores.iter().all(|core| core.cpus.len() < 2) {
        let single = "no core has two logical CPUs, and the kernel's own balancing is enough";
        Note::plain(WHAT, format!("{both}; {single}"))
    } else if result.moves.is_empty() {
        Note::good(WHAT, both + " are placed as well as they may be")
    } else {
        let both = result.c_slowdown.zip(result.c_slowdown_after);
        let gain = both.map(|(now, after)| {
            let less = number(100.0 * (1.0 - after / now));
            format!(": computing tasks would take {less} % less time, by the speeds")
        });
        let moves = format!("{} of the tasks would be better placed", result.moves.len());
        Note::caution(WHAT, moves + &gain.unwrap_or_default())
    };
    let moves = result.moves.iter().map(move_note);
    let stay = tasks().filter_map(|task| {
        let message = format!("{} ({}): {}", task.name, task.tid, stays(task.stays?));
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

fn stays(reason: Stays) -> &'static str {
    match reason {
        Stays::PerCpu => "a kernel thread of its CPU",
        Stays::Kernel => "a kernel thread",
        Stays::RealTime => "has a real-time policy",
        Stays::Pinned => "somebody gave it fewer CPUs than its control group has",
        Stays::Hint => "a hint says so",
        Stays::Refused => "the kernel refused to move it",
    }
}
