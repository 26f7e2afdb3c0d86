//! Reads attribute files of sysfs and procfs, which hold one value each.

use crate::cpu_list;
use q2c_model::CpuId;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The file's text without surrounding white space; `None` when it cannot be read or is empty.
pub fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

pub(crate) fn value<T: FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

/// Parses the file as a CPU list; `None` when it cannot be read or holds no list.
pub(crate) fn cpus(path: &Path) -> Option<Vec<CpuId>> {
    cpu_list::parse(&text(path)?)
}

/// Returns the trimmed text that follows `start` in the first line that begins with it.
pub(crate) fn field<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    Some(text.lines().find_map(|l| l.strip_prefix(start))?.trim())
}

/// The selected word of a list of choices: `b` of `a [b] c` or `a (b) c`. Text without brackets is
/// returned whole.
pub(crate) fn selected_choice(text: &str) -> &str {
    let between = |open, close| Some(text.split_once(open)?.1.split_once(close)?.0);
    let choice = between('[', ']').or_else(|| between('(', ')'));
    choice.unwrap_or(text).trim()
}

/// Paths of a folder's entries, in the order of [`sort_by_number`]; empty when it cannot be read.
pub(crate) fn entries(dir: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(dir).into_iter().flatten();
    let mut paths: Vec<PathBuf> = listed.filter_map(|e| Some(e.ok()?.path())).collect();
    sort_by_number(&mut paths);
    paths
}

/// Sorts names of letters and a number (`cpu10`) by the number, after all other names.
pub(crate) fn sort_by_number(paths: &mut [PathBuf]) {
    paths.sort_by_cached_key(|p| {
        let name = name(p);
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        (digits.parse::<u64>().ok(), name)
    });
}

/// Opens a file for reading, and also for writing if `write`; `flags` are passed to `open(2)`.
pub(crate) fn open(path: &Path, write: bool, flags: OFlags) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(write);
    options.custom_flags(flags.bits() as i32).open(path)
}

pub fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_in_force() {
        assert_eq!(selected_choice("[none] mq-deadline kyber"), "none");
        assert_eq!(selected_choice("none (voluntary) full"), "voluntary");
        assert_eq!(selected_choice(" write back\n"), "write back");
    }
}
