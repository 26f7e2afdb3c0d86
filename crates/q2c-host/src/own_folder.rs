//! Checks for folders that only their owner and root can change: their files are this user's own,
//! and nobody else can put a link in their place.

use itertools::Itertools;
use rustix::process::geteuid;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const OTHERS_WRITE_BIT: u32 = 0o002;
/// In a folder with this bit only the owner of an entry can remove or rename it.
const STICKY_BIT: u32 = 0o1000;

/// Checks that `folder` and all folders above it belong to this user or to root, and that others
/// cannot change them. Parts of the path that do not exist yet are not checked.
pub fn check(folder: &Path) -> io::Result<()> {
    check_for(&[geteuid().as_raw()], folder)
}

/// Like [`check`], but under `sudo`, folders of the user that called it are accepted too.
pub fn check_behind_sudo(path: &Path) -> io::Result<()> {
    let mut users = vec![geteuid().as_raw()];
    if users == [0] {
        let caller = std::env::var("SUDO_UID").ok();
        users.extend(caller.and_then(|user| user.parse::<u32>().ok()));
    }
    check_for(&users, path)
}

fn check_for(users: &[u32], folder: &Path) -> io::Result<()> {
    let folder = std::path::absolute(folder)?;
    for path in folder.ancestors() {
        match fs::symlink_metadata(path) {
            Ok(link) => {
                check_entry(path, &link, users)?;
                // The file to which a link leads may belong to another user than the link.
                check_entry(path, &fs::metadata(path)?, users)?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Checks that an open file belongs to this user.
pub(crate) fn check_file(file: &fs::File) -> io::Result<()> {
    let (user, owner) = (geteuid().as_raw(), file.metadata()?.uid());
    if owner != user {
        return deny(format!("it belongs to user {owner}, expected {user}"));
    }
    Ok(())
}

fn check_entry(path: &Path, meta: &Metadata, users: &[u32]) -> io::Result<()> {
    let owner = meta.uid();
    if owner != 0 && !users.contains(&owner) {
        let (path, users) = (path.display(), users.iter().join(" or "));
        return deny(format!(
            "{path} belongs to user {owner}, expected {users} or root: another user could put links there"
        ));
    }
    let is_sticky = meta.is_dir() && meta.mode() & STICKY_BIT != 0;
    let others_may_write = (meta.is_dir() || meta.is_file()) && meta.mode() & OTHERS_WRITE_BIT != 0;
    if others_may_write && !is_sticky {
        let risk = "what is there may be another user's";
        return deny(format!("everybody may write to {}: {risk}", path.display()));
    }
    Ok(())
}

fn deny(why: String) -> io::Result<()> {
    Err(io::Error::new(ErrorKind::PermissionDenied, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown};

    #[test]
    fn folders_that_others_can_change_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a");
        fs::create_dir(&folder).unwrap();
        let below = folder.join("not/yet/there");
        check(&below).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let message = check(&below).unwrap_err().to_string();
        assert!(message.contains("everybody may write"), "{message}");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777)).unwrap();
        check(&below).unwrap();
        let file = folder.join("q2c.toml");
        fs::write(&file, "").unwrap();
        check(&file).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        check(&file).unwrap_err();
        if !geteuid().is_root() {
            return q2c_testkit::skip("folders of another user", "not root");
        }
        chown(&folder, Some(65_534), None).unwrap();
        let message = check(&below).unwrap_err().to_string();
        assert!(message.contains("belongs to user 65534"), "{message}");
        // A link of another user is refused, whatever it leads to.
        let (link, good) = (dir.path().join("link"), dir.path().join("good"));
        fs::create_dir(&good).unwrap();
        std::os::unix::fs::symlink(&good, &link).unwrap();
        check(&link).unwrap();
        std::os::unix::fs::lchown(&link, Some(65_534), None).unwrap();
        check(&link).unwrap_err();
    }
}
