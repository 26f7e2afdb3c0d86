//! The report of `q2c replay`, and tables and sentences that `q2c compare` shares with it.

mod in_flight;
mod invalid;
mod job;
mod tables;
mod verdict;
mod words;

pub(crate) use invalid::reasons;
pub(crate) use job::{job, mode, timed, trace, without_idle_time};
pub(crate) use tables::spread;
pub use verdict::not_captured;
pub(crate) use verdict::{metric, overall, verdict};
pub(crate) use words::{invalid_trials, words};

use crate::document::{Document, Reported, Section};
use crate::phrase::{listed, when};
use crate::plots::replay::{ReplayLine, plots};
use crate::quantity::seconds;
use crate::said::Note;
use q2c_result::replay::ReplayResult;

impl Reported for ReplayResult {
    fn document(&self) -> Document<'_> {
        let sentences = words(&self.job, &self.trace, &self.trial).into_iter();
        let (heavy, light): (Vec<Note>, Vec<Note>) = sentences.partition(Note::is_alarm);
        let lost = without_idle_time(&self.job, &self.trace);
        let times = Section::new("Time and sums")
            .table(tables::sums(self))
            .table(tables::latencies(&self.job, &self.trial))
            .notes(light)
            .plots(|| plots(&[ReplayLine::only(&self.trial)], true));
        Document::new("replay", &self.version, &self.schema)
            .titled(self.trace.path.clone(), about(self))
            .run(self.job.seed, self.started_unix_s)
            .complete(self.complete)
            .notices(Note::cautions("outstanding", lost))
            .notices(heavy)
            .section(times)
            .sections(tables::trials(self).map(|trials| {
                let invalid = invalid_trials("", &self.trials);
                Section::new("Trials").table(trials).notes(invalid)
            }))
            .section(Section::new("How it was replayed").notes(job(&self.job, &self.trace)))
            .warnings(&self.warnings)
            .targets(&self.targets)
            .machine(&self.machine)
    }
}

fn about(result: &ReplayResult) -> String {
    let n = result.trials.len();
    format!(
        "{} · {}{} · to {} · took {}",
        trace(&result.trace),
        mode(&result.job),
        when(n > 1, &format!(" · {n} trials")),
        listed(result.targets.iter().map(|target| &target.path)),
        seconds(result.seconds)
    )
}
