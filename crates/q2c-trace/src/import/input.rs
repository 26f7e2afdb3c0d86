//! Detects what kind of recording a path names, and reads it.

use super::error::{ImportResult, input_error, usage_error};
use super::not_recordings::{not_a_recording, refuse_other_kind};
use super::run::read_error;
use super::unpack::{HEAD_BYTES, is_stdin, open, source_name};
use super::{
    FORMATS, Import, ImportError, ImportFormat, ImportOptions, Origin, RecordSink, blktrace_files,
    by_name, csv, fact, merge_recordings, shape, sniff,
};
use crate::blktrace::{FileSet, IntMap};
use crate::samples::is_sample;
use crate::{Scan, TraceCounter, TraceError, TraceReader, TraceWriter};
use q2c_model::{IoRecord, TraceMeta, TraceSummary};
use std::fs::File;
use std::io::{BufRead, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const PARQUET: &[u8] = b"PAR1";
const BLKTRACE: &str = "blktrace";

/// The recording that a path names.
pub enum Input {
    /// A q2c trace.
    Trace,
    /// Files of blktrace: one for each CPU, or a single file.
    Blktrace(FileSet),
    /// Another importable format; a packed file is unpacked while it is read.
    Foreign {
        /// Format of the source.
        format: &'static ImportFormat,
        /// The source from its beginning.
        source: Box<dyn BufRead>,
        /// A note on how the format was recognised, if there is a doubt.
        recognised: Option<String>,
    },
}

impl Input {
    /// Detects the recording at `path`: by `format` if given, else by its first bytes. A path
    /// without a file may be the base name of blktrace files, and `-` is standard input.
    pub fn recognise(path: &Path, format: Option<&str>) -> Result<Input, ImportError> {
        Input::find(path, format, None)
    }

    /// As [`Input::recognise`]. `implied` is the format that an option implies, if any.
    fn find(
        path: &Path,
        format: Option<&str>,
        implied: Option<&'static ImportFormat>,
    ) -> Result<Input, ImportError> {
        if is_sample(path) && format.is_none() {
            return Ok(Input::Trace);
        }
        let stdin = is_stdin(path);
        if !stdin && (!path.exists() || path.is_dir()) {
            return find_blktrace(path, format);
        }
        let metadata = path.metadata();
        if !stdin && metadata.is_ok_and(|file| file.file_type().is_block_device()) {
            let todo = "record what happens on it: q2c trace record DISK";
            return Err(not_a_recording(path, "a block device", todo));
        }
        let (packed, mut source) = open(path)?;
        let is_plain = !packed && !stdin && path.is_file();
        let path = source_name(path);
        let head = source.fill_buf().map_err(read_error(path))?;
        let head = &head[..head.len().min(HEAD_BYTES)];
        if head.is_empty() {
            // A CPU without events leaves an empty file beside the files of the other CPUs.
            if is_plain
                && format.is_none_or(|name| name == BLKTRACE)
                && let Ok(Some(files)) = FileSet::find(path)
                && files.named.is_some()
            {
                return Ok(Input::Blktrace(files));
            }
            let message = ": the file is empty; record it again, or name another";
            return Err(input_error(path, message));
        }
        let is_stated = format.is_some() || implied.is_some();
        let format = match format {
            Some(name) => Some(by_name(name).ok_or_else(|| unknown_format(path, name))?),
            None if head.starts_with(PARQUET) && is_plain => return Ok(Input::Trace),
            None if head.starts_with(PARQUET) => {
                let kind = "a Parquet file in a pipe or packed, which is read from its end";
                let todo = "name the file itself, unpacked";
                return Err(not_a_recording(path, kind, todo));
            }
            None if is_stated => implied,
            None => match sniff(head) {
                Some(format) if format.name != csv::FORMAT.name => Some(format),
                // Any text with words in its first line looks like CSV, so the kinds that cannot be
                // read are checked first.
                format => refuse_other_kind(path, head).map_or(Ok(format), Err)?,
            },
        };
        let format = format.ok_or_else(|| ImportError::Unknown(path.to_owned()))?;
        if format.name == BLKTRACE && is_plain {
            return find_blktrace(path, Some(BLKTRACE));
        }
        let note = || shape::ambiguity_note(head, format);
        let recognised = if is_stated { None } else { note() };
        Ok(Input::Foreign {
            format,
            source,
            recognised,
        })
    }

    /// As [`Input::recognise`]. An option that only one format uses implies this format. Options
    /// that the recording does not use are errors.
    pub fn with_options(
        path: &Path,
        format: Option<&str>,
        options: &ImportOptions,
    ) -> Result<Input, ImportError> {
        let input = Input::find(path, format, options.implied_format())?;
        input.check(path, options)?;
        Ok(input)
    }

    /// Name of the format; `None` for a q2c trace.
    pub fn format(&self) -> Option<&'static str> {
        match self {
            Input::Trace => None,
            Input::Blktrace(_) => Some(BLKTRACE),
            Input::Foreign { format, .. } => Some(format.name),
        }
    }

    /// Reads the recording to its end and passes its records on. For a q2c trace, `scan` selects
    /// records and columns; other recordings are imported completely. Returns the description of
    /// the recording.
    pub fn read(
        self,
        path: &Path,
        options: &ImportOptions,
        scan: &Scan,
        sink: &mut dyn RecordSink,
    ) -> Result<TraceMeta, ImportError> {
        match self {
            Input::Trace => read_trace(path, scan, sink),
            foreign => foreign.import(path, options, sink),
        }
    }

    /// Imports a recording of another tool to its end. Returns the description for its trace.
    pub fn import(
        self,
        path: &Path,
        options: &ImportOptions,
        sink: &mut dyn RecordSink,
    ) -> Result<TraceMeta, ImportError> {
        self.check(path, options)?;
        let path = source_name(path);
        match self {
            Input::Trace => {
                let name = path.display();
                let message = format!(
                    ": expected a recording of another tool, found a q2c trace, which needs no import: q2c trace info {name} tells what it holds"
                );
                Err(input_error(path, message))
            }
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
                let recognised = recognised.map(|how| fact("recognised", how));
                meta.facts.extend(recognised);
                Ok(meta)
            }
        }
    }

    /// Fails on options that the recording's format does not use. A q2c trace uses none.
    pub fn check(&self, path: &Path, options: &ImportOptions) -> Result<(), ImportError> {
        let format = self.format().and_then(by_name);
        let used = format.map_or(&[][..], |format| format.uses);
        let mut given = options.given_flags();
        let unused = given.find(|(option, _)| !used.contains(option));
        let Some(format) = self.format() else {
            let skip_bad = options.skip_bad.then_some("--skip-bad");
            let flag = unused.map(|(_, flag)| flag).or(skip_bad);
            let path = path.display();
            return flag.filter(|_| !options.mixed).map_or(Ok(()), |flag| {
                Err(usage_error(format_args!("read {path}: expected a recording of another tool beside {flag}, found a q2c trace, which needs no such option; leave it out")))
            });
        };
        unused.map_or(Ok(()), |(option, flag)| {
            let users = Vec::from_iter(option.using_formats().map(|format| format.name));
            Err(ImportError::Unused {
                path: path.to_owned(),
                format,
                flag,
                users: users.join(", "),
            })
        })
    }
}

/// The paths of recordings. Of the files of one blktrace trace, only the first is kept.
pub(super) fn recordings(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut bases = Vec::new();
    let is_blktrace = |path: &Path| matches!(Input::recognise(path, None), Ok(Input::Blktrace(_)));
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

/// True if `path` is a q2c trace, by its first bytes.
pub(super) fn is_trace(path: &Path) -> bool {
    let mut head = [0; PARQUET.len()];
    let read = |mut file: File| file.read_exact(&mut head);
    is_sample(path) || path.is_file() && File::open(path).and_then(read).is_ok() && head == PARQUET
}

fn unknown_format(path: &Path, name: &str) -> ImportError {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let (path, names) = (path.display(), names.join(", "));
    let message = format!("read {path} as `{name}`: expected a format of {names}");
    usage_error(message)
}

fn read_trace(path: &Path, scan: &Scan, sink: &mut dyn RecordSink) -> ImportResult {
    let trace = TraceReader::open(path).map_err(ImportError::BadTrace)?;
    let mut meta = trace.meta().clone();
    sink.begin(&origin(&meta))?;
    let mut ids = IdSet::default();
    for records in trace.records(scan).map_err(ImportError::BadTrace)? {
        let mut records = records.map_err(ImportError::BadTrace)?;
        let before = records.len();
        records.retain(|record| ids.insert(record.id));
        if records.len() < before {
            let count = meta.unmatched.entry(DUPLICATE_RECORD.to_owned());
            *count.or_default() += (before - records.len()) as u64;
        }
        sink.take(&mut records)?;
    }
    Ok(meta)
}

/// The reason in `unmatched` of records that occur twice: in a q2c trace those with an equal id, in
/// blktrace files those with an equal number of one device and CPU.
pub const DUPLICATE_RECORD: &str = "duplicate record";

/// Ids seen so far, one bit each in words of 64, because ids mostly follow each other.
#[derive(Debug, Default)]
pub struct IdSet {
    words: IntMap<u64, u64>,
    /// The number of the last id's word; that word is kept out of the map.
    word_number: u64,
    word: u64,
}

impl IdSet {
    /// Adds an id; returns false if it was added before.
    pub fn insert(&mut self, id: u64) -> bool {
        if id / 64 != self.word_number {
            self.words.insert(self.word_number, self.word);
            self.word_number = id / 64;
            self.word = self.words.get(&self.word_number).copied().unwrap_or(0);
        }
        let bit = 1 << (id % 64);
        let is_new = self.word & bit == 0;
        self.word |= bit;
        is_new
    }
}

/// Time zero of a q2c trace: in Unix time if the trace has it, else on the clock of the recording
/// from which it was imported.
pub(super) fn origin(meta: &TraceMeta) -> Origin {
    let fact = meta.facts.get("source_time_of_zero_ns");
    let zero_ns = meta.start_unix_ns.or_else(|| fact?.parse().ok());
    Origin {
        clock: meta.clock.clone(),
        unix: meta.start_unix_ns.is_some(),
        zero_ns: zero_ns.unwrap_or(0),
    }
}

fn find_blktrace(path: &Path, format: Option<&str>) -> Result<Input, ImportError> {
    if let Some(files) = FileSet::find(path)? {
        return Ok(Input::Blktrace(files));
    }
    if format == Some(BLKTRACE) {
        return Err(FileSet::absent(path).into());
    }
    let probe = File::open(path).and_then(|mut file| file.read(&mut [0]));
    let path = path.to_owned();
    Err(probe.map_or_else(read_error(&path.clone()), |_| ImportError::Unknown(path)))
}

/// Imports one recording, or merges several by time, into the new trace `out`. `format` applies to
/// all recordings; `None` detects each by its first bytes. Returns the trace's description and
/// summary. Fails soon after `stop` is set. No trace is left after an error.
pub fn to_trace(
    recordings: &[PathBuf],
    format: Option<&str>,
    options: &ImportOptions,
    out: &Path,
    stop: &AtomicBool,
) -> Result<(TraceMeta, TraceSummary), ImportError> {
    let recordings = self::recordings(recordings);
    let single = match &recordings[..] {
        [path] => Some((path, Input::with_options(path, format, options)?)),
        _ => None,
    };
    let mut writer = TraceWriter::create(out, TraceMeta::default())?.with_threads()?;
    let mut counter = TraceCounter::default();
    let mut sink = |records: &[IoRecord]| {
        TraceError::unless_stopped(stop, "write trace", out)?;
        counter.add(records);
        writer.push(records)
    };
    let meta = match single {
        Some((path, input)) => input.import(path, options, &mut sink)?,
        None => merge_recordings(&recordings, format, options, &mut sink)?,
    };
    writer.meta_mut().clone_from(&meta);
    writer.finish()?;
    Ok((meta, counter.finish()))
}
