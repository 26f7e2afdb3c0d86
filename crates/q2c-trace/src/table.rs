//! Plain tables as Parquet: results for other programs, not traces.

use crate::TraceError;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub enum TableColumn {
    /// Texts.
    Text(String, Vec<String>),
    /// Numbers; [`f64::NAN`] becomes null.
    Number(String, Vec<f64>),
}

/// Writes a table; a file of that name is replaced.
///
/// # Errors
/// When the disk refuses, or the columns are not equally long.
pub fn write(path: &Path, columns: &[TableColumn]) -> Result<(), TraceError> {
    let failed = |source| TraceError::Parquet {
        doing: "write table",
        path: path.to_owned(),
        source,
    };
    let array = |column: &TableColumn| -> (String, ArrayRef) {
        match column {
            TableColumn::Text(name, texts) => {
                let texts = StringArray::from_iter_values(texts);
                (name.clone(), Arc::new(texts))
            }
            TableColumn::Number(name, numbers) => {
                let told = numbers.iter().map(|n| Some(*n).filter(|n| !n.is_nan()));
                (name.clone(), Arc::new(Float64Array::from_iter(told)))
            }
        }
    };
    let batch = RecordBatch::try_from_iter(columns.iter().map(array));
    let batch = batch.map_err(|e| failed(ParquetError::from(e)))?;
    let file = File::create(path).map_err(|source| TraceError::Io {
        doing: "write table",
        path: path.to_owned(),
        source,
    })?;
    let zstd = Compression::ZSTD(Default::default());
    let properties = WriterProperties::builder().set_compression(zstd).build();
    let written = ArrowWriter::try_new(file, batch.schema(), Some(properties))
        .and_then(|mut writer| writer.write(&batch).and_then(|()| writer.close()));
    written.map(|_| ()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let columns = [
            TableColumn::Text("rule".to_owned(), vec!["min".to_owned(), "pas".to_owned()]),
            TableColumn::Number("ratio".to_owned(), vec![0.5, f64::NAN]),
        ];
        write(&path, &columns).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
        let batch = reader.build().unwrap().next().unwrap().unwrap();
        let texts = batch
            .column(0)
            .as_any()
            .downcast_ref::<StringArray>()
            .unwrap();
        assert_eq!((texts.value(0), texts.value(1)), ("min", "pas"));
        let numbers = batch
            .column(1)
            .as_any()
            .downcast_ref::<Float64Array>()
            .unwrap();
        assert_eq!((numbers.value(0), numbers.is_null(1)), (0.5, true));
        assert_eq!(batch.schema().field(1).name(), "ratio");
    }
}
