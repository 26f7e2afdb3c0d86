//! Documents of reproduced experiments.

use super::{Answer, Document, Reported, Section};
use crate::{plots, reproduce};
use q2c_result::reproduce::{AllResult, ReproduceResult};

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
        of.section(Section::new("Points").table(reproduce::points(self)))
            .section(Section::new("Setting").told(reproduce::setting(self)))
            .warnings(&self.warnings)
            .targets(&self.target)
            .machine(&self.machine)
    }
}

impl Reported for AllResult {
    fn document(&self) -> Document<'_> {
        let about = if self.scale == 1.0 {
            "all experiments".to_owned()
        } else {
            format!("all experiments, all times multiplied by {}", self.scale)
        };
        Document::new("reproduce", &self.version, &self.schema)
            .titled("Published experiments", about)
            .begun(self.started_unix_s)
            .missing(reproduce::all::missing(self))
            .answers([Answer::new(reproduce::counted(self))])
            .section(Section::new("Claims").told(reproduce::all::told(self)))
            .machine(&self.machine)
    }
}
