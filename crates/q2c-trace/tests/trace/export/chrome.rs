use super::{block, export, three, window};
use q2c_model::{IoRecord, Layer, Nanos, Op, TraceMeta};
use q2c_trace::export::{ExportOptions, TimelineLanes};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn events(records: &[IoRecord], options: &ExportOptions) -> Vec<Value> {
    let (text, _) = export("chrome", &TraceMeta::default(), records, options).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    match document["traceEvents"].take() {
        Value::Array(events) => events,
        other => panic!("{other}"),
    }
}

/// Slices: name, process, thread, start and duration (ns).
fn slices(events: &[Value]) -> Vec<(&str, u64, u64, u64, u64)> {
    let ns = |value: &Value| (value.as_f64().unwrap() * 1e3).round() as u64;
    let slices = events.iter().filter(|event| event["ph"] == "X");
    let number = |value: &Value| value.as_u64().unwrap();
    slices
        .map(|e| {
            let name = e["name"].as_str().unwrap();
            let (pid, tid) = (number(&e["pid"]), number(&e["tid"]));
            (name, pid, tid, ns(&e["ts"]), ns(&e["dur"]))
        })
        .collect()
}

/// The names in metadata events of this kind.
fn names<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    let named = events.iter().filter(|e| e["name"] == kind);
    named.map(|e| &e["args"]["name"]).collect()
}

#[test]
fn events_by_hand() {
    let events = events(&three(), &ExportOptions::default());
    let wanted = [
        ("read", 1, 1, 0, 80_500),
        ("Q2G", 1, 1, 0, 1_000),
        ("G2I", 1, 1, 1_000, 1_000),
        ("I2D", 1, 1, 2_000, 1_000),
        ("D2C", 1, 1, 3_000, 77_500),
        ("write", 1, 2, 1_500, 48_500),
        ("Q2G", 1, 2, 1_500, 1_000),
        ("G2D", 1, 2, 2_500, 1_500),
        ("D2C", 1, 2, 4_000, 46_000),
    ];
    assert_eq!(slices(&events), wanted);
    let arguments = json!({"id": 0, "device": "259:3", "sector": 8, "bytes": 4096, "pid": 71, "comm": "a, \"b\"",
        "cpu_submit": 1, "cpu_complete": 3, "hctx": 2, "tag": 9});
    let event_named = |name: &str| events.iter().find(|event| event["name"] == name).unwrap();
    assert_eq!(event_named("read")["args"], arguments);
    let processes = ["CPU 1", "CPU not known"];
    assert_eq!(names(&events, "process_name"), processes);
    let threads = ["row 1", "row 2", "row 1"];
    assert_eq!(names(&events, "thread_name"), threads);
    // The flush never completed.
    let flush = event_named("flush");
    assert_eq!((&flush["ph"], &flush["ts"]), (&json!("i"), &json!(70.0)));
    assert_eq!(flush["pid"], 2);
}

#[test]
fn lanes_are_hardware_queues_of_a_device() {
    let mut records = three();
    records[1].hctx = Some(2);
    records[1].device.minor = 4;
    let options = ExportOptions {
        lanes: TimelineLanes::Hctx,
        ..window(0, 60_000)
    };
    let events = events(&records, &options);
    let queues = ["259:3 queue 2", "259:4 queue 2"];
    assert_eq!(names(&events, "process_name"), queues);
}

#[test]
fn the_user_layer_has_two_stages() {
    let mut record = block(0, Op::Read, 8, 512, [-1; 5]);
    record.layer = Layer::User;
    (record.submit_ns, record.submit_end_ns) = (Some(Nanos(5)), Some(Nanos(7)));
    record.reap_ns = Some(Nanos(30));
    let events = events(&[record], &ExportOptions::default());
    let wanted = [
        ("read", 1, 1, 5, 25),
        ("submit", 1, 1, 5, 2),
        ("wait", 1, 1, 7, 23),
    ];
    assert_eq!(slices(&events), wanted);
}

/// The clocks of the trace disagree: a completion is before the hand-over, or before all times. A
/// slice that would be negative has no length, and earlier slices are unchanged.
#[test]
fn an_end_before_the_start_has_no_length() {
    let early = |complete| block(0, Op::Read, 8, 512, [100, 110, 120, 130, complete]);
    let slices_until = |complete| {
        let events = events(&[early(complete)], &ExportOptions::default());
        let slices: Vec<(u64, u64)> = slices(&events).iter().map(|s| (s.3, s.4)).collect();
        slices
    };
    let cut = [(100, 15), (100, 10), (110, 5), (115, 0), (115, 0)];
    assert_eq!(slices_until(115), cut);
    assert_eq!(slices_until(40), [(100, 0); 5]);
}

/// For requests of any length, the slices of a row are nested or do not overlap, and the stages of
/// a request fill its slice.
#[test]
fn no_two_slices_of_a_row_overlap() {
    let one = |id: u64| {
        let at = i64::try_from(id * 10).unwrap();
        let lasts = i64::try_from(id * 7_919 % 3_000).unwrap();
        let times = [at, at + 1, -1, at + 3, at + 4 + lasts];
        let mut record = block(id, Op::Read, id * 8, 4096, times);
        record.cpu_submit = Some(u32::try_from(id % 3).unwrap());
        record
    };
    let records: Vec<IoRecord> = (0..3_000).map(one).collect();
    let events = events(&records, &ExportOptions::default());
    let mut rows: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    let (mut whole, mut parts) = (0, 0);
    for (name, pid, tid, from, dur) in slices(&events) {
        if name == "read" {
            rows.entry((pid, tid)).or_default().push((from, from + dur));
            whole += dur;
        } else {
            let (start, end) = *rows[&(pid, tid)].last().unwrap();
            assert!(start <= from && from + dur <= end);
            parts += dur;
        }
    }
    assert_eq!(whole, parts);
    for row in rows.values() {
        assert!(row.windows(2).all(|two| two[0].1 <= two[1].0));
    }
    // A lane has as many rows as its largest number of requests in flight, counted here in a second
    // way.
    for pid in 1..=3 {
        let rows: Vec<_> = rows.iter().filter(|((p, _), _)| *p == pid).collect();
        let spans = rows.iter().flat_map(|(_, row)| *row);
        let edges = spans.flat_map(|(from, to)| [(*from, 1), (*to, -1)]);
        let mut edges: Vec<(u64, i32)> = edges.collect();
        edges.sort_unstable();
        let depth = edges.iter().scan(0, |depth, (_, step)| {
            *depth += step;
            Some(*depth)
        });
        assert_eq!(depth.max().unwrap() as usize, rows.len());
    }
}
