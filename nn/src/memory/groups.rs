//! What the control groups of this process leave it, as containers and services limit memory.
//!
//! A process is in one group of each hierarchy, and every group on the way to the root has its
//! limits. Version 1 has a hierarchy for memory; version 2 has one for everything. Where they are
//! mounted is in `/proc/self/mountinfo`.

use std::path::{Path, PathBuf};

use super::system_text;

/// Names of one version.
struct Files {
    /// The file system's.
    kind: &'static str,
    /// Limits, bytes, or a word that means none.
    limits: &'static [&'static str],
    /// Memory in use, bytes.
    used: &'static str,
    /// The line of `memory.stat` with files in memory, which the system drops when it must.
    droppable: &'static str,
}

const VERSION_1: Files = Files {
    kind: "cgroup",
    limits: &["memory.limit_in_bytes"],
    used: "memory.usage_in_bytes",
    droppable: "total_inactive_file ",
};

const VERSION_2: Files = Files {
    kind: "cgroup2",
    // Above `high` a process is slowed down until it stands still.
    limits: &["memory.max", "memory.high"],
    used: "memory.current",
    droppable: "inactive_file ",
};

/// Memory that the groups of this process leave, bytes; `None` = there is no limit.
pub(super) fn free() -> Option<u64> {
    let groups = system_text("/proc/self/cgroup")?;
    let mounts = system_text("/proc/self/mountinfo")?;
    free_in(&groups, &mounts)
}

/// The same, from the text of `/proc/self/cgroup` and of `/proc/self/mountinfo`.
fn free_in(groups: &str, mounts: &str) -> Option<u64> {
    let left = groups.lines().filter_map(|line| {
        // Number of the hierarchy, its controllers, the group.
        let mut parts = line.splitn(3, ':');
        let (_, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
        let files = match controllers {
            "" => &VERSION_2,
            names if names.split(',').any(|name| name == "memory") => &VERSION_1,
            _ => return None,
        };
        let (mount, inside) = mounts.lines().find_map(|line| place(line, files, group))?;
        inside.ancestors().filter_map(|group| files.left(&mount.join(group))).min()
    });
    left.min()
}

/// Where a line of `mountinfo` mounts the hierarchy, and the group's path from there.
fn place(line: &str, files: &Files, group: &str) -> Option<(PathBuf, PathBuf)> {
    let (mount, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let (kind, options) = (kind.next()?, kind.nth(1)?);
    // Version 1 mounts each of its hierarchies; the options name the controllers.
    let has_memory = kind == VERSION_2.kind || options.split(',').any(|name| name == "memory");
    let mut fields = mount.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    // In a container the root of the mount is the container's group, or one cannot see so far.
    let inside = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
    let inside = inside.strip_prefix("/").unwrap_or(inside);
    (kind == files.kind && has_memory).then(|| (PathBuf::from(point), inside.to_owned()))
}

impl Files {
    /// What this group leaves, bytes; `None` = it has no limit.
    fn left(&self, group: &Path) -> Option<u64> {
        let number = |name: &&str| system_text(group.join(name))?.trim().parse::<u64>().ok();
        let limit = self.limits.iter().filter_map(number).min()?;
        let stat = system_text(group.join("memory.stat")).unwrap_or_default();
        let droppable = stat.lines().find_map(|line| line.strip_prefix(self.droppable));
        let droppable = droppable.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
        let used = number(&self.used).unwrap_or(0).saturating_sub(droppable);
        Some(limit.saturating_sub(used))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// A hierarchy with a group `a/b`, and the line that mounts it.
    fn hierarchy(kind: &str, options: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        let point = folder.path().display();
        let line = format!("30 20 0:26 / {point} rw,nosuid - {kind} cgroup {options}\n");
        (folder, line)
    }

    fn write(folder: &tempfile::TempDir, name: &str, text: impl std::fmt::Display) {
        fs::write(folder.path().join(name), format!("{text}\n")).unwrap();
    }

    #[test]
    fn the_least_of_all_groups_above_counts() {
        let (folder, mounts) = hierarchy("cgroup2", "rw");
        let free = || free_in("0::/a/b\n", &mounts);
        assert_eq!(free(), None);
        write(&folder, "a/b/memory.max", "max");
        write(&folder, "a/b/memory.high", "max");
        assert_eq!(free(), None);
        write(&folder, "a/memory.max", 512 * MIB);
        assert_eq!(free(), Some(512 * MIB));
        write(&folder, "a/memory.current", 112 * MIB);
        assert_eq!(free(), Some(400 * MIB));
        write(&folder, "a/memory.stat", format!("anon 5\ninactive_file {}", 12 * MIB));
        assert_eq!(free(), Some(412 * MIB));
        write(&folder, "a/b/memory.high", 100 * MIB);
        assert_eq!(free(), Some(100 * MIB));
        write(&folder, "a/b/memory.current", 200 * MIB);
        assert_eq!(free(), Some(0));
    }

    #[test]
    fn the_first_version_has_a_hierarchy_of_its_own() {
        let (folder, mounts) = hierarchy("cgroup", "rw,memory");
        let groups = "9:name=systemd:/\n4:memory:/a/b\n1:cpu:/\n0::/\n";
        write(&folder, "a/b/memory.limit_in_bytes", i64::MAX);
        write(&folder, "a/memory.limit_in_bytes", 64 * MIB);
        write(&folder, "a/memory.usage_in_bytes", 24 * MIB);
        write(&folder, "a/memory.stat", format!("total_inactive_file {}", 4 * MIB));
        assert_eq!(free_in(groups, &mounts), Some(44 * MIB));
        assert_eq!(free_in("1:cpu,cpuacct:/a/b\n", &mounts), None);
    }

    #[test]
    fn a_container_that_sees_only_its_own_group_is_found_at_the_mount() {
        let (folder, mounts) = hierarchy("cgroup2", "rw");
        write(&folder, "memory.max", 256 * MIB);
        let mounts = mounts.replace(" / ", " /docker/1234 ");
        assert_eq!(free_in("0::/docker/1234\n", &mounts), Some(256 * MIB));
        assert_eq!(free_in("0::/../elsewhere\n", &mounts), Some(256 * MIB));
    }

    #[test]
    fn damaged_texts_are_no_limits() {
        let (_folder, mounts) = hierarchy("cgroup2", "rw");
        for groups in ["", ":", "0:", "0::", "0::a\0b", "x"] {
            assert_eq!(free_in(groups, &mounts), None, "{groups:?}");
        }
        for mounts in ["", " - ", "1 2 3 - cgroup2 x y", "a - cgroup2"] {
            assert_eq!(free_in("0::/a", mounts), None, "{mounts:?}");
        }
    }
}
