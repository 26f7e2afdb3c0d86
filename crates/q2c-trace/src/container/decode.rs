use super::column::Column;
use crate::process_name;
use crate::span::NONE;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayAccessor, RecordBatch};
use arrow_schema::DataType;
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, OpFlags, Sectors};

#[derive(Debug)]
pub(super) struct BadCell {
    pub(super) column: Column,
    pub(super) expected: &'static str,
    pub(super) found: String,
}

/// The records of a batch, which must have every column that is never null; other columns may be
/// absent.
pub(super) fn records(batch: &RecordBatch) -> Result<Vec<IoRecord>, BadCell> {
    let mut records = vec![blank(); batch.num_rows()];
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        if let Ok(column) = field.name().parse() {
            refuse_none(column, array)?;
            fill(column, array, &mut records)?;
        }
    }
    Ok(records)
}

/// Refuses 2^64-1 as a value: spans use it for what is unknown, and no time, place or id is so
/// large.
fn refuse_none(column: Column, array: &dyn Array) -> Result<(), BadCell> {
    let Some(cells) = array.as_primitive_opt::<UInt64Type>() else {
        return Ok(());
    };
    // Cells without a value may hold anything: the second look is exact.
    let has_none = cells.values().contains(&NONE) && cells.iter().any(|cell| cell == Some(NONE));
    if !has_none {
        return Ok(());
    }
    Err(BadCell {
        column,
        expected: "a number below 2^64-1",
        found: NONE.to_string(),
    })
}

fn blank() -> IoRecord {
    let device = DevId::default();
    IoRecord::new(0, Layer::User, device, Op::Other, Sectors(0), Bytes(0))
}

fn fill(column: Column, array: &dyn Array, records: &mut [IoRecord]) -> Result<(), BadCell> {
    match column {
        Column::Id => u64s(array, records, |r, v| r.id = v),
        Column::Layer => return words(column, array, records, layer, |r, v| r.layer = v),
        Column::Device => return words(column, array, records, device, |r, v| r.device = v),
        Column::Op => return words(column, array, records, op, |r, v| r.op = v),
        Column::Flags => u32s(array, records, |r, v| r.flags = OpFlags(v)),
        Column::Sector => u64s(array, records, |r, v| r.sector = Sectors(v)),
        Column::Bytes => u64s(array, records, |r, v| r.bytes = Bytes(v)),
        Column::Lane => u32s(array, records, |r, v| r.lane = v),
        Column::DepthAtSubmit => u32s(array, records, |r, v| r.depth_at_submit = v),
        Column::QueueNs => u64s(array, records, |r, v| r.queue_ns = Some(Nanos(v))),
        Column::GetrqNs => u64s(array, records, |r, v| r.getrq_ns = Some(Nanos(v))),
        Column::InsertNs => u64s(array, records, |r, v| r.insert_ns = Some(Nanos(v))),
        Column::IssueNs => u64s(array, records, |r, v| r.issue_ns = Some(Nanos(v))),
        Column::CompleteNs => u64s(array, records, |r, v| r.complete_ns = Some(Nanos(v))),
        Column::SubmitNs => u64s(array, records, |r, v| r.submit_ns = Some(Nanos(v))),
        Column::SubmitEndNs => u64s(array, records, |r, v| r.submit_end_ns = Some(Nanos(v))),
        Column::ReapNs => u64s(array, records, |r, v| r.reap_ns = Some(Nanos(v))),
        Column::SleepAskedNs => u64s(array, records, |r, v| r.sleep_asked_ns = Some(Nanos(v))),
        Column::SleptNs => u64s(array, records, |r, v| r.slept_ns = Some(Nanos(v))),
        Column::Missed => put(array.as_boolean(), records, |r, v| r.missed = Some(v)),
        Column::Pid => u32s(array, records, |r, v| r.pid = Some(v)),
        Column::Comm => return words(column, array, records, comm, |r, v| r.comm = Some(v)),
        Column::CpuSubmit => u32s(array, records, |r, v| r.cpu_submit = Some(v)),
        Column::CpuComplete => u32s(array, records, |r, v| r.cpu_complete = Some(v)),
        Column::Hctx => u32s(array, records, |r, v| r.hctx = Some(v)),
        Column::Tag => u32s(array, records, |r, v| r.tag = Some(v)),
        Column::Cgroup => u64s(array, records, |r, v| r.cgroup = Some(v)),
        Column::Error => put(array.as_primitive::<Int32Type>(), records, |r, v| {
            r.error = Some(v);
        }),
        Column::MergedInto => u64s(array, records, |r, v| r.merged_into = Some(v)),
    }
    Ok(())
}

fn put<T>(
    cells: impl IntoIterator<Item = Option<T>>,
    records: &mut [IoRecord],
    set: impl Fn(&mut IoRecord, T),
) {
    for (cell, record) in cells.into_iter().zip(records) {
        if let Some(value) = cell {
            set(record, value);
        }
    }
}

fn u64s(array: &dyn Array, records: &mut [IoRecord], set: impl Fn(&mut IoRecord, u64)) {
    put(array.as_primitive::<UInt64Type>(), records, set);
}

fn u32s(array: &dyn Array, records: &mut [IoRecord], set: impl Fn(&mut IoRecord, u32)) {
    put(array.as_primitive::<UInt32Type>(), records, set);
}

/// Fills in a text column. Each distinct text is parsed once.
fn words<T: Clone>(
    column: Column,
    array: &dyn Array,
    records: &mut [IoRecord],
    parse: impl Fn(&str) -> Result<T, &'static str>,
    set: impl Fn(&mut IoRecord, T),
) -> Result<(), BadCell> {
    let bad = |expected, found: String| BadCell {
        column,
        expected,
        found,
    };
    let dictionary = array.as_dictionary_opt::<Int32Type>();
    let dictionary = dictionary
        .and_then(|dictionary| Some((dictionary, dictionary.values().as_string_opt::<i32>()?)));
    // A slice of a long table can have a dictionary that is much longer than the slice.
    let Some((array, texts)) =
        dictionary.filter(|(dictionary, texts)| texts.len() <= dictionary.len())
    else {
        return other_words(array, records, parse, set)
            .map_err(|(expected, found)| bad(expected, found));
    };
    let parsed: Vec<Result<T, &'static str>> =
        texts.iter().map(|text| parse(text.unwrap_or(""))).collect();
    for (key, record) in array.keys().iter().zip(records) {
        let Some(key) = key else { continue };
        match usize::try_from(key).ok().and_then(|at| parsed.get(at)) {
            Some(Ok(value)) => set(record, value.clone()),
            Some(Err(expected)) => return Err(bad(expected, shorten(texts.value(key as usize)))),
            None => return Err(bad("a key of the dictionary", key.to_string())),
        }
    }
    Ok(())
}

/// Fills in a text column of any encoding. A text that follows its equal is not parsed again.
fn other_words<T: Clone>(
    array: &dyn Array,
    records: &mut [IoRecord],
    parse: impl Fn(&str) -> Result<T, &'static str>,
    set: impl Fn(&mut IoRecord, T),
) -> Result<(), (&'static str, String)> {
    let text_at = texts(array).ok_or_else(|| ("text", array.data_type().to_string()))?;
    let mut last: Option<(&str, T)> = None;
    for (row, record) in records.iter_mut().enumerate() {
        let Some(text) = text_at(row) else { continue };
        let value = match &last {
            Some((same, value)) if *same == text => value.clone(),
            _ => parse(text).map_err(|expected| (expected, shorten(text)))?,
        };
        set(record, value.clone());
        last = Some((text, value));
    }
    Ok(())
}

type TextAt<'a> = Box<dyn Fn(usize) -> Option<&'a str> + 'a>;

/// The texts of a column; `None` when it does not hold text.
fn texts(array: &dyn Array) -> Option<TextAt<'_>> {
    fn text_at<'a, A: ArrayAccessor<Item = &'a str> + 'a>(cells: A) -> TextAt<'a> {
        Box::new(move |row| cells.is_valid(row).then(|| cells.value(row)))
    }
    Some(match array.data_type() {
        DataType::Utf8 => text_at(array.as_string::<i32>()),
        DataType::LargeUtf8 => text_at(array.as_string::<i64>()),
        DataType::Utf8View => text_at(array.as_string_view()),
        DataType::Dictionary(_, _) => {
            let cells = array.as_any_dictionary();
            if cells.values().is_empty() {
                return Some(Box::new(|_| None));
            }
            let (keys, text_of) = (cells.normalized_keys(), texts(cells.values())?);
            Box::new(move |row| text_of(*keys.get(row).filter(|_| cells.is_valid(row))?))
        }
        _ => return None,
    })
}

fn layer(text: &str) -> Result<Layer, &'static str> {
    let layers = [Layer::User, Layer::Block];
    layers
        .into_iter()
        .find(|layer| layer.name() == text)
        .ok_or("`user` or `block`")
}

fn op(text: &str) -> Result<Op, &'static str> {
    text.parse()
        .map_err(|_| "one of read, write, flush, discard, other")
}

fn comm(text: &str) -> Result<String, &'static str> {
    Ok(process_name::kept(text))
}

fn shorten(text: &str) -> String {
    const MOST: usize = 200;
    text.chars().take(MOST).collect()
}

/// Parses a device such as `259:0`.
pub(crate) fn device(text: &str) -> Result<DevId, &'static str> {
    let numbers = || {
        let (major, minor) = text.split_once(':')?;
        Some(DevId {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    };
    numbers().ok_or("a device as major:minor, such as 259:0")
}
