//! The parts that commands with a run folder share: the identity of the program, the files in the
//! folder, and the end of a run.

use crate::config;
use crate::output::{read_fault, say};
use q2c_engine::{TimeSource, floor};
use q2c_model::{CpuId, Fault, OrFault};
use q2c_report::Reported;
use q2c_result::{Exit, Machine};
use q2c_run::run_dir::RunDirError;
use q2c_run::{Identity, RunDir, RunState, read_result_text};
use q2c_workbench::workbench::Workbench;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// q2c's version, and a checksum of the program if it can be read. In the identity of a run it
/// tells builds apart.
pub(crate) fn program_version() -> String {
    let mut checksum = crc32fast::Hasher::new();
    let mut piece = vec![0; 1 << 20];
    if let Ok(mut program) = std::env::current_exe().and_then(File::open) {
        while let Ok(n @ 1..) = program.read(&mut piece) {
            checksum.update(&piece[..n]);
        }
    }
    format!("{} {:08x}", env!("CARGO_PKG_VERSION"), checksum.finalize())
}

/// The facts that must not change in a run without a target of its own: kernel and program.
pub(crate) fn machine_identity(machine: &Machine) -> Identity {
    Identity::default()
        .with("kernel", &machine.kernel)
        .with("program", program_version())
}

/// Reads a command's result from a run folder or a file. Refuses a result of another schema.
pub(crate) fn read_result<T: DeserializeOwned>(
    run: &Path,
    command: &str,
    schema: &str,
) -> Result<T, Fault> {
    let (path, text) = read_result_text(run)?;
    parse_result(&path, &text, command, schema)
}

/// Reads a command's result from the `text` of the file `path`, as [`read_result`] does.
pub(crate) fn parse_result<T: DeserializeOwned>(
    path: &Path,
    text: &str,
    command: &str,
    schema: &str,
) -> Result<T, Fault> {
    #[derive(Deserialize)]
    struct SchemaHead {
        schema: String,
    }
    let no_result = |e| read_fault(path, format!("expected a result of {command}, found {e}"));
    let head: SchemaHead = serde_json::from_str(text).map_err(no_result)?;
    if head.schema != schema {
        let actual = head.schema.escape_debug();
        let reason = format!("expected schema {schema}, found `{actual}`");
        return Err(read_fault(path, reason));
    }
    serde_json::from_str(text).map_err(no_result)
}

/// Prints the run's folder on stderr, and returns its path.
pub(crate) fn announce(folder: &RunDir) -> PathBuf {
    say(&format!("run folder {}", folder.path().display()));
    folder.path().to_owned()
}

/// The words of a command, in the form that plans and results store.
pub(crate) fn command_words(command: &[OsString]) -> Vec<String> {
    let texts = command.iter().map(|word| word.to_string_lossy());
    texts.map(Cow::into_owned).collect()
}

/// Opens the folder of an interrupted run again. Reports incomplete ends of its files on stderr.
pub(crate) fn resume(path: &Path, identity: &Identity) -> Result<RunDir, Fault> {
    let (folder, torn) = RunDir::resume(path, identity).map_err(RunDirError::on_resume)?;
    torn.iter().for_each(|torn| say(&torn.to_string()));
    Ok(folder)
}

/// The state of a run that has a result.
pub(crate) fn state(complete: bool) -> RunState {
    if complete {
        RunState::Complete
    } else {
        RunState::Interrupted
    }
}

/// Writes the result, its page, and the settings taken from the configuration file into the folder.
/// Closes the folder with `state`.
pub(crate) fn publish(
    folder: RunDir,
    state: RunState,
    result: &(impl Serialize + Reported),
) -> Result<(), Fault> {
    let page = result.document().page().or_exit(Exit::Internal)?;
    folder.publish_json("result.json", result)?;
    folder.publish("report.html", |out| out.write_all(page.as_bytes()))?;
    if let Some(text) = config::applied_text() {
        folder.publish("config.toml", |out| out.write_all(text.as_bytes()))?;
    }
    folder.finish(state).map_err(Fault::from)
}

pub(crate) fn tell_report(folder: &Path) {
    say(&format!("report: {}", folder.join("report.html").display()));
}

/// Ends a run with a result, and returns its exit code. An incomplete run keeps its scratch file,
/// and the user is told how to resume.
pub(crate) fn end_run(state: RunState, bench: Workbench, folder: &Path) -> Exit {
    if state == RunState::Complete {
        if let Some(scratch) = &bench.kept_scratch {
            tell_no_longer_needed(scratch);
        }
        return Exit::Done;
    }
    tell_stopped(folder);
    keep_for_resume(bench, folder);
    Exit::Interrupted
}

/// Reports that a run was stopped after some of its trials, and how to resume it.
pub(crate) fn tell_stopped(folder: &Path) {
    let resume = resume_command(folder);
    let message = format!("stopped: the finished trials are in the report; {resume} goes on");
    say(&message);
}

/// The command line that resumes the run in `folder`.
pub(crate) fn resume_command(folder: &Path) -> String {
    let name = RunDir::inspect(folder).map_or("COMMAND".to_owned(), |(record, _)| record.name);
    format!("q2c {name} --resume {}", quoted(folder))
}

/// A path, quoted as one word of a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-:+@%,=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Keeps the scratch file of a run that ended early, since `--resume` needs it, and names the file.
pub(crate) fn keep_for_resume(bench: Workbench, folder: &Path) {
    tell_kept(bench.keep_scratch(), folder);
}

/// Names the scratch file that an earlier session left for a run that is now complete. The file is
/// not removed, since a later run may use it as its target.
pub(crate) fn tell_no_longer_needed(scratch: &Path) {
    let scratch = scratch.display();
    say(&format!(
        "the run is complete and does not need {scratch} any more: remove it when it is not wanted"
    ));
}

/// Names the scratch file that was kept for the run in `folder`, if there is one.
pub(crate) fn tell_kept(scratch: Option<PathBuf>, folder: &Path) {
    if let Some(scratch) = scratch {
        let (scratch, resume) = (scratch.display(), resume_command(folder));
        let message = format!("kept {scratch} for {resume}; remove it when it is not wanted");
        say(&message);
    }
}

/// CPU time of q2c itself per I/O.
pub(crate) struct Floor {
    /// With every I/O recorded, ns.
    pub recorded_ns: f64,
    /// With no I/O recorded, ns.
    pub bare_ns: f64,
}

/// Measures the floor on `cpu`, with an engine that does nothing.
pub(crate) fn measure_floor(time: &TimeSource, cpu: CpuId) -> Result<Floor, Fault> {
    Ok(Floor {
        recorded_ns: floor::measure(time, cpu).or_exit(Exit::Environment)?,
        bare_ns: floor::measure_counting(time, cpu).or_exit(Exit::Environment)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_one_word_of_a_shell() {
        for (path, word) in [
            ("runs/2026-a_b", "runs/2026-a_b"),
            ("my runs/a", "'my runs/a'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(quoted(Path::new(path)), word);
        }
    }

    #[test]
    fn a_run_is_gone_on_with_by_its_own_command() {
        let runs = tempfile::tempdir().unwrap();
        let plan = std::collections::BTreeMap::from([("seed", 1)]);
        let folder = RunDir::create(runs.path(), "bench", &plan, &Identity::default()).unwrap();
        let command = format!("q2c bench --resume {}", folder.path().display());
        assert_eq!(resume_command(folder.path()), command);
    }
}
