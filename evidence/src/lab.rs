//! Where an experiment runs: effort, seed, all cores, and somebody who watches the progress.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use everbloom::Result;
use everbloom::internals::hash::mix64;
use everbloom_report::number::integer_text;
use everbloom_report::{Axis, Bound, Report, Rows};
use serde::{Deserialize, Serialize};

/// One figure, table or claim of a source, and the code that tries it.
pub struct Experiment {
    /// Short name for the command line and for files, such as `s0-fig3`.
    pub name: &'static str,
    /// Document and place, such as "S0 Fig. 3".
    pub source: &'static str,
    /// What is drawn.
    pub title: &'static str,
    /// One or two sentences on what a reader should see in it.
    pub shows: &'static str,
    /// The experiment.
    pub run: fn(&Lab) -> Result<Report>,
}

impl Experiment {
    /// Runs the experiment. Where it asked its filters for members, one more panel says how many were denied.
    pub fn report(&self, lab: &Lab) -> Result<Report> {
        let report = (self.run)(lab)?;
        let (asked, denied) = lab.members_asked();
        if asked == 0 {
            return Ok(report);
        }
        let mut rows = Rows::new("members", "False negatives", Axis::linear("members denied"));
        let label = format!("of {} members asked", integer_text(asked));
        rows.row(label, 0.0, denied as f64, Bound::exactly(0.0, 0.0));
        Ok(report.rows(rows))
    }
}

/// How much work is put into each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// All experiments within three minutes on two cores.
    Quick,
    /// Four times the trials.
    Normal,
    /// Sixteen times the trials: what the committed figures are made with.
    Thorough,
}

impl Effort {
    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Effort::Quick => "quick",
            Effort::Normal => "normal",
            Effort::Thorough => "thorough",
        }
    }
}

/// What an experiment runs under.
pub struct Lab<'a> {
    effort: Effort,
    seed: u64,
    data: Option<&'a Path>,
    watcher: &'a (dyn Fn(u64, u64) + Sync),
    planned: AtomicU64,
    done: AtomicU64,
    members: AtomicU64,
    denied: AtomicU64,
}

impl<'a> Lab<'a> {
    /// A lab whose `watcher` hears how many runs are done, of how many known so far.
    pub fn new(effort: Effort, seed: u64, watcher: &'a (dyn Fn(u64, u64) + Sync)) -> Self {
        Self {
            effort,
            seed,
            data: None,
            watcher,
            planned: AtomicU64::new(0),
            done: AtomicU64::new(0),
            members: AtomicU64::new(0),
            denied: AtomicU64::new(0),
        }
    }

    /// The same lab with data of the user's to run on.
    #[must_use]
    pub fn with_data(mut self, data: Option<&'a Path>) -> Self {
        self.data = data;
        self
    }

    /// The user's data; none where the experiment makes its own.
    pub fn data(&self) -> Option<&Path> {
        self.data
    }

    /// The effort asked for.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// The seed all others derive from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// `quick` runs or trials, or 4 or 16 times as many.
    pub fn scaled(&self, quick: u64) -> u64 {
        quick * [1, 4, 16][self.effort as usize]
    }

    /// Runs `count` independent runs on all cores, each with a seed of its own, and returns what they
    /// gave in order: the same whatever the number of cores.
    pub fn runs<T: Send>(
        &self,
        count: u64,
        run: impl Fn(u64) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let inputs: Vec<u64> = (0..count).map(|i| self.seed_of(i)).collect();
        self.over(&inputs, |&seed| run(seed))
    }

    /// Runs one job per input on all cores and returns what they gave, in the order of the inputs.
    pub fn over<I: Sync, T: Send>(
        &self,
        inputs: &[I],
        job: impl Fn(&I) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let total = inputs.len();
        self.planned.fetch_add(total as u64, Ordering::Relaxed);
        let next = AtomicU64::new(0);
        let results: Mutex<Vec<Option<Result<T>>>> = Mutex::new((0..total).map(|_| None).collect());
        let work = || {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed) as usize;
                let Some(input) = inputs.get(i) else { return };
                let result = job(input);
                if let Ok(mut results) = results.lock() {
                    results[i] = Some(result);
                }
                let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
                (self.watcher)(done, self.planned.load(Ordering::Relaxed));
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(total.max(1));
        std::thread::scope(|scope| {
            for _ in 1..cores {
                scope.spawn(work);
            }
            work();
        });
        let results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Every index was taken once, and scope has joined all threads.
        results.into_iter().flatten().collect()
    }

    /// Asks a filter that promises to find them for its members, in an experiment about other errors.
    pub fn ask_members<K>(
        &self,
        members: impl IntoIterator<Item = K>,
        contains: impl Fn(&K) -> bool,
    ) {
        let (mut asked, mut denied) = (0, 0);
        for member in members {
            asked += 1;
            denied += u64::from(!contains(&member));
        }
        self.members.fetch_add(asked, Ordering::Relaxed);
        self.denied.fetch_add(denied, Ordering::Relaxed);
    }

    /// How many members were asked for, and how many of them were denied.
    pub fn members_asked(&self) -> (u64, u64) {
        (self.members.load(Ordering::Relaxed), self.denied.load(Ordering::Relaxed))
    }

    /// The seed of the i-th run.
    pub fn seed_of(&self, run: u64) -> u64 {
        mix64(self.seed ^ mix64(run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_come_back_in_order_with_different_seeds() {
        let lab = Lab::new(Effort::Quick, 1, &|_, _| ());
        let seeds = lab.runs(100, Ok).unwrap();
        assert_eq!(seeds, (0..100).map(|i| lab.seed_of(i)).collect::<Vec<_>>());
        let mut distinct = seeds.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 100);
    }

    #[test]
    fn members_that_are_denied_are_told() {
        let experiment = Experiment {
            name: "x",
            source: "S0",
            title: "",
            shows: "",
            run: |lab| {
                lab.ask_members(0..1000u64, |key| *key != 500);
                Ok(Report::default())
            },
        };
        let lab = Lab::new(Effort::Quick, 1, &|_, _| ());
        let report = experiment.report(&lab).unwrap();
        assert_eq!((report.score(), lab.members_asked()), ((0, 1), (1000, 1)));
    }

    #[test]
    fn an_error_of_one_run_is_the_error_of_all() {
        let lab = Lab::new(Effort::Quick, 1, &|_, _| ());
        let failed = lab.over(&[1, 2, 3], |&i| {
            let items = if i == 2 { 0 } else { i };
            everbloom::membership::Bloom::with_rate(items, 0.01)
        });
        assert!(failed.unwrap_err().to_string().contains("items = 0"));
    }
}
