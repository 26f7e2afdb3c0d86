//! Names and addresses of the kernel's functions, from `/proc/kallsyms`.

use crate::ProbeError;
use crate::lock_waits::Function;
use itertools::Itertools;
use q2c_host::Roots;
use std::fs;
use std::path::PathBuf;

/// Checks that the kernel can put probes on its functions.
pub(crate) fn need_kprobes(roots: &Roots) -> Result<(), ProbeError> {
    let path = roots.sys("bus/event_source/devices/kprobe/type");
    if path.exists() {
        Ok(())
    } else {
        Err(ProbeError::NoKprobes { path })
    }
}

pub(crate) struct Symbols {
    path: PathBuf,
    /// Address and name, sorted by address.
    functions: Vec<(u64, String)>,
    /// Addresses of functions in modules, with the module's name; sorted.
    modules: Vec<(u64, String)>,
}

impl Symbols {
    /// Reads `/proc/kallsyms`. The kernel gives all addresses as 0 to a process that may not know
    /// them.
    pub(crate) fn read(roots: &Roots) -> Result<Symbols, ProbeError> {
        let path = roots.proc("kallsyms");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(ProbeError::Read { path, source }),
        };
        Ok(Symbols {
            path,
            functions: text.lines().filter_map(function).sorted().collect(),
            modules: text.lines().filter_map(module).sorted().collect(),
        })
    }

    /// The function whose code holds this address; `None` for an address below all functions.
    pub(crate) fn function_at(&self, address: u64) -> Option<Function> {
        let after = self.functions.partition_point(|(at, _)| *at <= address);
        let (start, name) = self.functions.get(after.checked_sub(1)?)?;
        let module = self.modules.binary_search_by_key(start, |(at, _)| *at);
        Some(Function {
            name: name.split('.').next().unwrap_or(name).to_owned(),
            module: module.ok().map(|at| self.modules[at].1.clone()),
        })
    }

    /// The first of `names` that is a function of this kernel; an error when none is.
    pub(crate) fn first_of(&self, names: &[&'static str]) -> Result<&'static str, ProbeError> {
        let first = names.iter().find(|name| self.has(name));
        let absent = "it is not there; is the kernel too old or too new, or its driver not loaded?";
        first.copied().ok_or_else(|| self.missing(names, absent))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.functions.iter().any(|(_, other)| other == name)
    }

    /// The code ranges of the functions of these names, as the first address and the exclusive end:
    /// the start of the next function. Copies that the compiler made, such as `name.part.0`, count
    /// as functions of that name.
    pub(crate) fn code_of(&self, names: &[&'static str]) -> Result<Vec<[u64; 2]>, ProbeError> {
        let is_one = |name: &str| names.contains(&name.split('.').next().unwrap_or(name));
        let starts = self.functions.iter().filter(|(_, name)| is_one(name));
        let code: Vec<[u64; 2]> = starts.filter_map(|(at, _)| self.range(*at)).collect();
        let hidden = "addresses are hidden: it needs kernel.kptr_restrict=0, or 1 and CAP_SYSLOG";
        if code.is_empty() {
            Err(self.missing(names, hidden))
        } else {
            Ok(code)
        }
    }

    fn range(&self, start: u64) -> Option<[u64; 2]> {
        let after = self.functions.partition_point(|(at, _)| *at <= start);
        let end = self.functions.get(after)?.0;
        (start != 0).then_some([start, end])
    }

    fn missing(&self, names: &[&str], found: &str) -> ProbeError {
        ProbeError::Symbol {
            wanted: names.join(" or "),
            path: self.path.clone(),
            found: found.to_owned(),
        }
    }
}

/// Reads a line `ffffffff81000000 T name [module]`; `None` when it is not of a function.
fn function(line: &str) -> Option<(u64, String)> {
    let mut columns = line.split_whitespace();
    let address = u64::from_str_radix(columns.next()?, 16).ok()?;
    let is_function = matches!(columns.next()?, "t" | "T" | "w" | "W");
    is_function.then(|| Some((address, columns.next()?.to_owned())))?
}

/// Reads the address and the module of a line that names one.
fn module(line: &str) -> Option<(u64, String)> {
    let (address, name) = (line.split_whitespace().next()?, line.rsplit_once('[')?.1);
    let address = u64::from_str_radix(address, 16).ok()?;
    Some((address, name.trim_end_matches(']').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(text: &str) -> Symbols {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::under(dir.path());
        fs::create_dir_all(&roots.proc).unwrap();
        fs::write(roots.proc("kallsyms"), text).unwrap();
        Symbols::read(&roots).unwrap()
    }

    const SOME: &str = "ffffffff81000300 T blk_poll\nffffffff81000100 t blk_mq_poll_hybrid.part.0\n\
                        ffffffff81000180 t next\nffffffff81000200 d blk_poll_data\n\
                        ffffffff81000380 T after\nffffffffc0001000 t nvme_poll\t[nvme]\n";

    #[test]
    fn code_ends_where_the_next_function_begins() {
        let code = symbols(SOME).code_of(&["blk_poll", "blk_mq_poll_hybrid"]);
        let wanted = [
            [0xffff_ffff_8100_0100, 0xffff_ffff_8100_0180],
            [0xffff_ffff_8100_0300, 0xffff_ffff_8100_0380],
        ];
        assert_eq!(code.unwrap(), wanted);
    }

    #[test]
    fn functions_of_modules_are_found_and_data_is_not() {
        let some = symbols(SOME);
        assert!(some.has("nvme_poll") && !some.has("blk_poll_data"));
        let first = some.first_of(&["null_poll", "nvme_poll"]);
        assert_eq!(first.unwrap(), "nvme_poll");
        let error = some.first_of(&["null_poll"]).unwrap_err().to_string();
        assert!(error.contains("null_poll"), "{error}");
        assert!(error.contains("not there"), "{error}");
    }

    #[test]
    fn code_belongs_to_the_function_before_it() {
        let some = symbols(SOME);
        let at = |address| {
            let function = some.function_at(address)?;
            Some((function.name, function.module))
        };
        let in_kernel = |name: &str| Some((name.to_owned(), None));
        assert_eq!(at(0xffff_ffff_8100_0310), in_kernel("blk_poll"));
        assert_eq!(at(0xffff_ffff_8100_0100), in_kernel("blk_mq_poll_hybrid"));
        let of_module = Some(("nvme_poll".to_owned(), Some("nvme".to_owned())));
        assert_eq!(at(0xffff_ffff_c000_1040), of_module);
        assert_eq!(at(7), None);
    }

    #[test]
    fn hidden_addresses_are_said_to_be_hidden() {
        let hidden = symbols("0000000000000000 T blk_poll\n0000000000000000 T other\n");
        let error = hidden.code_of(&["blk_poll"]).unwrap_err().to_string();
        assert!(error.contains("kptr_restrict"), "{error}");
    }
}
