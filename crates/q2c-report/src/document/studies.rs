//! Documents of studies and of placements.

use super::{Answer, Document, Reported, Section};
use crate::plots;
use crate::{
    corun, fs, kernel_tune, place, place_run, place_watch, poll_search, poll_study, reproduce,
    scale, sim_machine, tune_jobs,
};
use q2c_result::corun::CalibrateResult;
use q2c_result::fs::FsResult;
use q2c_result::kernel_tune::KernelTuneResult;
use q2c_result::place::PlaceSimResult;
use q2c_result::place_run::PlaceRunResult;
use q2c_result::place_watch::PlaceWatchResult;
use q2c_result::poll_search::PollSearchResult;
use q2c_result::poll_study::PollStudyResult;
use q2c_result::reproduce::{AllResult, ReproduceResult};
use q2c_result::scale::ScaleResult;
use q2c_result::tune_jobs::TuneJobsResult;

impl Reported for ScaleResult {
    fn document(&self) -> Document<'_> {
        let of = Document::new("scale predict", &self.version, &self.schema)
            .titled(scale::title(self), scale::about(self))
            .run(self.seed, self.started_unix_s)
            .answers([scale::answer(self).into()])
            .section(
                Section::new("Curve")
                    .table(scale::curve(self))
                    .plots(|| vec![plots::scale::plot(self)]),
            )
            .section(Section::new("How sure it is").told(scale::words(self)))
            .section(Section::new("Parameters").table(scale::parameters(&self.parameters)))
            .warnings(&self.warnings);
        match &self.run {
            Some(run) => of.target(&run.target).machine(&run.machine),
            None => of,
        }
    }
}

impl Reported for FsResult {
    fn document(&self) -> Document<'_> {
        let devices = self.file_systems.iter().map(|made| made.device.as_str());
        let devices: Vec<&str> = devices.collect();
        let about = if devices.is_empty() {
            fs::about(self)
        } else {
            format!("{} \u{b7} on {}", fs::about(self), devices.join(", "))
        };
        let mut of = Document::new("fs bench", &self.version, &self.schema)
            .titled(fs::title(self), about)
            .run(self.seed, self.started_unix_s)
            .complete(self.complete)
            .notices(fs::findings(self));
        for (title, table) in fs::throughput(self) {
            of = of.section(Section::new(title).table(table));
        }
        if let Some(program) = &self.program {
            let (title, table) = fs::program(program);
            of = of.section(Section::new(title).table(table));
        }
        of.section(Section::new("Shared to private").table(fs::ratios(self)))
            .section(Section::new("Locks").told(fs::locks(self)))
            .section(Section::new("CPU time").told(fs::profiles(self)))
            .section(Section::new("File systems").told(fs::file_systems(self)))
            .warnings(&self.warnings)
            .machine(&self.machine)
    }
}

impl Reported for KernelTuneResult {
    fn document(&self) -> Document<'_> {
        Document::new("poll tune-kernel", &self.version, &self.schema)
            .titled(self.device.name.clone(), kernel_tune::about(self))
            .run(self.job.seed, self.started_unix_s)
            .answers([kernel_tune::verdict(self).into()])
            .section(
                Section::new("Methods")
                    .table(kernel_tune::methods(self))
                    .plots(|| plots::kernel_tune::plots(self)),
            )
            .section(Section::new("How it was found").told(kernel_tune::words(self)))
            .section(Section::new("Calibration in the kernel").table(kernel_tune::points(self)))
            .warnings(&self.warnings)
            .machine(&self.machine)
    }
}

impl Reported for PlaceSimResult {
    fn document(&self) -> Document<'_> {
        let mut of = Document::new("place sim", &self.version, &self.schema)
            .titled("Placement", place::about(self))
            .run(self.seed, self.started_unix_s);
        for setup in &self.setups {
            let title = place::title(setup);
            of = of.section(
                Section::new(title.clone())
                    .told(place::verdict(setup))
                    .table(place::policies(setup)),
            );
            of = of.section(
                Section::new(format!("{title}: published")).table(place::published(setup)),
            );
        }
        of.section(Section::new("").plots(|| plots::place::plots(self)))
            .section(Section::new("Speed beside a neighbour").table(place::speeds(&self.speeds)))
            .warnings(&self.warnings)
    }
}

impl Reported for PlaceRunResult {
    fn document(&self) -> Document<'_> {
        let mut of = Document::new("place run", &self.version, &self.schema)
            .titled("Placements, measured", place_run::about(self))
            .run(self.seed, self.started_unix_s)
            .complete(self.complete);
        for class in &self.classes {
            let section = Section::new(place_run::task(&class.task));
            of = of.section(
                section
                    .told(place_run::verdict(class))
                    .table(place_run::placements(self, class))
                    .table(place_run::gains(class)),
            );
        }
        of = of
            .section(Section::new("How it was measured").told(place_run::notes(self)))
            .warnings(&self.warnings);
        of.targets(&self.target).machine(&self.machine)
    }
}

impl Reported for PlaceWatchResult {
    fn document(&self) -> Document<'_> {
        Document::new("place watch", &self.version, &self.schema)
            .titled("Placement", place_watch::about(self))
            .begun(self.at_unix_s)
            .section(
                Section::new("Cores")
                    .table(place_watch::cores(self))
                    .told(place_watch::advice(self)),
            )
            .section(
                Section::new("Speed beside a neighbour")
                    .table(place::speeds(&self.speeds))
                    .folded(),
            )
            .warnings(&self.warnings)
    }
}

impl Reported for CalibrateResult {
    fn document(&self) -> Document<'_> {
        let of = Document::new("place calibrate", &self.version, &self.schema)
            .titled("Speed beside a neighbour", corun::about(self))
            .run(self.seed, self.started_unix_s)
            .section(Section::new("").table(place::speeds(&self.speeds)))
            .section(Section::new("Pairs").table(corun::pairs(self)))
            .section(Section::new("What it means").told(corun::words(self)))
            .warnings(&self.warnings);
        of.targets(&self.target).machine(&self.machine)
    }
}

impl Reported for PollStudyResult {
    fn document(&self) -> Document<'_> {
        Document::new("poll study", &self.version, &self.schema)
            .titled(poll_study::title(self), poll_study::about(self))
            .run(self.seed, 0)
            .answers([poll_study::answer(self).into()])
            .section(
                Section::new("Rules")
                    .table(poll_study::rules(self))
                    .plots(|| vec![plots::poll_study::plot(self)]),
            )
            .section(Section::new("Patterns").table(poll_study::patterns(self)))
            .section(Section::new("Beside the publication").told(poll_study::words(self)))
            .section(
                Section::new("Loss by pattern")
                    .table(poll_study::losses(self))
                    .folded(),
            )
            .warnings(&self.warnings)
    }
}

impl Reported for PollSearchResult {
    fn document(&self) -> Document<'_> {
        Document::new("poll search", &self.version, &self.schema)
            .titled(poll_search::title(self), poll_search::about(self))
            .run(self.seed, 0)
            .answers([poll_search::answer(self).into()])
            .section(
                Section::new("What was held out")
                    .table(poll_search::contenders(self))
                    .plots(|| vec![plots::poll_search::plot(self)]),
            )
            .section(Section::new("Families").table(poll_search::families(self)))
            .section(Section::new("Misses and CPU together").table(poll_search::both(self)))
            .section(Section::new("Finalists and references").told(poll_search::words(self)))
            .warnings(&self.warnings)
    }
}

impl Reported for TuneJobsResult {
    fn document(&self) -> Document<'_> {
        let first = self.runs.first();
        let title = first.map(|run| sim_machine::title(&run.target, &run.machine));
        let answers = self.recommended.iter();
        let mut of = Document::new("tune", &self.version, &self.schema)
            .titled(title.unwrap_or_default(), tune_jobs::about(self))
            .run(
                first.map_or(0, |run| run.job.seed),
                self.provenance.started_unix_s,
            )
            .complete(self.complete)
            .answers(answers.map(|of| Answer::from(tune_jobs::over_jobs(self, of))))
            .notices(tune_jobs::cautions(self));
        for bs in tune_jobs::block_sizes(self) {
            of = of.section(
                Section::new(tune_jobs::title(self, bs))
                    .table(tune_jobs::table(self, bs))
                    .told(tune_jobs::answers(self, bs))
                    .plots(move || plots::tune_jobs::plots(self, bs)),
            );
        }
        of = of.section(Section::new("The runs").told(tune_jobs::notes(self)));
        match first {
            Some(run) => of.target(&run.target).machine(&run.machine),
            None => of,
        }
    }
}

impl Reported for ReproduceResult {
    fn document(&self) -> Document<'_> {
        let mut of = Document::new("reproduce", &self.version, &self.schema)
            .titled(self.name.clone(), reproduce::about(self))
            .run(self.seed, self.started_unix_s)
            .complete(self.complete)
            .answers([Answer::new(reproduce::summed(self))])
            .section(
                Section::new("Claims")
                    .told(reproduce::told(self))
                    .plots(|| plots::reproduce::plots(self)),
            );
        for (title, table) in reproduce::chart_tables(self) {
            of = of.section(Section::new(title).table(table));
        }
        of = of
            .section(Section::new("Points").table(reproduce::points(self)))
            .section(Section::new("Setting").told(reproduce::setting(self)))
            .warnings(&self.warnings);
        of.targets(&self.target).machine(&self.machine)
    }
}

impl Reported for AllResult {
    fn document(&self) -> Document<'_> {
        let about = if self.scale == 1.0 {
            "all experiments".to_owned()
        } else {
            format!("all experiments, all times multiplied by {}", self.scale)
        };
        let missing = reproduce::all::missing(self);
        Document::new("reproduce", &self.version, &self.schema)
            .titled("Published experiments", about)
            .begun(self.started_unix_s)
            .missing(missing)
            .answers([Answer::new(reproduce::counted(self))])
            .section(Section::new("Claims").told(reproduce::all::told(self)))
            .machine(&self.machine)
    }
}
