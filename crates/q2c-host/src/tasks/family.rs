use crate::Roots;
use std::collections::HashMap;
use std::fs;

/// How a process is related to the first one of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kin {
    /// It is the first one, or descends from it.
    Of,
    /// It does not descend from it, or no longer: its parents have ended.
    Other,
    /// It had ended before it was asked for.
    Gone,
}

/// A process and its descendants. Each process is looked up once, so it should be asked for while
/// it lives.
#[derive(Clone, Debug)]
pub struct ProcessFamily {
    roots: Roots,
    first: u32,
    known: HashMap<u32, Kin>,
}

impl ProcessFamily {
    /// Most generations that are followed. Ids are used again, so a chain may never end.
    const GENERATIONS: usize = 64;

    /// The family of the process `first`.
    pub fn new(roots: &Roots, first: u32) -> Self {
        ProcessFamily {
            roots: roots.clone(),
            first,
            known: HashMap::from([(0, Kin::Other), (first, Kin::Of)]),
        }
    }

    /// How a process, or the process of a thread, is related to the first one.
    pub fn kin(&mut self, id: u32) -> Kin {
        if let Some(kin) = self.known.get(&id) {
            return *kin;
        }
        let kin = self.looked_up(id);
        self.known.insert(id, kin);
        kin
    }

    fn looked_up(&self, id: u32) -> Kin {
        let mut at = id;
        for _ in 0..Self::GENERATIONS {
            let Some((process, parent)) = self.process_and_parent(at) else {
                return Kin::Gone;
            };
            if process == self.first {
                return Kin::Of;
            }
            if let Some(kin) = self.known.get(&parent) {
                return *kin;
            }
            at = parent;
        }
        Kin::Other
    }

    fn process_and_parent(&self, id: u32) -> Option<(u32, u32)> {
        let text = fs::read_to_string(self.roots.proc(&format!("{id}/status"))).ok()?;
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name))?;
            value.trim().parse().ok()
        };
        Some((field("Tgid:")?, field("PPid:")?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_and_their_threads_are_told_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::under(folder.path());
        for (id, process, parent) in [
            (1, 1, 0),
            (10, 10, 1),
            (11, 11, 10),
            (12, 12, 11),
            (13, 12, 11),
            (20, 20, 1),
        ] {
            let path = roots.proc(&id.to_string());
            fs::create_dir_all(&path).unwrap();
            let text = format!("Name:\tx\nTgid:\t{process}\nPPid:\t{parent}\n");
            fs::write(path.join("status"), text).unwrap();
        }
        let mut family = ProcessFamily::new(&roots, 10);
        for id in [10, 11, 12, 13] {
            assert_eq!(family.kin(id), Kin::Of, "{id}");
        }
        for id in [0, 1, 20] {
            assert_eq!(family.kin(id), Kin::Other, "{id}");
        }
        assert_eq!(family.kin(30), Kin::Gone);
        // What was told stays told when the process is gone.
        fs::remove_dir_all(roots.proc("12")).unwrap();
        assert_eq!(family.kin(12), Kin::Of);
    }
}
