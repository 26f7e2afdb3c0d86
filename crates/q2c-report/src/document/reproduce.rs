//! Documents of reproduced experiments.

use super::{Document, DocumentAnswer, Reported, Section};
use crate::{plots, reproduce};
use q2c_result::reproduce::{AllResult, ReproduceResult};

impl Reported for ReproduceResult {
    fn document(&self) -> Document<'_> {
        let mut document = Document::new("reproduce", &self.version, &self.schema)
            .titled(self.name.clone(), reproduce::about(self))
            .run(self.seed, self.started_unix_s)
            .complete(self.complete)
            .answers([DocumentAnswer::new(reproduce::summed(self))])
            .section(
                Section::new("Claims")
                    .notes(reproduce::claims(self))
                    .plots(|| plots::reproduce::plots(self)),
            );
        for (title, table) in reproduce::chart_tables(self) {
            document = document.section(Section::new(title).table(table));
        }
        document
            .section(Section::new("Points").table(reproduce::points(self)))
            .section(Section::new("Setting").notes(reproduce::setting(self)))
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
            .answers([DocumentAnswer::new(reproduce::counted(self))])
            .section(Section::new("Claims").notes(reproduce::all::claims(self)))
            .machine(&self.machine)
    }
}
