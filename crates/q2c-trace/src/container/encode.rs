use super::column::Column;
use super::schema;
use crate::blktrace::IntMap;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array, new_null_array,
};
use arrow_schema::{ArrowError, DataType};
use q2c_model::{DevId, IoRecord, Layer, Nanos, Op};
use std::sync::Arc;

/// Makes the columns of one batch after another and keeps the arrays that batches share.
pub(super) struct Encoder {
    layers: Arc<StringArray>,
    ops: Arc<StringArray>,
    devices: Devices,
    /// Length of the last batch, and its columns that hold only nulls, one for each type.
    nulls: (usize, Vec<(DataType, ArrayRef)>),
}

impl Encoder {
    pub(super) fn new() -> Self {
        let layers = [Layer::User, Layer::Block].map(Layer::name);
        let ops = Op::ALL.map(Op::name);
        Encoder {
            layers: Arc::new(StringArray::from_iter_values(layers)),
            ops: Arc::new(StringArray::from_iter_values(ops)),
            devices: Devices::default(),
            nulls: (0, Vec::new()),
        }
    }

    /// All columns of `records`. A column that no record has is shared between batches and costs
    /// next to nothing; most sources fill few columns.
    pub(super) fn batch(&mut self, records: &[IoRecord]) -> Result<RecordBatch, ArrowError> {
        let present = present(records);
        let mut arrays = Vec::with_capacity(Column::ALL.len());
        for &column in Column::ALL {
            let at = OPTIONAL.iter().position(|optional| *optional == column);
            arrays.push(match at.map(|at| present[at]) {
                Some(0) => self.null(&column.data_type(), records.len()),
                Some(some) => array(column, records, some == records.len())?,
                None => self.always(column, records)?,
            });
        }
        RecordBatch::try_new(schema::schema(), arrays)
    }

    fn null(&mut self, kind: &DataType, len: usize) -> ArrayRef {
        let (known, arrays) = &mut self.nulls;
        if *known != len {
            arrays.clear();
            *known = len;
        }
        if let Some((_, array)) = arrays.iter().find(|(data_type, _)| data_type == kind) {
            return array.clone();
        }
        let array = new_null_array(kind, len);
        arrays.push((kind.clone(), array.clone()));
        array
    }

    fn always(&mut self, column: Column, records: &[IoRecord]) -> Result<ArrayRef, ArrowError> {
        Ok(match column {
            Column::Layer => keyed(records, &self.layers, |r| match r.layer {
                Layer::User => 0,
                Layer::Block => 1,
            })?,
            Column::Op => keyed(records, &self.ops, |r| r.op as i32)?,
            Column::Device => self.devices.column(records)?,
            Column::Id => whole_u64s(records, |r| r.id),
            Column::Sector => whole_u64s(records, |r| r.sector.0),
            Column::Bytes => whole_u64s(records, |r| r.bytes.0),
            Column::Flags => whole_u32s(records, |r| r.flags.0),
            Column::Lane => whole_u32s(records, |r| r.lane),
            Column::DepthAtSubmit => whole_u32s(records, |r| r.depth_at_submit),
            _ => array(column, records, false)?,
        })
    }
}

fn present(records: &[IoRecord]) -> [usize; OPTIONAL.len()] {
    let mut present = [0; OPTIONAL.len()];
    for record in records {
        for (count, has) in present.iter_mut().zip(has(record)) {
            *count += usize::from(has);
        }
    }
    present
}

/// The columns that may be null, which stand behind the others, in the order of [`has`].
const OPTIONAL: &[Column] = Column::ALL.split_at(9).1;

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

/// Makes an optional column. `all` says that every record has it.
fn array(column: Column, records: &[IoRecord], all: bool) -> Result<ArrayRef, ArrowError> {
    let times = |get: fn(&IoRecord) -> Option<Nanos>| u64s(records, all, |r| get(r).map(|ns| ns.0));
    let u32s = |get: fn(&IoRecord) -> Option<u32>| u32s(records, all, get);
    Ok(match column {
        Column::QueueNs => times(|r| r.queue_ns),
        Column::GetrqNs => times(|r| r.getrq_ns),
        Column::InsertNs => times(|r| r.insert_ns),
        Column::IssueNs => times(|r| r.issue_ns),
        Column::CompleteNs => times(|r| r.complete_ns),
        Column::SubmitNs => times(|r| r.submit_ns),
        Column::SubmitEndNs => times(|r| r.submit_end_ns),
        Column::ReapNs => times(|r| r.reap_ns),
        Column::SleepAskedNs => times(|r| r.sleep_asked_ns),
        Column::SleptNs => times(|r| r.slept_ns),
        Column::Missed => Arc::new(records.iter().map(|r| r.missed).collect::<BooleanArray>()),
        Column::Pid => u32s(|r| r.pid),
        Column::Comm => texts(records, |r| r.comm.as_deref())?,
        Column::CpuSubmit => u32s(|r| r.cpu_submit),
        Column::CpuComplete => u32s(|r| r.cpu_complete),
        Column::Hctx => u32s(|r| r.hctx),
        Column::Tag => u32s(|r| r.tag),
        Column::Cgroup => u64s(records, all, |r| r.cgroup),
        Column::Error => Arc::new(records.iter().map(|r| r.error).collect::<Int32Array>()),
        Column::MergedInto => u64s(records, all, |r| r.merged_into),
        always => return Err(ArrowError::SchemaError(format!("{always} is not optional"))),
    })
}

fn whole_u64s(records: &[IoRecord], get: impl Fn(&IoRecord) -> u64) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(records.iter().map(get)))
}

fn whole_u32s(records: &[IoRecord], get: impl Fn(&IoRecord) -> u32) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(records.iter().map(get)))
}

fn u64s(records: &[IoRecord], all: bool, get: impl Fn(&IoRecord) -> Option<u64>) -> ArrayRef {
    if all {
        whole_u64s(records, |r| get(r).unwrap_or_default())
    } else {
        Arc::new(records.iter().map(get).collect::<UInt64Array>())
    }
}

fn u32s(records: &[IoRecord], all: bool, get: impl Fn(&IoRecord) -> Option<u32>) -> ArrayRef {
    if all {
        whole_u32s(records, |r| get(r).unwrap_or_default())
    } else {
        Arc::new(records.iter().map(get).collect::<UInt32Array>())
    }
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

/// Makes a text column whose distinct values are known before.
fn keyed(
    records: &[IoRecord],
    values: &Arc<StringArray>,
    key: impl Fn(&IoRecord) -> i32,
) -> Result<ArrayRef, ArrowError> {
    let keys = Int32Array::from_iter_values(records.iter().map(key));
    Ok(Arc::new(DictionaryArray::try_new(keys, values.clone())?))
}

#[derive(Default)]
struct Devices {
    keys: IntMap<u64, i32>,
    texts: Vec<String>,
    /// The texts as an array; `None` when a text was added since.
    values: Option<Arc<StringArray>>,
}

impl Devices {
    /// Number of devices from which the next batch starts with an empty table.
    const MOST: usize = 64 * 1024;

    fn column(&mut self, records: &[IoRecord]) -> Result<ArrayRef, ArrowError> {
        if self.texts.len() >= Self::MOST {
            *self = Devices::default();
        }
        let mut last = None;
        let keys = Int32Array::from_iter_values(records.iter().map(|record| match last {
            Some((known, key)) if known == record.device => key,
            _ => {
                let key = self.key(record.device);
                last = Some((record.device, key));
                key
            }
        }));
        let texts = &self.texts;
        let values = || Arc::new(StringArray::from_iter_values(texts));
        let values = self.values.get_or_insert_with(values);
        Ok(Arc::new(DictionaryArray::try_new(keys, values.clone())?))
    }

    fn key(&mut self, device: DevId) -> i32 {
        let number = u64::from(device.major) << 32 | u64::from(device.minor);
        let (texts, values) = (&mut self.texts, &mut self.values);
        *self.keys.entry(number).or_insert_with(|| {
            texts.push(device.to_string());
            *values = None;
            // There are no more texts than records, and one push has fewer than 2^31 records.
            texts.len() as i32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_optional_column_can_be_empty() {
        let optional = Column::ALL.iter().filter(|column| column.is_optional());
        assert!(optional.eq(OPTIONAL));
    }
}
