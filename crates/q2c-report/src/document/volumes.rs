//! Documents of sweeps that were split in volumes: each outcome, and the best over several.

use super::{Document, Reported, Section};
use crate::label::first_names;
use crate::quantity::count;
use crate::said::{Note, ReportTable};
use crate::simulated::{row, table};
use q2c_result::volumes::{BestOfVolumes, OverAll, VolumesChoice, VolumesResult};

const NAMED: usize = 4;

impl Reported for VolumesResult {
    fn document(&self) -> Document<'_> {
        let time = self.measure_ns.map(|time| format!("{time} of each"));
        let about = format!(
            "{} I/Os · simulated: {} after {} of warm-up",
            count(self.ios),
            time.as_deref().unwrap_or("all I/Os"),
            self.warm_up_ns
        );
        let cells = self.cells.iter();
        let cells = cells.map(|cell| row(&cell.policy, cell.ios, &cell.gives));
        let without = self.inexact.iter();
        let without = without.map(|inexact| format!("{}: {}", inexact.policy, inexact.reason));
        let table = table(std::iter::once(row("poll", self.poll_ios, &self.poll)).chain(cells));
        let without = Note::cautions("no figures", without);
        Document::new("poll sweep", &self.version, &self.schema)
            .titled(first_names(&self.volumes, NAMED), about)
            .run(self.seed, 0)
            .section(Section::default().table(table).notes(without))
    }
}

impl Reported for VolumesChoice {
    fn document(&self) -> Document<'_> {
        let row = |best: &BestOfVolumes| {
            let policy = best.policy.as_deref().unwrap_or("none keeps the limits");
            [first_names(&best.volumes, NAMED), policy.to_owned()]
        };
        let best = ReportTable::headed("volumes | best", self.best.iter().map(row));
        Document::new("poll sweep", env!("CARGO_PKG_VERSION"), &self.schema)
            .titled("Best rule over volumes", format!("by {}", self.objective))
            .answers([
                over_all("best on average", self.on_average.as_ref()),
                over_all("best worst case", self.worst_case.as_ref()),
            ])
            .section(Section::new("Best of each").table(best))
    }
}

fn over_all(what: &str, best: Option<&OverAll>) -> Note {
    let Some(best) = best else {
        return Note::plain(what, "no configuration keeps the limits everywhere");
    };
    let (policy, share, regret) = (&best.policy, best.share * 100.0, best.regret * 100.0);
    let figures = format!("{share:.1} % of the best, at most {regret:.1} % lost");
    Note::plain(what, format!("{policy} ({figures})"))
}
