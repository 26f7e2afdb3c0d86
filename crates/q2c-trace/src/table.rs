//! Writes plain tables as Parquet, for results that other programs read. They are not traces.

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

/// One column: its name and its cells.
#[derive(Clone, Debug, PartialEq)]
pub enum TableColumn {
    /// A column of text.
    Text(String, Vec<String>),
    /// A column of numbers; [`f64::NAN`] becomes null.
    Number(String, Vec<f64>),
}

/// Returns a Parquet file with these columns as bytes. The caller writes it, and decides about
/// existing files. All columns must have the same length.
pub fn parquet(columns: &[TableColumn]) -> Result<Vec<u8>, ParquetError> {
    let to_array = |column: &TableColumn| -> (String, ArrayRef) {
        match column {
            TableColumn::Text(name, texts) => {
                (name.clone(), Arc::new(StringArray::from_iter_values(texts)))
            }
            TableColumn::Number(name, numbers) => {
                let values = numbers.iter().map(|n| Some(*n).filter(|n| !n.is_nan()));
                (name.clone(), Arc::new(Float64Array::from_iter(values)))
            }
        }
    };
    let batch = RecordBatch::try_from_iter(columns.iter().map(to_array))?;
    let mut bytes = Vec::new();
    let zstd = Compression::ZSTD(Default::default());
    let properties = WriterProperties::builder().set_compression(zstd).build();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    #[test]
    fn what_is_written_is_read_back() {
        let columns = [
            TableColumn::Text("rule".to_owned(), vec!["min".to_owned(), "pas".to_owned()]),
            TableColumn::Number("ratio".to_owned(), vec![0.5, f64::NAN]),
        ];
        let bytes = Bytes::from(parquet(&columns).unwrap());
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
        let batch = reader.build().unwrap().next().unwrap().unwrap();
        let (texts, numbers) = (batch.column(0).as_any(), batch.column(1).as_any());
        let texts = texts.downcast_ref::<StringArray>().unwrap();
        assert_eq!((texts.value(0), texts.value(1)), ("min", "pas"));
        let numbers = numbers.downcast_ref::<Float64Array>().unwrap();
        assert_eq!((numbers.value(0), numbers.is_null(1)), (0.5, true));
        assert_eq!(batch.schema().field(1).name(), "ratio");
    }
}
