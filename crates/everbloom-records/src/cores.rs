//! Work on all cores, a block at a time.

use std::collections::BTreeMap;
use std::sync::mpsc;
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
    blocks: &Blocks<'_>,
    order: Order,
    work: impl Fn(&Block) -> Result<T> + Sync,
    mut done: impl FnMut(Result<T>) -> std::result::Result<(), E>,
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
