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
