//! The document of `q2c replay`.

use super::{Document, Reported, Section};
use crate::plots::replay::{ReplayLine, plots};
use crate::replay;
use crate::said::{Note, Weight};
use q2c_result::replay::ReplayResult;

impl Reported for ReplayResult {
    fn document(&self) -> Document<'_> {
        let (job, trace) = (&self.job, &self.trace);
        let sentences = replay::words(job, trace, &self.trial).into_iter();
        let (heavy, light): (Vec<Note>, Vec<Note>) =
            sentences.partition(|said| matches!(said.weight, Weight::Caution | Weight::Bad));
        let lost = replay::without_idle_time(job, trace);
        let mut document = Document::new("replay", &self.version, &self.schema)
            .titled(trace.path.clone(), replay::about(self))
            .run(job.seed, self.started_unix_s)
            .complete(self.complete)
            .notices(lost.map(|lost| Note::caution("outstanding", lost)))
            .notices(heavy)
            .section(
                Section::new("Time and sums")
                    .table(replay::sums(self))
                    .table(replay::latencies(job, &self.trial))
                    .notes(light)
                    .plots(|| plots(&[ReplayLine::only(&self.trial)], true)),
            );
        if let Some(trials) = replay::trials(self) {
            let invalid = replay::invalid_trials("", &self.trials);
            document = document.section(Section::new("Trials").table(trials).notes(invalid));
        }
        document
            .section(Section::new("How it was replayed").notes(replay::job(job, trace)))
            .warnings(&self.warnings)
            .targets(&self.targets)
            .machine(&self.machine)
    }
}
