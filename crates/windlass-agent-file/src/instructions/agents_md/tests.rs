use std::path::Path;

use crate::AgentFile;
use crate::files::{AgentSource, Disk, FileOverrides, Files};
use crate::reading::Surroundings;

fn env(_: &str) -> Option<String> {
    None
}

fn put(folder: &Path, file: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn read(folder: &Path, file: &str) -> AgentFile {
    AgentFile::read(&folder.join(file), &env).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(folder: &Path, file: &str) -> String {
    let error = AgentFile::read(&folder.join(file), &env).unwrap_err().to_string();
    error.replace(&*folder.to_string_lossy(), "FOLDER")
}

#[test]
fn the_nearest_file_up_to_the_root_of_the_repository_counts() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "AGENTS.md", "Of nobody.");
    std::fs::create_dir_all(at.join("repo/.git")).unwrap();
    put(at, "repo/inner/agents/a.yaml", "agents_md: .");
    let none = read(at, "repo/inner/agents/a.yaml").agents_md.unwrap();
    assert_eq!((&none.found, none.section()), (&None, None), "what lies above the repository is not read");
    assert_eq!(none.root, at.join("repo"));

    put(at, "repo/AGENTS.md", "  Build with {{ make }}.\n");
    let root = read(at, "repo/inner/agents/a.yaml").agents_md.unwrap();
    assert_eq!(root.found.as_ref().unwrap().0, at.join("repo/AGENTS.md"));
    assert_eq!(root.section().unwrap(), "# Instructions of the folder (AGENTS.md)\n\nBuild with {{ make }}.");

    put(at, "repo/inner/AGENTS.md", "Nearer.");
    let nearer = read(at, "repo/inner/agents/a.yaml").agents_md.unwrap();
    assert_eq!(nearer.found.unwrap().1, "Nearer.");

    put(at, "repo/inner/agents/off.yaml", "agents_md: false");
    assert_eq!(read(at, "repo/inner/agents/off.yaml").agents_md, None);
    put(at, "repo/inner/agents/AGENTS.md", " \n");
    assert_eq!(
        read(at, "repo/inner/agents/a.yaml").agents_md.unwrap().section(),
        None,
        "an empty one says nothing"
    );
}

#[test]
fn outside_of_a_repository_only_the_folder_itself_counts() {
    let folder = tempfile::tempdir().unwrap();
    // Some systems keep their folder of temporary files in a repository.
    if folder.path().ancestors().any(|folder| folder.join(".git").exists()) {
        return;
    }
    put(folder.path(), "AGENTS.md", "Above.");
    put(folder.path(), "inner/a.yaml", "agents_md: .");
    assert_eq!(read(folder.path(), "inner/a.yaml").agents_md.unwrap().found, None);
    put(folder.path(), "inner/AGENTS.md", "Here.");
    assert_eq!(read(folder.path(), "inner/a.yaml").agents_md.unwrap().found.unwrap().1, "Here.");
}

/// The disk, seen from a folder in which somebody works.
#[derive(Debug)]
struct Working<'w>(&'w Path);

impl Files for Working<'_> {
    fn read(&self, path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
        Disk.read(path, most)
    }

    fn folders(&self, path: &Path) -> std::io::Result<Vec<String>> {
        Disk.folders(path)
    }

    fn leads_out(&self, path: &Path, folder: &Path) -> bool {
        Disk.leads_out(path, folder)
    }

    fn working_folder(&self) -> Option<std::path::PathBuf> {
        Some(self.0.to_owned())
    }

    fn ancestors(&self, folder: &Path) -> Vec<std::path::PathBuf> {
        Disk.ancestors(folder)
    }
}

#[test]
fn a_run_that_goes_on_elsewhere_keeps_the_text_of_the_folder_in_which_it_began() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "agents/a.yaml", "agents_md: true");
    put(at, "work/.git/HEAD", "");
    put(at, "work/AGENTS.md", "Of the work.");
    let work = at.join("work/inner");
    std::fs::create_dir(&work).unwrap();
    let file = AgentFile::read_from(&Working(&work), &at.join("agents/a.yaml"), &env).unwrap();
    assert_eq!(file.agents_md.as_ref().unwrap().found.as_ref().unwrap().1, "Of the work.");

    let source = AgentSource::of(&file, FileOverrides::default()).unwrap();
    let kept = AgentSource::from_bytes(&source.to_bytes().unwrap()).unwrap();
    put(at, "work/AGENTS.md", "Another.");
    let again = kept.agent_file(&env, &[]).unwrap();
    assert_eq!(again.agents_md.unwrap().found, file.agents_md.unwrap().found);

    // An agent that does not depend on it does not keep it.
    put(at, "agents/b.yaml", "agents_md: ../work");
    let other = AgentFile::read_from(&Working(&work), &at.join("agents/b.yaml"), &env).unwrap();
    assert_eq!(AgentSource::of(&other, FileOverrides::default()).unwrap().working_folder, None);
    let text = "agents_md: true";
    let surroundings = Surroundings { env: &env, files: &Working(&work) };
    assert!(AgentFile::parse_from(text, Path::new("a.yaml"), surroundings).unwrap().working_folder.is_some());
}

#[test]
fn what_cannot_be_read_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "a.yaml", "name: a\nagents_md: .");
    put(at, "AGENTS.md", "x".repeat(65_537));
    assert_eq!(
        refused(at, "a.yaml"),
        "FOLDER/a.yaml:2:12: FOLDER/AGENTS.md cannot be read: it has more than 65536 bytes"
    );
    put(at, "AGENTS.md", [0xff, 0xfe]);
    assert!(refused(at, "a.yaml").contains("it is not valid UTF-8"));
    std::fs::remove_file(at.join("AGENTS.md")).unwrap();
    std::fs::create_dir(at.join("AGENTS.md")).unwrap();
    assert!(refused(at, "a.yaml").ends_with("it is not a regular file"));
    #[cfg(unix)]
    {
        let outside = tempfile::tempdir().unwrap();
        put(outside.path(), "secret", "secret");
        std::fs::remove_dir(at.join("AGENTS.md")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), at.join("AGENTS.md")).unwrap();
        assert!(refused(at, "a.yaml").contains("it is a link that leads out of "));
    }
    put(at, "b.yaml", "agents_md: 3");
    assert!(refused(at, "b.yaml").ends_with("`agents_md` is 3, expected true, false or a folder"));
}
