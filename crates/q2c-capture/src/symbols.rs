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
    let exists = path.exists();
    exists.then_some(()).ok_or(ProbeError::NoKprobes { path })
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
        let next = self.functions.partition_point(|(at, _)| *at <= address);
        let (start, name) = self.functions.get(next.checked_sub(1)?)?;
        let module = self.modules.binary_search_by_key(start, |(at, _)| *at);
        Some(Function {
            name: name.split('.').next().unwrap_or(name).to_owned(),
            module: module.ok().map(|at| self.modules[at].1.clone()),
        })
    }

    /// Those of `names` that are functions of this kernel; an error when none is.
    pub(crate) fn present(&self, names: &[&'static str]) -> Result<Vec<&'static str>, ProbeError> {
        let present = names.iter().copied().filter(|name| self.has(name));
        let absent = "it is not there; is the kernel too old or too new, or its driver not loaded?";
        self.nonempty(present.collect(), names, absent)
    }

    fn has(&self, name: &str) -> bool {
        self.functions.iter().any(|(_, other)| other == name)
    }

    /// The code ranges of the functions of these names, as the first address and the exclusive end:
    /// the start of the next function. Copies that the compiler made, such as `name.part.0`, count
    /// as functions of that name.
    pub(crate) fn code_ranges(&self, names: &[&'static str]) -> Result<Vec<[u64; 2]>, ProbeError> {
        let is_wanted = |name: &str| names.contains(&name.split('.').next().unwrap_or(name));
        let starts = self.functions.iter().filter(|(_, name)| is_wanted(name));
        let ranges = starts.filter_map(|(at, _)| self.range(*at)).collect();
        let hidden = "addresses are hidden: it needs kernel.kptr_restrict=0, or 1 and CAP_SYSLOG";
        self.nonempty(ranges, names, hidden)
    }

    fn range(&self, start: u64) -> Option<[u64; 2]> {
        let next = self.functions.partition_point(|(at, _)| *at <= start);
        let end = self.functions.get(next)?.0;
        (start != 0).then_some([start, end])
    }

    /// The values found for `names`; an error with `reason` when there are none.
    fn nonempty<T>(
        &self,
        found: Vec<T>,
        names: &[&str],
        reason: &str,
    ) -> Result<Vec<T>, ProbeError> {
        if !found.is_empty() {
            return Ok(found);
        }
        Err(ProbeError::Symbol {
            wanted: names.join(" or "),
            path: self.path.clone(),
            found: reason.to_owned(),
        })
    }
}

/// Reads a line `ffffffff81000000 T name [module]`; `None` when it is not of a function.
fn function(line: &str) -> Option<(u64, String)> {
    let mut columns = line.split_whitespace();
    let address = u64::from_str_radix(columns.next()?, 16).ok()?;
    let is_function = matches!(columns.next()?, "t" | "T" | "w" | "W");
    is_function.then(|| Some((address, columns.next()?.to_owned())))?
}

/// Reads the address and the module of a line; `None` when it names no module.
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

    const KALLSYMS: &str = "ffffffff81000300 T blk_poll\nffffffff81000100 t blk_mq_poll_hybrid.part.0\n\
                        ffffffff81000180 t next\nffffffff81000200 d blk_poll_data\n\
                        ffffffff81000380 T after\nffffffffc0001000 t nvme_poll\t[nvme]\n";

    #[test]
    fn code_ends_where_the_next_function_begins() {
        let code = symbols(KALLSYMS).code_ranges(&["blk_poll", "blk_mq_poll_hybrid"]);
        let wanted = [
            [0xffff_ffff_8100_0100, 0xffff_ffff_8100_0180],
            [0xffff_ffff_8100_0300, 0xffff_ffff_8100_0380],
        ];
        assert_eq!(code.unwrap(), wanted);
    }

    #[test]
    fn functions_of_modules_are_found_and_data_is_not() {
        let symbols = symbols(KALLSYMS);
        assert!(symbols.has("nvme_poll") && !symbols.has("blk_poll_data"));
        let present = symbols.present(&["null_poll", "nvme_poll"]);
        assert_eq!(present.unwrap(), ["nvme_poll"]);
        let error = symbols.present(&["null_poll"]).unwrap_err().to_string();
        assert!(error.contains("null_poll"), "{error}");
        assert!(error.contains("not there"), "{error}");
    }

    #[test]
    fn code_belongs_to_the_function_before_it() {
        let symbols = symbols(KALLSYMS);
        let at = |address| {
            let function = symbols.function_at(address)?;
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
        let error = hidden.code_ranges(&["blk_poll"]).unwrap_err().to_string();
        assert!(error.contains("kptr_restrict"), "{error}");
    }
}
