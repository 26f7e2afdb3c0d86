//! Drives both implementations of each rule with the same I/Os and compares their sleeps. It also
//! compares both with `seeded-expected.txt`: a line of totals per rule over a small file of
//! latencies, made by the second implementations. If a rule changes its meaning, its line changes.

use super::closed_loop::{CrateRule, INTERRUPT, LoopRequest, RuleUnderTest, reads, run};
use super::latencies::{mixed, seeded, synthetic, zssd};
use super::seconds::{RulePair, pairs};

const WAKE_DELAY: u64 = 2_000;

struct AgreementCase {
    name: String,
    lanes: usize,
    streams: Vec<Vec<LoopRequest>>,
}

fn cases() -> Vec<AgreementCase> {
    let public = zssd().map(|times| ("zssd", times.repeat(5)));
    let alone = |(name, times): (&str, Vec<u64>)| AgreementCase {
        name: name.to_owned(),
        lanes: 1,
        streams: vec![reads(times)],
    };
    let together = |(lanes, depth)| AgreementCase {
        name: format!("mixed, {lanes} lanes, depth {depth}"),
        lanes,
        streams: mixed(lanes * depth),
    };
    let overloaded = AgreementCase {
        name: "tiny, depth 4".to_owned(),
        lanes: 1,
        streams: (1..=4).map(|n| reads(vec![50 * n; 1_000])).collect(),
    };
    let traces = synthetic().into_iter().chain([("seeded", seeded())]);
    let together = [(1, 1), (1, 4), (3, 1), (3, 4)].map(together);
    let alone = traces.chain(public).map(alone);
    alone.chain(together).chain([overloaded]).collect()
}

#[derive(Debug, Default)]
struct DecisionCounts {
    slept: usize,
    polled: usize,
    interrupted: usize,
}

fn compare(case: &AgreementCase, pair: &RulePair, counts: &mut DecisionCounts) {
    let spec = &pair.spec;
    let run_case =
        |subject: &mut dyn RuleUnderTest| run(subject, case.lanes, &case.streams, WAKE_DELAY);
    let ours = run_case(&mut CrateRule::new(spec, case.lanes));
    let theirs = run_case(&mut *(pair.second)());
    assert_eq!(ours.len(), theirs.len());
    for (i, (a, b)) in ours.iter().zip(&theirs).enumerate() {
        let same = a.asked.abs_diff(b.asked) <= pair.tolerance && a.missed == b.missed;
        let name = &case.name;
        assert!(same, "{spec} on {name}, I/O {i}: {a:?}, expected {b:?}");
        match a.asked {
            0 => counts.polled += 1,
            INTERRUPT => counts.interrupted += 1,
            _ => counts.slept += 1,
        }
    }
}

#[test]
fn every_rule_equals_its_second_implementation() {
    let cases = cases();
    for pair in pairs() {
        let mut counts = DecisionCounts::default();
        cases
            .iter()
            .for_each(|case| compare(case, &pair, &mut counts));
        let name = pair.spec.split(':').next().expect("a name");
        let interrupts = matches!(name, "dpas" | "ehp" | "hypi");
        let message = format!("{}: {counts:?}", pair.spec);
        // The equality of rules that never sleep would prove nothing.
        assert!(counts.slept > 1_000, "{message}");
        assert!((counts.interrupted > 100) == interrupts, "{message}");
        assert!(
            counts.polled > 0 || matches!(name, "pas" | "qt"),
            "{message}"
        );
    }
}

/// A rule without a second implementation would not be tested here. Only `fixed` needs none.
#[test]
fn every_rule_has_a_second_implementation() {
    let pairs = pairs();
    let seconds = |name: &str| pairs.iter().any(|p| p.spec.split(':').next() == Some(name));
    let lacking = q2c_policy::RULES.iter().filter(|rule| !seconds(rule.name));
    assert_eq!(lacking.map(|rule| rule.name).collect::<Vec<_>>(), ["fixed"]);
}

fn totals(subject: &mut dyn RuleUnderTest) -> [u64; 4] {
    let ios = run(subject, 1, &[reads(seeded())], WAKE_DELAY);
    let slept = ios.iter().filter(|r| r.asked != INTERRUPT);
    [
        slept.clone().map(|r| r.asked).sum(),
        ios.iter().filter(|r| r.missed).count() as u64,
        (ios.len() - slept.count()) as u64,
        ios.iter().map(|r| r.observed).sum(),
    ]
}

fn totals_line(spec: &str, [asked, misses, interrupts, observed]: [u64; 4]) -> String {
    format!("{spec} asked={asked} misses={misses} interrupts={interrupts} observed={observed}\n")
}

#[test]
fn second_implementations_give_the_expected_numbers() {
    let line = |pair: &RulePair| totals_line(&pair.spec, totals(&mut *(pair.second)()));
    let table: String = pairs().iter().map(line).collect();
    let expected = include_str!("seeded-expected.txt");
    assert_eq!(table, expected, "now it is\n{table}");
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
        let [asked, misses, interrupts, observed] = totals(&mut CrateRule::new(&pair.spec, 1));
        assert!(line.starts_with(&format!("{} ", pair.spec)), "{line}");
        assert_eq!(misses, expected("misses"), "{line}");
        assert_eq!(interrupts, expected("interrupts"), "{line}");
        let slack = pair.tolerance * 600;
        assert!(asked.abs_diff(expected("asked")) <= slack, "{asked} {line}");
        let observed_off = observed.abs_diff(expected("observed"));
        assert!(observed_off <= slack, "{observed} {line}");
    }
}
