use super::*;
use crate::fixtures;
use q2c_model::{CostModel, Nanos};
use q2c_result::reproduce::ReproduceVerdict;
use q2c_sim::LaneRecording;
use std::sync::atomic::AtomicBool;

fn pattern(name: &str, source: &str, us: f64) -> SimTrace {
    let mut lane = LaneRecording::default();
    (0..2_000).for_each(|_| lane.push(fixtures::READ, 0.0, us as f32 * 1e3, 0.0));
    SimTrace {
        facts: BTreeMap::from([("pattern.source".to_owned(), source.to_owned())]),
        ..fixtures::trace(name, vec![lane])
    }
}

fn patterns() -> [SimTrace; 3] {
    [
        pattern("slow", "disk", 100.0),
        pattern("slower", "disk", 200.0),
        pattern("fast", "memory", 15.0),
    ]
}

fn study_rules(traces: &[SimTrace], rules: &[&str]) -> PollStudyResult {
    let policies: Vec<PolicySpec> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let cost = CostModel::delayed(Nanos(2_000));
    let timing = (Nanos::from_millis(50), Some(Nanos::from_millis(200)));
    let study = fixtures::study(traces, &policies, &cost, timing);
    let (stop, report) = (AtomicBool::new(false), &mut |_| {});
    study
        .leave_out(true, &mut CellProgress::new(&stop, report))
        .unwrap()
}

fn close(got: f64, wanted: f64) {
    assert!((got - wanted).abs() < 2e-3, "got {got}, wanted {wanted}");
}

fn all_close(got: &[Option<f64>], wanted: &[Option<f64>]) {
    assert_eq!(got.len(), wanted.len());
    for (got, wanted) in got.iter().zip(wanted) {
        assert_eq!(got.is_some(), wanted.is_some(), "{got:?} {wanted:?}");
        close(got.unwrap_or_default(), wanted.unwrap_or_default());
    }
}

/// Wake-ups are 2 us late and have the only cost, so the CPU time of an I/O of L us is L - r L - 2
/// us. At 50, 80 and 90 % it is 48, 18 and 8 us for 100 us, and 98, 38 and 18 us for 200 us. For
/// 15 us it is 5.5 and 1 us; at 90 % the wake-up comes at 15.5 us, the rule learns that and grows
/// to 20 us, which is below the floor. A loss is 1 - (least CPU / CPU).
#[test]
fn losses_and_choices_by_hand() {
    let rules = ["min:50%,1ms", "min:80%,1ms", "min:90%,1ms"];
    let result = study_rules(&patterns(), &rules);
    let loss = |min_cpu: f64, cpu: f64| Some(1.0 - min_cpu / cpu);
    let wanted = [
        [loss(8.0, 48.0), loss(18.0, 98.0), loss(1.0, 5.5)],
        [loss(8.0, 18.0), loss(18.0, 38.0), Some(0.0)],
        [Some(0.0), Some(0.0), None],
    ];
    for (scored, wanted) in result.configurations.iter().zip(&wanted) {
        all_close(&scored.losses, wanted);
    }
    let all_rules = result.all.as_ref().unwrap();
    // Mean losses: 0.82, 0.36 and 0.33; largest losses: 0.83, 0.56 and 1.
    assert!(all_rules.on_average.policy.contains("90%"), "{all_rules:?}");
    close(all_rules.on_average.mean_loss, 1.0 / 3.0);
    let on_average = &all_rules.on_average;
    assert_eq!((on_average.worst_loss, on_average.kept), (1.0, 2));
    assert!(all_rules.worst_case.policy.contains("80%"), "{all_rules:?}");
    // Without one of the disk's patterns, 80 % is best on average; without the memory's, 90 %.
    let left_out = &all_rules.patterns_left_out;
    let losses: Vec<Option<f64>> = left_out.each.iter().map(|pattern| pattern.loss).collect();
    all_close(&losses, &[wanted[1][0], wanted[1][1], None]);
    close(left_out.mean_loss, (0.5556 + 0.5263 + 1.0) / 3.0);
    assert_eq!((left_out.worst_loss, left_out.kept), (1.0, 2));
    // Leaving out whole sources gives the same here.
    assert_eq!(all_rules.sources_left_out.as_ref(), Some(left_out));
    for (pattern, expected) in result.patterns.iter().zip(["90%", "90%", "80%"]) {
        let best = &pattern.own_best.as_ref().unwrap().policy;
        assert!(best.contains(expected), "{best} {expected}");
    }
    // Two sources are too few for the published conclusion.
    assert_eq!(result.published.verdict, ReproduceVerdict::CannotJudge);
}

/// A formula that sleeps all but 4 us, so that 2 us are polled, is the best on average. That holds
/// on what was left out as well, although it is not the best in memory.
#[test]
fn a_rule_that_is_best_everywhere_wins_on_what_was_left_out() {
    let formula = "rule:period=1ms,sleep=min - 4us";
    let rules = ["min:50%,1ms", "min:80%,1ms", formula];
    let mut traces = patterns().to_vec();
    traces.push(pattern("other", "loop", 60.0));
    let result = study_rules(&traces, &rules);
    let first = &result.rules[0];
    assert_eq!(first.rule, "min - 4us");
    // At 15 us, 80 % leaves 1 us of polling and the formula 2 us, so the formula loses half.
    let left_out = first.sources_left_out.as_ref().unwrap();
    close(left_out.mean_loss, 0.5 / 4.0);
    assert_eq!((result.rules[1].rule.as_str(), left_out.kept), ("min", 4));
    let all_rules = result.all.as_ref().unwrap();
    let on_average = &all_rules.on_average.policy;
    assert!(on_average.contains("min - 4us"), "{all_rules:?}");
    // Losses of 80 %: 0.89 and 0.95 on the disk, 0 in memory, 0.8 on the loop device. Loss of the
    // formula: 0.5 in memory. 80 % is best on average if all three drawn sources are the memory, or
    // if two are and the third is the loop device: in 4 of 27 sets.
    let share = result.published.share;
    assert!((share - 4.0 / 27.0).abs() < 0.04, "{share}");
    assert_eq!(result.published.resamples, 1_000);
    assert_eq!(result.published.verdict, ReproduceVerdict::Undecided);
}

/// A ratio of the published conclusion is best on all patterns, and so in every set of them.
#[test]
fn the_published_conclusion_holds_where_it_is_made_to() {
    let traces =
        [("a", 100.0), ("b", 120.0), ("c", 90.0)].map(|(name, us)| pattern(name, name, us));
    let rules = ["min:50%,1ms", "min:90%,1ms", "mean:50%,1ms"];
    let result = study_rules(&traces, &rules);
    assert_eq!(result.published.verdict, ReproduceVerdict::Holds);
    let rules = ["min:70%,1ms", "min:95%,1ms", "mean:50%,1ms"];
    let result = study_rules(&traces, &rules);
    assert_eq!(result.published.verdict, ReproduceVerdict::DoesNotHold);
    assert_eq!(result.published.share, 0.0);
}

/// A rule that cannot be compared over patterns, or costs nothing here, is named but not ranked.
#[test]
fn what_is_not_ranked_is_named() {
    let rules = ["min:50%,1ms", "fixed:10us", "fixed:20us", "ehp"];
    let result = study_rules(&patterns(), &rules);
    let unranked = |rule: &str, why| NotRanked {
        rule: rule.to_owned(),
        why,
    };
    let not_ranked = [
        unranked("fixed", UnrankedReason::DoesNotFollow),
        unranked("ehp", UnrankedReason::FreeInterrupts),
    ];
    assert_eq!(result.not_ranked, not_ranked);
    assert_eq!(result.configurations.len(), 1);
    let mut ids = result.warnings.iter().map(|warning| &warning.id);
    assert!(
        ids.any(|id| id == "interrupts-cost-nothing"),
        "{:?}",
        result.warnings
    );
}

/// On a device of 1 us no sleep keeps the floor, so the pattern does not count.
#[test]
fn a_pattern_without_a_best_counts_for_nothing() {
    let mut traces = patterns().to_vec();
    traces.push(pattern("too fast", "ram", 1.0));
    let result = study_rules(&traces, &["min:50%,1ms", "min:80%,1ms"]);
    assert_eq!(result.patterns[3].own_best, None);
    let all_rules = result.all.as_ref().unwrap();
    assert_eq!(all_rules.on_average.losses.len(), 4);
    assert_eq!(all_rules.on_average.losses[3], None);
    assert_eq!(all_rules.patterns_left_out.each.len(), 3);
    close(all_rules.on_average.mean_loss, 0.0);
}
