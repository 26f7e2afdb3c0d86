//! Checks the two ends of a file: whether it is whole, and whether it is a trace.

use super::error::{TraceError, unfit};
use super::reader::SharedFile;
use super::schema::{META_KEY, SCHEMA_VERSION, VERSION_KEY};
use super::writer::io_error;
use arrow_schema::Metadata;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::file::reader::Length;
use q2c_model::TraceMeta;
use std::path::Path;

const MAGIC: &[u8] = b"PAR1";

/// Tells apart the two errors that a user can act on: no Parquet file, and a Parquet file that is
/// cut off. The library calls both "corrupt".
pub(super) fn check_ends(file: &SharedFile, path: &Path) -> Result<(), TraceError> {
    let size = MAGIC.len() as u64;
    let end = |at| file.peek(at, size).map_err(io_error("open trace", path));
    let (first, last) = (end(0)?, end(file.len().saturating_sub(size))?);
    let quoted = |bytes: &[u8]| match bytes {
        [] => "an empty file".to_owned(),
        bytes => format!("`{}`", bytes.escape_ascii()),
    };
    let path = path.display();
    if first != MAGIC {
        let bytes = quoted(&first);
        let message = format!(
            "open trace {path}: expected a Parquet file (first bytes `PAR1`), found {bytes}; if another tool recorded it, make a trace of it: q2c trace import {path} --output NEW.parquet"
        );
        return Err(unfit(message));
    }
    if last != MAGIC || file.len() < 3 * size {
        let bytes = quoted(&last);
        let message = format!(
            "open trace {path}: expected `PAR1` as last bytes, found {bytes}: the file is cut off; copy or record it again"
        );
        return Err(unfit(message));
    }
    Ok(())
}

/// Checks that every column chunk lies between the first magic bytes and the footer, because the
/// library trusts these numbers.
pub(super) fn check_layout(
    file: &SharedFile,
    parquet: &ParquetMetaData,
    path: &Path,
) -> Result<(), TraceError> {
    let tail = file.peek(file.len() - 8, 4);
    let tail = tail.map_err(io_error("open trace", path))?;
    let footer = <[u8; 4]>::try_from(tail).map_or(0, u32::from_le_bytes);
    let end = file.len().saturating_sub(8 + u64::from(footer));
    for chunk in parquet.row_groups().iter().flat_map(|g| g.columns()) {
        let (data, len) = (chunk.data_page_offset(), chunk.compressed_size());
        let offset = chunk.dictionary_page_offset().unwrap_or(data);
        let last = u64::try_from(len).ok();
        let last = last.and_then(|len| u64::try_from(offset).ok()?.checked_add(len));
        if offset < 4 || last.is_none_or(|last| last > end) {
            let (path, column) = (path.display(), chunk.column_path().string());
            let message = format!(
                "open trace {path}: column `{column}`: expected bytes between 4 and {end}, found offset {offset} and length {len}: the file is damaged; copy or record it again"
            );
            return Err(unfit(message));
        }
    }
    Ok(())
}

/// The trace's description. Fails when the file is no trace of this version.
pub(super) fn describe(file: &FileMetaData, path: &Path) -> Result<TraceMeta, TraceError> {
    described(path, |key| {
        let mut entries = file.key_value_metadata().into_iter().flatten();
        entries
            .find(|entry| entry.key == key)
            .and_then(|entry| entry.value.as_deref())
    })
}

/// The description that an Arrow schema carries; `None` when it carries none. Fails when it is
/// damaged, or of another version.
pub(super) fn in_schema(entries: &Metadata, name: &Path) -> Result<Option<TraceMeta>, TraceError> {
    let any = [VERSION_KEY, META_KEY].iter();
    if !any.into_iter().any(|&key| entries.contains_key(key)) {
        return Ok(None);
    }
    described(name, |key| entries.get(key).map(String::as_str)).map(Some)
}

fn described<'a>(
    path: &Path,
    entry: impl Fn(&'static str) -> Option<&'a str>,
) -> Result<TraceMeta, TraceError> {
    let path = path.display();
    let needed = |key| {
        entry(key).ok_or_else(|| unfit(format!("open trace {path}: expected metadata `{key}`, found none: the Parquet file is no q2c trace; q2c trace import makes one of what other tools recorded")))
    };
    let version = needed(VERSION_KEY)?;
    if version != SCHEMA_VERSION.to_string() {
        let message = format!(
            "open trace {path}: expected schema version {SCHEMA_VERSION}, found `{version}`; use the q2c that wrote it"
        );
        return Err(unfit(message));
    }
    let described = serde_json::from_str(needed(META_KEY)?);
    described.map_err(|error| unfit(format!("open trace {path}: expected a trace description as JSON in metadata `{META_KEY}`, found {error}")))
}
