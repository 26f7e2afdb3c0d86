//! The report of `q2c replay`, and tables and sentences that `q2c compare` shares with it.

mod in_flight;
mod job;
mod trial;
mod verdict;

pub(crate) use job::{idle_caution, interval, is_timed, job, mode, trace};
pub(crate) use trial::{invalid_reasons, invalid_trials, trial_notes};
pub use verdict::not_captured;
pub(crate) use verdict::{metric, overall, verdict};

use crate::document::{Document, Reported, Section};
use crate::note::Note;
use crate::phrase::{listed, when};
use crate::plots::replay::{ReplayLine, plots};
use crate::quantity::seconds;
use q2c_result::replay::ReplayResult;

impl Reported for ReplayResult {
    fn document(&self) -> Document<'_> {
        let notes = trial_notes(&self.job, &self.trace, &self.trial).into_iter();
        let (alarms, others): (Vec<Note>, Vec<Note>) = notes.partition(Note::is_alarm);
        let caution = idle_caution(&self.job, &self.trace);
        let times = Section::new("Time and sums")
            .table(job::sums(self))
            .table(job::latencies(&self.job, &self.trial))
            .notes(others)
            .plots(|| plots(&[ReplayLine::only(&self.trial)], true));
        Document::new("replay", &self.version, &self.schema)
            .titled(self.trace.path.clone(), about(self))
            .run(self.job.seed, self.provenance.started_unix_s)
            .complete(self.complete)
            .notices(Note::cautions("outstanding", caution))
            .notices(alarms)
            .section(times)
            .sections(job::trials(self).map(|trials| {
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
        seconds(result.provenance.seconds)
    )
}
