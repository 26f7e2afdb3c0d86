use crate::any::any_record;
use crate::support::{block_read, place, read, write};
use proptest::prelude::*;
use q2c_model::{IoRecord, Nanos, Op, OpFlags, TraceMeta};
use q2c_trace::{Column, Scan, TraceReader, TraceWriter};

fn any_meta() -> impl Strategy<Value = TraceMeta> {
    let counts = prop::collection::btree_map("\\PC{0,8}", any::<u64>(), 0..4);
    let facts = prop::collection::btree_map("\\PC{0,8}", "\\PC{0,20}", 0..4);
    let file = prop::option::of("\\PC{1,20}");
    let start = prop::option::of(any::<u64>());
    (start, "\\PC{0,20}", file, any::<u64>(), counts, facts).prop_map(
        |(start_unix_ns, clock, file, lost, unmatched, facts)| TraceMeta {
            start_unix_ns,
            clock,
            source: "q2c".to_owned(),
            source_version: "0.1.0".to_owned(),
            file,
            lost,
            unmatched,
            facts,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn records_and_description_survive(
        records in prop::collection::vec(any_record(), 0..150),
        meta in any_meta(),
        push in 1..60usize,
        batch in 1..200usize,
    ) {
        let (_folder, path) = place();
        write(&path, &meta, &records, push);
        let reader = TraceReader::open(&path).unwrap();
        prop_assert_eq!(reader.meta(), &meta);
        prop_assert_eq!(reader.rows(), records.len() as u64);
        prop_assert_eq!(read(&path, &Scan::new().batch_rows(batch)).unwrap(), records);
    }

    /// A filter over the records in memory gives the expected result.
    #[test]
    fn a_scan_yields_what_a_filter_yields(
        records in prop::collection::vec(any_record(), 0..150),
        from in any::<u64>(), to in any::<u64>(),
    ) {
        let (_folder, path) = place();
        write(&path, &TraceMeta::default(), &records, 150);
        let start = |r: &IoRecord| r.submit_ns.or(r.queue_ns).or(r.getrq_ns).or(r.issue_ns);
        let range = Nanos(from)..Nanos(to);
        let expected: Vec<IoRecord> = records.iter()
            .filter(|r| start(r).is_some_and(|at| range.contains(&at))).cloned().collect();
        prop_assert_eq!(read(&path, &Scan::new().starting_in(range)).unwrap(), expected);
    }
}

/// 300,000 records, 1 us apart: three row groups of at most 131,072.
fn long_trace(path: &std::path::Path) -> Vec<IoRecord> {
    let records: Vec<IoRecord> = (0..300_000).map(|id| block_read(id, id * 1_000)).collect();
    write(path, &TraceMeta::default(), &records, 65_536);
    records
}

/// Columns have equal cells in a whole row group, another value in the next group, or different
/// cells only in the last group.
#[test]
fn what_several_threads_write_is_read_back() {
    const GROUP: u64 = 131_072;
    let record = |id: u64| {
        let mut record = block_read(id, id * 1_000);
        record.flags = OpFlags(u32::from(id >= GROUP));
        record.device.minor = (id / (2 * GROUP)) as u32;
        record.hctx = (id >= GROUP).then_some(7);
        record.tag = (id == 3 * GROUP + 1).then_some(5);
        let is_last = id == 4 * GROUP - 1;
        record.op = if is_last { Op::Write } else { Op::Read };
        record
    };
    let records: Vec<IoRecord> = (0..5 * GROUP + 10).map(record).collect();
    let (_folder, path) = place();
    let writer = TraceWriter::create(&path, TraceMeta::default()).unwrap();
    let mut writer = writer.with_threads().unwrap();
    for slice in records.chunks(5_000) {
        writer.push(slice).unwrap();
    }
    writer.finish().unwrap();
    assert!(read(&path, &Scan::new()).unwrap() == records);
    let first = Scan::new().starting_in(Nanos(0)..Nanos(GROUP * 1_000));
    assert_eq!(TraceReader::open(&path).unwrap().row_groups(&first), (6, 1));
}

#[test]
fn row_groups_outside_the_range_are_skipped() {
    let (_folder, path) = place();
    let records = long_trace(&path);
    let reader = TraceReader::open(&path).unwrap();
    let last = Scan::new().starting_in(Nanos(299_000_000)..Nanos(299_005_000));
    assert_eq!(reader.row_groups(&Scan::new()), (3, 3));
    assert_eq!(reader.row_groups(&last), (3, 1));
    assert_eq!(read(&path, &last).unwrap(), records[299_000..299_005]);
    let behind = Scan::new().starting_in(Nanos(400_000_000)..Nanos(500_000_000));
    assert_eq!(reader.row_groups(&behind), (3, 0));
    assert_eq!(read(&path, &behind).unwrap(), []);
}

#[test]
fn a_projection_leaves_other_columns_empty() {
    let (_folder, path) = place();
    write(&path, &TraceMeta::default(), &[block_read(7, 42)], 1);
    let mut expected = block_read(7, 42);
    expected.complete_ns = None;
    let queue_only = Scan::new().columns(&[Column::QueueNs]);
    assert_eq!(read(&path, &queue_only).unwrap(), [expected]);

    let reader = TraceReader::open(&path).unwrap();
    let batch = reader.batches(&queue_only).unwrap().next().unwrap();
    let names = batch.unwrap().schema();
    assert_eq!(names.fields().len(), 1);
    assert_eq!(names.field(0).name(), "queue_ns");
}

#[test]
fn scans_of_one_reader_do_not_disturb_each_other() {
    let (_folder, path) = place();
    let records = long_trace(&path);
    let reader = TraceReader::open(&path).unwrap();
    let scan = || {
        let parts = reader.records(&Scan::new()).unwrap();
        parts.flat_map(Result::unwrap).eq(records.iter().cloned())
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(scan), scope.spawn(scan)];
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    });
}

#[test]
fn counts_known_at_the_end_are_in_the_file() {
    let (_folder, path) = place();
    let mut writer = TraceWriter::create(&path, TraceMeta::default()).unwrap();
    writer.push(&[block_read(0, 0)]).unwrap();
    writer.meta_mut().lost = 3;
    writer.finish().unwrap();
    assert_eq!(TraceReader::open(&path).unwrap().meta().lost, 3);
}

#[test]
fn a_column_is_found_by_its_name() {
    for column in Column::ALL {
        assert_eq!(column.name().parse(), Ok(*column));
    }
    assert!("latency".parse::<Column>().is_err());
}
