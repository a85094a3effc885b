//! The harness's environment: the binary, a folder for homes, and one model server per scene.

use std::path::{Path, PathBuf};

use crate::error::HarnessError;
use crate::mock::Mock;
use crate::scene::Scene;

/// A file system in memory, used in place of a disk: these tests are not about power cuts, and it is fast.
const MEMORY: &str = "/dev/shm";

/// The binary under test and a folder for homes. The folder goes with it.
#[derive(Debug)]
pub struct Ground {
    windlass: PathBuf,
    folder: tempfile::TempDir,
    servers: Vec<(Scene, Mock)>,
}

impl Ground {
    /// A ground for that binary. Homes are made in `folder`; if none is given, in memory (`/dev/shm`) where there is
    /// such a thing.
    ///
    /// # Errors
    /// The binary is not there, or the folder or the model servers cannot be made.
    pub fn new(windlass: &Path, folder: Option<&Path>) -> Result<Self, HarnessError> {
        if !windlass.is_file() {
            return Err(HarnessError::NoWindlass { path: windlass.to_owned() });
        }
        let windlass = std::path::absolute(windlass).map_err(HarnessError::file("find", windlass))?;
        let memory = Path::new(MEMORY);
        let parent = folder.map_or_else(
            || if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() },
            Path::to_owned,
        );
        let folder = tempfile::Builder::new()
            .prefix("windlass-harness-")
            .tempdir_in(&parent)
            .map_err(HarnessError::file("make a folder in", &parent))?;
        let mut servers = Vec::new();
        for scene in Scene::ALL {
            let mock = Mock::start(scene.script()).map_err(HarnessError::system("start a model server"))?;
            servers.push((scene, mock));
        }
        Ok(Self { windlass, folder, servers })
    }

    /// The binary that stands beside this one, as cargo builds them.
    pub fn sibling_binary() -> PathBuf {
        let own = std::env::current_exe().unwrap_or_default();
        let folder = own.parent().map(Path::to_owned).unwrap_or_default();
        let folder = if folder.ends_with("deps") { folder.join("..") } else { folder };
        folder.join(format!("windlass{}", std::env::consts::EXE_SUFFIX))
    }

    /// The binary.
    pub fn windlass(&self) -> &Path {
        &self.windlass
    }

    /// The folder of all homes.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn model(&self, scene: Scene) -> &str {
        self.servers.iter().find(|(of, _)| *of == scene).map_or("", |(_, mock)| mock.url())
    }

    /// Keeps the folder for inspection.
    pub fn keep(&mut self) {
        self.folder.disable_cleanup(true);
    }
}
