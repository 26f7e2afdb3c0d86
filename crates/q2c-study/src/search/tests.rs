use super::*;
use crate::fixtures;
use q2c_model::{CostModel, Nanos};
use q2c_result::poll_search::Contender;
use q2c_sim::LaneRecording;

/// Latencies are spread evenly from `us` to 2 us more, so the minimum of a window minus the wake-up
/// delay is near the oracle.
fn pattern(name: &str, us: f64) -> SimTrace {
    let mut lane = LaneRecording::default();
    let mut rng = Rng::new(us as u64);
    (0..2_000).for_each(|_| {
        let latency = 1e3 * (us + 2.0 * rng.unit());
        lane.push(fixtures::READ, 1_000.0, latency as f32, 0.0);
    });
    fixtures::trace(name, vec![lane])
}

fn run_search(points: usize) -> PollSearchResult {
    let searched = [pattern("a", 40.0), pattern("b", 90.0), pattern("c", 150.0)];
    let held_out = [pattern("d", 60.0), pattern("e", 120.0)];
    let cost = CostModel::published();
    let standard = ["min:50%,1ms", "mean:50%,1ms", "ehp", "fixed:10us"];
    let standard: Vec<PolicySpec> = standard.map(|rule| rule.parse().unwrap()).to_vec();
    let references = ["min:70%,10ms".parse().unwrap()];
    let timing = (Nanos::from_millis(50), Some(Nanos::from_millis(100)));
    let study = fixtures::study(&searched, &standard, &cost, timing);
    let search = Search {
        study: &study,
        held_out: &held_out,
        references: &references,
        rounds: 3,
        points,
        finalists: 2,
    };
    let mut peak = 0;
    let (stop, report) = (AtomicBool::new(false), &mut |done| peak = peak.max(done));
    let result = search.run(&mut CellProgress::new(&stop, report));
    assert!(peak <= search.cells());
    result.unwrap()
}

/// A sleep of nearly the minimum is far better than 70 % of it, also on patterns never seen.
#[test]
fn a_better_rule_is_found_and_holds_on_what_it_never_saw() {
    let result = run_search(12);
    let names = |patterns: &[q2c_result::poll_study::StudiedPattern]| -> Vec<String> {
        patterns.iter().map(|p| p.name.clone()).collect()
    };
    assert_eq!(names(&result.searched), ["a", "b", "c"]);
    assert_eq!(names(&result.held_out), ["d", "e"]);
    assert_eq!(result.families.len(), FAMILIES.len());
    let roles = |role| result.contenders.iter().filter(move |c| c.role == role);
    assert_eq!(roles(ContenderRole::Finalist).count(), 2);
    assert_eq!(roles(ContenderRole::Reference).count(), 1);
    for finalist in roles(ContenderRole::Finalist) {
        let against = &finalist.against[0];
        assert_eq!((against.better, against.of), (2, 2), "{finalist:?}");
        assert!(against.gain > 0.2 && finalist.won(), "{finalist:?}");
        let searched = finalist.searched.as_ref().unwrap();
        assert!(searched.mean_loss < 0.2, "{finalist:?}");
    }
    assert!(!roles(ContenderRole::Reference).any(Contender::won));
    let both = result.both.iter().map(|b| (b.pattern.as_str(), b.held_out));
    let wanted = ["a", "b", "c", "d", "e"].map(|name| (name, name > "c"));
    assert_eq!(both.collect::<Vec<_>>(), wanted);
    // Linux's rule sleeps half and never misses, so no rule has fewer misses.
    assert!(result.both.iter().all(|b| b.configurations == 0));
}

#[test]
fn a_search_can_be_repeated() {
    let (one, mut other) = (run_search(4), run_search(4));
    other.seconds = one.seconds;
    assert_eq!(one, other);
}
