//! Checks after a failed trial whether the target is still there.

use super::media::Media;
use q2c_engine::Medium;
use q2c_model::Bytes;
use q2c_workbench::workload::Site;

/// Why the target cannot be measured any more; `None` when it is as it was.
pub(super) fn gone(media: &Media, span: Bytes, site: &Site) -> Option<String> {
    let target_disk = site
        .target_disk
        .as_ref()
        .filter(|target_disk| !target_disk.disk.dir.exists());
    if let Some(target_disk) = target_disk {
        return Some(format!("the device {} is gone", target_disk.disk.name));
    }
    let Ok(Medium::File(file)) = &media.plain else {
        return None;
    };
    let facts = file.metadata().ok()?;
    let short = facts.is_file() && facts.len() < span.0;
    short.then(|| {
        format!(
            "the target has become shorter: {} bytes are left of the {} in use",
            facts.len(),
            span.0
        )
    })
}
