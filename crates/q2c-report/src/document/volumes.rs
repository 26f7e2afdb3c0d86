//! Documents of sweeps in parts: the outcomes over volumes, and the best over several of them.

use super::{Document, Reported, Section};
use crate::label::first_names;
use crate::quantity::count;
use crate::said::{Said, Table, Weight};
use crate::simulated::{row, table};
use q2c_result::volumes::{BestOfVolumes, OverAll, VolumesChoice, VolumesResult};

const NAMED: usize = 4;

impl Reported for VolumesResult {
    fn document(&self) -> Document<'_> {
        let time = self.measure_ns.map(|time| format!("{time} of each"));
        let about = format!(
            "{} I/Os \u{b7} simulated: {} after {} of warm-up",
            count(self.ios),
            time.as_deref().unwrap_or("all I/Os"),
            self.warm_up_ns
        );
        let cells = self.cells.iter();
        let cells = cells.map(|cell| row(&cell.policy, cell.ios, &cell.gives));
        let poll = row("poll", self.poll_ios, &self.poll);
        let without = self.inexact.iter();
        let without = without.map(|of| format!("{}: {}", of.policy, of.reason));
        Document::new("poll sweep", &self.version, &self.schema)
            .titled(first_names(&self.volumes, NAMED), about)
            .run(self.seed, 0)
            .section(
                Section::default()
                    .table(table(std::iter::once(poll).chain(cells)))
                    .told(Said::each(Weight::Caution, "no figures", without)),
            )
    }
}

impl Reported for VolumesChoice {
    fn document(&self) -> Document<'_> {
        let row = |best: &BestOfVolumes| {
            let policy = best.policy.as_deref().unwrap_or("none keeps the limits");
            [first_names(&best.volumes, NAMED), policy.to_owned()]
        };
        let best = Table::headed("volumes | best", self.best.iter().map(row));
        Document::new("poll sweep", env!("CARGO_PKG_VERSION"), &self.schema)
            .titled("Best rule over volumes", format!("by {}", self.objective))
            .answers([
                over_all("best on average", self.on_average.as_ref()),
                over_all("best worst case", self.worst_case.as_ref()),
            ])
            .section(Section::new("Best of each").table(best))
    }
}

fn over_all(what: &str, best: Option<&OverAll>) -> Said {
    let Some(best) = best else {
        return Said::plain(what, "no configuration keeps the limits everywhere");
    };
    let (share, regret) = (best.share * 100.0, best.regret * 100.0);
    let policy = &best.policy;
    Said::plain(
        what,
        format!("{policy} ({share:.1} % of the best, at most {regret:.1} % lost)"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Part;
    use q2c_model::Simulated;
    use q2c_result::volumes::{VolumesCell, WithoutFigures};

    #[test]
    fn every_configuration_has_a_row() {
        let mut gives = Simulated::default();
        gives.rates.iops = 12_345.0;
        let cell = VolumesCell {
            policy: "pas".to_owned(),
            ios: 7,
            gives,
            ..VolumesCell::default()
        };
        let without = WithoutFigures {
            policy: "rule".to_owned(),
            reason: "too long".to_owned(),
        };
        let result = VolumesResult {
            volumes: (0..6).map(|n| format!("disk {n}")).collect(),
            cells: vec![cell],
            inexact: vec![without],
            ..VolumesResult::default()
        };
        let document = result.document();
        assert_eq!(document.title, "disk 0, disk 1, disk 2, disk 3 and 2 more");
        let [Part::Table(table, _), Part::Told(told)] = document.sections[0].parts.as_slice()
        else {
            panic!("expected a table and what has no figures");
        };
        let texts: Vec<&str> = table.rows[1]
            .iter()
            .map(|field| field.text.as_str())
            .collect();
        assert_eq!(texts[..2], ["pas", "12345"]);
        assert_eq!(told[0].words, "rule: too long");
    }

    #[test]
    fn the_best_are_named_with_their_shares() {
        let worst = OverAll {
            policy: "qt".to_owned(),
            share: 0.875,
            regret: 0.125,
        };
        let choice = VolumesChoice {
            worst_case: Some(worst),
            ..VolumesChoice::default()
        };
        let answers = choice.document().answers;
        assert!(answers[0].headline.contains("no configuration keeps"));
        assert_eq!(
            answers[1].headline,
            "qt (87.5 % of the best, at most 12.5 % lost)"
        );
    }
}
