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

fn parse(method: &str) -> Method {
    method.parse().unwrap()
}

#[test]
fn hybrid_kernel_is_told_by_interrupts_and_switches() {
    let by_call = |kind| WaitMode::new(kind, Some(Means::Call));
    let never = by_call(ModeKind::Poll).with_note(ModeNote::NeverSlept);
    let ignored = WaitMode::from_kind(ModeKind::Interrupt).with_note(ModeNote::PollIgnored);
    let unread = WaitMode::from_kind(ModeKind::NotProved).with_note(ModeNote::InterruptsUnread);
    for (interrupts, switches, wanted) in [
        (Some(0), 0.95, by_call(ModeKind::HybridKernel)),
        (Some(300), 0.95, by_call(ModeKind::HybridKernel)),
        (Some(3), 0.02, never.clone()),
        (Some(998), 0.99, ignored),
        (None, 0.99, unread),
        (None, 0.02, never),
    ] {
        let seen = counts(Means::Call, interrupts, switches);
        assert_eq!(seen.mode(&parse("hybrid-kernel")), wanted, "{seen:?}");
    }
}

#[test]
fn sleeps_of_io_uring_are_told_by_switches() {
    let slept = counts(Means::IoPollHybrid, Some(0), 0.9);
    let by_ring = |kind| WaitMode::new(kind, Some(Means::IoPollHybrid));
    let uring = parse("hybrid-uring");
    assert_eq!(slept.mode(&uring), by_ring(ModeKind::HybridUring));
    // The sleep comes from an option of the engine.
    assert_eq!(slept.mode(&Method::POLL), by_ring(ModeKind::HybridInKernel));
    let awake = counts(Means::IoPollHybrid, Some(0), 0.0);
    let never = by_ring(ModeKind::Poll).with_note(ModeNote::NeverSlept);
    assert_eq!(awake.mode(&uring), never);
}

/// The mode of a polling `kind` on a device that should be polled but raised interrupts.
fn interrupted(kind: ModeKind) -> WaitMode {
    WaitMode::new(kind, Some(Means::Memory)).with_note(ModeNote::Interrupted(Means::IoPoll))
}

/// The engine claims to poll the device, but the device raised an interrupt for each I/O.
#[test]
fn an_engine_is_believed_where_the_kernel_is_not_checked() {
    let checked = counts(Means::IoPoll, Some(1_000), 0.0);
    assert_eq!(checked.mode(&Method::POLL), interrupted(ModeKind::Poll));
    let believed = WaitCounts {
        checks_kernel: false,
        ..checked
    };
    let polled = WaitMode::new(ModeKind::Poll, Some(Means::IoPoll));
    assert_eq!(believed.mode(&Method::POLL), polled);
}

#[test]
fn sleeps_by_a_rule_are_told_by_switches_per_wait() {
    let rule = parse("hybrid:fixed:1us");
    let with = |slept, switches| {
        let seen = WaitCounts {
            slept,
            switches,
            ..counts(Means::Ring, Some(990), 0.0)
        };
        seen.mode(&rule)
    };
    let hybrid = WaitMode::new(ModeKind::Hybrid, Some(Means::Ring));
    assert_eq!(with(100, Switches::PerWait(1.0)), hybrid);
    let stayed = hybrid.clone().with_note(ModeNote::StayedOnCpu);
    assert_eq!(with(100, Switches::PerWait(0.1)), stayed);
    assert_eq!(with(100, Switches::PerIo(0.1)), hybrid, "not by waits");
    let never = WaitMode::new(ModeKind::Poll, Some(Means::Ring)).with_note(ModeNote::NeverSlept);
    assert_eq!(with(0, Switches::PerWait(0.0)), never);
}

/// A rule on an engine that polls the device: each I/O slept once.
fn rule_counts(interrupts: u64) -> WaitCounts {
    WaitCounts {
        slept: 1_000,
        switches: Switches::PerWait(1.0),
        ..counts(Means::IoPoll, Some(interrupts), 0.0)
    }
}

#[test]
fn a_rule_that_polls_the_device_has_no_interrupts() {
    let rule = parse("hybrid:min:70%,10ms");
    let by_iopoll = WaitMode::new(ModeKind::Hybrid, Some(Means::IoPoll));
    assert_eq!(rule_counts(3).mode(&rule), by_iopoll);
    assert_eq!(rule_counts(990).mode(&rule), interrupted(ModeKind::Hybrid));
    let on_the_ring = WaitCounts {
        polls_by: Some(Means::Ring),
        ..rule_counts(990)
    };
    let by_ring = WaitMode::new(ModeKind::Hybrid, Some(Means::Ring));
    assert_eq!(on_the_ring.mode(&rule), by_ring, "a ring is interrupted");
}

/// 600 I/Os were left to the interrupt; 400 were polled, or had an interrupt as well.
#[test]
fn interrupts_that_the_rule_asked_for_are_its_own() {
    let rule = parse("hybrid:dpas");
    let with = |interrupts, slept| WaitCounts {
        left_to_interrupt: 600,
        slept,
        ..rule_counts(interrupts)
    };
    let by_iopoll = WaitMode::new(ModeKind::Hybrid, Some(Means::IoPoll));
    assert_eq!(with(602, 400).mode(&rule), by_iopoll);
    assert_eq!(with(990, 400).mode(&rule), interrupted(ModeKind::Hybrid));
    let never = by_iopoll.with_note(ModeNote::LeftToInterrupt(0.6));
    assert_eq!(with(602, 0).mode(&rule), never);
    let left = Evidence::LeftToInterrupt(600);
    let proof = with(602, 400).proof_by_sums(Evidence::Slept(400));
    assert!(proof.contains(&left));
}

/// The device served 500 requests of others, which had up to 500 interrupts.
#[test]
fn interrupts_of_others_are_not_held_against_a_method() {
    let beside = |interrupts, method: &Method| {
        let seen = WaitCounts {
            requests: Some(1_500),
            others: true,
            ..counts(Means::IoPoll, Some(interrupts), 0.0)
        };
        seen.mode(method)
    };
    let polled = WaitMode::new(ModeKind::Poll, Some(Means::IoPoll));
    assert_eq!(beside(500, &Method::POLL), polled);
    assert_eq!(beside(1_490, &Method::POLL), interrupted(ModeKind::Poll));
    assert_eq!(beside(0, &Method::INTERRUPT).kind, ModeKind::Interrupt);
}

#[test]
fn a_thread_that_should_submit_has_to_be_seen() {
    let seen = |sqpoll_threads| WaitCounts {
        wants_sqpoll_thread: true,
        sqpoll_threads,
        ..counts(Means::Ring, Some(990), 0.0)
    };
    let sqpoll = parse("sqpoll");
    let by_ring = |kind| WaitMode::new(kind, Some(Means::Ring));
    assert_eq!(seen(1).mode(&sqpoll), by_ring(ModeKind::Sqpoll));
    let alone = by_ring(ModeKind::Poll).with_note(ModeNote::NoHelper);
    assert_eq!(seen(0).mode(&sqpoll), alone);
}

#[test]
fn a_program_polls_when_it_takes_its_cpus() {
    let mode = |cpus| EffectiveMode::from_program_cpus(Method::POLL, cpus, None).mode;
    let polled = WaitMode::new(ModeKind::Poll, Some(Means::UserSpaceDriver));
    assert_eq!(mode(0.99), polled);
    assert_eq!(mode(0.45).kind, ModeKind::NotProved);
}

/// With a background of 400 I/Os, interrupts show something about 1,000 own I/Os only if there
/// are hardly any, or more than the background can have raised.
#[test]
fn interrupts_beside_a_background_are_those_that_are_sure() {
    for (all, wanted) in [
        (Some(40), Some(40)),
        (Some(400), None),
        (Some(800), None),
        (Some(1_400), Some(1_000)),
        (None, None),
    ] {
        let seen = counts(Means::IoPoll, all, 0.0).with_other_jobs(400);
        assert_eq!((seen.interrupts, seen.requests), (wanted, None), "{all:?}");
    }
}
