//! Arrow batches of a trace give its records, whatever the encoding of text.

use crate::any::any_record;
use crate::support::{block_read, place, tells, write};
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt8Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    UInt64Array,
};
use arrow_schema::{DataType, Schema};
use proptest::prelude::*;
use q2c_model::{IoRecord, TraceMeta};
use q2c_trace::{Frame, Scan, TraceReader};
use std::path::Path;
use std::sync::Arc;

/// All records in one batch of the trace's own types, with the description in its schema.
fn one_batch(records: &[IoRecord], meta: &TraceMeta) -> RecordBatch {
    let (_folder, path) = place();
    write(&path, meta, records, 1_000);
    let reader = TraceReader::open(&path).unwrap();
    let scan = Scan::new().batch_rows(records.len());
    let batch = reader.batches(&scan).unwrap().next().unwrap().unwrap();
    let schema = reader.arrow_schema(&scan).unwrap();
    RecordBatch::try_new(schema, batch.columns().to_vec()).unwrap()
}

fn read(batch: &RecordBatch) -> Result<Vec<IoRecord>, String> {
    let frame = Frame::new(Path::new("frame"), batch.schema_ref()).map_err(|e| e.to_string())?;
    let parts: Result<Vec<_>, _> = frame.records(batch).collect();
    parts.map(|parts| parts.concat()).map_err(|e| e.to_string())
}

fn texts(column: &dyn Array) -> Vec<Option<String>> {
    let cells = column.as_dictionary::<Int32Type>();
    let cells = cells.downcast_dict::<StringArray>().unwrap();
    cells.into_iter().map(|t| t.map(str::to_owned)).collect()
}

fn encode_texts(column: &dyn Array, as_type: &DataType) -> ArrayRef {
    let texts = texts(column);
    match as_type {
        DataType::Utf8 => Arc::new(StringArray::from(texts)),
        DataType::LargeUtf8 => Arc::new(LargeStringArray::from(texts)),
        DataType::Utf8View => Arc::new(StringViewArray::from_iter(texts)),
        _ => {
            let mut builder = StringDictionaryBuilder::<UInt32Type>::new();
            let texts = texts.iter().map(Option::as_deref);
            texts.for_each(|text| builder.append_option(text));
            Arc::new(builder.finish())
        }
    }
}

/// The batch with one column replaced, or removed.
fn with_column(batch: &RecordBatch, name: &str, column: Option<&ArrayRef>) -> RecordBatch {
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for (field, old) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let new = match (field.name() == name, column) {
            (false, _) => old.clone(),
            (true, Some(new)) => new.clone(),
            (true, None) => continue,
        };
        let field = field.as_ref().clone();
        let field = field.with_data_type(new.data_type().clone());
        fields.push(field.with_nullable(true));
        columns.push(new);
    }
    let schema = Schema::new_with_metadata(fields, batch.schema_ref().metadata().clone());
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

const TEXTS: [&str; 4] = ["layer", "device", "op", "comm"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn every_encoding_of_text_is_read(records in prop::collection::vec(any_record(), 1..90)) {
        let original = one_batch(&records, &TraceMeta::default());
        prop_assert_eq!(&read(&original).unwrap(), &records);
        let dictionary = DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8));
        for as_type in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View, dictionary] {
            let mut batch = original.clone();
            for name in TEXTS {
                let column = encode_texts(batch.column_by_name(name).unwrap(), &as_type);
                batch = with_column(&batch, name, Some(&column));
            }
            prop_assert_eq!(&read(&batch).unwrap(), &records, "{}", as_type);
            let half = batch.slice(records.len() / 2, records.len().div_ceil(2));
            prop_assert_eq!(&read(&half).unwrap(), &records[records.len() / 2..]);
        }
    }
}

fn many_reads() -> Vec<IoRecord> {
    (0..40_000).map(|id| block_read(id, id * 1_000)).collect()
}

#[test]
fn the_description_comes_along() {
    let meta = TraceMeta {
        clock: "CLOCK_MONOTONIC".to_owned(),
        lost: 7,
        ..TraceMeta::default()
    };
    let batch = one_batch(&many_reads(), &meta);
    let frame_of = |batch: &RecordBatch| Frame::new(Path::new("f"), batch.schema_ref());
    assert_eq!(frame_of(&batch).unwrap().meta(), &meta);
    let bare = Schema::new(batch.schema_ref().fields().clone());
    let bare = RecordBatch::try_new(Arc::new(bare), batch.columns().to_vec()).unwrap();
    let bare_meta = frame_of(&bare).unwrap().meta().clone();
    assert_eq!((bare_meta.source.as_str(), bare_meta.lost), ("arrow", 0));
    let mut later = batch.schema_ref().as_ref().clone();
    later.metadata.insert("q2c.trace.version", "999");
    let refused = Frame::new(Path::new("f"), &later).unwrap_err().to_string();
    tells(&refused, "schema version 1, found `999`");
}

#[test]
fn a_frame_that_is_no_trace_names_the_column() {
    let batch = one_batch(&many_reads(), &TraceMeta::default());
    let refused = |name: &str, column: Option<ArrayRef>, message: &str| {
        let error = read(&with_column(&batch, name, column.as_ref())).unwrap_err();
        assert_eq!(error, message);
    };
    let missing = "open trace frame: expected column `complete_ns`, found no such column";
    refused("complete_ns", None, missing);
    let signed = Arc::new(Int64Array::from(vec![1; 40_000]));
    let expected =
        "open trace frame: column `queue_ns`: expected UInt64 (nullable), found Int64 (nullable)";
    refused("queue_ns", Some(signed), expected);
    let number = Arc::new(UInt64Array::from(vec![1; 40_000]));
    let expected = "open trace frame: column `op`: expected text, found UInt64 (nullable)";
    refused("op", Some(number), expected);
    let mut ids: Vec<Option<u64>> = vec![Some(1); 40_000];
    ids[39_999] = None;
    let expected = "read trace frame: column `id`: expected a value in every row, found `null in row 39999 of a batch`";
    refused("id", Some(Arc::new(UInt64Array::from(ids))), expected);
    let ends = (0..40_000).map(|row| (row != 3).then_some(u64::MAX - u64::from(row == 9)));
    let expected = "read trace frame: column `complete_ns`: expected a number below 2^64-1, found `18446744073709551615`";
    let ends = Arc::new(ends.collect::<UInt64Array>());
    refused("complete_ns", Some(ends), expected);
    let mut ops = vec!["read"; 40_000];
    ops[30_000] = "reed";
    let expected = "read trace frame: column `op`: expected one of read, write, flush, discard, other, found `reed`";
    refused("op", Some(Arc::new(StringArray::from(ops))), expected);
}

/// A dictionary without any text, whose keys are all null.
#[test]
fn a_column_without_text_is_null() {
    let batch = one_batch(&many_reads(), &TraceMeta::default());
    let mut builder = StringDictionaryBuilder::<UInt8Type>::new();
    (0..40_000).for_each(|_| builder.append_null());
    let nulls: ArrayRef = Arc::new(builder.finish());
    let records = read(&with_column(&batch, "comm", Some(&nulls))).unwrap();
    assert!(records.iter().all(|record| record.comm.is_none()));
}
