use super::*;
use q2c_policy::{LaneMethod, PolicySpec, Wait};

fn spec(text: &str) -> EngineSpec {
    text.parse().expect("a known engine")
}

#[test]
fn names_round_trip() {
    for text in [
        "io_uring",
        "io_uring:ring",
        "io_uring:iopoll",
        "io_uring:iopoll,hybrid",
        "io_uring:sqpoll",
        "io_uring:iopoll,sqpoll,cpu=3",
        "io_uring:taskrun=defer",
        "io_uring:taskrun=coop",
        "io_uring:taskrun=none",
        "io_uring_cmd",
        "io_uring_cmd:ring",
        "io_uring_cmd:iopoll",
        "libaio",
        "libaio:reap=kernel",
        "pvsync2",
        "pvsync2:hipri,nowait,dsync,sync,append",
        "null",
        "sim:50000ns,servers=2",
        "sim:83000ns,servers=128,queues=4,nr_requests=8",
        "sim:lognormal=50000ns/0.3,servers=1",
        "sim:80000ns,write=lognormal=20000ns/0.3,servers=4",
        "sim:trace=/data/x.parquet,servers=8",
        "sim:trace=x.txt,time=u2c,unit=us,servers=1",
        "fault:eio@7:io_uring",
        "fault:eio@7:io_uring:sqpoll,cpu=1",
        "fault:late=1000000ns@2:sim:1ns,servers=1",
        "fault:swap@2:fault:hang@3:fault:twice@4:null",
    ] {
        assert_eq!(spec(text).to_string(), text);
    }
    assert_eq!(spec("io_uring"), EngineSpec::IO_URING);
    assert_eq!(spec("io_uring:ring"), EngineSpec::RING);
    assert_eq!(spec("io_uring:ring,sqpoll"), spec("io_uring:sqpoll"));
    let (text, reordered) = ("io_uring:sqpoll,iopoll", "io_uring:iopoll,sqpoll");
    assert_eq!(spec(text), spec(reordered));
}

/// Each device, by another text and by the one that it is printed as.
#[test]
fn a_simulated_device_has_one_canonical_text() {
    for (text, canonical) in [
        ("50us", "50000ns,servers=1"),
        ("constant(50us),servers=2", "50000ns,servers=2"),
        ("lognormal(50us,0.3)", "lognormal=50000ns/0.3,servers=1"),
        (
            "lognormal(50us,0.3),servers=4",
            "lognormal=50000ns/0.3,servers=4",
        ),
        ("trace=x,servers=8,time=d2c", "trace=x,time=d2c,servers=8"),
    ] {
        let (text, canonical) = (format!("sim:{text}"), format!("sim:{canonical}"));
        assert_eq!(spec(&text).to_string(), canonical);
        assert_eq!(spec(&canonical), spec(&text));
    }
}

#[test]
fn wrong_names_say_what_exists() {
    for text in [
        "uring",
        "null:1",
        "sim:fast",
        "sim:50",
        "sim:5us,servers=0",
        "fault:eio:null",
        "fault:eio@0:null",
        "io_uring:",
        "libaio:",
    ] {
        let parsed = text.parse::<EngineSpec>();
        let Err(error) = parsed else {
            assert!(text.ends_with(':'), "{text}");
            continue;
        };
        let known = "engines are io_uring, libaio, pvsync2, io_uring_cmd, null, sim, fault";
        assert!(error.to_string().contains(known), "{error}");
    }
}

#[test]
fn wrong_options_say_which_there_are_or_what_they_need() {
    for (text, words) in [
        ("io_uring:poll", "none of its options: ring, iopoll, hybrid"),
        ("io_uring:taskrun=maybe", "taskrun=defer|coop|none"),
        ("io_uring:hybrid", "add iopoll"),
        ("io_uring:cpu=1", "add sqpoll"),
        ("io_uring:sqpoll,cpu=one", "a CPU's number"),
        ("io_uring:sqpoll,taskrun=defer", "leave taskrun out"),
        ("io_uring_cmd:sqpoll", "none of its options: ring, iopoll"),
        ("io_uring:ring,iopoll", "leave one of them out"),
        ("io_uring_cmd:iopoll,ring", "leave one of them out"),
        ("libaio:hipri", "reap=kernel"),
        ("sim:lognormall(5us,0.3)", "the nearest is lognormal"),
        ("sim:tracee=x", "the nearest is trace"),
        ("sim:lognormal(5us)", "lognormal(MEDIAN,SIGMA)"),
        ("sim:lognormal(5us,9)", "sigma must lie between 0 and 5"),
        ("sim:lognormal(5us,0.3),4", "the nearest is write"),
        ("sim:fast", "lognormal(MEDIAN,SIGMA) or trace=FILE"),
        (
            "sim:5us,server=2",
            "nr_requests, interface, write; the nearest is servers",
        ),
        (
            "sim:5us,queues=0",
            "queues must be a whole number from 1 to 4096",
        ),
        ("sim:5us,nr_requests=0", "from 1 to 10240"),
        ("sim:5us,servers=none", "a whole number from 1 to 65536"),
        ("sim:5us,servers=4294967295", "from 1 to 65536"),
        ("sim:5us,servers=18446744073709551616", "from 1 to 65536"),
        ("sim:5us,interface=aio", "one of io_uring, libaio"),
        ("sim:5us,interface=spdk,interface=libaio", "and given once"),
        ("sim:5us,time=d2c", "time belongs to recorded times"),
        ("sim:5us,write=1us,write=2us", "given once"),
        ("sim:5us,write=fast", "service times are"),
        ("sim:trace=,servers=2", "found no file"),
        ("sim:trace=x,time=q2c", "d2c or u2c"),
        ("sim:trace=x,unit=h", "ns, us, ms or s"),
        ("sim:trace=x,unt=us", "the nearest is unit"),
        (
            "pvsync2:hipri,iopoll",
            "`iopoll` is none of its options: hipri",
        ),
    ] {
        let error = text.parse::<EngineSpec>().unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn a_helper_is_placed_once() {
    let placed = spec("fault:eio@1:io_uring:sqpoll").with_helper_on(3);
    assert_eq!(placed.to_string(), "fault:eio@1:io_uring:sqpoll,cpu=3");
    assert_eq!(placed.clone().with_helper_on(4), placed);
    assert_eq!(spec("libaio").with_helper_on(4), spec("libaio"));
    assert!(placed.has_helper() && !spec("io_uring").has_helper());
}

/// An entry for interrupt, poll and hybrid: true if the engine refuses it at this depth.
fn refused(text: &str, depth: u16) -> [bool; 3] {
    let rule: PolicySpec = "fixed:1us".parse().expect("a rule");
    let hybrid = Wait::Hybrid(rule.build(1).remove(0));
    [Wait::Interrupt, Wait::Poll, hybrid].map(|wait| spec(text).refuses(depth, &wait).is_some())
}

#[test]
fn what_an_engine_cannot_do_is_refused() {
    for (text, expected) in [
        ("io_uring", [false, false, false]),
        ("io_uring:sqpoll", [false, false, false]),
        // Requests that wait for interrupts have a ring of their own next to the polled one.
        ("io_uring:iopoll", [false, false, false]),
        ("io_uring:iopoll,hybrid", [true, false, true]),
        ("io_uring:iopoll,sqpoll", [false, false, false]),
        ("io_uring_cmd:iopoll", [false, false, false]),
        ("libaio", [false, false, false]),
        ("pvsync2", [false, true, true]),
        ("pvsync2:hipri", [true, false, true]),
        ("fault:eio@1:pvsync2", [false, true, true]),
        ("null", [false, false, false]),
        ("sim:5us,interface=pvsync2", [false, false, true]),
        ("sim:5us,interface=spdk", [true, false, false]),
        ("sim:5us,interface=libaio", [false, false, false]),
    ] {
        assert_eq!(refused(text, 1), expected, "{text}");
        let deep = expected.map(|at_one| at_one || text.contains("pvsync2"));
        assert_eq!(refused(text, 2), deep, "{text}, deep");
    }
}

#[test]
fn a_method_brings_its_options() {
    for (on, method, wanted) in [
        ("io_uring", "interrupt", Some("io_uring")),
        ("io_uring", "poll", Some("io_uring")),
        ("io_uring", "sqpoll", Some("io_uring:sqpoll")),
        ("io_uring", "sqpoll-iopoll", Some("io_uring:iopoll,sqpoll")),
        ("io_uring", "hybrid-uring", Some("io_uring:iopoll,hybrid")),
        ("io_uring", "hybrid-kernel", None),
        ("pvsync2", "interrupt", Some("pvsync2")),
        ("pvsync2:nowait", "poll", Some("pvsync2:hipri,nowait")),
        ("pvsync2", "hybrid-kernel:57us", Some("pvsync2:hipri")),
        ("pvsync2", "hybrid:fixed:1us", None),
        ("libaio", "hybrid:fixed:1us", Some("libaio")),
        ("libaio", "sqpoll", None),
        ("fault:eio@5:io_uring", "sqpoll", None),
    ] {
        let choice = spec(on).for_method(&method.parse().unwrap());
        let engine = choice.map(|(engine, _)| engine.to_string());
        assert_eq!(engine.as_deref(), wanted, "{method} on {on}");
    }
    let lane_method = |on: &str, method: &str| {
        let choice = spec(on).for_method(&method.parse().unwrap());
        choice.expect("it has the method").1
    };
    assert_eq!(lane_method("io_uring", "hybrid-uring"), LaneMethod::Poll);
    assert_eq!(lane_method("pvsync2", "interrupt"), LaneMethod::Interrupt);
}

#[test]
fn faults_around_an_engine_do_not_change_how_it_polls_and_submits() {
    assert!(spec("fault:eio@9:pvsync2:hipri").polls_in_call());
    assert!(!spec("pvsync2").polls_in_call() && !spec("io_uring:iopoll").polls_in_call());
    for text in ["pvsync2", "io_uring_cmd", "io_uring:iopoll"] {
        assert!(spec(text).keeps_no_schedule().is_some(), "{text}");
        let faulty = format!("fault:eio@9:{text}");
        assert!(spec(&faulty).keeps_no_schedule().is_some(), "{faulty}");
    }
    for text in ["io_uring", "libaio", "null", "sim:50us", "fault:eio@9:null"] {
        assert_eq!(spec(text).keeps_no_schedule(), None, "{text}");
    }
}

#[test]
fn the_device_decides_where_no_path_was_chosen() {
    for text in ["io_uring", "io_uring_cmd", "fault:eio@9:io_uring"] {
        let name = |iopoll| spec(text).with_path(iopoll).to_string();
        assert_eq!(name(true), format!("{text}:iopoll"));
        assert_eq!(name(false), format!("{text}:ring"));
    }
    for text in [
        "io_uring:ring",
        "io_uring:iopoll",
        "io_uring:taskrun=coop",
        "io_uring_cmd:ring",
        "io_uring_cmd:iopoll",
        "libaio",
        "fault:eio@9:null",
    ] {
        assert_eq!(spec(text).with_path(true), spec(text));
        assert_eq!(spec(text).with_path(false), spec(text));
    }
}

#[test]
fn engines_that_poll_the_device_need_its_queues() {
    for (text, needs) in [
        ("io_uring:iopoll", true),
        ("io_uring:iopoll,hybrid", true),
        ("io_uring:iopoll,sqpoll", true),
        ("io_uring_cmd:iopoll", true),
        ("fault:eio@9:io_uring:iopoll", true),
        ("io_uring", false),
        ("io_uring:ring", false),
        ("io_uring:sqpoll", false),
        ("libaio", false),
        ("pvsync2:hipri", false),
    ] {
        assert_eq!(spec(text).needs_poll_queues(), needs, "{text}");
    }
}

#[test]
fn the_asked_engine_comes_first_then_the_named_one_then_io_uring() {
    let engine_for = |asked: Option<&str>, target: &str| {
        let asked = asked.map(|text| text.parse().unwrap());
        EngineSpec::for_target(asked.as_ref(), target).map(|engine| engine.to_string())
    };
    let behind = engine_for(Some("libaio"), "sim:50us");
    assert_eq!(behind.unwrap(), "sim:50000ns,servers=1,interface=libaio");
    assert_eq!(engine_for(Some("libaio"), "/dev/sda").unwrap(), "libaio");
    let other = engine_for(Some("io_uring:sqpoll"), "sim:50us");
    assert_eq!(other.unwrap(), "io_uring:sqpoll");
    assert_eq!(engine_for(None, "null").unwrap(), "null");
    assert!(engine_for(None, "sim:50us").unwrap().starts_with("sim:"));
    // The text of an engine that needs a file is a path.
    for path in ["/dev/null", "io_uring", "a:b"] {
        assert_eq!(engine_for(None, path).unwrap(), "io_uring", "{path}");
    }
    let mistake = engine_for(None, "sim:50parsecs").unwrap_err();
    assert!(mistake.to_string().contains("sim:50parsecs"), "{mistake}");
}
