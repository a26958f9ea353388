//! Lines as the records of a build.

use everbloom::internals::filter::Record;
use everbloom::internals::hash::{Digest, Hasher};
use everbloom::internals::variant::{Mapped, Source};

use crate::cores::Order;
use crate::error::Error;
use crate::hashed::Hashed;
use crate::lines::Lines;
use crate::text;

impl Source for Lines {
    fn batches(
        &mut self,
        f: &mut dyn FnMut(&[Record<'_>]) -> everbloom::Result<()>,
    ) -> everbloom::Result<()> {
        Ok(self.each(|_, records| f(records))?)
    }

    fn digests(&mut self, hasher: &Hasher, f: &mut dyn FnMut(&[Digest])) -> everbloom::Result<()> {
        Ok(self.each_digests(hasher, f)?)
    }

    fn digests_anywhere(
        &mut self,
        hasher: &Hasher,
        f: &(dyn Fn(&[Digest]) + Sync),
    ) -> everbloom::Result<()> {
        let insert = |hashed: &mut Hashed<'_>, (): &mut ()| f(hashed.digests());
        Ok(self.each_hashed(hasher, Order::Any, insert, |()| Ok::<_, Error>(()))?)
    }

    fn map_batches(
        &mut self,
        work: &(dyn Fn(&[Record<'_>]) -> Mapped + Sync),
        done: &mut dyn FnMut(Mapped) -> everbloom::Result<()>,
    ) -> everbloom::Result<()> {
        self.prepare()?;
        let grammar = self.grammar();
        let map = |text: &[u8]| {
            let mut mapped = None;
            text::batch(text, grammar, |_, records| {
                mapped = Some(work(records));
                Ok(())
            })?;
            Ok(mapped)
        };
        self.each_block(Order::Kept, map, |mapped: Option<Mapped>| {
            mapped.map_or(Ok(()), &mut *done)
        })
    }
}
