//! Enums whose values have names for people.

/// `named! { pub enum Time { No => "no", … } }`: the enum, and the names of its values.
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $type:ident {
            $($(#[$doc:meta])* $value:ident $(= $number:literal)? => $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$doc])* $value $(= $number)?,)+
        }

        impl $type {
            /// The name shown to people.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$value => $name,)+
                }
            }
        }
    };
}
pub(crate) use named;

/// [`named!`], with a list of all values, which people may pick by name.
macro_rules! listed {
    (
        $(#[$meta:meta])*
        pub enum $type:ident {
            $($(#[$doc:meta])* $value:ident $(= $number:literal)? => $name:literal,)+
        }
    ) => {
        $crate::names::named! {
            $(#[$meta])*
            pub enum $type {
                $($(#[$doc])* $value $(= $number)? => $name,)+
            }
        }

        impl $type {
            /// Every one, in order.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$value),+];

            /// The one called `name`.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}
pub(crate) use listed;
