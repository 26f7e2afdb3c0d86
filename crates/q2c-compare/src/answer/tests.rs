use super::*;

fn command(busy_cpus: Option<f64>) -> CommandStart {
    CommandStart {
        started: Instant::now(),
        busy_cpus,
    }
}

#[test]
fn other_load_is_warned_of_by_its_number() {
    let warned = |busy| busy_warning(&command(busy));
    assert_eq!([warned(None), warned(Some(0.1))], [None, None]);
    let busy = warned(Some(1.9)).unwrap();
    assert!(busy.id == "busy-at-rest" && busy.found.starts_with("1.90 CPUs"));
}
