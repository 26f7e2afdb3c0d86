//! A sweep in parts in a terminal: one line for each configuration, or the best over volumes.

use super::screen::printable;
use super::sim::{header, row};
use q2c_result::sim::SimMethod;
use q2c_result::volumes::{OverAll, VolumesChoice, VolumesResult};

/// Most names of volumes in a line.
const NAMED: usize = 4;

/// The outcomes of configurations over volumes.
#[must_use]
pub fn volumes(result: &VolumesResult) -> String {
    let time = match result.measure_ns {
        Some(time) => format!("{time} of each"),
        None => "all I/Os".to_owned(),
    };
    let method = |method: &str, ios, gives| SimMethod {
        method: method.to_owned(),
        ios,
        gives,
        windows: None,
    };
    let mut lines = vec![
        format!("{}: {} I/Os", named(&result.volumes), result.ios),
        format!("simulated: {time} after {} of warm-up", result.warm_up_ns),
        header(),
        row(&method("poll", result.poll_ios, result.poll)),
    ];
    let cells = result.cells.iter();
    lines.extend(cells.map(|cell| row(&method(&cell.policy, cell.ios, cell.gives))));
    let without = result.inexact.iter();
    lines.extend(without.map(|of| format!("no figures: {}: {}", of.policy, of.reason)));
    lines.join("\n")
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
        let table = volumes(&result);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines[0],
            "disk 0, disk 1, disk 2, disk 3 and 2 more: 9 I/Os"
        );
        assert!(lines[4].contains("12345") && lines[4].ends_with("  pas"));
        assert_eq!(lines[5], "no figures: rule: too long");
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
