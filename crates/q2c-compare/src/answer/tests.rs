use super::*;

fn begin(busy_cpus: Option<f64>) -> Begin {
    Begin {
        at: Instant::now(),
        busy_cpus,
    }
}

/// A clock that is read later, outside, never shows less: the length has no time from before the
/// begin, such as the part of the second in which the command began.
#[test]
fn a_run_takes_no_longer_than_a_clock_beside_it_shows() {
    let begun = Instant::now();
    let job = ReplayJob::default();
    let start = RunStart::new(&Roots::live(), job, "t", "csv", begin(None));
    std::thread::sleep(Duration::from_millis(20));
    let told = start.seconds();
    let outside = begun.elapsed().as_secs_f64();
    assert!(
        (0.02..=outside).contains(&told),
        "{told} s, {outside} s outside"
    );
}

#[test]
fn other_load_is_warned_of_by_its_number() {
    let told = |busy| busy_at_rest(&begin(busy)).map(|warning| (warning.id, warning.found));
    assert_eq!(told(None), None);
    assert_eq!(told(Some(0.1)), None);
    let found = "1.90 CPUs were busy with other work before anything was replayed";
    let warned = ("busy-at-rest".to_owned(), found.to_owned());
    assert_eq!(told(Some(1.9)), Some(warned));
}
