//! Records to Arrow columns.

use super::column::Column;
use super::schema;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, Int32Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;
use q2c_model::{DevId, IoRecord, Nanos};
use std::sync::Arc;

/// All columns of `records`.
pub(super) fn batch(records: &[IoRecord]) -> Result<RecordBatch, ArrowError> {
    let encode = |column: &Column| array(*column, records);
    let arrays = Column::ALL.iter().map(encode).collect::<Result<_, _>>()?;
    RecordBatch::try_new(schema::schema(), arrays)
}

fn array(column: Column, records: &[IoRecord]) -> Result<ArrayRef, ArrowError> {
    Ok(match column {
        Column::Id => u64s(records, |r| Some(r.id)),
        Column::Layer => texts(records, |r| Some(r.layer.name()))?,
        Column::Device => devices(records)?,
        Column::Op => texts(records, |r| Some(r.op.name()))?,
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

/// The text of a device is made once per run of equal devices.
fn devices(records: &[IoRecord]) -> Result<ArrayRef, ArrowError> {
    let mut column = StringDictionaryBuilder::<Int32Type>::new();
    let mut last: Option<(DevId, String)> = None;
    for device in records.iter().map(|record| record.device) {
        if last.as_ref().is_none_or(|(known, _)| *known != device) {
            last = Some((device, device.to_string()));
        }
        column.append(last.as_ref().map_or("", |(_, text)| text))?;
    }
    Ok(Arc::new(column.finish()))
}
