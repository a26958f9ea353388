//! What both quotient filters say in the same words.

/// `quotients!(Quotient: Copies, 1);`: what both quotient filters do alike, by their table under a [`Code`]; plans
/// leave remainders as many bits at least.
macro_rules! quotients {
    ($type:ident: $code:ident, $sensible:expr) => {
        impl $type {
            /// A filter of `slots` slots, rounded up as its form `rank-select` or `status-bits` has it, with remainders
            /// of `remainder` bits, at most 61.
            pub fn with_shape(
                form: &str,
                slots: u64,
                remainder: u32,
                hasher: Hasher,
            ) -> Result<Self> {
                let shape = Shape::of_code::<$code>(&VARIANT.facts, form, slots, remainder)?;
                Self::empty(&shape, Head::new(hasher.or(Self::hash(&shape)), shape.form()))
            }

            /// The same filter in twice the slots, with remainders a bit shorter and therefore the same rate.
            /// Refused where the remainders are as short as can be.
            pub fn doubled(&self) -> Result<Self> {
                Ok(Self { head: self.head.clone(), table: self.table.doubled()? })
            }

            /// The same filter in half the slots, with remainders a bit longer. Refused where they would be too few.
            pub fn halved(&self) -> Result<Self> {
                Ok(Self { head: self.head.clone(), table: self.table.halved()? })
            }

            /// Number of slots.
            pub fn slots(&self) -> u64 {
                self.table.runs.slots()
            }

            /// Bits of a remainder.
            pub fn remainder(&self) -> u32 {
                self.table.runs.width()
            }

            /// Every fingerprint in order, with its number of copies.
            pub fn fingerprints(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
                self.table.fingerprints()
            }

            fn check(&self) -> Result<()> {
                if self.table.form() == self.head.form && self.table.items() == self.head.items {
                    return Ok(());
                }
                Err(Error::corrupt(0, "corrupt filter: other slots than its form and items say"))
            }
        }

        impl Plan for $type {
            type Shape = Shape;

            const HASH: HashId = HashId::Quick64;

            fn hash(shape: &Shape) -> HashId {
                if shape.is_narrow() { Self::HASH } else { HashId::Xxh3_128 }
            }

            fn plan(request: &Request<'_>) -> Result<Shape> {
                Shape::plan(request, $sensible)
            }

            fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
                Some(shape.expect::<$code>(load))
            }
        }

        impl Stream for $type {
            fn empty(shape: &Shape, head: Head) -> Result<Self> {
                Ok(Self { head, table: Table::new(shape)? })
            }
        }

        face!($type: Insert, Remove, Count, Merge, List, Bulk);
        planned!($type);
        by_part!($type: table);

        impl Merge for $type {
            fn law(&self) -> MergeLaw {
                MergeLaw::Multiset
            }

            fn merge(&mut self, other: &dyn Filter) -> Result<()> {
                let other: &Self = other.as_same()?;
                self.head.agree(&other.head)?;
                self.table.agree(&other.table)?;
                $crate::fingerprints::quotients::countable(self.head.items, other.head.items)?;
                self.table = self.table.merged(&other.table)?;
                self.head.count(other.head.items);
                Ok(())
            }
        }

        impl $crate::filter::List for $type {
            /// Fingerprints in place of keys, which are not kept: 16 hexadecimal digits each, with their counts.
            fn list(&self, f: &mut dyn FnMut(&[u8], Answer)) -> Result<()> {
                self.fingerprints().for_each(|(h, count)| {
                    f(format!("{h:016x}").as_bytes(), Answer::counted(Counted::exactly(count)));
                });
                Ok(())
            }
        }
    };
}
pub(in crate::fingerprints) use quotients;
