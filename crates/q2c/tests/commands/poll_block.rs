//! Tests of `q2c poll sim` and `q2c poll sweep` on traces of the block layer.

use crate::blktrace::{BlktraceRecord, file};
use crate::program::*;
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, OpFlags, Sectors, TraceMeta};
use q2c_trace::TraceWriter;
use std::collections::BTreeMap;

const ROUNDS: u64 = 100;
/// One in this many rounds has a flush after its read.
const FLUSH_EVERY: u64 = 10;
/// Length of a round in the trace: Q2D 2 us, D2C 30 us, think time 8 us.
const ROUND_US: u64 = 40;
/// Time by which a flush lengthens its round.
const FLUSH_US: u64 = 25;

/// An event of blktrace at time `us`.
fn event(us: u64, action: u32, sector: u64) -> BlktraceRecord {
    BlktraceRecord {
        ns: us * 1000,
        cpu: 0,
        action,
        category: 1,
        sector,
        bytes: 4096,
        device: (8, 0),
    }
}

/// A folder with the blktrace file of one thread at depth 1. Each read has Q, G (0 us later), I (1
/// us), D (2 us) and C (32 us). Some are followed by a flush of 20 us, and a read at the end never
/// completes.
fn rounds() -> Place {
    let (mut events, mut now) = (Vec::new(), 1_000);
    for round in 0..ROUNDS {
        let actions = [(1, 0), (4, 0), (12, 1), (7, 2), (8, 32)];
        events.extend(actions.map(|(action, after)| event(now + after, action, 64 * round)));
        if round % FLUSH_EVERY == 0 {
            let flush = |us, action| BlktraceRecord {
                category: 4,
                bytes: 0,
                ..event(us, action, 0)
            };
            events.extend([flush(now + 34, 1), flush(now + 54, 8)]);
            now += FLUSH_US;
        }
        now += ROUND_US;
    }
    events.push(event(now, 1, 64 * ROUNDS));
    let folder = Place::with_file("sda.blktrace.0", file(&events, 0));
    folder.done("trace import sda --out block.parquet");
    folder
}

/// From the first Q to the last C, without the think time of the last round.
const SPAN_US: u64 = ROUNDS * ROUND_US + ROUNDS / FLUSH_EVERY * FLUSH_US - 8;

fn run(folder: &Path, command: &str, more: &str) -> Value {
    let line = format!("poll {command} block.parquet --json {more}");
    run_q2c(folder, &line).json()
}

/// A sleep ends 2 us late. After a sleep of 20 us the thread is in time for D2C (30 us). A sleep of
/// 29 us is 1 us late in every round, and one of 40 us is 12 us late.
#[test]
fn a_trace_of_blktrace_is_swept() {
    let folder = rounds();
    let result = run(folder.path(), "sweep", "--policy fixed:20us|29us|40us");
    for (sleep, late) in [(20, 0), (29, 1), (40, 12)] {
        let policy = format!("fixed:sleep={sleep}us");
        let cell = entry(&result, "cells", "policy", &policy);
        let wall = (SPAN_US + ROUNDS * late) as f64 / 1e6;
        assert_iops(number(cell, "/iops"), ROUNDS as f64 / wall);
        assert_eq!(number(cell, "/miss_rate"), f64::from(u8::from(late > 0)));
        assert_close(number(cell, "/t_over"), late as f64 / 30.0);
        // The submission of 2 us runs on the CPU; whether the think time does is unknown.
        let polled = 30_u64.saturating_sub(sleep + 2);
        assert_close(number(cell, "/cpu_ns_per_io"), (2 + polled) as f64 * 1e3);
    }
    assert_eq!(result["schema"], "q2c.sweep/2");
    let input = &result["inputs"][0];
    assert_eq!(number(input, "/lanes"), 1.0);
    assert_eq!(number(input, "/ios"), 100.0);
    assert_eq!(number(input, "/span_ns"), (SPAN_US * 1000) as f64);
    assert_eq!(input["latency_ns"], json!([30e3, 30e3, 30e3, 30e3, 30e3]));
    let taken = &input["taken_as"];
    let wanted = json!({
        "layer": "block", "latency": "d2c", "latency_asked": null, "submission_ns": 2000.0,
        "lanes_by": "thread", "owners": 1, "overlapping": 0, "devices": {"8:0": 100},
        "left_out": {"no-completion": 1, "neither-read-nor-write": 10}, "polled": null,
    });
    for (field, wanted) in wanted.as_object().unwrap() {
        assert_eq!(taken.get(field), Some(wanted), "{field}: {taken}");
    }
}

/// The device time starts at the named event: Q2C is 32 us and I2C 31 us. So sleeps of 29 us, which
/// end after 31 us, are in time only for Q2C.
#[test]
fn the_device_time_is_the_named_one() {
    let folder = rounds();
    for (latency, device, missed) in [("d2c", 30, 1.0), ("i2c", 31, 1.0), ("q2c", 32, 0.0)] {
        let how = format!("--policy fixed:29us --warm-up 0 --measure 1s --latency {latency}");
        let result = run(folder.path(), "sim", &how);
        let sleeper = entry(&result, "methods", "method", "hybrid:fixed:sleep=29us");
        assert_eq!(number(sleeper, "/miss_rate"), missed, "{latency}");
        let over = f64::from(31 - device.min(31)) / f64::from(device);
        assert_close(number(sleeper, "/t_over"), over);
        let taken = &result["taken_as"];
        assert_eq!(taken["latency"], json!(latency));
        assert_eq!(taken["latency_asked"], json!(latency));
    }
    let said = folder.done("poll sim block.parquet --policy pas");
    let phrases = "D2C of the block layer as device time | 2.00 us on average | 1 thread as 1 lane | 10 neither reads nor writes | does not tell which requests were polled for";
    has_words(&said, phrases);
}

/// A thread has two reads in flight, and a sleep of 40 us makes both late by 12 us. The trace is
/// read in blktrace's own format.
#[test]
fn overlapping_requests_get_a_lane_each() {
    let folder = Place::new();
    let mut events = Vec::new();
    for pair in 0..50_u64 {
        for (begin, sector) in [(100 * pair, 64 * pair), (100 * pair + 10, 64 * pair + 4096)] {
            let actions = [(1, 0), (4, 1), (7, 2), (8, 32)];
            events.extend(actions.map(|(action, after)| event(begin + after, action, sector)));
        }
    }
    folder.put("sda.blktrace.0", file(&events, 0));
    let sweep = "poll sweep sda --json --policy fixed:20us|40us";
    for (more, by) in [("", "thread"), ("--lanes device", "device")] {
        let result = folder.json(format!("{sweep} {more}"));
        let input = &result["inputs"][0];
        assert_eq!(number(input, "/lanes"), 2.0);
        assert_eq!(number(input, "/ios"), 100.0);
        let taken = &input["taken_as"];
        assert_eq!(number(taken, "/overlapping"), 50.0);
        assert_eq!(number(taken, "/owners"), 1.0);
        assert_eq!(taken["lanes_by"], by);
        // Both lanes last from the first Q to the last C, 49 pairs and 42 us.
        for (policy, late) in [("fixed:sleep=20us", 0), ("fixed:sleep=40us", 12)] {
            let wall = f64::from(49 * 100 + 42 + 50 * late) / 1e6;
            let cell = entry(&result, "cells", "policy", policy);
            assert_iops(number(cell, "/iops"), 100.0 / wall);
        }
    }
}

/// A mapped device has Q and C, and the disk below it has all events; each request counts once.
#[test]
fn the_requests_of_a_mapped_device_count_once() {
    let folder = Place::new();
    let mut events = Vec::new();
    for n in 0..20_u64 {
        let mapped = [(1, 0), (8, 40)].map(|event| ((253, 0), event));
        let disk = [(1, 1), (4, 2), (7, 3), (8, 38)].map(|event| ((8, 0), event));
        let both = mapped.into_iter().chain(disk);
        events.extend(both.map(|(device, (action, us))| BlktraceRecord {
            device,
            ..event(100 * n + us, action, 64 * n)
        }));
    }
    folder.put("all.blktrace.0", file(&events, 0));
    let sim = |more: &str| folder.q2c(format!("poll sim all --json --policy fixed:20us {more}"));
    let both = sim("").json();
    assert_eq!(number(&both, "/ios"), 20.0);
    assert_eq!(both["taken_as"]["devices"], json!({"8:0": 20}));
    assert_eq!(both["taken_as"]["left_out"], json!({"not-driven": 20}));
    let mapped = sim("--device 253:0").json();
    assert_eq!(mapped["taken_as"]["devices"], json!({"253:0": 20}));
    assert_eq!(mapped["taken_as"]["latency"], "q2c");
    // Both have reads of a single latency: 35 us from D to C, 40 us from Q to C. The oracle sleeps
    // until 1 ns before the completion, less the 2 us by which a sleep is late.
    for (result, ns) in [(&both, 35_000.0), (&mapped, 40_000.0)] {
        let oracle = entry(result, "methods", "method", "oracle");
        assert_eq!(number(oracle, "/effective_sleep_ns"), ns - 2_001.0);
    }
    sim("--device 8:16").refused(3, "all | 40 other-device");
}

/// Responses of MSR have only a start and an end, so the result uses Q2C and says so.
#[test]
fn an_import_with_responses_has_q2c() {
    let folder = Place::new();
    let line = |n: u64| {
        let at = 128_166_372_003_061_629 + 1_000 * n;
        format!("{at},usr,0,Read,{},4096,500\n", 4096 * n)
    };
    let lines: String = (0..10).map(line).collect();
    folder.put("usr_0.csv", lines);
    let sweep = |more: &str| folder.q2c(format!("poll sweep usr_0.csv --policy fixed:30us {more}"));
    let result = sweep("--json").json();
    let input = &result["inputs"][0];
    // 500 units of 100 ns, every 100 us.
    assert_eq!(number(input, "/latency_ns/2"), 50e3);
    assert_eq!(number(input, "/span_ns"), 950e3);
    assert_eq!(input["taken_as"]["latency"], json!("q2c"));
    assert_eq!(input["taken_as"]["format"], json!("msr"));
    let said = unwrapped(&sweep("").done());
    let phrases = "Q2C of the block layer as device time, since no request has a D";
    has_words(&said, phrases);
    sweep("--latency d2c").refused(3, "usr_0.csv | D2C | 10 reads and writes | --latency q2c");
}

#[test]
fn traces_without_completions_are_refused_with_what_to_do() {
    let test = "poll_block::traces_without_completions_are_refused_with_what_to_do";
    let folder = Place::new();
    for (name, records, more) in [
        ("websearch-small.disksim", "24783", "--unit ns"),
        ("tpcc-small.disksim", "6999", "--unit ns"),
        ("cloudphysics-sample.vscsi", "113872", ""),
    ] {
        let Some(path) = shared_data(test, name) else {
            return;
        };
        let path = path.display();
        folder.done(format!("trace import {path} --out {name} {more}"));
        for command in ["sim", "sweep"] {
            let phrases = [name, records, "has a completion", "q2c trace record"];
            let ended = folder.q2c(format!("poll {command} {name} --policy pas"));
            ended.refused(3, &phrases);
        }
    }
}

/// A recording by BPF states which requests were polled, and the kernel's hybrid polling. With
/// `io_poll_delay` of 0 or more the kernel slept before it polled; with -1 it did not.
#[test]
fn polled_requests_and_the_kernel_s_sleeps_are_told() {
    let folder = Place::new();
    let (major, minor) = (259, 0);
    let device = DevId { major, minor };
    for (delay, polled, slept) in [
        (Some("0"), 10, json!(true)),
        (Some("-1"), 10, json!(false)),
        (Some("0"), 0, json!(false)),
        (None, 10, Value::Null),
    ] {
        let mut facts = BTreeMap::from([("capture".to_owned(), "bpf".to_owned())]);
        let fact = delay.map(|delay| ("device.259:0.io_poll_delay".to_owned(), delay.to_owned()));
        facts.extend(fact);
        let meta = TraceMeta {
            facts,
            ..TraceMeta::default()
        };
        let path = folder.path().join("p.parquet");
        let mut writer = TraceWriter::create(&path, meta).unwrap();
        let record = |id: u64| {
            let (op, bytes) = (Op::Read, Bytes(4096));
            let mut record = IoRecord::new(id, Layer::Block, device, op, Sectors(8 * id), bytes);
            let times = [0, 1_000, 31_000].map(|ns| Some(Nanos(40_000 * id + ns)));
            [record.queue_ns, record.issue_ns, record.complete_ns] = times;
            if id < polled {
                record.flags = OpFlags::POLLED;
            }
            record
        };
        let records: Vec<IoRecord> = (0..20).map(record).collect();
        writer.push(&records).unwrap();
        writer.finish().unwrap();
        let sim = "poll sim p.parquet --policy pas";
        let result = folder.json(format!("{sim} --json"));
        let taken = &result["taken_as"];
        assert_eq!(taken["polled"], json!(polled), "{delay:?}");
        assert_eq!(taken["kernel_slept"], slept, "{delay:?}");
        let said = folder.done(sim);
        let is_said = said.contains("its oversleep");
        assert_eq!(slept == json!(true), is_said, "{said}");
        let by_interrupt = match polled {
            0 => "all requests were completed by interrupt",
            _ => "10 requests were completed by interrupt",
        };
        assert!(said.contains(by_interrupt), "{said}");
        fs::remove_file(path).unwrap();
    }
}
