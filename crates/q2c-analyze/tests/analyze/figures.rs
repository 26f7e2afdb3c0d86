//! Stages, groups, seeks and queues against figures computed by hand.

use crate::{analyze, span};
use q2c_model::{Layer, Op};
use q2c_trace::Span;
use std::collections::BTreeMap;

#[test]
fn each_stage_by_hand() {
    let mut merged = span(2, [300, 340, -1, 500, 1000]);
    merged.merged_into = 1;
    let result = analyze(&[
        span(0, [0, 10, 30, 70, 570]),
        span(1, [200, 210, -1, 500, 1000]),
        merged,
        span(3, [400, -1, -1, -1, -1]),
    ]);
    let stage = |name: &str| {
        let s = &result.stages[name];
        (s.n, s.min_ns, s.mean_ns, s.max_ns)
    };
    assert_eq!(stage("Q2Q"), (3, 100, 400.0 / 3.0, 200));
    assert_eq!(stage("Q2G"), (2, 10, 10.0, 10));
    assert_eq!(stage("G2I"), (1, 20, 20.0, 20));
    assert_eq!(stage("I2D"), (1, 40, 40.0, 40));
    assert_eq!(stage("G2D"), (1, 290, 290.0, 290));
    assert_eq!(stage("Q2M"), (1, 40, 40.0, 40));
    assert_eq!(stage("M2D"), (1, 160, 160.0, 160));
    assert_eq!(stage("D2C"), (3, 500, 500.0, 500));
    assert_eq!(stage("Q2C"), (3, 570, (570.0 + 800.0 + 700.0) / 3.0, 800));
    let r = &result;
    assert_eq!((r.requests, r.completed, r.issued, r.merged), (4, 3, 2, 1));
    assert_eq!(result.merge_ratio, Some(1.5));
    assert_eq!((result.span_ns, result.bytes), (1000, 16384));
}

#[test]
fn percentiles_of_a_thousand() {
    let spans: Vec<Span> = (0..1000)
        .map(|n| span(n, [n as i64, -1, -1, n as i64, n as i64 * 2 + 1]))
        .collect();
    // D2C has each of the values 1 to 1000 ns once.
    let d2c = analyze(&spans).stages["D2C"];
    for (got, wanted) in [
        (d2c.p50_ns, 500.0),
        (d2c.p90_ns, 900.0),
        (d2c.p99_ns, 990.0),
        (d2c.p999_ns, 999.0),
        (d2c.p9999_ns, 1000.0),
    ] {
        assert!((got - wanted).abs() <= 0.008 * wanted, "{got} for {wanted}");
    }
}

#[test]
fn groups_have_their_own_figures() {
    let spans: Vec<Span> = (0..10u64)
        .map(|n| {
            let at = n as i64 * 1000;
            let mut one = span(n, [at, -1, -1, at, at + 100 * (1 + n as i64 % 2)]);
            one.op = [Op::Read, Op::Write][n as usize % 2];
            one.bytes = if n < 3 { 512 } else { 12_288 };
            one.cpu_submit = n as u32 % 5;
            one.pid = 7 + n as u32 % 2;
            (one.device.major, one.device.minor) = (8, 16 * (n as u32 % 2));
            one
        })
        .collect();
    let result = analyze(&spans);
    let keys = |property: &str| {
        let groups = result.groups[property].iter();
        let rows = groups.map(|group| (group.key.as_str(), group.requests));
        rows.collect::<Vec<_>>()
    };
    assert_eq!(keys("op"), [("read", 5), ("write", 5)]);
    assert_eq!(keys("size"), [("up to 512 B", 3), ("up to 16 KiB", 7)]);
    assert_eq!(keys("process"), [("fio (7)", 5), ("8", 5)]);
    assert_eq!(keys("device"), [("8:0", 5), ("8:16", 5)]);
    assert_eq!(keys("cpu"), ["0", "1", "2", "3", "4"].map(|cpu| (cpu, 2)));
    assert_eq!(result.groups["op"][0].stages["D2C"].max_ns, 100);
    assert_eq!(result.groups["op"][1].stages["D2C"].min_ns, 200);
    assert_eq!(result.groups["op"][0].stages["Q2Q"].mean_ns, 2000.0);
    assert!(!result.groups.contains_key("hctx"));
}

/// There are more devices than groups, and more combinations of properties than tallies.
#[test]
fn many_kinds_are_all_counted() {
    let io = |n: u64| {
        let mut one = span(n, [n as i64, -1, -1, -1, n as i64 + 100]);
        one.device.minor = n as u32 / 4;
        one.op = [Op::Read, Op::Write][n as usize % 2];
        one.bytes = if n % 4 < 2 { 512 } else { 4096 };
        one
    };
    let result = analyze(&(0..2400).map(io).collect::<Vec<_>>());
    let requests = |property: &str| -> Vec<u64> {
        let groups = result.groups[property].iter();
        groups.map(|group| group.requests).collect()
    };
    assert_eq!(requests("op"), [1200, 1200]);
    assert_eq!(requests("size"), [1200, 1200]);
    assert_eq!(requests("device"), [vec![4; 512], vec![4 * 88]].concat());
    let q2c = result.stages["Q2C"];
    assert_eq!((q2c.n, q2c.min_ns, q2c.max_ns), (2400, 100, 100));
    assert_eq!(q2c.mean_ns, 100.0);
}

#[test]
fn too_many_groups_become_others() {
    let one = |n: u64| Span {
        pid: n as u32,
        ..span(n, [n as i64, -1, -1, -1, n as i64 + 5])
    };
    let spans: Vec<Span> = (0..2000).map(one).collect();
    let result = analyze(&spans);
    let processes = &result.groups["process"];
    assert_eq!(processes.len(), 513);
    let others = processes.last().unwrap();
    assert_eq!(others.key, "others");
    assert_eq!(others.requests, 2000 - 512);
    let total: u64 = processes.iter().map(|group| group.requests).sum();
    assert_eq!(total, 2000);
}

#[test]
fn seeks_are_distances_from_end_to_start() {
    let at = |id: u64, sector: u64| Span {
        sector,
        ..span(id, [id as i64, -1, -1, -1, id as i64 + 1])
    };
    let mut spans = [at(0, 0), at(1, 8), at(2, 116), at(3, 0), at(4, 24)];
    spans[3].bytes = 0; // A flush.
    let result = analyze(&spans);
    let seeks = &result.seeks[0];
    // The seeks go 8 -> 8, 16 -> 116, 124 -> 24; the flush has no sector.
    assert_eq!((seeks.n, seeks.sequential), (3, 1));
    assert_eq!(seeks.mean_sectors, 200.0 / 3.0);
    assert_eq!(seeks.median_sectors, 100.0);
    assert_eq!(result.stages["Q2Q"].n, 4, "flushes are queued, too");
}

#[test]
fn queues_and_the_cpus_that_feed_them() {
    let one = |n: u64| Span {
        hctx: n as u32 % 4,
        cpu_submit: n as u32 % 8,
        ..span(n, [n as i64, -1, -1, -1, n as i64 + 1])
    };
    let spans: Vec<Span> = (0..400).map(one).collect();
    let result = analyze(&spans);
    let counts: Vec<u64> = result.hctx.iter().map(|q| q.requests).collect();
    assert_eq!(counts, [100; 4]);
    assert_eq!(result.hctx[1].cpus, BTreeMap::from([(1, 50), (5, 50)]));
    assert_eq!(result.balance.unwrap().verdict, "even");
    // A merged I/O does not count as a request.
    let mut merged = spans[0];
    merged.merged_into = 0;
    assert!(analyze(&[merged]).hctx.is_empty());
    let mut skewed = spans.clone();
    skewed.iter_mut().for_each(|span| span.hctx /= 3);
    assert_eq!(analyze(&skewed).balance.unwrap().verdict, "uneven");
}

#[test]
fn the_user_layer_has_other_names() {
    let mut analyzer = q2c_analyze::Analyzer::new(Layer::User);
    let user = |id, begin, end| Span {
        layer: Layer::User,
        ..span(id, [begin, -1, -1, -1, end])
    };
    analyzer.update(&[user(0, 0, 30), user(1, 50, 90)]);
    let result = analyzer.finish(&BTreeMap::new());
    let names: Vec<&String> = result.stages.keys().collect();
    assert_eq!(names, ["U2C", "U2U"]);
    let mean = |stage: &str| result.stages[stage].mean_ns;
    assert_eq!((mean("U2C"), mean("U2U")), (35.0, 50.0));
    assert!(result.bottleneck.is_none());
    assert_eq!(result.layer, Layer::User);
}
