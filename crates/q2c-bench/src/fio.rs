//! fio job files: the jobs that they ask for, as far as q2c can run them, and by line the options
//! that it cannot.
//!
//! [`read`] parses a file as fio 3.33 does (its manual, "Job file format" and "Parameter types")
//! and sorts every option that is in force into one of three kinds: *taken* into a [`FioJob`], *not
//! needed* ([`FioJobFile::not_needed`]), or *refused* because something else would be measured
//! without it ([`FioJobFile::refused`]). No option is dropped in silence. No file is opened here.
//!
//! ```
//! let text = b"[global]\nioengine=io_uring\ndirect=1\nrw=randread\ngroup_reporting\n\
//!              [qd32]\niodepth=32\n";
//! let file = q2c_bench::fio::read(text, &|_| None)?;
//! assert_eq!(file.jobs[0].depth, Some(32));
//! assert_eq!(file.not_needed[0].option, "group_reporting");
//! # Ok::<(), q2c_bench::fio::SyntaxError>(())
//! ```
// No ini crate is used: those that keep the line of an option know neither options without a value
// nor comments behind an option.

mod job;
mod lines;
mod number;
mod options;

pub use job::{FioJob, Size};
pub use lines::SyntaxError;
pub use number::{KbBase, cpus, parse_integer, seconds};
pub use options::{Remark, Topic};

/// The jobs of a job file, and the remarks on its options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioJobFile {
    /// The sections of the file in its order, without the global ones.
    pub jobs: Vec<FioJob>,
    /// Options that change nothing in q2c.
    pub not_needed: Vec<Remark>,
    /// Options that would change what is measured and that q2c does not have.
    pub refused: Vec<Remark>,
}

/// Reads a job file. `variable` returns the value of an environment variable for `${NAME}`.
pub fn read(
    text: &[u8],
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<FioJobFile, SyntaxError> {
    let sections = lines::sections(text, variable)?;
    let mut file = FioJobFile::default();
    let mut group = 0;
    for (section, entries) in lines::inherited(sections) {
        let mut reader = options::Reader::new(&section, entries);
        if reader.flag("stonewall") && !file.jobs.is_empty() {
            group += 1;
        }
        let job = job::read_job(&mut reader, group);
        file.jobs.push(job);
        let (not_needed, refused) = reader.finish();
        // Options of a global section are looked at once for each job.
        for (known, remarks) in [
            (&mut file.not_needed, not_needed),
            (&mut file.refused, refused),
        ] {
            for remark in remarks {
                if !known.contains(&remark) {
                    known.push(remark);
                }
            }
        }
    }
    if file.jobs.is_empty() {
        let message = "the file has no job: expected at least one section such as [randread] besides [global]";
        return Err(SyntaxError::new(1, message));
    }
    Ok(file)
}
