//! Work on all cores, a block at a time.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::{iter, thread};

use crate::block::Block;
use crate::blocks::Blocks;
use crate::error::Result;

/// In which order results are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they come.
    Any,
    /// As the blocks stand in the input.
    Kept,
}

/// Results that are received at a time, for each core.
const RUN: usize = 2;

/// Does `work` on every block, on all cores, and `done` with the results, on this one: with all results that are
/// ready, so that a slow `done` gets more at a time. An error comes after the results before it.
pub fn on_all_cores<T: Send, E>(
    blocks: &Blocks<'_>,
    order: Order,
    work: impl Fn(&Block) -> Result<T> + Sync,
    mut done: impl FnMut(Result<&mut Vec<T>>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let workers = thread::available_parallelism().map_or(1, |n| n.get());
    let (send, receive) = mpsc::sync_channel(4 * workers);
    thread::scope(|scope| {
        for _ in 0..workers {
            let (send, work) = (send.clone(), &work);
            scope.spawn(move || {
                let mut block = Block::default();
                loop {
                    let result = match blocks.next(&mut block) {
                        Ok(false) => return,
                        Ok(true) => work(&block).map_err(|e| blocks.placed(e, &block)),
                        Err(e) => Err(e),
                    };
                    let failed = result.is_err();
                    // Nobody receives any more once an error was met.
                    if send.send((block.number, result)).is_err() || failed {
                        return;
                    }
                }
            });
        }
        drop(send);
        // Whatever ends the loop early closes the channel, and that ends the workers.
        let receive = receive;
        let (mut waiting, mut run) = (BTreeMap::new(), Vec::new());
        let (mut come, mut next) = (0, 0);
        while let Ok(first) = receive.recv() {
            let others = receive.try_iter().take(RUN * workers - 1);
            for (number, result) in iter::once(first).chain(others) {
                waiting.insert(if order == Order::Any { come } else { number }, result);
                come += 1;
            }
            let mut failed = None;
            while failed.is_none()
                && let Some(result) = waiting.remove(&next)
            {
                next += 1;
                match result {
                    Ok(result) => run.push(result),
                    Err(e) => failed = Some(e),
                }
            }
            if !run.is_empty() {
                done(Ok(&mut run))?;
                run.clear();
            }
            failed.map_or(Ok(()), |e| done(Err(e)))?;
        }
        Ok(())
    })
}
