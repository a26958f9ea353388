//! Work on all cores, a block at a time.

use std::collections::BTreeMap;
use std::sync::{Mutex, mpsc};
use std::thread;

use crate::blocks::{Block, Blocks};
use crate::error::Result;

/// In which order results are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they come.
    Any,
    /// As the blocks stand in the input.
    Kept,
}

/// Does `work` on every block, on all cores, and `done` with every result, on this one.
pub fn on_all_cores<T: Send, E>(
    blocks: Blocks<'_>,
    order: Order,
    work: impl Fn(&Block) -> Result<T> + Sync,
    mut done: impl FnMut(Result<T>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let workers = thread::available_parallelism().map_or(1, |n| n.get());
    let blocks = Mutex::new(blocks);
    let (send, receive) = mpsc::sync_channel(4 * workers);
    thread::scope(|scope| {
        for _ in 0..workers {
            let (send, blocks, work) = (send.clone(), &blocks, &work);
            scope.spawn(move || {
                let mut block = Block::default();
                loop {
                    // A poisoned lock means that another worker panicked, which ends the program.
                    let Ok(mut input) = blocks.lock() else { return };
                    let more = input.next(&mut block);
                    drop(input);
                    let result = match more {
                        Ok(false) => return,
                        Ok(true) => work(&block),
                        Err(e) => Err(e.into()),
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
        if order == Order::Any {
            return receive.into_iter().try_for_each(|(_, result)| done(result));
        }
        let (mut early, mut next) = (BTreeMap::new(), 0);
        for (number, result) in receive {
            early.insert(number, result);
            while let Some(result) = early.remove(&next) {
                done(result)?;
                next += 1;
            }
        }
        Ok(())
    })
}
