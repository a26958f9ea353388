//! What a crash or a failing disk would leave: steps are noted, made to fail, and replayed.
//!
//! A disk keeps what was synced. What was written since may be there, in part or not at all; names that were
//! given since their folder was synced may be there or not. [`Left`] lists the cases, and [`crashed`] makes a
//! folder look as it would after a crash.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// One step of writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A file is made.
    Create(PathBuf),
    /// Bytes go to a file at an offset.
    Write(PathBuf, u64, Vec<u8>),
    /// What was written to a file becomes durable.
    Sync(PathBuf),
    /// A file gets another name, which may have been another file's.
    Rename(PathBuf, PathBuf),
    /// The names in a folder become durable.
    SyncFolder(PathBuf),
    /// A file is removed.
    Remove(PathBuf),
}

#[derive(Default)]
struct Trial {
    steps: Vec<Step>,
    /// The step that fails, counted from 0.
    fails: Option<usize>,
}

thread_local! {
    static TRIAL: RefCell<Option<Trial>> = const { RefCell::new(None) };
}

/// Notes a step of this thread, if a trial runs; an error if this is the one that is to fail.
pub(crate) fn note(step: impl FnOnce() -> Step) -> io::Result<()> {
    TRIAL.with_borrow_mut(|trial| {
        let Some(trial) = trial else { return Ok(()) };
        let number = trial.steps.len();
        trial.steps.push(step());
        if trial.fails == Some(number) {
            return Err(io::Error::other(format!("step {number} fails in a trial")));
        }
        Ok(())
    })
}

/// What `work` gives, and the steps it took. The step numbered `fails` fails.
pub fn noted<R>(fails: Option<usize>, work: impl FnOnce() -> R) -> (R, Vec<Step>) {
    TRIAL.set(Some(Trial { steps: Vec::new(), fails }));
    let result = work();
    let steps = TRIAL.take().map_or_else(Vec::new, |trial| trial.steps);
    (result, steps)
}

/// What a crash leaves of steps that were not made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Everything.
    All,
    /// Nothing.
    Nothing,
    /// Names, but not the bytes behind them.
    Names,
    /// Bytes, but not the names they were given.
    Bytes,
    /// Names, and the last write in part.
    Torn,
}

impl Left {
    /// Every case.
    pub const ALL: [Left; 5] = [Left::All, Left::Nothing, Left::Names, Left::Bytes, Left::Torn];
}

/// A file as the system sees it, and as the disk has it.
#[derive(Clone, Default)]
struct Node {
    now: Vec<u8>,
    synced: Vec<u8>,
    /// The last write since then.
    last: Option<(usize, usize)>,
}

/// A folder's files: by the names they have, and by those that are durable.
#[derive(Clone, Default)]
struct Model {
    nodes: Vec<Node>,
    now: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
}

impl Model {
    /// The files of a folder, all of them durable.
    fn of(folder: &Path) -> io::Result<Self> {
        let mut model = Self::default();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() {
                let bytes = fs::read(&path)?;
                model.now.insert(path, model.nodes.len());
                model.nodes.push(Node { now: bytes.clone(), synced: bytes, last: None });
            }
        }
        model.durable = model.now.clone();
        Ok(model)
    }

    fn node(&mut self, path: &Path) -> Option<&mut Node> {
        let node = *self.now.get(path)?;
        self.nodes.get_mut(node)
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Create(path) => {
                self.now.insert(path.clone(), self.nodes.len());
                self.nodes.push(Node::default());
            }
            Step::Write(path, at, bytes) => {
                if let Some(node) = self.node(path) {
                    let (start, end) = (*at as usize, *at as usize + bytes.len());
                    node.now.resize(node.now.len().max(end), 0);
                    node.now[start..end].copy_from_slice(bytes);
                    node.last = Some((start, end));
                }
            }
            Step::Sync(path) => {
                if let Some(node) = self.node(path) {
                    (node.synced, node.last) = (node.now.clone(), None);
                }
            }
            Step::Rename(from, to) => {
                if let Some(node) = self.now.remove(from) {
                    self.now.insert(to.clone(), node);
                }
            }
            Step::SyncFolder(_) => self.durable = self.now.clone(),
            Step::Remove(path) => {
                self.now.remove(path);
            }
        }
    }

    /// Writes what is left to another folder.
    fn leave(&self, left: Left, to: &Path) -> io::Result<()> {
        let names = match left {
            Left::All | Left::Names | Left::Torn => &self.now,
            Left::Nothing | Left::Bytes => &self.durable,
        };
        for (path, node) in names {
            let node = &self.nodes[*node];
            let bytes = match (left, node.last) {
                (Left::All | Left::Bytes, _) => node.now.clone(),
                (Left::Torn, Some((start, end))) => {
                    let half = start + (end - start) / 2;
                    let mut torn = node.synced.clone();
                    torn.resize(torn.len().max(half), 0);
                    torn[start..half].copy_from_slice(&node.now[start..half]);
                    torn
                }
                _ => node.synced.clone(),
            };
            let name = path.file_name().unwrap_or_default();
            fs::write(to.join(name), bytes)?;
        }
        Ok(())
    }
}

/// Makes the folder `to` look as `before`, a copy of a folder made before the steps, would after its first
/// `count` steps and a crash. The steps name files of `folder`.
pub fn crashed(
    before: &Path,
    folder: &Path,
    steps: &[Step],
    count: usize,
    left: Left,
    to: &Path,
) -> io::Result<()> {
    let mut model = Model::of(before)?;
    let moved = |names: &BTreeMap<PathBuf, usize>| {
        let name = |path: &PathBuf| folder.join(path.file_name().unwrap_or_default());
        names.iter().map(|(path, node)| (name(path), *node)).collect()
    };
    (model.now, model.durable) = (moved(&model.now), moved(&model.durable));
    steps[..count].iter().for_each(|step| model.apply(step));
    model.leave(left, to)
}
