//! A sweep in parts in a terminal: a row for each configuration, or the best over volumes.

use super::said;
use super::screen::{Screen, Tone, printable};
use crate::said::Table;
use crate::simulated::{HEAD, row};
use q2c_result::volumes::{OverAll, VolumesChoice, VolumesResult};

/// Most names of volumes in a line.
const NAMED: usize = 4;

/// The outcomes of configurations over volumes.
#[must_use]
pub fn volumes(result: &VolumesResult, screen: Screen) -> String {
    let time = match result.measure_ns {
        Some(time) => format!("{time} of each"),
        None => "all I/Os".to_owned(),
    };
    let head = format!("{}:", named(&result.volumes));
    let mut text = screen.note(Tone::Strong, &head, &format!("{} I/Os", result.ios));
    let simulated = format!("{time} after {} of warm-up", result.warm_up_ns);
    text += &screen.note(Tone::Dim, "simulated:", &simulated);
    let cells = result.cells.iter();
    let cells = cells.map(|cell| row(&cell.policy, cell.ios, &cell.gives));
    let rows = std::iter::once(row("poll", result.poll_ios, &result.poll)).chain(cells);
    text += &said::table(&Table::of(HEAD, rows), &[], screen);
    for of in &result.inexact {
        text += &screen.note(
            Tone::Caution,
            "no figures:",
            &format!("{}: {}", of.policy, of.reason),
        );
    }
    text
}

/// The best over volumes.
#[must_use]
pub fn volumes_choice(choice: &VolumesChoice) -> String {
    let over = |what: &str, found: &Option<OverAll>| match found {
        None => format!("{what}: no configuration keeps the limits everywhere"),
        Some(OverAll {
            policy,
            share,
            regret,
        }) => format!(
            "{what}: {policy} ({:.1} % of the best, at most {:.1} % lost)",
            share * 100.0,
            regret * 100.0
        ),
    };
    let mut lines = vec![
        format!("objective: {}", choice.objective),
        over("best on average", &choice.on_average),
        over("best worst case", &choice.worst_case),
    ];
    let best = choice.best.iter().map(|of| {
        let policy = of.policy.as_deref().unwrap_or("none keeps the limits");
        format!("{}: {policy}", named(&of.volumes))
    });
    lines.extend(best);
    lines.join("\n")
}

fn named(volumes: &[String]) -> String {
    let some: Vec<String> = volumes.iter().take(NAMED).map(|v| printable(v)).collect();
    match volumes.len() - some.len() {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Simulated;
    use q2c_result::volumes::{VolumesCell, WithoutFigures};

    #[test]
    fn every_configuration_has_a_line() {
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
            ios: 9,
            cells: vec![cell],
            inexact: vec![without],
            ..VolumesResult::default()
        };
        let screen = Screen::new(200, false);
        let table = volumes(&result, screen);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines[0],
            "disk 0, disk 1, disk 2, disk 3 and 2 more: 9 I/Os"
        );
        assert!(lines[5].contains("12345") && lines[5].starts_with("pas "));
        assert_eq!(lines[7], "no figures: rule: too long");
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
        let table = volumes_choice(&choice);
        assert!(table.contains("best worst case: qt (87.5 % of the best, at most 12.5 % lost)"));
        assert!(table.contains("best on average: no configuration keeps the limits everywhere"));
    }
}
