//! Names of processes, as records keep them.

/// Most characters of a process's name; the kernel's have 15. The name is copied to each record, so
/// that a small file with a name of megabytes would fill the memory.
const MOST: usize = 64;
/// The end of a name that was cut.
const CUT: &str = "... (cut)";

pub(crate) fn kept(name: &str) -> String {
    match name.char_indices().nth(MOST) {
        None => name.to_owned(),
        Some((end, _)) => name[..end].to_owned() + CUT,
    }
}

/// Whether a record's name is the beginning of a longer one, which nothing else can have.
pub fn is_cut(name: &str) -> bool {
    name.len() > MOST && name.ends_with(CUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_megabytes_is_cut_and_says_so() {
        assert_eq!(kept("fio"), "fio");
        let whole = "ä".repeat(MOST);
        assert_eq!(kept(&whole), whole);
        assert!(!is_cut(&whole) && !is_cut(CUT));
        let cut = kept(&"ä".repeat(5_000_000));
        assert_eq!(cut, whole + CUT);
        assert!(is_cut(&cut));
        // What was written as it was cut is read as it was written.
        assert_eq!(kept("fio... (cut)"), "fio... (cut)");
    }
}
