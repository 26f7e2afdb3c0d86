//! Reads fio job files: the jobs, as far as q2c can run them, and the options that it cannot run,
//! with their lines.
//!
//! [`read`] parses a file as fio 3.33 does (its manual, "Job file format" and "Parameter types").
//! It sorts every option in force into three kinds: *taken* into a [`FioJob`], *not needed*
//! ([`FioJobFile::not_needed`]), or *refused*. Without a refused option ([`FioJobFile::refused`])
//! the run would measure something else. No option is dropped silently. No file is opened here.
//!
//! ```
//! let text = b"[global]\nioengine=io_uring\ndirect=1\nrw=randread\ngroup_reporting\n\
//!              [qd32]\niodepth=32\n";
//! let file = q2c_bench::fio::read(text, &|_| None)?;
//! assert_eq!(file.jobs[0].depth, Some(32));
//! assert_eq!(file.not_needed[0].option, "group_reporting");
//! # Ok::<(), q2c_bench::fio::SyntaxError>(())
//! ```
// No ini crate is used. Those that keep the line of an option support neither options without a
// value nor comments after an option.

mod job;
mod lines;
mod number;
mod options;

use itertools::Itertools;
pub use job::{FioJob, Size};
pub use lines::SyntaxError;
pub use number::{KbBase, cpus, parse_integer, seconds};
pub use options::{Remark, Topic};

/// The jobs of a job file, and the remarks on its options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioJobFile {
    /// The job sections in the order of the file, without the global ones.
    pub jobs: Vec<FioJob>,
    /// Options that change nothing in q2c.
    pub not_needed: Vec<Remark>,
    /// Options that would change what is measured and that q2c does not have.
    pub refused: Vec<Remark>,
}

/// The parts of a job file that are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct FioSelection<'a> {
    /// Names of the job sections; empty for all.
    pub sections: &'a [String],
    /// Options that are left out.
    pub ignore: &'a [String],
}

/// Reads a job file. `variable` returns the value of an environment variable for `${NAME}`.
pub fn read(
    text: &[u8],
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<FioJobFile, SyntaxError> {
    read_selection(text, variable, FioSelection::default())
}

/// Reads a part of a job file, as [`read`] does.
pub fn read_selection(
    text: &[u8],
    variable: &dyn Fn(&str) -> Option<String>,
    selection: FioSelection<'_>,
) -> Result<FioJobFile, SyntaxError> {
    let sections = lines::sections(text, variable)?;
    let mut file = FioJobFile::default();
    let mut group = 0;
    let mut jobs = lines::inherit(sections);
    let has = |name: &&String| jobs.iter().any(|(section, _)| section.name == **name);
    if let Some(unknown) = selection.sections.iter().find(|name| !has(name)) {
        let known = jobs.iter().map(|(section, _)| &section.name).join(", ");
        let message = format!("the file has no section [{unknown}]; it has {known}");
        return Err(SyntaxError::new(1, message));
    }
    jobs.retain(|(section, _)| {
        selection.sections.is_empty() || selection.sections.contains(&section.name)
    });
    for name in selection.ignore {
        let left_out = jobs
            .iter_mut()
            .filter_map(|(_, entries)| entries.remove(name));
        let lines: Vec<usize> = left_out.map(|option| option.line).collect();
        let Some(line) = lines.first() else {
            let message = format!("no section that is run has the option {name}");
            return Err(SyntaxError::new(1, message));
        };
        file.not_needed.push(Remark {
            line: *line,
            option: name.clone(),
            reason: "left out, as --ignore says".to_owned(),
            topic: None,
        });
    }
    for (section, entries) in jobs {
        let mut reader = options::Reader::new(&section, entries);
        if reader.flag("stonewall") && !file.jobs.is_empty() {
            group += 1;
        }
        let job = job::read_job(&mut reader, group);
        file.jobs.push(job);
        let (not_needed, refused) = reader.finish();
        // An option of a global section is seen once for each job, but gets one remark.
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
