//! Finds out what kind of recording a path leads to, and reads it.

use super::error::ImportError;
use super::options::ImportOptions;
use super::run::{Import, Origin, RecordSink, read_error};
use super::unpack::{head, is_stdin, open, source_name};
use super::unread::{refusal, unread};
use super::{FORMATS, ImportFormat, blktrace_files, by_name, csv, shape, sniff};
use crate::blktrace::{BlktraceError, FileSet, IntMap};
use crate::{Scan, TraceReader, TraceWriter};
use q2c_model::TraceMeta;
use std::fs::File;
use std::io::{BufRead, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

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
        /// What is to be said of how the format was recognised.
        recognised: Option<String>,
    },
}

impl Input {
    /// Finds out what `path` is: by the format that is named, else by its first bytes. A path that
    /// is no file may be the base name of blktrace files, and `-` is standard input.
    pub fn recognise(path: &Path, format: Option<&str>) -> Result<Input, ImportError> {
        Input::find(path, format, None)
    }

    /// As [`Input::recognise`]. `text` is the format of a file that is no q2c trace, if known.
    fn find(
        path: &Path,
        format: Option<&str>,
        text: Option<&'static ImportFormat>,
    ) -> Result<Input, ImportError> {
        let stdin = is_stdin(path);
        if !stdin && (!path.exists() || path.is_dir()) {
            return base_name(path, format);
        }
        let is_device = path
            .metadata()
            .is_ok_and(|file| file.file_type().is_block_device());
        if is_device && !stdin {
            let todo = "record what happens on it: q2c trace record DISK";
            return Err(unread(path, "a block device".to_owned(), todo));
        }
        let (packed, mut source) = open(path)?;
        let is_plain = !packed && !stdin && path.is_file();
        let path = source_name(path);
        let head = head(&mut *source).map_err(read_error(path))?;
        if head.is_empty() {
            // A CPU without events leaves an empty file, beside which those of the others lie.
            let may_be_part = is_plain && format.is_none_or(|name| name == BLKTRACE);
            if may_be_part
                && let Ok(files) = FileSet::find(path)
                && files.named.is_some()
            {
                return Ok(Input::Blktrace(files));
            }
            return Err(ImportError::NoBytes {
                path: path.to_owned(),
            });
        }
        let named = format.is_some() || text.is_some();
        let format = match format {
            Some(name) => Some(by_name(name).ok_or_else(|| no_format(path, name))?),
            None if head.starts_with(PARQUET) && is_plain => {
                return Ok(Input::Own);
            }
            None if head.starts_with(PARQUET) => {
                let kind = "a Parquet file in a pipe or packed, which is read from its end";
                let todo = "name the file itself, unpacked";
                return Err(unread(path, kind.to_owned(), todo));
            }
            None if named => text,
            None => recognise_text(path, head)?,
        };
        let format = format.ok_or_else(|| ImportError::Unknown {
            path: path.to_owned(),
        })?;
        if format.name == BLKTRACE && is_plain {
            return Ok(Input::Blktrace(FileSet::find(path)?));
        }
        let recognised = (!named).then(|| shape::doubt(head, format)).flatten();
        Ok(Input::Foreign {
            format,
            source,
            recognised,
        })
    }

    /// As [`Input::recognise`]. An option that only one format uses names it; those that the
    /// recording has no use for are refused.
    pub fn with_options(
        path: &Path,
        format: Option<&str>,
        options: &ImportOptions,
    ) -> Result<Input, ImportError> {
        let input = Input::find(path, format, options.only_format())?;
        input.check(path, options)?;
        Ok(input)
    }

    /// Name of the format; `None` for a q2c trace.
    pub fn format(&self) -> Option<&'static str> {
        match self {
            Input::Own => None,
            Input::Blktrace(_) => Some(BLKTRACE),
            Input::Foreign { format, .. } => Some(format.name),
        }
    }

    /// Reads the recording to its end and hands its records on. Of a q2c trace these are the
    /// records and columns that `scan` selects; a recording of another tool is imported whole.
    /// Returns the description of the recording.
    pub fn read(
        self,
        path: &Path,
        options: &ImportOptions,
        scan: &Scan,
        sink: &mut dyn RecordSink,
    ) -> Result<TraceMeta, ImportError> {
        match self {
            Input::Own => read_own(path, scan, sink),
            foreign => foreign.import(path, options, sink),
        }
    }

    /// Imports a recording of another tool into the new file `trace`. Returns the trace's
    /// description; its `unmatched` holds the lines that were left out. After an error there is no
    /// trace.
    pub fn import_to_file(
        self,
        path: &Path,
        options: &ImportOptions,
        trace: &Path,
    ) -> Result<TraceMeta, ImportError> {
        let mut writer = TraceWriter::create(trace, TraceMeta::default())?.with_threads()?;
        let meta = self.import(path, options, &mut writer)?;
        writer.meta_mut().clone_from(&meta);
        writer.finish()?;
        Ok(meta)
    }

    /// Imports a recording of another tool to its end. Returns the description for a trace of it.
    pub fn import(
        self,
        path: &Path,
        options: &ImportOptions,
        sink: &mut dyn RecordSink,
    ) -> Result<TraceMeta, ImportError> {
        self.check(path, options)?;
        let path = source_name(path);
        match self {
            Input::Own => Err(ImportError::Own {
                path: path.to_owned(),
            }),
            Input::Blktrace(files) => blktrace_files(&files, options, sink),
            Input::Foreign {
                format,
                mut source,
                recognised,
            } => {
                let mut meta = (format.import)(&mut Import {
                    path,
                    input: &mut *source,
                    options,
                    sink,
                })?;
                let fact = recognised.map(|how| ("recognised".to_owned(), how));
                meta.facts.extend(fact);
                Ok(meta)
            }
        }
    }
}

/// The format of a source that begins with `head`. Any text with words in its first line looks like
/// CSV, so that the kinds that are not read go before.
fn recognise_text(path: &Path, head: &[u8]) -> Result<Option<&'static ImportFormat>, ImportError> {
    match sniff(head) {
        Some(format) if format.name != csv::FORMAT.name => Ok(Some(format)),
        format => refusal(path, head).map_or(Ok(format), Err),
    }
}

/// The paths of recordings: of the files of one blktrace trace the first, which stands for all.
pub(super) fn recordings(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut bases = Vec::new();
    let is_first = |path: &&PathBuf| {
        let Some(base) = FileSet::base_of(path).filter(|_| is_blktrace(path)) else {
            return true;
        };
        let is_new = !bases.contains(&base);
        bases.push(base);
        is_new
    };
    paths.iter().filter(is_first).cloned().collect()
}

fn is_blktrace(path: &Path) -> bool {
    matches!(Input::recognise(path, None), Ok(Input::Blktrace(_)))
}

/// Whether `path` is a q2c trace, by its first bytes.
pub(super) fn is_trace(path: &Path) -> bool {
    let mut head = [0; PARQUET.len()];
    let read = |mut file: File| file.read_exact(&mut head);
    path.is_file() && File::open(path).and_then(read).is_ok() && head == PARQUET
}

fn no_format(path: &Path, name: &str) -> ImportError {
    let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    ImportError::NoFormat {
        path: path.to_owned(),
        found: name.to_owned(),
        known: known.join(", "),
    }
}

fn read_own(path: &Path, scan: &Scan, sink: &mut dyn RecordSink) -> Result<TraceMeta, ImportError> {
    let trace = TraceReader::open(path).map_err(ImportError::BadTrace)?;
    let mut meta = trace.meta().clone();
    sink.begin(&origin(&meta))?;
    let mut ids = Ids::default();
    for records in trace.records(scan).map_err(ImportError::BadTrace)? {
        let mut records = records.map_err(ImportError::BadTrace)?;
        let before = records.len();
        records.retain(|record| ids.insert(record.id));
        if records.len() < before {
            *meta.unmatched.entry(DOUBLED.to_owned()).or_default() +=
                (before - records.len()) as u64;
        }
        sink.push(&records)?;
    }
    Ok(meta)
}

/// The reason in `unmatched` of records that were there before: in a q2c trace those with the same
/// id, in files of blktrace those with the same number of one device and CPU.
pub const DOUBLED: &str = "duplicate record";

/// Ids that were there: a bit for each in pages of 64, as ids mostly follow each other.
#[derive(Debug, Default)]
pub struct Ids {
    pages: IntMap<u64, u64>,
    /// The page of the last id, which is out of the map.
    number: u64,
    page: u64,
}

impl Ids {
    /// Takes an id; false when it was there before.
    pub fn insert(&mut self, id: u64) -> bool {
        if id / 64 != self.number {
            self.pages.insert(self.number, self.page);
            self.number = id / 64;
            self.page = self.pages.get(&self.number).copied().unwrap_or(0);
        }
        let bit = 1 << (id % 64);
        let is_new = self.page & bit == 0;
        self.page |= bit;
        is_new
    }
}

/// Time zero of a q2c trace: in Unix time where the trace has it, else on the clock of the
/// recording that it was imported from.
pub(super) fn origin(meta: &TraceMeta) -> Origin {
    let fact = meta.facts.get("source_time_of_zero_ns");
    let zero_ns = meta.start_unix_ns.or_else(|| fact?.parse().ok());
    Origin {
        clock: meta.clock.clone(),
        unix: meta.start_unix_ns.is_some(),
        zero_ns: zero_ns.unwrap_or(0),
    }
}

fn base_name(path: &Path, format: Option<&str>) -> Result<Input, ImportError> {
    match FileSet::find(path) {
        Ok(files) => Ok(Input::Blktrace(files)),
        Err(BlktraceError::Absent { .. }) if format != Some(BLKTRACE) => {
            let probe = File::open(path).and_then(|file| (&file).read(&mut [0]));
            Err(
                probe.map_or_else(read_error(path), |_| ImportError::Unknown {
                    path: path.to_owned(),
                }),
            )
        }
        Err(error) => Err(error.into()),
    }
}
