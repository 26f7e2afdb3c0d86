//! The kernel's build options, from `/proc/config.gz` or from the file that distributions keep
//! beside the kernel.

use crate::{Roots, attr};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

/// Most bytes that are unpacked from `config.gz`. The options of a kernel are below 1 MiB of text;
/// the bound keeps a damaged file from filling the memory.
const MAX_UNPACKED_BYTES: u64 = 8 << 20;

/// The build options that are set, by name without `CONFIG_`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelConfig {
    options: BTreeMap<String, String>,
}

impl KernelConfig {
    /// Reads the options; `None` where the kernel keeps no copy and no file of its release is
    /// found.
    pub fn read(roots: &Roots) -> Option<KernelConfig> {
        let release = attr::text(&roots.proc("sys/kernel/osrelease")).unwrap_or_default();
        let boot = || attr::text(&roots.boot.join(format!("config-{release}")));
        let modules = || attr::text(&roots.modules.join(&release).join("config"));
        let text = unpack_config(roots).or_else(boot).or_else(modules)?;
        Some(KernelConfig::parse(&text))
    }

    /// Parses lines `CONFIG_X=y`. Options that are not set stand in comments and are left out.
    pub(crate) fn parse(text: &str) -> KernelConfig {
        let option = |line: &str| {
            let (name, value) = line.trim().strip_prefix("CONFIG_")?.split_once('=')?;
            Some((name.to_owned(), value.trim_matches('"').to_owned()))
        };
        let options = text.lines().filter_map(option).collect();
        KernelConfig { options }
    }

    /// True if an option is built in (`y`) or a module (`m`).
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some_and(|v| v == "y" || v == "m")
    }

    /// An option's value without quotes; `None` if it is not set.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }
}

fn unpack_config(roots: &Roots) -> Option<String> {
    let file = File::open(roots.proc("config.gz")).ok()?;
    let mut text = String::new();
    let mut unpacked = flate2::read::GzDecoder::new(file).take(MAX_UNPACKED_BYTES);
    unpacked.read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SysProcTree;
    use std::io::Write;

    const TEXT: &str = "# comment\\nCONFIG_HZ=250\\nCONFIG_NVME=m\\n# CONFIG_KASAN is not set\\nCONFIG_CC=\"gcc 12\"";

    #[test]
    fn from_each_place() {
        let tree = SysProcTree::new("proc/sys/kernel/osrelease = 6.1.0-9");
        let roots = tree.roots();
        assert_eq!(KernelConfig::read(&roots), None);
        tree.add(&format!("lib/modules/6.1.0-9/config = {TEXT}"));
        let config = KernelConfig::read(&roots).unwrap();
        assert!(config.has("NVME") && !config.has("KASAN") && !config.has("HZ"));
        assert_eq!(config.value("HZ"), Some("250"));
        assert_eq!(config.value("CC"), Some("gcc 12"));
        tree.add("boot/config-6.1.0-9 = CONFIG_HZ=100");
        assert_eq!(KernelConfig::read(&roots).unwrap().value("HZ"), Some("100"));
        let file = File::create(roots.proc("config.gz")).unwrap();
        let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        packer.write_all(b"CONFIG_HZ=1000\n").unwrap();
        packer.finish().unwrap();
        let expected = Some("1000");
        assert_eq!(KernelConfig::read(&roots).unwrap().value("HZ"), expected);
        tree.add("proc/config.gz = no gzip");
        assert_eq!(KernelConfig::read(&roots).unwrap().value("HZ"), Some("100"));
    }
}
