use super::column::{Column, Packing};
use super::error::{TraceError, unfit};
use arrow_schema::{Field, Schema, SchemaRef};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use q2c_model::{Exit, OrFault, TraceMeta};
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// The schema version that this crate writes and reads. It changes whenever the name, the type or
/// the meaning of a column changes.
pub const SCHEMA_VERSION: u32 = 1;

/// Key of the version, a decimal number, in the file's key-value metadata.
pub(super) const VERSION_KEY: &str = "q2c.trace.version";
/// Key of the [`q2c_model::TraceMeta`], as JSON.
pub(super) const META_KEY: &str = "q2c.trace.meta";
/// Key of the words for the bits of `flags`, for readers that know Parquet but not q2c.
const FLAGS_KEY: &str = "q2c.trace.flags";
const FLAGS_WORDS: &str = "sync=1 meta=2 fua=4 readahead=8 polled=16";

/// Rows in a row group. A reader skips whole row groups, and a writer keeps one (about 10 MB) in
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

/// The metadata of a trace with this description, by key.
pub(super) fn entries(
    meta: &TraceMeta,
    path: &Path,
) -> Result<[(&'static str, String); 3], TraceError> {
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
        // Without indices the columns reach up to the footer, so that a lost piece is found when
        // the file is opened.
        .set_offset_index_disabled(true);
    Ok(Column::ALL.iter().copied().fold(base, pack).build())
}

fn pack(properties: WriterPropertiesBuilder, column: Column) -> WriterPropertiesBuilder {
    let path = ColumnPath::from(column.name());
    match column.packing() {
        Packing::Dictionary => properties.set_column_dictionary_enabled(path, true),
        Packing::Plain => properties.set_column_dictionary_enabled(path, false),
        Packing::Delta => properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
    }
}

/// Checks that a file has all columns of a trace with their types. Further columns are ignored.
pub(super) fn check(found: &Schema, path: &Path) -> Result<(), TraceError> {
    for &column in Column::ALL {
        let field = field_of(found, column, path)?;
        let fits = *field.data_type() == column.data_type();
        if !fits || field.is_nullable() && !column.is_optional() {
            return Err(wrong_type(
                path,
                column,
                &type_name(&self::field(column)),
                field,
            ));
        }
    }
    Ok(())
}

/// The column's field in a schema that was found.
pub(super) fn field_of<'a>(
    found: &'a Schema,
    column: Column,
    path: &Path,
) -> Result<&'a Field, TraceError> {
    found.field_with_name(column.name()).map_err(|_| {
        let path = path.display();
        let message =
            format!("open trace {path}: expected column `{column}`, found no such column");
        unfit(message)
    })
}

pub(super) fn wrong_type(path: &Path, column: Column, expected: &str, found: &Field) -> TraceError {
    let (path, found_type) = (path.display(), type_name(found));
    let message =
        format!("open trace {path}: column `{column}`: expected {expected}, found {found_type}");
    unfit(message)
}

pub(super) fn type_name(field: &Field) -> String {
    let nullable = if field.is_nullable() {
        "nullable"
    } else {
        "never null"
    };
    format!("{} ({nullable})", field.data_type())
}
