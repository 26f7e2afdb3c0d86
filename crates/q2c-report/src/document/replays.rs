//! The document of `q2c replay`.

use super::{Document, Reported, Section};
use crate::plots::replay::{Line, plots};
use crate::replay;
use crate::said::{Said, Weight};
use q2c_result::replay::ReplayResult;

impl Reported for ReplayResult {
    fn document(&self) -> Document<'_> {
        let (job, trace) = (&self.job, &self.trace);
        let words = replay::words(job, trace, &self.trial).into_iter();
        let (heavy, light): (Vec<Said>, Vec<Said>) =
            words.partition(|said| matches!(said.weight, Weight::Caution | Weight::Bad));
        let lost = replay::without_idle_time(job, trace);
        let mut of = Document::new("replay", &self.version, &self.schema)
            .titled(trace.path.clone(), replay::about(self))
            .run(job.seed, self.started_unix_s)
            .complete(self.complete)
            .notices(lost.map(|lost| Said::caution("outstanding", lost)))
            .notices(heavy)
            .section(
                Section::new("Time and sums")
                    .table(replay::sums(self))
                    .table(replay::latencies(job, &self.trial))
                    .told(light)
                    .plots(|| plots(&[Line::only(&self.trial)], true)),
            );
        if let Some(trials) = replay::trials(self) {
            let invalid = replay::invalid_trials("", &self.trials);
            of = of.section(Section::new("Trials").table(trials).told(invalid));
        }
        of.section(Section::new("How it was replayed").told(replay::job(job, trace)))
            .warnings(&self.warnings)
            .targets(&self.targets)
            .machine(&self.machine)
    }
}
