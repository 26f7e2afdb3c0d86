//! The parts that make a file a trace: its columns, its description, and its first and last bytes.

use super::column::{Column, Packing};
use super::error::{Result, TraceError, input_error};
use super::reader::SharedFile;
use super::writer::io_error;
use arrow_schema::{Field, Metadata, Schema, SchemaRef};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::Length;
use parquet::schema::types::ColumnPath;
use q2c_model::{Exit, OrFault, TraceMeta};
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// The schema version that this crate writes and reads. It rises with every change of a column's
/// name, type or meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// Key of the version, a decimal number, in the file's key-value metadata.
const VERSION_KEY: &str = "q2c.trace.version";
/// Key of the [`q2c_model::TraceMeta`], as JSON.
const META_KEY: &str = "q2c.trace.meta";
/// Key of the names of the bits in `flags`, for readers that know Parquet but not q2c.
const FLAGS_KEY: &str = "q2c.trace.flags";
const FLAGS_WORDS: &str = "sync=1 meta=2 fua=4 readahead=8 polled=16";

/// Rows in a row group. Readers skip whole row groups, and a writer keeps one (about 10 MB) in
/// memory.
pub(super) const ROW_GROUP_ROWS: usize = 128 * 1024;

pub(super) fn schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let fields = Column::ALL.iter().copied().map(field);
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    });
    SCHEMA.clone()
}

pub(super) fn field(column: Column) -> Field {
    Field::new(column.name(), column.data_type(), column.is_optional())
}

/// Returns the metadata of a trace with this description, by key.
pub(super) fn entries(meta: &TraceMeta, path: &Path) -> Result<[(&'static str, String); 3]> {
    let tried = format!("describe trace {}", path.display());
    let json = serde_json::to_string(meta).or_fault(Exit::Device, tried)?;
    Ok([
        (VERSION_KEY, SCHEMA_VERSION.to_string()),
        (META_KEY, json),
        (FLAGS_KEY, FLAGS_WORDS.to_owned()),
    ])
}

pub(super) fn properties() -> Result<WriterProperties, ParquetError> {
    let base = WriterProperties::builder()
        .set_created_by(concat!("q2c ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // Without indexes, the columns reach up to the footer, so that a missing piece is detected
        // when the file is opened.
        .set_offset_index_disabled(true);
    Ok(Column::ALL.iter().copied().fold(base, set_packing).build())
}

fn set_packing(properties: WriterPropertiesBuilder, column: Column) -> WriterPropertiesBuilder {
    let path = ColumnPath::from(column.name());
    match column.packing() {
        Packing::Dictionary => properties.set_column_dictionary_enabled(path, true),
        Packing::Plain => properties.set_column_dictionary_enabled(path, false),
        Packing::Delta => properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
    }
}

/// Checks that a file has all columns of a trace with their types. Other columns are ignored.
pub(super) fn check_columns(found: &Schema, path: &Path) -> Result<()> {
    for &column in Column::ALL {
        let field = field_of(found, column, path)?;
        let fits = *field.data_type() == column.data_type();
        if !fits || field.is_nullable() && !column.is_optional() {
            let expected = type_name(&self::field(column));
            return Err(wrong_type(path, column, &expected, field));
        }
    }
    Ok(())
}

/// Returns the column's field in the schema of a file or table.
pub(super) fn field_of<'a>(found: &'a Schema, column: Column, path: &Path) -> Result<&'a Field> {
    found.field_with_name(column.name()).map_err(|_| {
        let path = path.display();
        let message =
            format!("open trace {path}: expected column `{column}`, found no such column");
        input_error(message)
    })
}

pub(super) fn wrong_type(path: &Path, column: Column, expected: &str, found: &Field) -> TraceError {
    let (path, found_type) = (path.display(), type_name(found));
    let message =
        format!("open trace {path}: column `{column}`: expected {expected}, found {found_type}");
    input_error(message)
}

pub(super) fn type_name(field: &Field) -> String {
    let nullable = if field.is_nullable() {
        "nullable"
    } else {
        "never null"
    };
    format!("{} ({nullable})", field.data_type())
}

const MAGIC: &[u8] = b"PAR1";

/// Separates the two errors that a user can act on: not a Parquet file, and a truncated Parquet
/// file. The library calls both "corrupt".
pub(super) fn check_ends(file: &SharedFile, path: &Path) -> Result<()> {
    let size = MAGIC.len() as u64;
    let end = |at| file.peek(at, size).map_err(io_error("open trace", path));
    let (first, last) = (end(0)?, end(file.len().saturating_sub(size))?);
    let describe = |bytes: &[u8]| match bytes {
        [] => "an empty file".to_owned(),
        bytes => format!("`{}`", bytes.escape_ascii()),
    };
    let path = path.display();
    if first != MAGIC {
        let bytes = describe(&first);
        let message = format!(
            "open trace {path}: expected a Parquet file (first bytes `PAR1`), found {bytes}; if another tool recorded it, make a trace of it: q2c trace import {path} --output NEW.parquet"
        );
        return Err(input_error(message));
    }
    if last != MAGIC || file.len() < 3 * size {
        let bytes = describe(&last);
        let message = format!(
            "open trace {path}: expected `PAR1` as last bytes, found {bytes}: the file is cut off; copy or record it again"
        );
        return Err(input_error(message));
    }
    Ok(())
}

/// Checks that every column chunk is between the first magic bytes and the footer. The library does
/// not check these numbers.
pub(super) fn check_layout(file: &SharedFile, meta: &ParquetMetaData, path: &Path) -> Result<()> {
    let tail = file.peek(file.len() - 8, 4);
    let tail = tail.map_err(io_error("open trace", path))?;
    let footer = <[u8; 4]>::try_from(tail).map_or(0, u32::from_le_bytes);
    let end = file.len().saturating_sub(8 + u64::from(footer));
    for chunk in meta.row_groups().iter().flat_map(|g| g.columns()) {
        let (data, len) = (chunk.data_page_offset(), chunk.compressed_size());
        let offset = chunk.dictionary_page_offset().unwrap_or(data);
        let chunk_end = u64::try_from(len).ok();
        let chunk_end = chunk_end.and_then(|len| u64::try_from(offset).ok()?.checked_add(len));
        if offset < 4 || chunk_end.is_none_or(|chunk_end| chunk_end > end) {
            let (path, column) = (path.display(), chunk.column_path().string());
            let message = format!(
                "open trace {path}: column `{column}`: expected bytes between 4 and {end}, found offset {offset} and length {len}: the file is damaged; copy or record it again"
            );
            return Err(input_error(message));
        }
    }
    Ok(())
}

/// Reads the trace's description. Fails if the file is not a trace of this version.
pub(super) fn describe(file: &FileMetaData, path: &Path) -> Result<TraceMeta> {
    parse_description(path, |key| {
        let mut entries = file.key_value_metadata().into_iter().flatten();
        entries
            .find(|entry| entry.key == key)
            .and_then(|entry| entry.value.as_deref())
    })
}

/// Reads the description in an Arrow schema; `None` if it has none. Fails if it is damaged or of
/// another version.
pub(super) fn find_meta(entries: &Metadata, name: &Path) -> Result<Option<TraceMeta>> {
    let mut keys = [VERSION_KEY, META_KEY].into_iter();
    if !keys.any(|key| entries.contains_key(key)) {
        return Ok(None);
    }
    parse_description(name, |key| entries.get(key).map(String::as_str)).map(Some)
}

fn parse_description<'a>(
    path: &Path,
    entry: impl Fn(&'static str) -> Option<&'a str>,
) -> Result<TraceMeta> {
    let path = path.display();
    let needed = |key| {
        entry(key).ok_or_else(|| input_error(format!("open trace {path}: expected metadata `{key}`, found none: the Parquet file is no q2c trace; q2c trace import makes one of what other tools recorded")))
    };
    let version = needed(VERSION_KEY)?;
    if version != SCHEMA_VERSION.to_string() {
        let message = format!(
            "open trace {path}: expected schema version {SCHEMA_VERSION}, found `{version}`; use the q2c that wrote it"
        );
        return Err(input_error(message));
    }
    let description = serde_json::from_str(needed(META_KEY)?);
    description.map_err(|error| input_error(format!("open trace {path}: expected a trace description as JSON in metadata `{META_KEY}`, found {error}")))
}
