//! Converts records to Arrow arrays, and back.

use super::column::Column;
use super::error::{Result, TraceError, input_error};
use super::schema;
use crate::blktrace::IntMap;
use crate::process::cut_name;
use crate::span::NONE;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{
    Array, ArrayAccessor, ArrayRef, ArrowPrimitiveType, DictionaryArray, Int32Array,
    PrimitiveArray, RecordBatch, StringArray, new_null_array,
};
use arrow_schema::{ArrowError, DataType};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, OpFlags, Sectors};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// A field of a record whose column holds numbers.
pub(super) trait NumberCell<N> {
    fn get(&self) -> Option<N>;
    fn set(&mut self, number: N);
}

macro_rules! number_fields {
    ($($kind:ident $([$inner:tt])? as $number:ident;)*) => {$(
        impl NumberCell<$number> for $kind {
            fn get(&self) -> Option<$number> {
                Some((*self)$(.$inner)?)
            }
            fn set(&mut self, number: $number) {
                (*self)$(.$inner)? = number;
            }
        }
    )*};
}

number_fields! {
    u64 as u64;
    u32 as u32;
    i32 as i32;
    Nanos[0] as u64;
    Sectors[0] as u64;
    Bytes[0] as u64;
    OpFlags[0] as u32;
}

impl<N, T: NumberCell<N> + Default> NumberCell<N> for Option<T> {
    fn get(&self) -> Option<N> {
        self.as_ref()?.get()
    }
    fn set(&mut self, number: N) {
        self.get_or_insert_default().set(number);
    }
}

pub(super) fn set_cells<T>(
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

/// Makes a column of numbers. `all` is true if every record has one.
pub(super) fn number_array<A: ArrowPrimitiveType>(
    records: &[IoRecord],
    all: bool,
    get: impl Fn(&IoRecord) -> Option<A::Native>,
) -> ArrayRef {
    let numbers = records.iter().map(get);
    Arc::new(if all {
        PrimitiveArray::<A>::from_iter_values(numbers.map(Option::unwrap_or_default))
    } else {
        PrimitiveArray::<A>::from_iter(numbers)
    })
}

pub(super) fn write_some(row: &mut Vec<u8>, value: Option<impl Display>) -> io::Result<()> {
    value.map_or(Ok(()), |value| write!(row, "{value}"))
}

/// Makes the columns of batches, and reuses the arrays that batches have in common.
pub(super) struct Encoder {
    layers: Arc<StringArray>,
    ops: Arc<StringArray>,
    devices: Devices,
    /// Length of the last batch, and its arrays with only nulls, one for each type.
    nulls: (usize, Vec<(DataType, ArrayRef)>),
}

impl Encoder {
    pub(super) fn new() -> Self {
        let layers = [Layer::User, Layer::Block].map(Layer::name);
        Encoder {
            layers: Arc::new(StringArray::from_iter_values(layers)),
            ops: Arc::new(StringArray::from_iter_values(Op::ALL.map(Op::name))),
            devices: Devices::default(),
            nulls: (0, Vec::new()),
        }
    }

    /// Makes all columns of `records`. Batches share columns without any cell, which then cost next
    /// to nothing; most sources fill few columns.
    pub(super) fn batch(&mut self, records: &[IoRecord]) -> Result<RecordBatch, ArrowError> {
        let mut arrays = Vec::with_capacity(Column::ALL.len());
        for (&column, count) in Column::ALL.iter().zip(Column::count_known(records)) {
            arrays.push(match column {
                Column::Layer => keyed_column(records, &self.layers, |r| r.layer as i32)?,
                Column::Op => keyed_column(records, &self.ops, |r| r.op as i32)?,
                Column::Device => self.devices.column(records)?,
                _ if count == 0 && column.is_optional() => {
                    self.null_array(&column.data_type(), records.len())
                }
                Column::Comm => {
                    let names = records.iter().map(|record| record.comm.as_deref());
                    Arc::new(names.collect::<DictionaryArray<Int32Type>>())
                }
                _ => column.array(records, !column.is_optional() || count == records.len()),
            });
        }
        RecordBatch::try_new(schema::schema(), arrays)
    }

    fn null_array(&mut self, kind: &DataType, len: usize) -> ArrayRef {
        let (last_len, arrays) = &mut self.nulls;
        if *last_len != len {
            arrays.clear();
            *last_len = len;
        }
        if let Some((_, array)) = arrays.iter().find(|(data_type, _)| data_type == kind) {
            return array.clone();
        }
        let array = new_null_array(kind, len);
        arrays.push((kind.clone(), array.clone()));
        array
    }
}

/// Makes a text column whose distinct values are known in advance.
fn keyed_column(
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
    /// The texts as an array; `None` if a text was added since.
    values: Option<Arc<StringArray>>,
}

impl Devices {
    /// With this number of devices or more, the next batch starts with an empty table.
    const MAX_DEVICES: usize = 64 * 1024;

    fn column(&mut self, records: &[IoRecord]) -> Result<ArrayRef, ArrowError> {
        if self.texts.len() >= Self::MAX_DEVICES {
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
            // There are no more texts than records, and a push has fewer than 2^31 records.
            texts.len() as i32 - 1
        })
    }
}

/// The value that was expected in a cell, and the value that was found.
type BadCell = (&'static str, String);

/// Makes the records of a batch, which must have every column that is never null. Other columns may
/// be absent. `path` names the trace in messages.
pub(super) fn records(batch: &RecordBatch, path: &Path) -> Result<Vec<IoRecord>> {
    let (layer, device) = (Layer::User, DevId::default());
    let blank = IoRecord::new(0, layer, device, Op::Other, Sectors(0), Bytes(0));
    let mut records = vec![blank; batch.num_rows()];
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        if let Ok(column) = field.name().parse() {
            let filled = refuse_unknown(array).and_then(|()| fill(column, array, &mut records));
            filled.map_err(|(expected, found)| bad_value(path, column, expected, &found))?;
        }
    }
    Ok(records)
}

pub(super) fn bad_value(path: &Path, column: Column, expected: &str, found: &str) -> TraceError {
    let path = path.display();
    let message =
        format!("read trace {path}: column `{column}`: expected {expected}, found `{found}`");
    input_error(message)
}

/// Fails if a value is 2^64-1, which spans use for unknown; no time, place or id is as large.
fn refuse_unknown(array: &dyn Array) -> Result<(), BadCell> {
    let Some(cells) = array.as_primitive_opt::<UInt64Type>() else {
        return Ok(());
    };
    // A null cell may hold any value, so the second check looks at real values only.
    if cells.values().contains(&NONE) && cells.iter().any(|cell| cell == Some(NONE)) {
        return Err(("a number below 2^64-1", NONE.to_string()));
    }
    Ok(())
}

fn fill(column: Column, array: &dyn Array, records: &mut [IoRecord]) -> Result<(), BadCell> {
    match column {
        Column::Layer => set_texts(array, records, parse_layer, |r, v| r.layer = v),
        Column::Device => {
            let expected = "a device as major:minor, such as 259:0";
            let parse = |text: &str| text.parse().map_err(|_| expected);
            set_texts(array, records, parse, |r, v| r.device = v)
        }
        Column::Op => {
            let expected = "one of read, write, flush, discard, other";
            let parse = |text: &str| text.parse().map_err(|_| expected);
            set_texts(array, records, parse, |r, v| r.op = v)
        }
        Column::Comm => {
            let parse = |text: &str| Ok(cut_name(text));
            set_texts(array, records, parse, |r, v| r.comm = Some(v))
        }
        numeric => {
            numeric.fill(array, records);
            Ok(())
        }
    }
}

fn parse_layer(text: &str) -> Result<Layer, &'static str> {
    let mut layers = [Layer::User, Layer::Block].into_iter();
    let layer = layers.find(|layer| layer.name() == text);
    layer.ok_or("`user` or `block`")
}

/// Fills in a text column with a dictionary. Each distinct text is parsed once.
fn set_texts<T: Clone>(
    array: &dyn Array,
    records: &mut [IoRecord],
    parse: impl Fn(&str) -> Result<T, &'static str>,
    set: impl Fn(&mut IoRecord, T),
) -> Result<(), BadCell> {
    let dictionary = array.as_dictionary_opt::<Int32Type>();
    let texts = dictionary.and_then(|dictionary| dictionary.values().as_string_opt::<i32>());
    // A slice of a long table can have a much longer dictionary than the slice needs.
    let small_dictionary = dictionary
        .zip(texts)
        .filter(|(array, texts)| texts.len() <= array.len());
    let Some((array, texts)) = small_dictionary else {
        return set_other_texts(array, records, parse, set);
    };
    let parsed: Vec<_> = texts.iter().map(|text| parse(text.unwrap_or(""))).collect();
    for (key, record) in array.keys().iter().zip(records) {
        let Some(key) = key else { continue };
        match usize::try_from(key).ok().and_then(|at| parsed.get(at)) {
            Some(Ok(value)) => set(record, value.clone()),
            Some(Err(expected)) => return Err((expected, shorten(texts.value(key as usize)))),
            None => return Err(("a key of the dictionary", key.to_string())),
        }
    }
    Ok(())
}

/// Fills in a text column of any encoding. A text equal to the previous one is not parsed again.
fn set_other_texts<T: Clone>(
    array: &dyn Array,
    records: &mut [IoRecord],
    parse: impl Fn(&str) -> Result<T, &'static str>,
    set: impl Fn(&mut IoRecord, T),
) -> Result<(), BadCell> {
    let text_at = text_reader(array).ok_or_else(|| ("text", array.data_type().to_string()))?;
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

/// Returns the texts of a column; `None` if it does not hold text.
fn text_reader(array: &dyn Array) -> Option<TextAt<'_>> {
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
            let (keys, text_of) = (cells.normalized_keys(), text_reader(cells.values())?);
            Box::new(move |row| text_of(*keys.get(row).filter(|_| cells.is_valid(row))?))
        }
        _ => return None,
    })
}

fn shorten(text: &str) -> String {
    text.chars().take(200).collect()
}
