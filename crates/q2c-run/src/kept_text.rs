use crate::whole_file;
use q2c_model::{Exit, Fault};
use std::io;
use std::path::{Path, PathBuf};

fn todo(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "; q2c runs lists the runs that are here",
        io::ErrorKind::PermissionDenied => "; run q2c as the user whose run it is",
        _ => "",
    }
}

/// Reads the result of a run: `run` is the run's folder, or a file with a result. Returns the path
/// of the file and its text.
pub fn kept_text(run: &Path) -> Result<(PathBuf, String), Fault> {
    let (path, text) = if run.is_dir() {
        let path = run.join("result.json");
        let text = whole_file::read_text(&path, whole_file::RESULT);
        (path, text)
    } else {
        let text = whole_file::read_named_text(run, whole_file::RESULT);
        (run.to_owned(), text)
    };
    match text {
        Ok(text) => Ok((path, text)),
        Err(source) if source.kind() == io::ErrorKind::NotFound && run.is_dir() => {
            let text = format!(
                "read {}: expected the result of q2c tune, bench, analyze, replay or compare, found none: the run has not ended, or was another command's; \
                 q2c runs lists the runs that are here",
                path.display()
            );
            Err(Fault::new(Exit::Input, text).with_source(source))
        }
        Err(source) => {
            let text = format!("read {}: {source}{}", path.display(), todo(&source));
            Err(Fault::new(Exit::Input, text).with_source(source))
        }
    }
}
