//! Records to Arrow columns.

use super::column::Column;
use super::schema;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array, new_null_array,
};
use arrow_schema::ArrowError;
use q2c_model::{IoRecord, Layer, Nanos, Op};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// All columns of `records`. Columns that no record has cost next to nothing: most sources have few.
pub(super) fn batch(records: &[IoRecord]) -> Result<RecordBatch, ArrowError> {
    let empty = empty(records);
    let encode = |column: &Column| match empty.contains(column) {
        true => Ok(new_null_array(&column.data_type(), records.len())),
        false => array(*column, records),
    };
    let arrays = Column::ALL.iter().map(encode).collect::<Result<_, _>>()?;
    RecordBatch::try_new(schema::schema(), arrays)
}

/// The columns that no record has, found in one pass.
fn empty(records: &[IoRecord]) -> Vec<Column> {
    let mut any = [false; OPTIONAL.len()];
    for record in records {
        for (any, has) in any.iter_mut().zip(has(record)) {
            *any |= has;
        }
    }
    let all = OPTIONAL.iter().zip(any);
    all.filter_map(|(column, any)| (!any).then_some(*column))
        .collect()
}

/// Columns that may be empty, in the order of [`has`].
const OPTIONAL: [Column; 20] = [
    Column::QueueNs,
    Column::GetrqNs,
    Column::InsertNs,
    Column::IssueNs,
    Column::CompleteNs,
    Column::SubmitNs,
    Column::SubmitEndNs,
    Column::ReapNs,
    Column::SleepAskedNs,
    Column::SleptNs,
    Column::Missed,
    Column::Pid,
    Column::Comm,
    Column::CpuSubmit,
    Column::CpuComplete,
    Column::Hctx,
    Column::Tag,
    Column::Cgroup,
    Column::Error,
    Column::MergedInto,
];

/// Which of [`OPTIONAL`] the record has.
fn has(r: &IoRecord) -> [bool; OPTIONAL.len()] {
    [
        r.queue_ns.is_some(),
        r.getrq_ns.is_some(),
        r.insert_ns.is_some(),
        r.issue_ns.is_some(),
        r.complete_ns.is_some(),
        r.submit_ns.is_some(),
        r.submit_end_ns.is_some(),
        r.reap_ns.is_some(),
        r.sleep_asked_ns.is_some(),
        r.slept_ns.is_some(),
        r.missed.is_some(),
        r.pid.is_some(),
        r.comm.is_some(),
        r.cpu_submit.is_some(),
        r.cpu_complete.is_some(),
        r.hctx.is_some(),
        r.tag.is_some(),
        r.cgroup.is_some(),
        r.error.is_some(),
        r.merged_into.is_some(),
    ]
}

fn array(column: Column, records: &[IoRecord]) -> Result<ArrayRef, ArrowError> {
    Ok(match column {
        Column::Id => u64s(records, |r| Some(r.id)),
        Column::Layer => words(records, |r| r.layer, Layer::name)?,
        Column::Device => devices(records)?,
        Column::Op => words(records, |r| r.op, Op::name)?,
        Column::Flags => u32s(records, |r| Some(r.flags.0)),
        Column::Sector => u64s(records, |r| Some(r.sector.0)),
        Column::Bytes => u64s(records, |r| Some(r.bytes.0)),
        Column::Lane => u32s(records, |r| Some(r.lane)),
        Column::DepthAtSubmit => u32s(records, |r| Some(r.depth_at_submit)),
        Column::QueueNs => times(records, |r| r.queue_ns),
        Column::GetrqNs => times(records, |r| r.getrq_ns),
        Column::InsertNs => times(records, |r| r.insert_ns),
        Column::IssueNs => times(records, |r| r.issue_ns),
        Column::CompleteNs => times(records, |r| r.complete_ns),
        Column::SubmitNs => times(records, |r| r.submit_ns),
        Column::SubmitEndNs => times(records, |r| r.submit_end_ns),
        Column::ReapNs => times(records, |r| r.reap_ns),
        Column::SleepAskedNs => times(records, |r| r.sleep_asked_ns),
        Column::SleptNs => times(records, |r| r.slept_ns),
        Column::Missed => Arc::new(records.iter().map(|r| r.missed).collect::<BooleanArray>()),
        Column::Pid => u32s(records, |r| r.pid),
        Column::Comm => texts(records, |r| r.comm.as_deref())?,
        Column::CpuSubmit => u32s(records, |r| r.cpu_submit),
        Column::CpuComplete => u32s(records, |r| r.cpu_complete),
        Column::Hctx => u32s(records, |r| r.hctx),
        Column::Tag => u32s(records, |r| r.tag),
        Column::Cgroup => u64s(records, |r| r.cgroup),
        Column::Error => Arc::new(records.iter().map(|r| r.error).collect::<Int32Array>()),
        Column::MergedInto => u64s(records, |r| r.merged_into),
    })
}

fn u64s(records: &[IoRecord], get: impl Fn(&IoRecord) -> Option<u64>) -> ArrayRef {
    Arc::new(records.iter().map(get).collect::<UInt64Array>())
}

fn times(records: &[IoRecord], get: impl Fn(&IoRecord) -> Option<Nanos>) -> ArrayRef {
    u64s(records, |record| get(record).map(|ns| ns.0))
}

fn u32s(records: &[IoRecord], get: impl Fn(&IoRecord) -> Option<u32>) -> ArrayRef {
    Arc::new(records.iter().map(get).collect::<UInt32Array>())
}

fn texts(
    records: &[IoRecord],
    get: impl Fn(&IoRecord) -> Option<&str>,
) -> Result<ArrayRef, ArrowError> {
    let mut column = StringDictionaryBuilder::<Int32Type>::new();
    for record in records {
        match get(record) {
            Some(text) => {
                column.append(text)?;
            }
            None => column.append_null(),
        }
    }
    Ok(Arc::new(column.finish()))
}

/// The text of a device is made once in a batch.
fn devices(records: &[IoRecord]) -> Result<ArrayRef, ArrowError> {
    words(records, |record| record.device, |device| device.to_string())
}

/// Few values, each of which becomes a text once.
fn words<V: Copy + Eq + Hash, T: AsRef<str>>(
    records: &[IoRecord],
    get: impl Fn(&IoRecord) -> V,
    text: impl Fn(V) -> T,
) -> Result<ArrayRef, ArrowError> {
    let mut keys = HashMap::new();
    let mut texts: Vec<T> = Vec::new();
    let mut last = None;
    let key = |record: &IoRecord| {
        let value = get(record);
        match last {
            Some((known, key)) if known == value => key,
            _ => {
                let key = *keys.entry(value).or_insert_with(|| {
                    texts.push(text(value));
                    // There are no more values than records, of which a push has fewer than 2^31.
                    texts.len() as i32 - 1
                });
                last = Some((value, key));
                key
            }
        }
    };
    let keys: Int32Array = records.iter().map(key).map(Some).collect();
    let texts = Arc::new(StringArray::from_iter_values(texts));
    Ok(Arc::new(DictionaryArray::try_new(keys, texts)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_optional_column_can_be_empty() {
        let optional = Column::ALL.iter().filter(|column| column.is_optional());
        assert!(optional.eq(&OPTIONAL));
    }
}
