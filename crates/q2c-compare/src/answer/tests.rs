use super::*;

fn command(busy_cpus: Option<f64>) -> CommandStart {
    CommandStart {
        started: Instant::now(),
        busy_cpus,
    }
}

/// The length does not include part of a second before the start, as whole Unix seconds would.
#[test]
fn a_run_takes_no_longer_than_a_clock_beside_it_shows() {
    let begun = Instant::now();
    let job = ReplayJob::default();
    let start = RunStart::new(&Roots::live(), job, "t", "csv", command(None));
    std::thread::sleep(Duration::from_millis(20));
    let seconds = start.elapsed_s();
    let outside = begun.elapsed().as_secs_f64();
    let range = 0.02..=outside;
    assert!(range.contains(&seconds), "{seconds} of {outside} s");
}

#[test]
fn other_load_is_warned_of_by_its_number() {
    let warned = |busy| busy_warning(&command(busy));
    assert_eq!([warned(None), warned(Some(0.1))], [None, None]);
    let busy = warned(Some(1.9)).unwrap();
    assert!(busy.id == "busy-at-rest" && busy.found.starts_with("1.90 CPUs"));
}
