//! Finds out what kind of recording a path leads to.

use super::error::ImportError;
use super::options::ImportOptions;
use super::run::{Import, RecordSink, read_error};
use super::unpack::{head, open};
use super::{ImportFormat, blktrace_files, by_name, sniff};
use crate::blktrace::{BlktraceError, FileSet};
use q2c_model::TraceMeta;
use std::fs::File;
use std::io::BufRead;
use std::path::Path;

/// First bytes of every Parquet file.
const PARQUET: &[u8] = b"PAR1";
const BLKTRACE: &str = "blktrace";

/// A recording that a path leads to.
pub enum Input {
    /// A q2c trace.
    Own,
    /// Files of blktrace: one for each CPU, or a single file.
    Blktrace(FileSet),
    /// Another format that can be imported; packed files are unpacked while they are read.
    Foreign {
        /// Format of the source.
        format: &'static ImportFormat,
        /// The source from its beginning.
        source: Box<dyn BufRead>,
    },
}

impl Input {
    /// Finds out what `path` is: by the format that is named, else by its first bytes. A path that
    /// is no file may be the base name of blktrace files.
    ///
    /// # Errors
    /// When the path cannot be read, or is of no known format.
    pub fn recognise(path: &Path, format: Option<&str>) -> Result<Input, ImportError> {
        if !path.exists() || path.is_dir() {
            return base_name(path, format);
        }
        let unknown = || ImportError::Unknown {
            path: path.to_owned(),
        };
        let (packed, mut source) = open(path)?;
        let head = head(&mut *source).map_err(read_error(path))?;
        let format = match format {
            Some(name) => by_name(name),
            None if head.starts_with(PARQUET) => return Ok(Input::Own),
            None => sniff(head),
        };
        let format = format.ok_or_else(unknown)?;
        if format.name == BLKTRACE && !packed && path.is_file() {
            return Ok(Input::Blktrace(FileSet::find(path)?));
        }
        Ok(Input::Foreign { format, source })
    }

    /// Name of the format; `None` for a q2c trace.
    #[must_use]
    pub fn format(&self) -> Option<&'static str> {
        match self {
            Input::Own => None,
            Input::Blktrace(_) => Some(BLKTRACE),
            Input::Foreign { format, .. } => Some(format.name),
        }
    }

    /// Imports a recording of another tool to its end. Returns the description for a trace of it.
    ///
    /// # Errors
    /// When the recording cannot be read or used, when it is a q2c trace, or when the sink refuses
    /// the records.
    pub fn import(
        self,
        path: &Path,
        options: &ImportOptions,
        sink: &mut dyn RecordSink,
    ) -> Result<TraceMeta, ImportError> {
        match self {
            Input::Own => Err(ImportError::Own {
                path: path.to_owned(),
            }),
            Input::Blktrace(files) => blktrace_files(&files, options, sink),
            Input::Foreign { format, mut source } => (format.import)(&mut Import {
                path,
                input: &mut *source,
                options,
                sink,
            }),
        }
    }
}

fn base_name(path: &Path, format: Option<&str>) -> Result<Input, ImportError> {
    match FileSet::find(path) {
        Ok(files) => Ok(Input::Blktrace(files)),
        Err(BlktraceError::Absent { .. }) if format != Some(BLKTRACE) => {
            let why = File::open(path).and_then(|file| std::io::Read::read(&mut &file, &mut [0]));
            Err(why.map_or_else(read_error(path), |_| ImportError::Unknown {
                path: path.to_owned(),
            }))
        }
        Err(error) => Err(error.into()),
    }
}
