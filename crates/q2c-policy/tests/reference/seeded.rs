//! Both implementations against numbers of one small latency file: `seeded-expected.txt`, a line
//! per rule, made by the second ones. A change of meaning shows as a changed line.

use super::agree::WAKE_DELAY;
use super::closed_loop::{Crate, INTERRUPT, RuleUnderTest, reads, run};
use super::latencies::seeded;
use super::seconds::{RulePair, pairs};

fn totals(subject: &mut dyn RuleUnderTest) -> [u64; 4] {
    let rides = run(subject, 1, &[reads(seeded())], WAKE_DELAY);
    let slept = rides.iter().filter(|r| r.asked != INTERRUPT);
    [
        slept.clone().map(|r| r.asked).sum(),
        rides.iter().filter(|r| r.missed).count() as u64,
        (rides.len() - slept.count()) as u64,
        rides.iter().map(|r| r.observed).sum(),
    ]
}

fn line(spec: &str, [asked, misses, interrupts, observed]: [u64; 4]) -> String {
    format!("{spec} asked={asked} misses={misses} interrupts={interrupts} observed={observed}\n")
}

#[test]
fn second_implementations_give_the_expected_numbers() {
    let line = |pair: &RulePair| line(&pair.spec, totals(&mut *(pair.second)()));
    let table: String = pairs().iter().map(line).collect();
    assert_eq!(
        table,
        include_str!("seeded-expected.txt"),
        "now it is\n{table}"
    );
}

#[test]
fn the_rules_give_the_expected_numbers() {
    let lines = include_str!("seeded-expected.txt").lines();
    let pairs = pairs();
    assert_eq!(lines.clone().count(), pairs.len());
    for (line, pair) in lines.zip(pairs) {
        let fields: Vec<&str> = line.split([' ', '=']).collect();
        let expected = |name: &str| -> u64 {
            let place = fields.iter().position(|w| *w == name).expect("a name");
            fields[place + 1].parse().expect("a number")
        };
        let [asked, misses, interrupts, observed] = totals(&mut Crate::new(&pair.spec, 1));
        assert!(line.starts_with(&format!("{} ", pair.spec)), "{line}");
        assert_eq!(misses, expected("misses"), "{line}");
        assert_eq!(interrupts, expected("interrupts"), "{line}");
        let slack = pair.tolerance * 600;
        assert!(asked.abs_diff(expected("asked")) <= slack, "{asked} {line}");
        let observed_off = observed.abs_diff(expected("observed"));
        assert!(observed_off <= slack, "{observed} {line}");
    }
}
