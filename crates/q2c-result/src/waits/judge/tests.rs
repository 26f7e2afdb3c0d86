use super::*;

/// Counts of 1,000 I/Os of an engine that looks for completions by `means`.
fn counts(means: Means, interrupts: Option<u64>, switches: f64) -> WaitCounts {
    WaitCounts {
        ios: 1_000,
        interrupts,
        switches: Switches::PerIo(switches),
        polls_by: Some(means),
        checks_kernel: true,
        ..WaitCounts::default()
    }
}

fn asked(method: &str) -> Method {
    method.parse().unwrap()
}

#[test]
fn hybrid_kernel_is_told_by_interrupts_and_switches() {
    let by_call = |kind| Mode::by(kind, Some(Means::Call));
    for (interrupts, switches, wanted) in [
        (Some(0), 0.95, by_call(ModeKind::HybridKernel)),
        (Some(300), 0.95, by_call(ModeKind::HybridKernel)),
        (
            Some(3),
            0.02,
            by_call(ModeKind::Poll).noted(ModeNote::NeverSlept),
        ),
        (
            Some(998),
            0.99,
            Mode::of(ModeKind::Interrupt).noted(ModeNote::PollIgnored),
        ),
        (
            None,
            0.99,
            Mode::of(ModeKind::NotProved).noted(ModeNote::InterruptsUnread),
        ),
        (
            None,
            0.02,
            by_call(ModeKind::Poll).noted(ModeNote::NeverSlept),
        ),
    ] {
        let seen = counts(Means::Call, interrupts, switches);
        assert_eq!(seen.mode(&asked("hybrid-kernel")), wanted, "{seen:?}");
    }
}

#[test]
fn sleeps_of_io_uring_are_told_by_switches() {
    let slept = counts(Means::IoPollHybrid, Some(0), 0.9);
    let by_ring = |kind| Mode::by(kind, Some(Means::IoPollHybrid));
    let uring = asked("hybrid-uring");
    assert_eq!(slept.mode(&uring), by_ring(ModeKind::HybridUring));
    assert_eq!(
        slept.mode(&Method::POLL),
        by_ring(ModeKind::HybridInKernel),
        "by an option of the engine"
    );
    let awake = counts(Means::IoPollHybrid, Some(0), 0.0);
    let never = by_ring(ModeKind::Poll).noted(ModeNote::NeverSlept);
    assert_eq!(awake.mode(&uring), never);
}

/// The engine says that it polls the device, and the device raised an interrupt for each I/O.
#[test]
fn an_engine_is_believed_where_the_kernel_is_not_checked() {
    let checked = counts(Means::IoPoll, Some(1_000), 0.0);
    let ignored = Mode::by(ModeKind::Poll, Some(Means::Memory));
    let ignored = ignored.noted(ModeNote::Interrupted(Means::IoPoll));
    assert_eq!(checked.mode(&Method::POLL), ignored);
    let believed = WaitCounts {
        checks_kernel: false,
        ..checked
    };
    let polled = Mode::by(ModeKind::Poll, Some(Means::IoPoll));
    assert_eq!(believed.mode(&Method::POLL), polled);
}

#[test]
fn sleeps_by_a_rule_are_told_by_switches_per_wait() {
    let rule = asked("hybrid:fixed:1us");
    let with = |slept, switches| {
        let seen = WaitCounts {
            slept,
            switches,
            ..counts(Means::Ring, Some(990), 0.0)
        };
        seen.mode(&rule)
    };
    let hybrid = Mode::by(ModeKind::Hybrid, Some(Means::Ring));
    assert_eq!(with(100, Switches::PerWait(1.0)), hybrid);
    let stayed = hybrid.clone().noted(ModeNote::StayedOnCpu);
    assert_eq!(with(100, Switches::PerWait(0.1)), stayed);
    assert_eq!(with(100, Switches::PerIo(0.1)), hybrid, "not by waits");
    let never = Mode::by(ModeKind::Poll, Some(Means::Ring)).noted(ModeNote::NeverSlept);
    assert_eq!(with(0, Switches::PerWait(0.0)), never);
}

#[test]
fn a_thread_that_should_submit_has_to_be_seen() {
    let seen = |sqpoll_threads| WaitCounts {
        wants_sqpoll_thread: true,
        sqpoll_threads,
        ..counts(Means::Ring, Some(990), 0.0)
    };
    let sqpoll = asked("sqpoll");
    let by_ring = |kind| Mode::by(kind, Some(Means::Ring));
    assert_eq!(seen(1).mode(&sqpoll), by_ring(ModeKind::Sqpoll));
    let alone = by_ring(ModeKind::Poll).noted(ModeNote::NoHelper);
    assert_eq!(seen(0).mode(&sqpoll), alone);
}

#[test]
fn a_program_polls_when_it_takes_its_cpus() {
    let was = |cpus| EffectiveMode::of_program(Method::POLL, cpus, None).was;
    let polled = Mode::by(ModeKind::Poll, Some(Means::UserSpaceDriver));
    assert_eq!(was(0.99), polled);
    assert_eq!(was(0.45).kind, ModeKind::NotProved);
}
