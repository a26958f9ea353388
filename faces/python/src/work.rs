//! What is done with whole columns: on all cores, while other threads run Python.

use everbloom::raw::Digest;
use everbloom::{Counted, Error, Filter as AnyFilter};
use pyo3::PyResult;

use crate::abilities::{counting, insert, lookup};
use crate::columns::Piece;
use crate::errors::{internal, raise};
use crate::held::{CHUNK, Held, inserted};
use crate::rows::cores;

/// Keys that are worth a thread.
const SHARE: usize = 50_000;

/// Keys whose places are noted at once: if several cores insert them, and if one does, so that they stay in the L2 cache.
const MANY: usize = 1 << 22;
const SOME: usize = 1 << 12;

/// Writes for every row whether its key may be a member: 0 for a null.
pub fn contains(held: &Held, pieces: &[Piece<'_>], mut found: &mut [u8]) -> PyResult<()> {
    for piece in pieces {
        let (now, later) = std::mem::take(&mut found).split_at_mut(piece.len());
        found = later;
        let threads = cores().min(piece.len() / SHARE).max(1);
        let share = piece.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            let mut shares = now.chunks_mut(share).enumerate();
            let own = shares.next();
            let work = |(i, found): (usize, &mut [u8])| some(held, piece, i * share, found);
            let others: Vec<_> = shares.map(|part| scope.spawn(move || work(part))).collect();
            let mut outcome = own.map_or(Ok(()), work);
            for thread in others {
                let done = thread.join().unwrap_or_else(|_| Err(internal("a thread panicked")));
                outcome = outcome.and(done);
            }
            outcome
        })?;
    }
    Ok(())
}

/// The rows from `start` on, on one thread.
fn some(held: &Held, piece: &Piece<'_>, start: usize, found: &mut [u8]) -> PyResult<()> {
    let mut truths = [false; CHUNK];
    piece.chunks((start, start + found.len()), CHUNK, |first, keys| {
        let truths = &mut truths[..keys.len()];
        held.contains_many(keys, truths).map_err(raise)?;
        let found = &mut found[first - start..][..keys.len()];
        for (i, (found, truth)) in found.iter_mut().zip(truths).enumerate() {
            let valid = piece.valid.as_ref().is_none_or(|valid| valid[first + i]);
            *found = u8::from(*truth && valid);
        }
        Ok(())
    })
}

/// Inserts every row that is not null.
pub fn add(held: &mut Held, pieces: &[Piece<'_>]) -> PyResult<()> {
    let mut rows = 0;
    for piece in pieces {
        if let Held::Other(filter) = held {
            add_to(&mut **filter, piece, rows)?;
        } else {
            let many = if piece.is_words() || piece.len() >= MANY / 2 { MANY } else { SOME };
            piece.keys(many, |row, keys| {
                held.insert_many(keys).map_err(|(i, e)| refused(rows + row(i), e))
            })?;
        }
        rows += piece.len();
    }
    Ok(())
}

/// The error of a row that is refused; those before it are inserted.
pub fn refused(row: usize, error: Error) -> pyo3::PyErr {
    raise(error.context(format!("row {row}")))
}

fn add_to(filter: &mut dyn AnyFilter, piece: &Piece<'_>, rows: usize) -> PyResult<()> {
    insert(filter).map_err(raise)?;
    let threads = cores().min(piece.len() / SHARE);
    if threads > 1
        && let Some(outcome) = add_on(threads, filter, piece)
    {
        return outcome;
    }
    piece
        .keys(CHUNK, |row, keys| inserted(filter, keys).map_err(|(i, e)| refused(rows + row(i), e)))
}

/// Inserts on so many threads; nothing where the filter takes keys from one alone.
fn add_on(threads: usize, filter: &mut dyn AnyFilter, piece: &Piece<'_>) -> Option<PyResult<()>> {
    let hasher = filter.head().hasher.clone();
    let lent = &filter.as_bulk_mut()?.lend()?;
    let (share, hasher) = (piece.len().div_ceil(threads), &hasher);
    let work = move |start: usize| {
        let mut digests: Vec<Digest> = Vec::new();
        let rows = (start, piece.len().min(start + share));
        piece.chunks(rows, 16 * CHUNK, |first, keys| {
            digests.clear();
            keys.each(|i, key| {
                let valid = piece.valid.as_ref().is_none_or(|valid| valid[first + i]);
                digests.extend(valid.then(|| hasher.digest(key)));
                Ok::<(), pyo3::PyErr>(())
            })?;
            lent.insert_digests(&digests);
            Ok(())
        })
    };
    Some(std::thread::scope(|scope| {
        let starts = (share..piece.len()).step_by(share);
        let others: Vec<_> = starts.map(|start| scope.spawn(move || work(start))).collect();
        others.into_iter().fold(work(0), |outcome, thread| {
            outcome.and(thread.join().unwrap_or_else(|_| Err(internal("a thread panicked"))))
        })
    }))
}

/// Calls `f` with the bytes of every row, or with nothing for a null.
pub fn each(
    pieces: &[Piece<'_>],
    mut f: impl FnMut(Option<&[u8]>) -> PyResult<()>,
) -> PyResult<()> {
    for piece in pieces {
        let valid = |i: usize| piece.valid.as_ref().is_none_or(|valid| valid[i]);
        piece.chunks((0, piece.len()), CHUNK, |first, keys| {
            keys.each(|i, key| f(Some(key).filter(|_| valid(first + i))))
        })?;
    }
    Ok(())
}

/// The counts of every row.
pub fn counts(held: &Held, pieces: &[Piece<'_>]) -> PyResult<Vec<Option<Counted>>> {
    let count = counting(held.filter()).map_err(raise)?;
    let mut counts = Vec::new();
    each(pieces, |key| {
        counts.push(key.map(|key| count.count(key)));
        Ok(())
    })?;
    Ok(counts)
}

/// The values of every row.
pub fn values(held: &Held, pieces: &[Piece<'_>]) -> PyResult<Vec<Option<Vec<u8>>>> {
    let lookup = lookup(held.filter()).map_err(raise)?;
    let mut values = Vec::new();
    each(pieces, |key| {
        values.push(key.and_then(|key| lookup.get(key)));
        Ok(())
    })?;
    Ok(values)
}
